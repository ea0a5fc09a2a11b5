package procs

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/procs/wire"
	"horde/stats"
)

// faultName is the argv[0] of a process that takes a worker's place and does
// not behave as one.
const faultName = "horde-fault"

// impostor speaks a worker's part by hand.
type impostor struct{ worker }

func (i *impostor) send(b []byte) { _ = writeAll(i.reports, b) }

// until goes through a worker's steps up to the one before want.
func (i *impostor) until(want wire.Kind) {
	i.send([]byte(wire.Magic))
	if want == wire.KindPlan {
		return
	}
	if _, err := i.next(wire.KindPlan); err != nil {
		panic(err)
	}
	if want == wire.KindReady {
		return
	}
	i.send(wire.AppendReady(nil))
	payload, err := i.next(wire.KindGo)
	if err != nil {
		os.Exit(1)
	}
	release, err := wire.ReadGo(payload)
	if err != nil {
		panic(err)
	}
	pause(time.Duration(release) - monotonicTime()) // as a worker waits for it
}

// linger waits for ever.
func linger() {
	for {
		pause(time.Hour)
	}
}

// pause sleeps in this very thread: the others have an hour of timer slack.
func pause(d time.Duration) {
	ts := unix.NsecToTimespec(int64(max(d, 0)))
	for unix.Nanosleep(&ts, &ts) == unix.EINTR {
	}
}

// counted is a report of so many requests begun and succeeded.
func counted(begun, succeeded int) *stats.Tally {
	t := &stats.Tally{Begun: uint64(begun), Succeeded: uint64(succeeded)}
	for range succeeded {
		t.Total.Record(1000)
	}
	return t
}

func ended(at time.Duration, waiting uint64) *wire.Final {
	f := &wire.Final{End: at}
	f.Unfinished.Count[stats.Waiting] = waiting
	for range waiting {
		f.Unfinished.Ages.Record(0)
	}
	return f
}

