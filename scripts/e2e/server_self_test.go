package e2e

import (
	"bufio"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The scripted servers decide what is right for all other tests, so they are
// tested themselves, by a plain client.

func dial(t *testing.T, s *server) *net.TCPConn {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	require.NoError(t, nc.SetDeadline(time.Now().Add(10*time.Second)))
	return nc.(*net.TCPConn)
}

func ask(t *testing.T, w io.Writer) {
	t.Helper()
	_, err := io.WriteString(w, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
}

func take(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(r, got)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}

func TestScriptedServerAnswersExactlyItsBudget(t *testing.T) {
	t.Parallel()
	s := serve(t, 3, keepOpen(ok5))
	nc := dial(t, s)
	for range 3 {
		ask(t, nc)
		take(t, nc, ok5)
	}
	ask(t, nc)
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := nc.Read(make([]byte, 1))
	assert.ErrorContains(t, err, "timeout", "the fourth is never answered")

	s.await(t, 4)
	assert.Equal(t, 3, s.complete())
	assert.Equal(t, 1, s.carried())
	assert.Equal(t, 1, s.connected())
	seen := s.seen()
	assert.Equal(t, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", seen[3].head)
	assert.Equal(t, 3, seen[3].nth)
	assert.False(t, seen[3].answered)
}

func TestScriptedServerSendsPiecesApart(t *testing.T) {
	t.Parallel()
	s := serve(t, 1, keepOpen("one", "two"))
	nc := dial(t, s)
	begin := time.Now()
	ask(t, nc)
	take(t, nc, "one")
	take(t, nc, "two")
	assert.GreaterOrEqual(t, time.Since(begin), pieceGap)
}

func TestScriptedServerEndsConnectionsAsScripted(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		if c.request() && c.nthInAll() == 0 {
			c.answer(ok5)
			c.reset()
			return
		}
		c.answer(ok5)
		c.fin()
		if c.watch(5*time.Second) == closed {
			c.server.note("closed")
		}
	})
	reset := dial(t, s)
	ask(t, reset)
	rest, err := io.ReadAll(reset)
	assert.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Equal(t, ok5, string(rest), "what was sent before a reset still arrives")

	orderly := dial(t, s)
	ask(t, orderly)
	rest, err = io.ReadAll(orderly)
	require.NoError(t, err)
	assert.Equal(t, ok5, string(rest))
	require.NoError(t, orderly.CloseWrite())
	assert.Eventually(t, func() bool { return s.noted("closed") == 1 }, 5*time.Second, time.Millisecond)
}

func TestScriptedServerWatchesTheClient(t *testing.T) {
	t.Parallel()
	saw := make(chan string, 2)
	s := serve(t, unlimited, func(c *conn) {
		c.request()
		saw <- c.watch(10 * time.Millisecond)
		c.answer(ok5)
		saw <- c.watch(5 * time.Second)
		c.request()
		c.answer(ok5)
	})
	nc := dial(t, s)
	ask(t, nc)
	assert.Equal(t, quiet, <-saw)
	take(t, nc, ok5)
	ask(t, nc)
	assert.Equal(t, talks, <-saw)
	take(t, nc, ok5)
	assert.Equal(t, 1, s.seen()[1].nth, "nothing is lost by watching")
}

func TestScriptedServerRefusesAndListensAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	s.refuse()
	_, err := net.Dial("tcp", s.addr)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, s.reopen())
	nc := dial(t, s)
	ask(t, nc)
	take(t, bufio.NewReader(nc), ok5)
}

func TestScriptedServerReadsAnnouncedBodies(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	nc := dial(t, s)
	_, err := io.WriteString(nc, "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody")
	require.NoError(t, err)
	take(t, nc, ok5)
	ask(t, nc)
	take(t, nc, ok5)
	seen := s.seen()
	assert.Equal(t, 4, seen[0].body)
	assert.Zero(t, seen[1].body)
}

func TestScriptedBacklogTakesNoConnection(t *testing.T) {
	t.Parallel()
	_, err := net.DialTimeout("tcp", fullBacklog(t), 300*time.Millisecond)
	assert.ErrorContains(t, err, "timeout")
}
