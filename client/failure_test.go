package client

import (
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"horde/client/http1"
	"horde/stats"
)

// A failureRow is one way in which every request to a target fails.
type failureRow struct {
	name   string
	script func(*peer)                     // nil = address
	where  func(testing.TB) netip.AddrPort // where no script can play
	adjust func(*Plan)
	want   ending
}

func shortTimeout(p *Plan) { p.Timeout = 100 * time.Millisecond }

var failureRows = []failureRow{
	{
		name: "nothing listens", where: closedPort,
		want: ending{stats.Refused, stats.Connecting, syscall.ECONNREFUSED},
	},
	{
		name: "the connect is never decided", where: fullQueue,
		adjust: func(p *Plan) { p.ConnectTimeout = 100 * time.Millisecond },
		want:   ending{stats.TimeoutConnect, stats.Connecting, 0},
	},
	{
		name: "the whole request is too late while it still connects", where: fullQueue, adjust: shortTimeout,
		want: ending{stats.TimeoutConnect, stats.Connecting, 0},
	},
	{
		name:   "a reset before an answer",
		script: func(p *peer) { p.request(); p.reset() },
		want:   ending{stats.ResetWait, stats.Waiting, syscall.ECONNRESET},
	},
	{
		name:   "a reset within the header",
		script: func(p *peer) { p.request(); p.say(hello[:20]); p.reset() },
		want:   ending{stats.ResetBody, stats.Receiving, syscall.ECONNRESET},
	},
	{
		name:   "a reset within the body",
		script: func(p *peer) { p.request(); p.say(hello[:len(hello)-1]); p.reset() },
		want:   ending{stats.ResetBody, stats.Receiving, syscall.ECONNRESET},
	},
	{
		name: "a reset where the end of the stream ends the body",
		script: func(p *peer) {
			p.request()
			p.say("HTTP/1.0 200 OK\r\n\r\nhello")
			p.reset()
		},
		want: ending{stats.ResetBody, stats.Receiving, syscall.ECONNRESET},
	},
	{
		name:   "an orderly end without an answer",
		script: func(p *peer) { p.request() },
		want:   ending{stats.EmptyReply, stats.Waiting, 0},
	},
	{
		name:   "a body shorter than announced",
		script: func(p *peer) { p.request(); p.say(hello[:len(hello)-1]) },
		want:   ending{stats.BodyShort, stats.Receiving, 0},
	},
	{
		name:   "a body shorter than announced on a connection to be kept",
		script: func(p *peer) { p.request(); p.say(hello[:len(hello)-1]) },
		adjust: func(p *Plan) { p.Reuse = true },
		want:   ending{stats.BodyShort, stats.Receiving, 0},
	},
	{
		name: "a chunked body without its last chunk",
		script: func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
		},
		want: ending{stats.BodyShort, stats.Receiving, 0},
	},
	{
		name:   "a header that is cut",
		script: func(p *peer) { p.request(); p.say("HTTP/1.1 200 OK\r\nContent-") },
		want:   ending{stats.ProtoBad, stats.Receiving, 0},
	},
	{
		name:   "an answer that is not HTTP",
		script: func(p *peer) { p.request(); p.say("220 mail.test ESMTP\r\n"); p.hold() },
		want:   ending{stats.ProtoBad, stats.Receiving, 0},
	},
	{
		name: "a header without an end",
		script: func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\n")
			for line := "X-Pad: " + strings.Repeat("p", 1000) + "\r\n"; ; {
				if _, err := p.Write([]byte(line)); err != nil {
					return
				}
			}
		},
		want: ending{stats.ProtoBad, stats.Receiving, 0},
	},
	{
		name:   "silence",
		script: func(p *peer) { p.request(); p.hold() }, adjust: shortTimeout,
		want: ending{stats.TimeoutTTFB, stats.Waiting, 0},
	},
	{
		name:   "silence within the answer",
		script: func(p *peer) { p.request(); p.say(hello[:20]); p.hold() }, adjust: shortTimeout,
		want: ending{stats.TimeoutBody, stats.Receiving, 0},
	},
	{
		name:   "a server that does not read",
		script: func(p *peer) { p.hold() },
		adjust: func(p *Plan) { shortTimeout(p); p.Entries[0].Request = post(16 << 20) },
		want:   ending{stats.TimeoutTotal, stats.Sending, 0},
	},
	{
		name: "an answer that begins while the request goes out, and stops",
		script: func(p *peer) {
			p.head()
			p.say(hello[:20])
			p.hold()
		},
		adjust: func(p *Plan) { shortTimeout(p); p.Entries[0].Request = post(16 << 20) },
		want:   ending{stats.TimeoutBody, stats.Receiving, 0},
	},
	{
		name: "an answer that begins before the request is whole, and stops after it",
		script: func(p *peer) {
			p.head()
			p.say(hello[:20])
			for {
				if _, err := p.in.Discard(1 << 10); err != nil {
					return
				}
			}
		},
		adjust: func(p *Plan) { p.Timeout = 500 * time.Millisecond; p.Entries[0].Request = post(8 << 20) },
		want:   ending{stats.TimeoutBody, stats.Receiving, 0},
	},
	{
		name:   "a reset while the request goes out",
		script: func(p *peer) { p.head(); p.reset() },
		adjust: func(p *Plan) { p.Entries[0].Request = post(16 << 20) },
		want:   ending{stats.ResetWait, stats.Sending, syscall.ECONNRESET},
	},
	{
		name: "switching protocols",
		script: func(p *peer) {
			p.request()
			p.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")
		},
		want: ending{stats.HTTP1xx, stats.Receiving, 0},
	},
	{
		name:   "a success that was not expected",
		script: answerAll, adjust: func(p *Plan) { p.Expect = StatusSet{}; p.Expect.Add(201, 201) },
		want: ending{stats.HTTP2xx, stats.Receiving, 0},
	},
	{
		name:   "a redirect that was not expected",
		script: answerStatus("302 Found"), adjust: func(p *Plan) { p.Expect = StatusSet{}; p.Expect.Add(200, 299) },
		want: ending{stats.HTTP3xx, stats.Receiving, 0},
	},
	{
		name: "not found", script: answerStatus("404 Not Found"),
		want: ending{stats.HTTP4xx, stats.Receiving, 0},
	},
	{
		name: "not found on a connection that is kept", script: answerStatus("404 Not Found"),
		adjust: func(p *Plan) { p.Reuse = true },
		want:   ending{stats.HTTP4xx, stats.Receiving, 0},
	},
	{
		name: "unavailable", script: answerStatus("503 Service Unavailable"),
		want: ending{stats.HTTP5xx, stats.Receiving, 0},
	},
	{
		name: "a status that no server may send", script: answerStatus("999 Odd"),
		want: ending{stats.HTTP5xx, stats.Receiving, 0},
	},
	{
		name: "a whole answer while the body goes out, then a connection drained",
		script: func(p *peer) {
			p.head()
			p.say("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = p.CloseWrite()
			_, _ = p.in.WriteTo(discard{})
		},
		adjust: func(p *Plan) { p.Entries[0].Request = post(8 << 20) },
		want:   ending{stats.HTTP4xx, stats.Receiving, 0},
	},
	{
		name: "a whole answer while the body goes out, then an end with data unread",
		script: func(p *peer) {
			p.head()
			p.say("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		},
		adjust: func(p *Plan) { p.Entries[0].Request = post(8 << 20) },
		want:   ending{stats.HTTP4xx, stats.Receiving, 0},
	},
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func answerStatus(status string) func(*peer) {
	return func(p *peer) {
		for p.request() != "" {
			p.say("HTTP/1.1 " + status + "\r\nContent-Length: 5\r\n\r\nhello")
		}
	}
}

func TestEachFailureLandsInItsClass(t *testing.T) {
	const requests = 8
	for _, row := range failureRows {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				plan := planOf(row.address(t), clients, requests)
				if row.adjust != nil {
					row.adjust(&plan)
				}
				o := drive(t, plan)
				assert.EqualValues(t, requests, o.Begun)
				assert.Zero(t, o.Succeeded)
				assert.Equal(t, map[ending]uint64{row.want: requests}, o.endings())
				assert.Zero(t, o.Resent)
			})
		})
	}
}

