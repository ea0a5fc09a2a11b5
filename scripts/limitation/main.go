// Command limitation puts horde's verdict on itself to the test. Each case is a
// target, and a generator that is throttled or not; it is run several times, and
// every verdict is counted.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	horde   = flag.String("horde", "horde", "the horde `program`")
	rounds  = flag.Int("rounds", 20, "`N` runs of each case")
	seconds = flag.String("seconds", "2", "length of a run in `seconds`")
	only    = flag.String("only", "", "only the cases whose name holds `text`")
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == hogName {
		hog()
	}
	runtime.LockOSThread() // a death signal is tied to the thread that asked for it
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "limited:", err)
		os.Exit(1)
	}
}

func run() error {
	flag.Usage = usage
	flag.Parse()
	fmt.Printf("%d runs of %s s for each case, %d CPUs\n\n", *rounds, *seconds, runtime.NumCPU())
	fmt.Println("| case | GENERATOR-LIMITED | must be | workers' CPU | waited for one | host busy | throttled |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	misjudged := 0
	for _, c := range cases() {
		if !strings.Contains(c.name, *only) {
			continue
		}
		n, err := c.measure()
		switch {
		case errors.Is(err, errNoGroup):
			fmt.Printf("| %s | left out: %v | | | | | |\n", c.name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", c.name, err)
		}
		misjudged += n
	}
	if misjudged > 0 {
		return fmt.Errorf("%d runs misjudged", misjudged)
	}
	return nil
}

func usage() {
	fmt.Fprintln(flag.CommandLine.Output(), "Usage: scripts/limited [options]\n\nCases:")
	for _, c := range cases() {
		fmt.Fprintln(flag.CommandLine.Output(), "  "+c.name)
	}
	fmt.Fprintln(flag.CommandLine.Output(), "\nOptions:")
	flag.PrintDefaults()
}

// result is what the cases look at in a result file.
type result struct {
	Requests  struct{ Begun uint64 }
	Verdicts  struct{ Generator_limited *bool }
	Generator struct {
		CPU_share, Run_delay_share, Host_busy_share float64
		Throttled_ns                                float64
	}
}

// measure runs a case and prints its line; misjudged is how many runs got the
// wrong verdict, or none.
func (c *scene) measure() (misjudged int, err error) {
	stop, url, err := c.target()
	if err != nil {
		return 0, err
	}
	defer stop()
	wrap, free, err := c.hold()
	if err != nil {
		return 0, err
	}
	defer free()
	flagged := 0
	var results []result
	for range *rounds {
		r, err := load(slices.Concat(wrap, []string{*horde}, strings.Fields(c.options), []string{"-q", "--json", "-t", *seconds, url}))
		if err != nil {
			return 0, err
		}
		results = append(results, r)
		switch limited := r.Verdicts.Generator_limited; {
		case limited == nil || *limited != c.limited:
			misjudged++
		}
		if limited := r.Verdicts.Generator_limited; limited != nil && *limited {
			flagged++
		}
	}
	want := 0
	if c.limited {
		want = *rounds
	}
	fmt.Printf("| %s | %d of %d | %d | %s | %s | %s | %s |\n", c.name, flagged, *rounds, want,
		extent(results, func(r result) float64 { return r.Generator.CPU_share * 100 }, "%"),
		extent(results, func(r result) float64 { return r.Generator.Run_delay_share * 100 }, "%"),
		extent(results, func(r result) float64 { return r.Generator.Host_busy_share * 100 }, "%"),
		extent(results, func(r result) float64 { return r.Generator.Throttled_ns / 1e6 }, "ms"))
	return misjudged, nil
}

// extent is the least and the greatest value over the runs.
func extent(results []result, value func(result) float64, unit string) string {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = value(r)
	}
	return fmt.Sprintf("%.1f – %.1f %s", slices.Min(values), slices.Max(values), unit)
}

// load is one run of horde. Its exit code is not looked at: a target that never
// answers makes it 1.
func load(command []string) (result, error) {
	time.Sleep(200 * time.Millisecond) // the last run's connections are still being closed
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, _ := cmd.Output()
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	if r.Requests.Begun == 0 {
		return r, errors.New("no request was begun")
	}
	return r, nil
}
