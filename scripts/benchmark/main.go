// Command benchmark measures horde beside other load generators: each work is a
// target and a load, each tool does it in turn, several rounds. What a tool
// achieved is read off the target's own counter, and what it cost off its
// process times, so that all are measured by the same rule. It prints medians,
// and the medians of the ratios to horde within a round.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchmath"
)

func main() {
	runtime.LockOSThread() // a death signal is tied to the thread that asked for it
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

var (
	horde    = flag.String("horde", "horde", "the horde `program`")
	webbench = flag.String("webbench", "webbench", "the webbench `program`, left out if it is not there")
	witness  = flag.String("witness", "witness", "the minimal loop in C as a `program`, left out if it is not there")
	rounds   = flag.Int("rounds", 5, "`N` rounds, of which the medians are taken")
	seconds  = flag.Int("seconds", 4, "length of one run in `seconds`")
	only     = flag.String("only", "", "do only the works whose name holds `text`")
)

func run() error {
	flag.Usage = usage
	flag.Parse()
	kernel, _ := exec.Command("uname", "-r").Output()
	fmt.Printf("%s, Linux %s, %d CPUs, %s; %d rounds of %d s\n\n", time.Now().Format(time.DateOnly),
		strings.TrimSpace(string(kernel)), runtime.NumCPU(), versions(), *rounds, *seconds)
	for _, w := range works() {
		if !strings.Contains(w.name, *only) {
			continue
		}
		if err := w.measure(); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

func usage() {
	fmt.Fprintln(flag.CommandLine.Output(), "Usage: scripts/bench [options]\n\nWorks:")
	for _, w := range works() {
		fmt.Fprintln(flag.CommandLine.Output(), "  "+w.name)
	}
	fmt.Fprintln(flag.CommandLine.Output(), "\nOptions:")
	flag.PrintDefaults()
}

// work is one target under one load.
type work struct {
	name   string
	target target
	tools  []tool
}

// tool is one way to make the load; args are those before the URL.
type tool struct {
	name string
	args []string
	// reaps says that the tool waits for its processes, so that their times are known.
	reaps bool
}

// sample is one run of one tool.
type sample struct {
	rate   float64       // requests the target answered, per second of the asked length
	cpu    time.Duration // of the tool, per request
	memory int64         // of its largest process, bytes
	p50    string
	p99    string
}

func (w *work) measure() error {
	tools := slices.DeleteFunc(slices.Clone(w.tools), func(t tool) bool {
		_, err := exec.LookPath(t.args[0])
		return err != nil
	})
	samples := make([][]sample, len(tools))
	for range *rounds {
		for i, t := range tools {
			s, err := t.run(w.target)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	printWork(w.name, tools, samples)
	return nil
}

func printWork(name string, tools []tool, samples [][]sample) {
	fmt.Printf("### %s\n\n", name)
	fmt.Println("| tool | requests/s (range) | horde's is | CPU per request | horde's is | p50 | p99 | largest process |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for i, t := range tools {
		rates, cpus := column(samples[i], sample.rateOf), column(samples[i], sample.cpuOf)
		last := samples[i][len(samples[i])-1]
		cpu, cpuRatio := fmt.Sprintf("%.1f µs", median(cpus)), ratio(samples[0], samples[i], sample.cpuOf, i)
		if !t.reaps {
			cpu, cpuRatio = "n/a", "n/a"
		}
		fmt.Printf("| %s | %.0f (%.0f–%.0f) | %s | %s | %s | %s | %s | %.1f MB |\n", t.name,
			median(rates), slices.Min(rates), slices.Max(rates), ratio(samples[0], samples[i], sample.rateOf, i),
			cpu, cpuRatio, last.p50, last.p99,
			median(column(samples[i], func(s sample) float64 { return float64(s.memory) }))/1e6)
	}
	fmt.Println()
}

func (s sample) rateOf() float64 { return s.rate }
func (s sample) cpuOf() float64  { return float64(s.cpu.Nanoseconds()) / 1e3 }

func column(samples []sample, value func(sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = value(s)
	}
	return out
}

func median(values []float64) float64 {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), 0.95).Center
}

// ratio is the median over the rounds of horde's value to the tool's.
func ratio(ours, theirs []sample, value func(sample) float64, tool int) string {
	if tool == 0 {
		return ""
	}
	quotients := make([]float64, len(ours))
	for i := range ours {
		quotients[i] = value(ours[i]) / value(theirs[i])
	}
	return fmt.Sprintf("%.2f ×", median(quotients))
}

func versions() string {
	var parts []string
	for _, v := range [][]string{{*horde, "--version"}, {"nginx", "-v"}, {"wrk", "-v"}, {"ab", "-V"}, {"h2load", "--version"}} {
		out, err := exec.Command(v[0], v[1:]...).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		for _, word := range strings.Fields(string(out)) {
			if i := strings.IndexAny(word, "0123456789"); i >= 0 && strings.Contains(word, ".") {
				name := v[0][strings.LastIndexByte(v[0], '/')+1:]
				parts = append(parts, name+" "+strings.Trim(word[i:], ",<>[]"))
				break
			}
		}
	}
	return strings.Join(parts, ", ")
}
