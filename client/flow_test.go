package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

// waiter is a client of a loop of its own that waits for the answer to its first
// request, and the peer's end of its connection.
func waiter(t *testing.T) (c *client, woken *[]uint32, peer int) {
	l, woken := idle(1)
	l.plan = planOf(closedPort(t), 1, 0)
	l.plan.Reuse, l.walk = true, newWalk(&l.plan)
	l.buf, l.clock = make([]byte, 1<<10), NewClock(Monotonic())
	l.flows = l.mayFlow()
	p, err := openPoller()
	require.NoError(t, err)
	t.Cleanup(p.close)
	l.poller = p
	peer = pair(t, l, 0)
	c = &l.clients[0]
	require.True(t, l.flows && c.claim())
	c.ask()
	c.sent, c.phase, c.until, c.waited, c.answering = len(c.entry.Request), stats.Waiting, c.deadline(), true, true
	return c, woken, peer
}

// answer has the peer send something, and the loop see it.
func answer(t *testing.T, c *client, peer int, text string) {
	_, errno := send(peer, []byte(text))
	require.Zero(t, errno)
	c.loop.deliver(c, c.generation, readable)
}

func heardBy(t *testing.T, peer int) string {
	b := make([]byte, 1<<10)
	n, errno := recv(peer, b)
	require.Zero(t, errno)
	return string(b[:n])
}

func TestTheNextRequestGoesOutWithoutTheCoroutine(t *testing.T) {
	c, woken, peer := waiter(t)
	for range 3 {
		answer(t, c, peer, hello[:10])
		assert.EqualValues(t, readable, c.want, "it waits for the rest")
		answer(t, c, peer, hello[10:])
		assert.Equal(t, get, heardBy(t, peer))
	}
	assert.Empty(t, *woken)
	assert.Equal(t, stats.Waiting, c.phase)
	assert.EqualValues(t, 4, c.tally.Begun)
	assert.EqualValues(t, 3, c.tally.Succeeded)
	assert.EqualValues(t, 4, c.tally.Reused)
	assert.EqualValues(t, 3, c.succeeded)
}

func TestTheCoroutineGoesOnWhereThereIsMoreToDo(t *testing.T) {
	for _, row := range []struct {
		name      string
		prepare   func(t *testing.T, c *client)
		text      string
		flowed    bool
		result    step
		begun     uint64
		succeeded uint64
	}{
		{"the answer fails", nil, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true, failed, 1, 0},
		{"the connection ends with it", nil, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", true, done, 1, 0},
		{"it is no answer", nil, "nonsense\r\n\r\n", true, failed, 1, 0},
		{"the socket is full", func(t *testing.T, c *client) {
			for b := make([]byte, 64<<10); ; {
				if _, errno := send(c.fd, b); errno != 0 {
					return
				}
			}
		}, hello, true, pending, 2, 1},
		{"no request is left", func(_ *testing.T, c *client) { c.loop.plan.Limited = true }, hello, true, over, 1, 1},
		{"the limit has passed", func(_ *testing.T, c *client) { c.until = c.loop.now }, hello, false, pending, 1, 0},
		{"the run is over", func(_ *testing.T, c *client) { c.loop.end = c.loop.now }, hello, false, pending, 1, 0},
		{"it waits for something else", func(_ *testing.T, c *client) { c.answering = false }, hello, false, pending, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, woken, peer := waiter(t)
			if row.prepare != nil {
				row.prepare(t, c)
			}
			answer(t, c, peer, row.text)
			assert.Equal(t, []uint32{0}, *woken)
			assert.Equal(t, row.flowed, c.flowed)
			assert.Equal(t, row.result, c.result)
			assert.Equal(t, row.begun, c.tally.Begun)
			assert.Equal(t, row.succeeded, c.tally.Succeeded)
			if row.result == pending {
				assert.Zero(t, c.why, "nothing has failed")
			}
			if c.served >= 0 {
				c.closeServed()
			}
		})
	}
}