func (r *failureRow) address(t testing.TB) netip.AddrPort {
	if r.script == nil {
		return r.where(t)
	}
	return serve(t, r.script).address()
}

func TestAResetAtOnceIsNoSuccessEvenIfNoAnswerIsAwaited(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, func(p *peer) { p.head(); p.reset() })
		plan := planOf(s.address(), clients, 8)
		plan.Force, plan.Entries[0].Request = true, post(16<<20)
		o := drive(t, plan)
		for e, n := range o.endings() {
			assert.Equal(t, stats.ResetWait, e.class)
			assert.EqualValues(t, 8, n)
		}
		assert.Zero(t, o.Succeeded)
	})
}

// An unfit reused connection is stale; whether that is a failure depends on the
// method.
func TestAStaleConnectionFailsWhatMayNotBeSentTwice(t *testing.T) {
	ends := []struct {
		name string
		end  func(*peer)
		want ending
	}{
		{"closed", func(*peer) {}, ending{stats.StaleConn, stats.Waiting, 0}},
		{"reset", (*peer).reset, ending{stats.StaleConn, stats.Waiting, syscall.ECONNRESET}},
	}
	for _, row := range ends {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				s := serve(t, func(p *peer) {
					p.request()
					p.say(hello)
					p.request()
					row.end(p)
				})
				plan := planOf(s.address(), clients, 12)
				plan.Reuse, plan.Entries[0].Resend = true, false
				o := drive(t, plan)
				assert.Equal(t, o.Opened, o.Succeeded, "the first request on each connection")
				assert.Equal(t, o.Reused, o.Failed, "the second")
				assert.Equal(t, map[ending]uint64{row.want: o.Failed}, o.endings())
				assert.Zero(t, o.Resent)
				if clients == 1 {
					assert.EqualValues(t, 6, o.Failed)
				}
			})
		})
	}
}