var faults = map[string]func(*impostor){
	"wrong magic":     func(i *impostor) { i.send([]byte("horde-wire 0\n")); linger() },
	"half a magic":    func(i *impostor) { i.send([]byte(wire.Magic[:5])) },
	"a banner":        func(i *impostor) { i.send([]byte("Hi!")); linger() },
	"stopped at once": func(*impostor) { _ = unix.Kill(os.Getpid(), unix.SIGSTOP) },
	"exit 7":          func(*impostor) { os.Exit(7) },
	"killed at once":  func(*impostor) { _ = unix.Kill(os.Getpid(), unix.SIGKILL) },
	"report first": func(i *impostor) {
		i.until(wire.KindReady)
		i.send(wire.AppendInterval(nil, 0, counted(5, 5)))
		linger()
	},
	"no memory": func(i *impostor) { i.until(wire.KindReady); i.send(wire.AppendError(nil, "no memory")); os.Exit(1) },
	"ready, no memory": func(i *impostor) {
		i.until(wire.KindReady)
		i.send(wire.AppendError(wire.AppendReady(nil), "no memory"))
		linger()
	},
	"ready unread": func(i *impostor) { i.until(wire.KindPlan); i.send(wire.AppendReady(nil)); linger() },
	"ready twice":  func(i *impostor) { i.until(wire.KindReady); i.send(wire.AppendReady(wire.AppendReady(nil))); linger() },
	"report too early": func(i *impostor) {
		i.until(wire.KindReady)
		i.send(wire.AppendInterval(wire.AppendReady(nil), 0, counted(5, 5)))
		linger()
	},
	"text": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send([]byte("HTTP/1.1 400 Bad Request\r\n"))
		linger()
	},
	"flood": func(i *impostor) {
		i.until(wire.KindInterval)
		for b := make([]byte, 1<<20); ; {
			i.send(b)
		}
	},
	"half a frame": func(i *impostor) {
		i.until(wire.KindInterval)
		b := wire.AppendInterval(nil, 0, counted(9, 9))
		i.send(b[:len(b)-1])
	},
	"frame, then text": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(append(wire.AppendInterval(nil, 0, counted(7, 6)), "what?"...))
		linger()
	},
	"unknown frame": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send([]byte{1, 0, 0, 0, 99})
		linger()
	},
	"malformed report": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send([]byte{2, 0, 0, 0, byte(wire.KindInterval), 0x80})
		linger()
	},
	"malformed final": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send([]byte{2, 0, 0, 0, byte(wire.KindFinal), 0x80})
		linger()
	},
	"more ended than begun": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendInterval(nil, 0, counted(1, 2)))
		linger()
	},
	"second to come": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendInterval(nil, 1<<40, counted(2, 2)))
		linger()
	},
	"second before the start": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendInterval(nil, -1, counted(2, 2)))
		linger()
	},
	"warm-up forgotten": func(i *impostor) {
		i.until(wire.KindInterval)
		final := ended(time.Millisecond, 0)
		final.WarmingUp = 1
		i.send(wire.AppendFinal(wire.AppendInterval(nil, 0, counted(2, 2)), final))
		linger()
	},
	"end to come": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendFinal(wire.AppendInterval(nil, 0, counted(2, 2)), ended(100*365*24*time.Hour, 0)))
		linger()
	},
	"unfinished forgotten": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendFinal(wire.AppendInterval(nil, 0, counted(5, 2)), ended(time.Millisecond, 1)))
		linger()
	},
	"final twice": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendInterval(nil, 0, counted(5, 2)))
		final := wire.AppendFinal(nil, ended(time.Millisecond, 3))
		i.send(append(final, final...))
		linger()
	},
	"final, then no end": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendInterval(nil, 0, counted(5, 2)))
		i.send(wire.AppendFinal(nil, ended(time.Millisecond, 3)))
		linger()
	},
	"hung up, then no end": func(i *impostor) {
		i.until(wire.KindInterval)
		i.send(wire.AppendInterval(nil, 0, counted(5, 2)))
		_ = unix.Close(i.reports)
		linger()
	},
	"deaf until it is called again": func(i *impostor) {
		called := make(chan os.Signal, 1)
		signal.Notify(called, unix.SIGIO)
		i.until(wire.KindInterval)
		i.send(wire.AppendInterval(nil, 0, counted(5, 2)))
		<-called
		i.send(wire.AppendFinal(nil, ended(time.Millisecond, 3)))
	},
	"small pieces": func(i *impostor) {
		i.until(wire.KindInterval)
		frames := wire.AppendFinal(wire.AppendInterval(nil, 0, counted(5, 2)), ended(time.Millisecond, 3))
		for at := range frames {
			i.send(frames[at : at+1])
		}
	},
	"huge final burst": func(i *impostor) { // many times the pipe and the parent's buffer, then the end
		i.until(wire.KindInterval)
		var b []byte
		for range burst {
			b = wire.AppendInterval(b, 0, counted(1, 1))
		}
		i.send(wire.AppendFinal(b, ended(time.Millisecond, 0)))
	},
}

const burst = 10000

func misbehave(how string) {
	runtime.LockOSThread()
	restoreTimerSlack()
	i := &impostor{worker{control: controlFD, reports: reportFD}}
	faults[how](i)
	os.Exit(0)
}

// newRun prepares a run whose first workers are replaced by impostors.
func newRun(o Options, how ...string) *run {
	r := &run{options: o, children: layOut(o)}
	for i, name := range how {
		r.children[i].args = []string{faultName, name}
	}
	return r
}

// assertBalance holds the ledger against itself, in total and per worker.
func assertBalance(t *testing.T, r *run, out *Outcome) {
	t.Helper()
	sum := stats.Run{Tally: out.Tally, Unfinished: out.Unfinished, Lost: out.Lost}
	assert.Zero(t, sum.Balance(), "begun = succeeded + failed + unfinished + lost")
	assert.Equal(t, out.Tally.Succeeded, out.Tally.Total.Count())
	var begun, succeeded, failed, unfinished, lostRequests uint64
	for _, c := range r.children {
		under := c.begun - c.succeeded - c.failed
		if c.state == finished {
			assert.Equal(t, under, c.final.Unfinished.Sum(), "worker %d", c.id)
			unfinished += under
		} else {
			lostRequests += under
		}
		begun, succeeded, failed = begun+c.begun, succeeded+c.succeeded, failed+c.failed
	}
	assert.Equal(t, []uint64{out.Tally.Begun, out.Tally.Succeeded, out.Tally.Failed, out.Unfinished.Sum(), out.Lost},
		[]uint64{begun, succeeded, failed, unfinished, lostRequests}, "totals are the sums over the workers")
	var seconds stats.Second
	for _, s := range out.Series {
		seconds.Succeeded, seconds.Failed, seconds.Unfinished = seconds.Succeeded+s.Succeeded, seconds.Failed+s.Failed, s.Unfinished
	}
	assert.Equal(t, stats.Second{Succeeded: succeeded, Failed: failed, Unfinished: unfinished}, seconds, "the time line adds up")
	for _, w := range out.Workers.List {
		assert.Equal(t, r.children[w.ID].succeeded, w.Succeeded)
		assert.Equal(t, r.children[w.ID].state == lost, w.Lost)
	}
}

