package client

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

// shapes are the two ways a loop runs: one client blocks, several take turns.
var shapes = []struct {
	name    string
	clients int
}{
	{"one client alone", 1},
	{"four clients in one loop", 4},
}

// bothShapes runs f once for each shape.
func bothShapes(t *testing.T, f func(t *testing.T, clients int)) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) { f(t, shape.clients) })
	}
}

const get = "GET / HTTP/1.1\r\nHost: test\r\n\r\n"

// post is a request with a body of size bytes.
func post(size int) []byte {
	head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n", size)
	return []byte(head + strings.Repeat("x", size))
}

// planOf is a plan of n requests with limits that no test reaches by chance.
func planOf(address netip.AddrPort, clients int, n uint64) Plan {
	p := Plan{
		Address: rawAddress(address), Entries: []Entry{{Request: []byte(get), Resend: true}},
		Clients: clients, Limited: n > 0, Requests: n,
		Timeout: time.Minute, ConnectTimeout: time.Minute,
	}
	p.Expect.Add(200, 399)
	return p
}

// control is a worker's control pipe: write and hang up at the one end, wait
// at the other.
type control struct {
	read, write int
	once        sync.Once
}

func openControl(t testing.TB) *control {
	t.Helper()
	var fds [2]int
	require.NoError(t, syscall.Pipe2(fds[:], syscall.O_CLOEXEC))
	c := &control{read: fds[0], write: fds[1]}
	t.Cleanup(func() {
		syscall.Close(c.read)
		c.hangUp()
	})
	return c
}

func (c *control) hangUp() { c.once.Do(func() { syscall.Close(c.write) }) }

// outcome is what Run said of a run.
type outcome struct {
	stats.Tally // the sum of all reports of the window
	warmup      stats.Tally
	warmingUp   uint64
	unfinished  stats.Unfinished
	end         time.Duration
	reports     []report
	err         error
}

type report struct {
	second                   int
	begun, succeeded, failed uint64
}

// patience is how long a run may take before it is stopped and its test fails.
const patience = time.Minute

// runLocked is Run as a worker calls it.
func runLocked(plan *Plan, clock Clock, control int, report func(int, *stats.Tally) error) (Ending, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return Run(plan, nil, clock, control, report)
}

// drive runs a plan to its end and checks its books.
func drive(t testing.TB, plan Plan) *outcome {
	t.Helper()
	return driveUntil(t, plan, openControl(t), nil)
}

// driveUntil is drive with a control pipe and a hook at every report.
func driveUntil(t testing.TB, plan Plan, c *control, hook func(second int, o *outcome) error) *outcome {
	t.Helper()
	o := &outcome{}
	var over, stopped atomic.Bool
	watchdog := time.AfterFunc(patience, func() {
		stopped.Store(true)
		c.hangUp()
	})
	defer watchdog.Stop()
	count := func(second int, tally *stats.Tally) error {
		assert.False(t, over.Load(), "a report after the end")
		if second < 0 {
			o.warmup.Add(tally)
			return nil
		}
		o.Add(tally)
		o.reports = append(o.reports, report{second, tally.Begun, tally.Succeeded, tally.Failed})
		if hook != nil {
			return hook(second, o)
		}
		return nil
	}
	var end Ending
	end, o.err = runLocked(&plan, NewClock(Monotonic()+int64(plan.Warmup)), c.read, count)
	end.Close()
	o.unfinished, o.warmingUp = end.Unfinished, end.WarmingUp
	over.Store(true)
	o.end = time.Duration(end.At)
	require.False(t, stopped.Load(), "the run did not end by itself: begun %d, unfinished %v, %v", o.Begun, o.unfinished, o.endings())
	if o.err == nil {
		o.balance(t, &plan)
	}
	return o
}

// balance checks what holds after every run.
func (o *outcome) balance(t testing.TB, plan *Plan) {
	t.Helper()
	assert.Equal(t, o.Begun, o.Succeeded+o.Failed+o.unfinished.Sum(), "begun = succeeded + failed + unfinished")
	assert.Equal(t, o.warmup.Begun, o.warmup.Succeeded+o.warmup.Failed+o.warmingUp, "and so in the warm-up")
	if plan.Pace.Open() {
		assert.Equal(t, o.Begun, o.SendLag.Count(), "one lag for each begin")
		assert.Equal(t, o.Succeeded, o.Service.Count(), "one time since its begin for each success")
	}
	assert.Zero(t, o.unfinished.Count[stats.Idle], "an idle client has nothing unfinished")
	assert.Equal(t, o.Succeeded, o.Total.Count(), "one latency for each success")
	assert.Equal(t, o.Opened, o.Connect.Count(), "one connect time for each connection")
	var failures, noConn uint64
	for _, f := range o.Failures {
		failures += f.Count
		if f.Phase == stats.Connecting {
			noConn += f.Count
		}
		assert.LessOrEqual(t, f.FirstAt, f.LastAt)
		assert.LessOrEqual(t, f.LastAt, int64(o.end))
		assert.True(t, f.Class.Valid(), "%+v", f)
	}
	assert.Equal(t, o.Failed, failures, "each failure in one class")
	assert.Equal(t, o.NoConn, noConn, "each connection that was not made is a failure while connecting")
	for i := 1; i < len(o.reports); i++ {
		assert.Less(t, o.reports[i-1].second, o.reports[i].second, "each second once, in order")
	}
	if plan.ByEntry {
		var succeeded, failed uint64
		for _, e := range o.Entries.All() {
			succeeded += e.Succeeded
			failed += e.Failed
			assert.Equal(t, e.Succeeded, e.Total.Count())
		}
		assert.Equal(t, [2]uint64{o.Succeeded, o.Failed}, [2]uint64{succeeded, failed}, "each request belongs to an entry")
	}
	if plan.Limited {
		assert.LessOrEqual(t, o.Begun, plan.Requests)
	}
	if plan.Duration > 0 {
		assert.LessOrEqual(t, o.end, plan.Duration)
	}
}

// ending is how a request failed.
type ending struct {
	class stats.Class
	phase stats.Phase
	errno syscall.Errno
}

func (o *outcome) endings() map[ending]uint64 {
	m := map[ending]uint64{}
	for _, f := range o.Failures {
		m[ending{f.Class, f.Phase, syscall.Errno(f.Errno)}] += f.Count
	}
	return m
}

func (o *outcome) statuses() map[int]uint64 {
	m := map[int]uint64{}
	for _, s := range o.Statuses {
		m[s.Status] += s.Count
	}
	return m
}