func TestAStaleConnectionIsResentOnceWhereTheMethodAllows(t *testing.T) {
	for _, end := range []struct {
		name string
		end  func(*peer)
	}{{"closed", func(*peer) {}}, {"reset", (*peer).reset}} {
		t.Run(end.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				s := serve(t, func(p *peer) {
					p.request()
					p.say(hello)
					p.request()
					end.end(p)
				})
				plan := planOf(s.address(), clients, 12)
				plan.Reuse = true
				o := drive(t, plan)
				assert.EqualValues(t, 12, o.Succeeded)
				assert.Equal(t, o.Reused, o.Resent)
				assert.Equal(t, 12-uint64(clients), o.Resent)
				assert.EqualValues(t, 12, o.Opened)
				assert.EqualValues(t, 12+o.Resent, s.requests.Load())
				assert.Equal(t, (12+o.Resent)*uint64(len(get)), o.BytesWritten, "what was sent twice was written twice")
			})
		})
	}
}

// The cause of the stale connection must not be taken for that of the second
// try, which ends in an orderly way.
func TestTheSecondTryHasItsOwnCause(t *testing.T) {
	s := serve(t, func(p *peer) {
		p.request()
		if p.nth%2 == 1 {
			return
		}
		p.say(hello)
		p.request()
		p.reset()
	})
	plan := planOf(s.address(), 1, 12)
	plan.Reuse = true
	o := drive(t, plan)
	assert.EqualValues(t, 6, o.Succeeded)
	assert.EqualValues(t, 6, o.Resent)
	assert.Equal(t, map[ending]uint64{{stats.EmptyReply, stats.Waiting, 0}: 6}, o.endings())
}