func TestAWorkerThatMisbehavesIsLostAndTheRestCounts(t *testing.T) {
	const clients = 3 // of each worker
	rows := []struct {
		how, exit, problem string
		begun, succeeded   uint64 // of the impostor, as it must be counted
		finished           bool
	}{
		{how: "wrong magic", exit: "signal: killed", problem: "not a worker of this version"},
		{how: "half a magic", exit: "exit 0"},
		{how: "a banner", exit: "signal: killed", problem: "not a worker of this version"},
		{how: "exit 7", exit: "exit 7"},
		{how: "killed at once", exit: "signal: killed"},
		{how: "report first", exit: "signal: killed", problem: "out of place"},
		{how: "report too early", exit: "signal: killed", problem: "out of place"},
		{how: "ready twice", exit: "signal: killed", problem: "out of place"},
		{how: "no memory", exit: "exit 1", problem: "worker 0: no memory"},
		{how: "ready, no memory", exit: "signal: killed", problem: "worker 0: no memory"},
		{how: "ready unread", exit: "signal: killed", problem: "did not report its end", begun: clients},
		{how: "text", exit: "signal: killed", problem: "garbage: frame of", begun: clients},
		{how: "flood", exit: "signal: killed", problem: "garbage: frame of 0 bytes", begun: clients},
		{how: "half a frame", exit: "exit 0", begun: clients},
		{how: "frame, then text", exit: "signal: killed", problem: "garbage: frame of", begun: 7, succeeded: 6},
		{how: "unknown frame", exit: "signal: killed", problem: "kind 99 out of place", begun: clients},
		{how: "malformed report", exit: "signal: killed", problem: "malformed frame", begun: clients},
		{how: "malformed final", exit: "signal: killed", problem: "malformed frame", begun: clients},
		{how: "more ended than begun", exit: "signal: killed", problem: "2 requests ended, 1 begun", begun: clients},
		{how: "second to come", exit: "signal: killed", problem: "has not come", begun: clients},
		{how: "second before the start", exit: "signal: killed", problem: "was before the start", begun: clients},
		{how: "warm-up forgotten", exit: "signal: killed", problem: "requests of the warm-up under way", begun: 2, succeeded: 2},
		{how: "end to come", exit: "signal: killed", problem: "has not come", begun: 2, succeeded: 2},
		{how: "unfinished forgotten", exit: "signal: killed", problem: "3 requests under way, 1 of them", begun: 5, succeeded: 2},
		{how: "hung up, then no end", exit: "signal: killed", begun: 5, succeeded: 2},
		{how: "final twice", exit: "signal: killed", problem: "out of place", begun: 5, succeeded: 2, finished: true},
		{how: "final, then no end", exit: "signal: killed", begun: 5, succeeded: 2, finished: true},
		{how: "small pieces", exit: "exit 0", begun: 5, succeeded: 2, finished: true},
		{how: "huge final burst", exit: "exit 0", begun: burst, succeeded: burst, finished: true},
	}
	for _, row := range rows {
		t.Run(row.how, func(t *testing.T) {
			leaveNothing(t)
			r := newRun(Options{Plan: serve(t).plan(2*clients, 300*time.Millisecond), Workers: 2}, row.how)
			out, err := r.perform()
			require.NoError(t, err)
			assertBalance(t, r, out)
			bad, good := r.children[0], r.children[1]
			assert.Equal(t, row.exit, bad.exit)
			assert.Equal(t, row.begun, bad.begun, "begun")
			assert.Equal(t, row.succeeded, bad.succeeded, "succeeded")
			assert.Equal(t, row.finished, bad.state == finished)
			assert.Equal(t, "exit 0", good.exit)
			assert.Positive(t, good.succeeded)
			assert.Len(t, out.Series, 1)
			if row.problem == "" {
				assert.Empty(t, out.Reasons)
			} else {
				assert.Contains(t, strings.Join(out.Reasons, "\n"), row.problem)
			}
			lostWorkers := 1
			if row.finished {
				lostWorkers = 0
			}
			assert.Equal(t, []int{2, 2, lostWorkers}, []int{out.Workers.Asked, out.Workers.Started, out.Workers.Lost})
		})
	}
}

