package client

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

// pair gives a client of l a connection, and returns the peer's end of it.
func pair(t *testing.T, l *loop, slot int) (peer int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		syscall.Close(fds[0])
		syscall.Close(fds[1])
	})
	c := &l.clients[slot]
	c.fd, c.generation, c.want = fds[0], 1, readable
	return fds[1]
}

func say(t *testing.T, fd int) {
	t.Helper()
	_, errno := send(fd, []byte("x"))
	require.Zero(t, errno)
}

// asking is a loop of n clients that are all polled.
func asking(t *testing.T, n int) (l *loop, woken *[]uint32, peers []int) {
	l, woken = idle(n)
	l.buf = make([]byte, 1<<10)
	l.coalesce.way = polling
	p, err := openPoller()
	require.NoError(t, err)
	t.Cleanup(p.close)
	l.poller = p
	for i := range n {
		peers = append(peers, pair(t, l, i))
		l.polled = append(l.polled, parked{&l.clients[i], 1})
	}
	return l, woken, peers
}

func TestPollingWakesThoseWhoHaveAnAnswer(t *testing.T) {
	l, woken, peers := asking(t, 4)
	say(t, peers[1])
	syscall.Close(peers[2]) // its end is an answer too
	l.askPolled()
	assert.Equal(t, []uint32{1, 2}, *woken)
	assert.Equal(t, []parked{{&l.clients[0], 1}, {&l.clients[3], 1}}, l.polled, "the others are asked again")
	n, errno := l.clients[1].recv()
	assert.Zero(t, errno)
	assert.Equal(t, 1, n)
}

func TestPollingAsksNobodyWhoWaitsNoMore(t *testing.T) {
	for name, change := range map[string]func(l *loop, c *client){
		"it has another connection":   func(_ *loop, c *client) { c.generation++ },
		"it has no connection":        func(_ *loop, c *client) { c.fd = -1 },
		"it waits for something else": func(_ *loop, c *client) { c.want = 0 },
		"it has its turn anyway":      func(l *loop, c *client) { l.turn(c) },
	} {
		t.Run(name, func(t *testing.T) {
			l, woken, peers := asking(t, 1)
			say(t, peers[0])
			change(l, &l.clients[0])
			l.askPolled()
			assert.Empty(t, *woken)
			assert.Empty(t, l.polled)
		})
	}
}

// What came before a connection is watched again must not be missed, and what
// comes after it is polled must not wake its client twice.
func TestAnAnswerIsFoundWheneverTheWayChanges(t *testing.T) {
	l, woken, peers := asking(t, 2)
	say(t, peers[0])
	l.watchPolled()
	say(t, peers[1])
	assert.Empty(t, l.polled)
	require.Len(t, await(l.poller), 2, "both answers are told of")

	l.unwatchAll()
	assert.Len(t, l.polled, 2)
	assert.Empty(t, l.poller.wait(0), "nothing is told any more")
	l.askPolled()
	assert.Equal(t, []uint32{0, 1}, *woken)
}

func TestAPolledConnectionThatCannotBeWatchedIsAskedOnceMore(t *testing.T) {
	l, _, _ := asking(t, 1)
	l.poller = &poller{fd: -1}
	l.watchPolled()
	assert.Equal(t, []*client{&l.clients[0]}, l.turns)
	assert.EqualValues(t, readable, l.clients[0].ready)
}

func TestOnlyRequestsThatMayBeSentAgainArePolledFor(t *testing.T) {
	l, _ := idle(1)
	l.plan.Entries = []Entry{{Resend: true}, {Resend: true}}
	assert.True(t, l.mayPoll())
	l.plan.Entries[1].Resend = false
	assert.False(t, l.mayPoll())
	l, _ = idle(mostPolled + 1)
	assert.False(t, l.mayPoll(), "too many to ask in turn")
}

// The target answers late enough for a moment to be worth while, and some
// requests never: so all ways of waiting are tried, and time-outs meet each.
func TestTheBooksBalanceWhileTheWayToAnswersChanges(t *testing.T) {
	s := serve(t, func(p *peer) {
		for n := 0; p.request() != ""; n++ {
			if p.nth%8 == 7 && n == 40 {
				p.hold()
				return
			}
			time.Sleep(time.Millisecond) // the latency of a target, not a synchronisation
			p.say(hello)
		}
	})
	plan := planOf(s.address(), 64, 0)
	plan.Reuse, plan.Coalesce = true, true
	plan.Duration, plan.Timeout = 1500*time.Millisecond, 200*time.Millisecond
	o := drive(t, plan)
	assert.Positive(t, o.Succeeded)
	assert.Equal(t, o.Failed, o.endings()[ending{stats.TimeoutTTFB, stats.Waiting, 0}])
	assert.Positive(t, o.Failed)
	arrived := uint64(s.requests.Load())
	assert.LessOrEqual(t, arrived, o.Begun, "none was sent twice")
	assert.LessOrEqual(t, o.Begun-arrived, uint64(plan.Clients), "all arrived but those that the end found on their way")
}
