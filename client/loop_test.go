package client

import (
	"math"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client/http1"
	"horde/stats"
)

// idle is a loop that never waits, and notes which clients it wakes.
func idle(clients int) (l *loop, woken *[]uint32) {
	l = &loop{clients: make([]client, clients), tick: second, end: math.MaxInt64}
	l.alarms = make(alarms, clients)
	woken = new([]uint32)
	for i := range l.clients {
		c := &l.clients[i]
		c.loop, c.slot, c.fd, c.served, c.tally = l, uint32(i), -1, -1, &l.tally
		l.alarms[i], c.place, c.alarm, c.until = c, i, never, never
		c.resume = func() (struct{}, bool) {
			*woken = append(*woken, c.slot)
			return struct{}{}, true
		}
	}
	return l, woken
}

// A socket number that was closed and given out again in the same batch of
// events must not be taken for the old one.
func TestEventsOfAnEarlierConnectionAreDropped(t *testing.T) {
	l, woken := idle(2)
	c := &l.clients[1]
	c.fd, c.generation, c.want = 7, 2, readable

	l.deliver(c, 1, readable|hangup)
	assert.Empty(t, *woken)
	assert.Zero(t, c.ready)
	assert.False(t, c.hungUp)

	l.deliver(c, 2, readable)
	assert.Equal(t, []uint32{1}, *woken)

	c.fd, c.ready = -1, 0
	l.deliver(c, 2, readable)
	assert.Len(t, *woken, 1, "no connection, no event")
	assert.Zero(t, c.ready)
}

func TestAnEventNobodyWaitsForIsKept(t *testing.T) {
	l, woken := idle(1)
	c := &l.clients[0]
	c.fd, c.generation, c.want = 7, 1, readable
	l.deliver(c, 1, writable)
	assert.Empty(t, *woken)
	assert.EqualValues(t, writable, c.ready)

	c.inTurns = true
	l.deliver(c, 1, readable)
	assert.Empty(t, *woken, "it is woken in its turn")
	assert.EqualValues(t, readable|writable, c.ready)
}

func TestTwoSocketsOfOneNumberTellTheirGeneration(t *testing.T) {
	s := serve(t, func(p *peer) { p.say("x"); p.hold() })
	p, err := openPoller()
	require.NoError(t, err)
	defer p.close()
	a := newAddress(rawAddress(s.address()))
	first, errno := dial(&a, nil, nonBlocking)
	require.Zero(t, errno)
	require.Zero(t, p.add(first, readable, 3, 1))
	require.Len(t, await(p), 1)
	closeSocket(first)
	next, errno := dial(&a, nil, nonBlocking)
	require.Zero(t, errno)
	defer closeSocket(next)
	require.Equal(t, first, next)
	require.Zero(t, p.add(next, readable, 3, 2), "closing it took the first one out")
	events := await(p)
	require.Len(t, events, 1)
	assert.EqualValues(t, 3, events[0].Fd)
	assert.EqualValues(t, 2, events[0].Pad)
	require.NotZero(t, p.add(next, readable, 3, 3), "once is enough")
	require.Zero(t, p.change(next, writable, 3, 2))
	assert.NotZero(t, await(p)[0].Events&writable)
}

func TestALoopThatIsOverDoesNotWait(t *testing.T) {
	l, _ := idle(1)
	l.started = 1
	assert.Equal(t, 1000, l.patience(), "to the end of the second")
	l.alarms[0].alarm = 1_500_001
	assert.Equal(t, 2, l.patience(), "never too short: the clock decides")
	l.now = 5e6
	assert.Zero(t, l.patience())
	l.now, l.turns = 0, []*client{&l.clients[0]}
	assert.Zero(t, l.patience())
	l.turns, l.stopped = nil, true
	assert.Zero(t, l.patience())
}

func TestALimitThatHasPassedComesBeforeAllElse(t *testing.T) {
	for _, row := range []struct {
		name       string
		until, now int64
		stopped    bool
		want       uint32
		outcome    wake
		overslept  uint64
	}{
		{"nothing yet", 20, 10, false, readable, waiting, 0},
		{"ready", 20, 10, false, readable | writable, ready, 0},
		{"late", 20, 20, false, readable, late, 0},
		{"ready, but late", 20, 30, false, writable, late, 1},
		{"ready, late and the run over", 20, 200, false, writable, late, 1},
		{"ready, and the run over before its limit", 150, 200, false, writable, ended, 0},
		{"stopped before its limit", 20, 10, true, writable, ended, 0},
		{"stopped after its limit", 20, 30, true, writable, late, 1},
		{"a pause is over", 20, 20, false, 0, late, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, _ := idle(1)
			c := &l.clients[0]
			l.now, l.end, l.stopped = row.now, 100, row.stopped
			c.until, c.want, c.ready = row.until, row.want, writable
			assert.Equal(t, row.outcome, c.outcome())
			assert.Equal(t, row.overslept, l.tally.Overslept)
		})
	}
}

