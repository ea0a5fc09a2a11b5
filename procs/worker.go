package procs

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"horde/client"
	"horde/procs/wire"
	"horde/stats"
)

// A worker is started with its name and its number as its whole command line,
// and with its two pipes at fixed numbers. Its stderr is the user's.
const (
	workerName = "horde-worker"
	controlFD  = 3
	reportFD   = 4
)

// Note: a worker lives inside this package's initialisation. Packages are
// initialised in the order of their import paths as soon as what they import is
// (Go specification, "Program initialization"), so that what only the parent
// needs (the command line library and all it drags in) has not been initialised
// when a worker begins, and never will be: 0.6 ms for each of thousands of
// workers. It also makes a worker of any test binary that links this package.
func init() {
	if os.Args[0] == workerName && len(os.Args) == len(workerArgs(0, false)) {
		os.Exit(work(nil))
	}
}

// newCrypto secures connections; nil where package procs/secured is not linked.
var newCrypto func(*client.TLS) (client.Crypto, error)

// Secured is where a worker for https lives: inside the initialisation of the
// package that calls it, which imports crypto/tls and is initialised after it,
// as this package is not. In any other process it only takes note.
func Secured(crypto func(*client.TLS) (client.Crypto, error)) {
	if os.Args[0] == workerName {
		os.Exit(work(crypto))
	}
	newCrypto = crypto
}

// work is a worker's whole life. Its exit code is 0 even if every request
// failed; what cannot be reported over the pipe ends it with 1.
func work(crypto func(*client.TLS) (client.Crypto, error)) int {
	// What is typed reaches the whole process group; when to stop is the parent's
	// to say. A signal mask would not do: the runtime clears it at its start.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	restoreTimerSlack()
	w := worker{control: controlFD, reports: reportFD, newCrypto: crypto}
	if err := w.run(); err != nil {
		w.out = wire.AppendError(w.out[:0], err.Error())
		_ = w.flush()
		return 1
	}
	return 0
}

// worker is this process as it sees itself.
type worker struct {
	control, reports int    // its ends of the two pipes
	out              []byte // frames under construction
	in               []byte // bytes read from the control pipe and not decoded

	clock     client.Clock
	measuring bool  // the window has begun
	before    usage // when it did, or without a warm-up when it was ready: reading it later would delay the first request

	newCrypto func(*client.TLS) (client.Crypto, error)
}

// usage is what this process had used, and missed, of its CPUs at some time.
type usage struct{ cpu, delay time.Duration }

func (w *worker) run() error {
	w.out = append(w.out, wire.Magic...)
	payload, err := w.next(wire.KindPlan)
	if err != nil {
		return err
	}
	plan, err := wire.ReadPlan(payload)
	if err != nil {
		return err
	}
	crypto, err := w.crypto(&plan)
	if err != nil {
		return err
	}
	w.before.delay = runDelay()
	w.out = wire.AppendReady(w.out)
	if err := w.flush(); err != nil {
		return err
	}
	if payload, err = w.next(wire.KindGo); err != nil {
		return err
	}
	release, err := wire.ReadGo(payload)
	if err != nil {
		return err
	}
	return w.drive(&plan, crypto, release)
}

// crypto is what secures the connections of plan, nil if nothing is to.
func (w *worker) crypto(plan *client.Plan) (client.Crypto, error) {
	if plan.TLS == nil {
		return nil, nil
	}
	return w.newCrypto(plan.TLS)
}

func (w *worker) drive(plan *client.Plan, crypto client.Crypto, release int64) error {
	w.clock, w.before.cpu = client.NewClock(release), cpuTime()
	end, err := client.Run(plan, crypto, w.clock, w.control, w.report)
	if err != nil {
		return err
	}
	defer end.Close()
	w.out = wire.AppendFinal(w.out, &wire.Final{
		Unfinished: end.Unfinished, WarmingUp: end.WarmingUp, PerClient: end.PerClient, End: time.Duration(end.At),
		Coalesced: time.Duration(end.Coalesced), LongestMoment: time.Duration(end.LongestMoment), Lag: time.Duration(end.Lag),
		StartCPU: w.before.cpu, CPUTime: cpuTime() - w.before.cpu, RunDelay: w.delaySince(),
	})
	return w.flush()
}

// delaySince is how long this process has waited for a CPU since the window began.
func (w *worker) delaySince() time.Duration {
	now := runDelay()
	if now < 0 || w.before.delay < 0 {
		return -1
	}
	return max(now-w.before.delay, 0)
}

// warmUp notes what had been used when the window began.
func (w *worker) warmUp() {
	if !w.measuring {
		w.before = usage{cpuTime(), runDelay()}
		w.measuring = w.clock.Now() >= 0
	}
}

// report sends what was counted in a second; nothing if nothing was.
func (w *worker) report(second int, t *stats.Tally) error {
	if second < 0 {
		w.warmUp()
	}
	if t.Begun == 0 && t.Succeeded == 0 && t.Failed == 0 && t.BytesRead == 0 && t.BytesWritten == 0 {
		return nil
	}
	w.out = wire.AppendInterval(w.out, second, t)
	return w.flush()
}

func (w *worker) flush() error {
	err := writeAll(w.reports, w.out)
	w.out = w.out[:0]
	return err
}

// next reads the next frame, which must be of the given kind. The payload is
// valid until the next call.
func (w *worker) next(want wire.Kind) ([]byte, error) {
	for {
		kind, payload, rest, ok, err := wire.Next(w.in, wire.MaxPlan)
		switch {
		case err != nil:
			return nil, err
		case ok && kind != want:
			return nil, fmt.Errorf("frame of kind %d where %d was due", kind, want)
		case ok:
			w.in = rest
			return payload, nil
		}
		if w.in, err = readMore(w.control, w.in); err != nil {
			return nil, err
		}
	}
}
