package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Connections: when one may be used again, and what it means when it ends.

func TestServerClosesKeptConnectionsWithoutSayingSo(t *testing.T) {
	t.Parallel()
	s := serve(t, 30, func(c *conn) {
		for range 3 {
			if !c.request() || !c.take() || !c.answer(ok5) {
				return
			}
		}
	})
	o := run(t, "-c", "1", "-t", "2", "--keepalive", "--json", s.url())
	o.onTime(2 * time.Second)
	o.counts(30, 0, 1)
	assert.EqualValues(t, 30*len(ok5), o.Bytes.Read)
	assert.Equal(t, 10, s.carried())
	assert.GreaterOrEqual(t, o.Connections.Opened, uint64(10))
	assert.Zero(t, o.code)
}

// The close meets the request on its way: sent again once on a new connection,
// counted once, its latency from the first attempt.
func TestRequestThatMetTheCloseOfAReusedConnectionIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"an orderly end", "a reset"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 12, func(c *conn) {
				for range 3 {
					if !c.request() || !c.take() || !c.answer(ok5) {
						return
					}
				}
				if c.request() {
					c.pause(40 * time.Millisecond)
					c.server.note("unanswered")
					if ending == "a reset" {
						c.reset()
					}
				}
			})
			o := run(t, "-c", "1", "-t", "2", "--keepalive", "--json", s.url())
			o.counts(12, 0, 1)
			assert.Equal(t, 4, s.noted("unanswered"))
			assert.EqualValues(t, 4, o.Connections.ResentRequests)
			assert.GreaterOrEqual(t, o.slowest(), 40*time.Millisecond, "latency counts from the first attempt")
		})
	}
}

// Whether a POST is sent again is a choice; that each is counted once is not.
func TestPostThatMetTheCloseOfAReusedConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, 12, func(c *conn) {
		for range 3 {
			if !c.request() || !c.take() || !c.answer(ok5) {
				return
			}
		}
		if c.request() {
			c.server.note("unanswered")
		}
	})
	o := run(t, "-c", "1", "-t", "2", "-k", "-m", "POST", "--data", "x", "--json", s.url()).json()
	assert.EqualValues(t, 12, o.Requests.Succeeded)
	assert.EqualValues(t, s.noted("unanswered"), o.Requests.Failed+o.Connections.ResentRequests)
	assert.Equal(t, o.Requests.Failed, o.classes()["stale_conn"])
}

func TestRequestIsSentAgainOnlyOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		if c.request() && c.server.first() {
			c.answer(ok5)
			c.request()
		}
	})
	o := run(t, "-c", "1", "-n", "4", "-t", "5", "--keepalive", "--json", s.url())
	o.counts(1, 3, 0)
	assert.EqualValues(t, 1, o.Connections.ResentRequests)
	assert.GreaterOrEqual(t, o.classes()["empty_reply"], uint64(2), "on a fresh connection it is the server's failure")
}

func TestCloseOfAFreshConnectionIsAFailure(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"--keepalive", "--http11"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 10, func(c *conn) {
				if c.request() {
					c.take()
				}
			})
			o := run(t, "-c", "1", "-t", "1", mode, "--json", s.url())
			o.counts(0, 10, 1)
			assert.Equal(t, map[string]uint64{"empty_reply": 10}, o.classes())
			assert.Zero(t, o.Connections.ResentRequests)
		})
	}
}

func TestReuseFollowsVersionAndConnectionHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		connections  int
	}{
		{"1.1 without a word", ok5, 1},
		{"1.1 that announces the close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", 12},
		{"1.1 that announces it in a list", "HTTP/1.1 200 OK\r\nConnection: foo, CLOSE\r\nContent-Length: 5\r\n\r\nhello", 12},
		{"1.0 with a length", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 12},
		{"1.0 that keeps it", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 12, keepOpen(c.answer))
			o := run(t, "-c", "1", "-t", "1", "--keepalive", "--json", s.url())
			o.counts(12, 0, 1)
			assert.Equal(t, c.connections, s.carried())
			seen := s.seen()
			require.NotEmpty(t, seen)
			assert.Less(t, seen[len(seen)-1].at.Sub(seen[0].at), 500*time.Millisecond, "waited for the server's close")
			for _, r := range seen {
				if c.connections > 1 {
					assert.Zero(t, r.nth, "a second request after the close was agreed")
				}
			}
		})
	}
}