func TestAlarmsRingInTimeAndOnce(t *testing.T) {
	l, woken := idle(3)
	early, moved, none := &l.clients[0], &l.clients[1], &l.clients[2]
	early.alarm, early.until = 10, 10
	moved.alarm, moved.until = 10, 30 // it waits for something later by now
	l.alarms.fix()
	l.now = 20
	l.ring()
	assert.Equal(t, []uint32{0}, *woken)
	assert.EqualValues(t, 30, moved.alarm)
	assert.EqualValues(t, never, none.alarm)
	l.ring()
	assert.Len(t, *woken, 1)
	l.now = 30
	l.ring()
	assert.Equal(t, []uint32{0, 1}, *woken)
}

func TestAlarmsHaveAFixedNumber(t *testing.T) {
	var a alarms
	assert.Panics(t, func() { a.Push(nil) })
	assert.Panics(t, func() { a.Pop() })
}

func TestStatusSet(t *testing.T) {
	var s StatusSet
	s.Add(200, 299)
	s.Add(304, 304)
	s.Add(0, 0)
	s.Add(1023, 1023)
	for status, want := range map[int]bool{
		-1: false, 0: true, 1: false, 199: false, 200: true, 255: true, 256: true, 299: true, 300: false,
		303: false, 304: true, 305: false, 1022: false, 1023: true, 1024: false, 1 << 20: false,
	} {
		assert.Equal(t, want, s.Has(status), "%d", status)
	}
}

func TestClock(t *testing.T) {
	c := NewClock(Monotonic() + 1e9)
	now := c.Now()
	assert.Negative(t, now)
	assert.GreaterOrEqual(t, now, int64(-1e9))
	assert.GreaterOrEqual(t, c.Now(), now)
	assert.GreaterOrEqual(t, NewClock(Monotonic()).Now(), int64(0))
}

// A worker's shape decides how it looks at the clock; all go by the same.
func TestBothLooksAtTheClockAgree(t *testing.T) {
	c := NewClock(Monotonic())
	for range 1000 {
		before, now, after := c.Ask(), c.Now(), c.Ask()
		assert.LessOrEqual(t, before-10e3, now)
		assert.LessOrEqual(t, now, after)
	}
}

// talkative is a client whose socket has n bytes of a body to read already.
func talkative(t *testing.T, n int) *client {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		syscall.Close(fds[0])
		syscall.Close(fds[1])
	})
	sent, errno := send(fds[1], make([]byte, n))
	require.Zero(t, errno)
	require.Equal(t, n, sent)
	l, _ := idle(1)
	l.buf = make([]byte, 1<<10)
	c := &l.clients[0]
	c.fd, c.ready = fds[0], readable
	c.answer.Reset(http1.Answer09)
	return c
}

func TestNobodyReadsMoreThanTheirShareAtOnce(t *testing.T) {
	c := talkative(t, 100<<10)
	assert.Equal(t, pending, c.read())
	assert.EqualValues(t, fullReads<<10, c.tally.BytesRead)
	assert.EqualValues(t, readable, c.ready, "there is more")
}

func TestAShortReadHasEmptiedTheSocket(t *testing.T) {
	c := talkative(t, 100)
	assert.Equal(t, pending, c.read())
	assert.EqualValues(t, 100, c.tally.BytesRead)
	assert.Zero(t, c.ready)

	c = talkative(t, 1<<10)
	assert.Equal(t, pending, c.read())
	assert.Zero(t, c.ready, "a full read may have emptied it too")
}

func TestAConnectionThatHungUpIsNotKept(t *testing.T) {
	for hungUp, kept := range map[bool]bool{false: true, true: false} {
		c := talkative(t, 1)
		fd, err := syscall.Dup(c.fd)
		require.NoError(t, err)
		c.fd, c.hungUp, c.loop.plan.Reuse, c.entry = fd, hungUp, true, &Entry{}
		assert.Equal(t, done, c.complete(true))
		assert.Equal(t, kept, c.fd >= 0)
		assert.Equal(t, kept, c.served < 0)
		c.drop()
		assert.Negative(t, c.served)
	}
}

func TestAPollerThatCannotWatch(t *testing.T) {
	l, _ := idle(2)
	l.poller = &poller{fd: -1}
	c := &l.clients[0]
	c.fd, c.want = 0, readable
	assert.Equal(t, unwatched, l.waitPacked(c))
	l.stopped = true
	assert.Equal(t, ended, l.waitPacked(c))
}

func TestAControlThatCannotBeWatchedIsAnError(t *testing.T) {
	plan := planOf(closedPort(t), 2, 1)
	_, err := runLocked(&plan, NewClock(Monotonic()), -1, func(int, *stats.Tally) error { return nil })
	assert.ErrorIs(t, err, syscall.EBADF)
}