func TestAWorkerThatIsNotReadyInTimeIsGivenUpAndTheOthersRun(t *testing.T) {
	leaveNothing(t)
	r := newRun(Options{Plan: serve(t).plan(3, 200*time.Millisecond), Workers: 3}, "stopped at once")
	began := time.Now()
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.GreaterOrEqual(t, time.Since(began), readyLimit)
	assert.Less(t, time.Since(began), 4*readyLimit)
	assert.Contains(t, out.Reasons, fmt.Sprintf("worker 0 was not ready within %v", readyLimit))
	assert.Equal(t, 1, out.Workers.Lost)
	assert.Zero(t, out.Lost, "it was never told to begin")
	assert.Equal(t, "signal: killed", r.children[0].exit)
	for _, c := range r.children[1:] {
		assert.Positive(t, c.succeeded)
	}
}

func TestNoWorkerAtAllIsAnErrorThatSaysWhy(t *testing.T) {
	leaveNothing(t)
	rows := map[string]string{
		"no memory":   "no worker could be started: worker 0: no memory",
		"wrong magic": "no worker could be started: worker 0 sent garbage: not a worker of this version",
		"exit 7":      "no worker could be started",
	}
	for how, want := range rows {
		r := newRun(Options{Plan: serve(t).plan(2, time.Second), Workers: 2}, how, how)
		_, err := r.perform()
		require.ErrorIs(t, err, ErrNoWorkers)
		assert.EqualError(t, err, want)
	}
	_, err := Run(Options{})
	require.ErrorIs(t, err, ErrNoWorkers, "none asked")
}

// Never more requests are lost than there were to make.
func TestAWorkerLostAtTheStartHasBegunNoMoreThanItsShare(t *testing.T) {
	leaveNothing(t)
	plan := serve(t).plan(10, 0)
	plan.Limited, plan.Requests = true, 5
	r := newRun(Options{Plan: plan, Workers: 2}, "half a frame")
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, uint64(3), out.Lost)
	assert.Equal(t, uint64(5), out.Tally.Begun)
}

func TestALargePlanWaitsForAWorkerThatDoesNotReadIt(t *testing.T) {
	leaveNothing(t)
	plan := largePlan(serve(t))
	r := newRun(Options{Plan: plan, Workers: 3}, "stopped at once", "ready unread")
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, 2, out.Workers.Lost)
	assert.Equal(t, finished, r.children[2].state)
	assert.Positive(t, r.children[2].succeeded)
	assert.Equal(t, "signal: killed", r.children[0].exit)
	assert.Equal(t, "signal: killed", r.children[1].exit)
}

// The signal of a control pipe's hang-up can come just before the call that it is
// to end: a worker that has not heard it is called again, and not lost.
func TestAWorkerThatMissedTheStopIsCalledAgain(t *testing.T) {
	leaveNothing(t)
	signals := make(chan os.Signal, 1)
	r := newRun(Options{
		Plan: serve(t).plan(2, time.Hour), Workers: 2, Signals: signals,
		Progress: once(func() { signals <- os.Interrupt }),
	}, "deaf until it is called again")
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Zero(t, out.Workers.Lost)
	assert.EqualValues(t, 3, r.children[0].final.Unfinished.Sum())
}

// A signal while workers are being prepared ends those that are ready and
// those that never will be.
func TestASignalBeforeTheReleaseEndsAllWorkersAtOnce(t *testing.T) {
	leaveNothing(t)
	s := serve(t)
	signals := make(chan os.Signal, 1)
	r := newRun(Options{Plan: s.plan(2, time.Hour), Workers: 2, Signals: signals}, "stopped at once")
	go func() {
		waitForWorkers(1)
		signals <- syscall.SIGTERM
	}()
	_, err := r.perform()
	var interrupted *Interrupted
	require.ErrorAs(t, err, &interrupted)
	assert.Equal(t, syscall.SIGTERM, interrupted.Signal)
	assert.EqualError(t, err, "stopped by terminated before the start; nothing was sent")
	assert.Empty(t, s.arrived)
}
