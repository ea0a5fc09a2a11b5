// Package procs starts the worker processes of a run, passes plans down and
// counts up, and sees to it that every one of them ends. Run, child and the
// limits belong to the parent; worker.go is the code inside a worker.
package procs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"horde/client"
	"horde/stats"
)

// Options is a run as the parent sees it.
type Options struct {
	Plan    client.Plan // of all workers together: Clients and Requests are totals, StartGap is between any two clients
	Workers int         // how many processes to start
	CPUs    []int       // to bind the workers to, round robin; empty = not bound

	Signals  <-chan os.Signal     // the first stops the run, the second kills it
	Progress func(stats.Snapshot) // called about once a second, nil = not wanted
	Look     func()               // called at the release, about once a second, and at the end of the run; nil = not wanted
}

// Outcome is what came of the workers. Counts of workers that were lost are in
// as far as they had reported them.
type Outcome struct {
	StartedAt  time.Time // the release
	Measured   time.Duration
	Signal     os.Signal // that ended the run, nil if none did
	Tally      stats.Tally
	Unfinished stats.Unfinished
	PerClient  stats.Histogram // how many requests of each client succeeded; of workers that were not lost
	Lost       uint64
	Scheduled  uint64 // starts of an open loop that were due in the window
	Warmup     stats.Warmup
	Coalescing stats.Coalescing
	Series     []stats.Second
	Stalls     []stats.Stall
	Workers    stats.Workers
	ParentCPU  time.Duration // CPU that this process used from the release to the end
	Reasons    []string
}

// How long the parent waits for workers, measured since the last of them gave
// a sign of life, so that a busy host is not taken for a dead worker.
const (
	readyLimit = 5 * time.Second
	finalLimit = 600 * time.Millisecond
)

// starvedLimit is how long workers that are ready to run, but get no CPU, may
// take after the end in all: each has something to do for each of its clients.
func starvedLimit(workers, clients int) time.Duration {
	return 800*time.Millisecond + time.Duration(workers)*400*time.Microsecond + time.Duration(clients)*10*time.Microsecond
}

// leadTime is how far ahead of the writing of the Go frames the release lies:
// all have read theirs when the moment comes.
func leadTime(workers int) time.Duration {
	return 5*time.Millisecond + time.Duration(workers)*30*time.Microsecond
}

// ErrNoWorkers says that not one worker could be started.
var ErrNoWorkers = errors.New("no worker could be started")

// Run starts the workers, releases them all at once, collects what they count,
// and returns when the last one is gone. An error means that nothing ran.
func Run(o Options) (*Outcome, error) {
	r := &run{options: o, children: layOut(o)}
	return r.perform()
}

func (r *run) perform() (*Outcome, error) {
	if r.options.Plan.TLS != nil && newCrypto == nil {
		panic("procs: internal error: package procs/secured is not linked")
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	defer r.close()
	begin := monotonicTime()
	errs, release := startAll(r.children, r.options.Plan.Batch, r.planFor, r.interrupted)
	defer release()
	for _, err := range errs {
		r.reason("%v", err)
	}
	r.watchAll()
	r.prepare()
	r.readyIn = monotonicTime() - begin
	if s := r.first.Load(); s != nil && r.alive == 0 {
		return nil, &Interrupted{*s}
	}
	if r.alive == 0 {
		return nil, r.noWorkers(errs)
	}
	r.release()
	r.collect()
	return r.outcome(), nil
}

// layOut shares clients and CPUs out evenly, remainder included.
func layOut(o Options) []*child {
	children := make([]*child, o.Workers)
	for i := range children {
		secured := o.Plan.TLS != nil
		c := &child{id: i, args: workerArgs(i, secured), env: workerEnv(secured), clients: share(o.Plan.Clients, o.Workers, i), cpu: -1, control: -1, report: -1}
		if len(o.CPUs) > 0 {
			c.cpu = o.CPUs[i%len(o.CPUs)]
		}
		children[i] = c
	}
	return children
}

// share is part i of total in n parts that differ by one at most.
func share[T int | uint64](total T, n, i int) T {
	part := total / T(n)
	if T(i) < total%T(n) {
		part++
	}
	return part
}

// rotate returns list from element n on, and then those before it, so that
// workers with few clients do not all begin with the first.
func rotate[T any](list []T, n int) []T {
	if len(list) == 0 {
		return nil
	}
	n %= len(list)
	return slices.Concat(list[n:], list[:n])
}

func (r *run) noWorkers(errs []error) error {
	for _, c := range r.children {
		if c.problem != "" {
			errs = append(errs, errors.New(nameWorkers([]int{c.id})+c.problem))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrNoWorkers, errs[0])
	}
	return ErrNoWorkers
}

// Interrupted says that a signal came before the workers were released.
type Interrupted struct{ Signal os.Signal }

func (i *Interrupted) Error() string {
	return fmt.Sprintf("stopped by %v before the start; nothing was sent", i.Signal)
}
