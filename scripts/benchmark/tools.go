package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tardy is how long after its time a tool may take to start and end; webbench
// may wait a minute for one of its processes, when all the others have ended.
const tardy = 20 * time.Second

// run lets a tool load the target once.
func (t tool) run(on target) (sample, error) {
	time.Sleep(time.Second) // let the last run's connections go
	s, err := on.start()
	if err != nil {
		return sample{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(*seconds)*time.Second+tardy)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.args[0], append(t.args[1:], s.url)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	n, countErr := s.finish()
	switch {
	case cmd.ProcessState == nil:
		return sample{}, err
	case countErr != nil:
		return sample{}, countErr
	case n == 0:
		return sample{}, fmt.Errorf("no request came: %s", out.String())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return sample{
		rate:   float64(n) / float64(*seconds),
		cpu:    (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()) / time.Duration(n),
		memory: usage.Maxrss << 10,
		p50:    percentile(out.String(), "50"), p99: percentile(out.String(), "99"),
	}, nil
}

// percentile finds a latency in what a tool printed, as it printed it: the last
// column of horde's table, wrk's and ab's own.
func percentile(out, p string) string {
	for _, form := range []string{`(?m)^ +%s %%.* ([\d.]+)$`, `(?m)^ +%s%% +([\d.a-z]+)$`} {
		if m := regexp.MustCompile(fmt.Sprintf(form, p)).FindStringSubmatch(out); m != nil {
			return m[1]
		}
	}
	return "–"
}

// works are what is measured, in the order of the goals.
func works() []work {
	one, two, own := target{nginxWorkers: 1}, target{nginxWorkers: 2}, target{}
	var list []work
	for _, clients := range []int{100, 1000} {
		list = append(list, work{fmt.Sprintf("keep-alive, %d clients", clients), one, keepAlive(clients, "1")})
	}
	list = append(list, work{"keep-alive, 100 clients, nginx with 2 workers", two,
		append(keepAlive(100, "auto"), tool{"wrk -t2", command("wrk -t2 -c 100 --latency -d %d", *seconds), true})})
	for _, clients := range []int{100, 1000} {
		list = append(list, work{fmt.Sprintf("one request per connection, %d clients", clients), one, shortLived(clients)})
	}
	for _, clients := range []int{100, 1000, 5000} {
		list = append(list, work{fmt.Sprintf("one process per client, %d clients", clients), one, perClient(clients)})
	}
	for _, clients := range []int{100, 10000} {
		list = append(list, work{fmt.Sprintf("keep-alive, %d clients, horde serve", clients), own, keepAlive(clients, "1")})
	}
	return append(list, work{"one request per connection, 100 clients, horde serve", own, shortLived(100)})
}

// Note: ab takes -t to mean 50,000 requests at most, unless -n comes after it.

// keepAlive has horde use one process against a target that does, as wrk -t1
// uses one thread: on two CPUs a second would take its CPU from the target.
func keepAlive(clients int, workers string) []tool {
	c, processes := strconv.Itoa(clients), "1"
	if workers == "auto" {
		processes = strconv.Itoa(runtime.NumCPU())
	}
	return []tool{
		{"horde -k -w " + workers, command(*horde+" -q -k -w "+workers+" -c "+c+" -t %d", *seconds), true},
		{"wrk -t1", command("wrk -t1 --latency -c "+c+" -d %d", *seconds), true},
		{"ab -k", command("ab -q -k -c "+c+" -t %d -n 5000000", *seconds), true},
		{"h2load --h1", command("h2load --h1 -t1 -c "+c+" -D %d", *seconds), true},
		{"C loop, watching", []string{*witness, "watch", processes, c, strconv.Itoa(*seconds)}, true},
		{"C loop, collecting", []string{*witness, "collect", processes, c, strconv.Itoa(*seconds)}, true},
		{"C loop, polling", []string{*witness, "poll", processes, c, strconv.Itoa(*seconds)}, true},
		{"bombardier", command("bombardier -l -c "+c+" -d %ds", *seconds), true},
		{"hey", command("hey -c "+c+" -z %ds", *seconds), true},
	}
}

func shortLived(clients int) []tool {
	c := strconv.Itoa(clients)
	return []tool{
		{"horde -w auto", command(*horde+" -q -w auto -c "+c+" -t %d", *seconds), true},
		{"wrk, Connection: close", append([]string{"wrk", "-H", "Connection: close"}, command("-t1 --latency -c "+c+" -d %d", *seconds)...), true},
		{"ab", command("ab -q -c "+c+" -t %d -n 5000000", *seconds), true},
		{"webbench", command(*webbench+" -c "+c+" -t %d", *seconds), false},
	}
}

func perClient(clients int) []tool {
	c := strconv.Itoa(clients)
	return []tool{
		{"horde", command(*horde+" -q -c "+c+" -t %d", *seconds), true},
		{"webbench", command(*webbench+" -c "+c+" -t %d", *seconds), false},
	}
}

// command splits a command line in which a verb stands for the seconds.
func command(words string, seconds int) []string {
	return strings.Fields(fmt.Sprintf(words, seconds))
}