func TestAnEmptyReplyOnAFreshConnectionIsNotResent(t *testing.T) {
	s := serve(t, func(p *peer) { p.request() })
	plan := planOf(s.address(), 1, 3)
	plan.Reuse = true
	o := drive(t, plan)
	assert.Zero(t, o.Resent)
	assert.EqualValues(t, 3, s.accepted.Load())
}

// A reset may come before connect has returned, before the request is sent, or
// after: it is one of two classes whenever it does.
func TestAResetAtOnceIsAResetWheneverItComes(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, func(p *peer) { p.reset() })
		o := drive(t, planOf(s.address(), clients, 3000))
		assert.EqualValues(t, 3000, o.Failed)
		for _, f := range o.Failures {
			assert.Contains(t, []stats.Class{stats.ResetConnect, stats.ResetWait}, f.Class)
		}
	})
}

// What no peer on loopback can bring about.
func TestClassOfAnErrnoOfAConnection(t *testing.T) {
	for errno, want := range map[syscall.Errno]stats.Class{
		syscall.ECONNREFUSED:  stats.Refused,
		syscall.ECONNRESET:    stats.ResetConnect,
		syscall.EPIPE:         stats.ResetConnect,
		syscall.ECONNABORTED:  stats.ResetConnect,
		syscall.ETIMEDOUT:     stats.KernelETimedout,
		syscall.EHOSTUNREACH:  stats.Unreachable,
		syscall.ENETUNREACH:   stats.Unreachable,
		syscall.EHOSTDOWN:     stats.Unreachable,
		syscall.ENETDOWN:      stats.Unreachable,
		syscall.EACCES:        stats.Unreachable,
		syscall.EPERM:         stats.Unreachable,
		syscall.EADDRNOTAVAIL: stats.LocalPorts,
		syscall.EADDRINUSE:    stats.LocalPorts,
		syscall.EMFILE:        stats.LocalFDs,
		syscall.ENFILE:        stats.LocalFDs,
		syscall.ENOBUFS:       stats.LocalMem,
		syscall.ENOMEM:        stats.LocalMem,
		syscall.EAFNOSUPPORT:  stats.Other,
	} {
		assert.Equal(t, want, connectClass(errno), "%v", errno)
	}
}

func TestAConnectionThatBreaksOtherwiseKeepsItsErrno(t *testing.T) {
	for _, reused := range []bool{false, true} {
		c := client{loop: &loop{}, fd: -1, served: -1, reused: reused}
		c.answer.Reset(http1.AnswerNormal)
		assert.Equal(t, failed, c.broken(syscall.ETIMEDOUT))
		assert.Equal(t, failure{stats.KernelETimedout, syscall.ETIMEDOUT}, c.why)
	}
}

func TestAKernelThatCannotWatchOneMoreSocketIsALocalLimit(t *testing.T) {
	c := client{loop: &loop{}, fd: -1, served: -1, phase: stats.Waiting}
	assert.Equal(t, failed, c.giveUp(unwatched))
	assert.Equal(t, failure{stats.LocalMem, syscall.ENOSPC}, c.why)
}

// The reset may come before the first byte is sent, while it is sent, or after
// it: that makes no difference to its class and errno.
func TestAResetAtOnceKeepsItsErrno(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, (*peer).reset)
		plan := planOf(s.address(), clients, 400)
		o := drive(t, plan)
		assert.EqualValues(t, 400, o.Failed)
		for e := range o.endings() {
			assert.Equal(t, stats.ResetWait, e.class)
			assert.Equal(t, syscall.ECONNRESET, e.errno)
		}
		assert.EqualValues(t, 400, o.Opened)
	})
}