func TestResetsInTheMiddleOfTheRun(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		if !c.request() {
			return
		}
		if c.nthInAll()%10 == 9 {
			c.reset()
			c.server.note("reset")
			return
		}
		c.pause(time.Millisecond)
		c.answer(ok5)
	})
	o := run(t, "-c", "2", "-t", "3", "--json", s.url())
	o.onTime(3 * time.Second)
	assert.InDelta(t, s.noted("reset"), o.json().Requests.Failed, 2)
	assert.InDelta(t, s.complete(), o.Requests.Succeeded, 2)
	assert.Positive(t, s.noted("reset"))
	assert.Equal(t, map[string]uint64{"reset_wait": o.Requests.Failed}, o.classes())
	assert.Zero(t, o.code)
}

// A refused connection returns at once: retried without a pause, it would make
// millions of failures and burn the host.
func TestServerRestartsInTheMiddleOfTheRun(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		if c.request() {
			c.pause(time.Millisecond)
			c.answer(ok5)
		}
	})
	p := launch{}.start(t, "-c", "2", "-t", "6", "--json", s.url())
	s.await(t, 1)
	first := s.firstRequest(t).at
	time.Sleep(time.Until(first.Add(2 * time.Second)))
	s.refuse()
	time.Sleep(time.Until(first.Add(4 * time.Second)))
	require.NoError(t, s.reopen())
	o := p.wait()
	o.onTime(6 * time.Second)

	refused := o.json().classes()["refused"]
	assert.Greater(t, refused, uint64(4))
	assert.Less(t, refused, uint64(2*2*1000), "refused attempts are paced")
	for _, f := range o.Failures {
		if f.Class == "refused" {
			assert.Equal(t, "connecting", f.Phase)
			assert.GreaterOrEqual(t, f.FirstAtNS, (1500 * time.Millisecond).Nanoseconds())
			assert.LessOrEqual(t, f.LastAtNS, (4500*time.Millisecond + slack).Nanoseconds())
		}
	}
	for _, w := range o.Workers.List {
		assert.Less(t, w.CPUNS, (4 * time.Second).Nanoseconds(), "a worker spins")
	}
	var after uint64
	for _, second := range o.Series {
		if second.AtNS >= (4500 * time.Millisecond).Nanoseconds() {
			after += second.Succeeded
		}
	}
	assert.Positive(t, after, "no success after the restart")
	assert.Zero(t, o.code)
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, silent)
	s.refuse()
	o := run(t, "-c", "2", "-t", "3", s.url())
	assert.Equal(t, 1, o.code)
	assert.Less(t, o.wall, slack, "one look is enough")
	assert.Contains(t, o.everything(), "refused")
	assert.NotRegexp(t, speedLine, o.stdout, "nothing was measured")
}

// Some servers drop the finished answer when the client has closed its side.
func TestNoHalfCloseBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, 20, func(c *conn) {
		if !c.request() || !c.take() {
			return
		}
		if c.watch(50*time.Millisecond) == closed {
			c.server.note("half-closed")
			return
		}
		c.answer(ok5)
	})
	o := run(t, "-c", "2", "-t", "2", "--json", s.url())
	o.counts(20, 0, 2)
	assert.EqualValues(t, 860, o.Bytes.Read)
	assert.Zero(t, s.noted("half-closed"))
}

// bodyFile makes a request body of n bytes.
func bodyFile(t *testing.T, n int64) string {
	name := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(name, nil, 0o644))
	require.NoError(t, os.Truncate(name, n))
	return name
}

func TestAnswerThatComesWhileTheBodyIsStillGoingOut(t *testing.T) {
	t.Parallel()
	const early = "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	for _, ending := range []string{"then the server drains", "then the server closes with data unread"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 10, func(c *conn) {
				if !c.head() || !c.take() {
					return
				}
				c.answer(early)
				if ending == "then the server drains" {
					c.fin()
					_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
					c.hold()
				}
			})
			o := run(t, "-c", "1", "-t", "3", "-m", "POST", "--body-file", bodyFile(t, 8<<20), "--json", s.url())
			o.onTime(3 * time.Second)
			o.counts(0, 10, 1)
			assert.EqualValues(t, 10, o.StatusClass["4xx"])
			assert.Equal(t, map[string]uint64{"http_4xx": 10}, o.classes())
			assert.EqualValues(t, 10*len(early), o.Bytes.Read)
			assert.Zero(t, o.Workers.Lost, "a worker died of SIGPIPE")
		})
	}
}

func TestLargeBodyArrivesWhole(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-c", "2", "-n", "6", "-k", "-m", "POST", "--body-file", bodyFile(t, 8<<20), "--json", s.url())
	o.counts(6, 0, 0)
	for _, r := range s.seen() {
		assert.Equal(t, 8<<20, r.body)
	}
	assert.Greater(t, o.Bytes.Written, uint64(6*8<<20))
}
