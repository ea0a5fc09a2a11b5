package secure

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
	"horde/client/http1"
	"horde/client/target"
	"horde/stats"
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(max(4, runtime.NumCPU())) // a loop keeps its processor while it waits
	m.Run()
}

// shapes are the two ways a loop runs.
func bothShapes(t *testing.T, f func(t *testing.T, clients int)) {
	for _, clients := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d clients", clients), func(t *testing.T) { f(t, clients) })
	}
}

// planOf is a plan of n requests to s, whose name is localhost.
func planOf(s *server, a *authority, clients int, n uint64) client.Plan {
	p := client.Plan{
		Address: target.Address(s.address()), Entries: []client.Entry{{Request: []byte(get), Answer: http1.AnswerNormal, Resend: true}},
		TLS:     &client.TLS{ServerName: "localhost", Host: "localhost", Roots: a.pem()},
		Clients: clients, Limited: true, Requests: n, Timeout: time.Minute, ConnectTimeout: time.Minute,
	}
	p.Expect.Add(200, 399)
	return p
}

// drive runs a plan to its end and checks its books.
func drive(t *testing.T, plan client.Plan) *stats.Tally {
	t.Helper()
	crypto, err := New(plan.TLS)
	require.NoError(t, err)
	var control [2]int
	require.NoError(t, syscall.Pipe2(control[:], syscall.O_CLOEXEC))
	defer syscall.Close(control[0])
	hangUp := sync.OnceFunc(func() { syscall.Close(control[1]) })
	defer hangUp()
	stuck := time.AfterFunc(time.Minute, hangUp)
	sum := &stats.Tally{}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end, err := client.Run(&plan, crypto, client.NewClock(client.Monotonic()), control[0], func(_ int, t *stats.Tally) error {
		sum.Add(t)
		return nil
	})
	require.NoError(t, err)
	end.Close()
	require.True(t, stuck.Stop(), "the run did not end by itself: %+v", sum.Failures)
	assert.Equal(t, sum.Begun, sum.Succeeded+sum.Failed+end.Unfinished.Sum())
	return sum
}

// endings are the failures as "class while phase".
func endings(t *stats.Tally) map[string]uint64 {
	m := map[string]uint64{}
	for _, f := range t.Failures {
		m[f.Class.String()+" while "+f.Phase.String()] += f.Count
	}
	return m
}

func TestRequestsThroughTLS(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, reuse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reuse %v", tls.VersionName(version), reuse), func(t *testing.T) {
				bothShapes(t, func(t *testing.T, clients int) {
					s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}, MaxVersion: version}, answerAll)
					plan := planOf(s, a, clients, 60)
					plan.Reuse = reuse
					o := drive(t, plan)
					assert.EqualValues(t, 60, o.Succeeded, "%v", endings(o))
					assert.EqualValues(t, 60*len(hello), o.BytesRead, "decrypted")
					assert.EqualValues(t, 60*len(get), o.BytesWritten)
					connections := int64(60)
					if reuse {
						connections = int64(clients)
					}
					assert.Equal(t, connections, s.accepted.Load())
					assert.EqualValues(t, connections, o.Handshake.Count())
					assert.EqualValues(t, connections, o.Connect.Count())
				})
			})
		}
	}
}

func TestSessionsAreResumedIfAsked(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, resume := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %v", tls.VersionName(version), resume), func(t *testing.T) {
				var resumed sync.Map
				s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}, MaxVersion: version}, func(p *peer) {
					resumed.Store(p, p.ConnectionState().DidResume)
					answerAll(p)
				})
				plan := planOf(s, a, 1, 20)
				plan.TLS.Resume = resume
				o := drive(t, plan)
				assert.EqualValues(t, 20, o.Succeeded)
				seen := uint64(0)
				resumed.Range(func(_, did any) bool {
					if did.(bool) {
						seen++
					}
					return true
				})
				assert.Equal(t, seen, o.Resumed, "both ends count the same")
				if resume {
					assert.EqualValues(t, 19, o.Resumed)
				} else {
					assert.Zero(t, o.Resumed)
				}
			})
		}
	}
}

func TestTheServerIsToldItsName(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost", "127.0.0.1", "shop.test")
	for _, row := range []struct{ name, host string }{
		{"localhost", "localhost"}, {"shop.test", "shop.test"}, {"", "127.0.0.1"},
	} {
		names, protocols := make(chan string, 10), make(chan []string, 10)
		s := listenTLS(t, &tls.Config{
			NextProtos: []string{"h2", "http/1.1"},
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				names <- hello.ServerName
				protocols <- hello.SupportedProtos
				return &certificate, nil
			},
		}, answerAll)
		plan := planOf(s, a, 1, 1)
		plan.TLS.ServerName, plan.TLS.Host = row.name, row.host
		o := drive(t, plan)
		assert.EqualValues(t, 1, o.Succeeded, "%v", endings(o))
		assert.Equal(t, row.name, <-names)
		assert.Equal(t, []string{"http/1.1"}, <-protocols)
	}
}

func TestCertificates(t *testing.T) {
	a := newAuthority(t)
	good, _ := a.issue(t, nil, "localhost")
	alone, ownAuthority := (*authority)(nil).issue(t, nil, "localhost")
	old, _ := a.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "localhost")
	early, _ := a.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, "localhost")
	other, _ := a.issue(t, nil, "shop.test")
	for _, row := range []struct {
		name        string
		certificate tls.Certificate
		adjust      func(*client.TLS)
		reason      string // "" = it is accepted
	}{
		{"signed by a trusted authority", good, nil, ""},
		{"signed by itself and trusted", alone, func(c *client.TLS) { c.Roots = ownAuthority.pem() }, ""},
		{"signed by itself", alone, nil, "unknown authority"},
		{"signed by an authority the host does not know", good, func(c *client.TLS) { c.Roots = nil }, "unknown authority"},
		{"out of date", old, nil, "expired"},
		{"not valid yet", early, nil, "not yet valid"},
		{"for another name", other, nil, "not localhost"},
		{"for a name, not for the address", good, func(c *client.TLS) { c.ServerName, c.Host = "", "127.0.0.1" }, "127.0.0.1"},
		{"signed by itself, and any is taken", alone, func(c *client.TLS) { c.Insecure = true }, ""},
		{"out of date, and any is taken", old, func(c *client.TLS) { c.Insecure = true }, ""},
		{"out of date and found good before", old, func(c *client.TLS) { c.Verified = old.Certificate }, ""},
		{"another than was found good before", alone, func(c *client.TLS) { c.Verified = good.Certificate }, "unknown authority"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{row.certificate}}, answerAll)
			plan := planOf(s, a, 1, 3)
			if row.adjust != nil {
				row.adjust(plan.TLS)
			}
			crypto, err := New(plan.TLS)
			require.NoError(t, err)
			class, reason := client.Knock(&plan, crypto)
			o := drive(t, plan)
			if row.reason == "" {
				assert.Equal(t, stats.ClassNone, class, "%v", reason)
				assert.EqualValues(t, 3, o.Succeeded, "%v", endings(o))
				return
			}
			assert.Equal(t, stats.TLSVerify, class)
			assert.ErrorContains(t, reason, row.reason)
			assert.Equal(t, map[string]uint64{"tls_verify while handshaking": 3}, endings(o))
		})
	}
}

func TestOurOwnCertificate(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	own, _ := a.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, "me.test")
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		s := listenTLS(t, &tls.Config{
			Certificates: []tls.Certificate{certificate}, MaxVersion: version, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		}, answerAll)
		plan := planOf(s, a, 2, 10)
		o := drive(t, plan)
		var alerts uint64
		for ending, n := range endings(o) {
			// TLS 1.3 lets the server refuse when the client has long begun to send.
			assert.True(t, strings.HasPrefix(ending, "tls_alert") || strings.HasPrefix(ending, "reset_wait") || strings.HasPrefix(ending, "tls_closed"), ending)
			alerts += n
		}
		assert.EqualValues(t, 10, alerts)
		plan.TLS.Certificate, plan.TLS.Key = keyPair(t, own)
		o = drive(t, plan)
		assert.EqualValues(t, 10, o.Succeeded, "%v", endings(o))
	}
}

func TestHandshakesThatFail(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}
	hear := func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }
	for _, row := range []struct {
		name   string
		script func(*server, *net.TCPConn)
		want   string
	}{
		{"plain HTTP", func(_ *server, c *net.TCPConn) {
			hear(c)
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		}, "tls_bad while handshaking"},
		{"closed at once", func(*server, *net.TCPConn) {}, "tls_closed while handshaking"},
		{"closed after the first words", func(_ *server, c *net.TCPConn) { hear(c) }, "tls_closed while handshaking"},
		{"reset after the first words", func(_ *server, c *net.TCPConn) {
			hear(c)
			_ = c.SetLinger(0)
		}, "tls_closed while handshaking"},
		{"cut within the answer", func(_ *server, c *net.TCPConn) {
			hear(c)
			_, _ = c.Write([]byte{22, 3, 3, 0, 100, 2, 0})
		}, "tls_closed while handshaking"},
		{"an alert", func(_ *server, c *net.TCPConn) {
			hear(c)
			_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 40})
			hear(c)
		}, "tls_alert while handshaking"},
		{"no version in common", func(_ *server, c *net.TCPConn) {
			_ = tls.Server(c, &tls.Config{Certificates: config.Certificates, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).Handshake()
		}, "tls_alert while handshaking"},
		{"silence", func(s *server, _ *net.TCPConn) { <-s.stopped }, "tls_timeout while handshaking"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				s := listen(t, row.script)
				plan := planOf(s, a, clients, 4)
				plan.ConnectTimeout = 200 * time.Millisecond
				o := drive(t, plan)
				assert.Equal(t, map[string]uint64{row.want: 4}, endings(o))
				assert.Zero(t, o.Handshake.Count())
			})
		})
	}
}

func TestEndsOfAStream(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	// cut closes the connection without a word of TLS.
	cut := func(text string) func(*peer) {
		return func(p *peer) {
			p.request()
			p.say(text)
			_ = p.raw.CloseWrite()
			_, _ = io.Copy(io.Discard, p.raw)
		}
	}
	closed := func(text string) func(*peer) {
		return func(p *peer) {
			p.request()
			p.say(text)
			p.Close()
		}
	}
	const toTheEnd = "HTTP/1.1 200 OK\r\n\r\nhello"
	for _, row := range []struct {
		name   string
		script func(*peer)
		want   string // "" = it succeeds
	}{
		{"a body to the end of the session", closed(toTheEnd), ""},
		{"a body to the end of the stream alone", cut(toTheEnd), "body_short while receiving"},
		{"a body of stated length before the end of the stream", cut(hello), ""},
		{"less than the stated length, and the session ended", closed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), "body_short while receiving"},
		{"less than the stated length", cut("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), "body_short while receiving"},
		{"chunks without the last one", cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), "body_short while receiving"},
		{"no answer", closed(""), "empty_reply while waiting"},
		{"no answer, and no end of the session", cut(""), "empty_reply while waiting"},
		{"what cannot be decrypted", func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
			_, _ = p.raw.Write([]byte{23, 3, 3, 0, 3, 1, 2, 3})
			_, _ = io.Copy(io.Discard, p.raw)
		}, "tls_bad while receiving"},
		{"a reset", func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
			_ = p.raw.SetLinger(0)
			p.raw.Close()
		}, "reset_body while receiving"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				for _, reuse := range []bool{false, true} {
					s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, row.script)
					plan := planOf(s, a, clients, 8)
					plan.Reuse = reuse
					o := drive(t, plan)
					if row.want == "" {
						assert.EqualValues(t, 8, o.Succeeded, "%v", endings(o))
						continue
					}
					for ending := range endings(o) {
						// a reset may overtake what was sent before it
						if ending != row.want && !(row.name == "a reset" && ending == "reset_wait while waiting") {
							t.Errorf("%s, reuse %v: %v", row.want, reuse, endings(o))
						}
					}
					assert.EqualValues(t, 8, o.Failed)
				}
			})
		})
	}
}

func TestALargeAnswerAndManyRecords(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	body := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	bothShapes(t, func(t *testing.T, clients int) {
		s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, func(p *peer) {
			for p.request() {
				p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body)))
				p.say(body)
			}
		})
		plan := planOf(s, a, clients, 12)
		plan.Reuse = true
		o := drive(t, plan)
		assert.EqualValues(t, 12, o.Succeeded, "%v", endings(o))
		assert.EqualValues(t, 12*len(body), o.BytesBody)
	})
}

func TestAnAnswerByteByByte(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	bothShapes(t, func(t *testing.T, clients int) {
		s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, func(p *peer) {
			for p.request() {
				for i := range len(hello) {
					p.say(hello[i : i+1]) // a record each
				}
			}
		})
		plan := planOf(s, a, clients, 40)
		plan.Reuse = true
		o := drive(t, plan)
		assert.EqualValues(t, 40, o.Succeeded, "%v", endings(o))
		assert.EqualValues(t, 40*len(hello), o.BytesRead)
	})
}

func TestALargeRequestArrivesWhole(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB
	head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n", len(body))
	bothShapes(t, func(t *testing.T, clients int) {
		s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, func(p *peer) {
			for p.request() {
				got := make([]byte, len(body))
				if _, err := io.ReadFull(p.in, got); err != nil || !bytes.Equal(got, body) {
					return
				}
				p.say(hello)
			}
		})
		plan := planOf(s, a, clients, 8)
		plan.Entries[0].Request, plan.Reuse = append([]byte(head), body...), true
		o := drive(t, plan)
		assert.EqualValues(t, 8, o.Succeeded, "%v", endings(o))
		assert.EqualValues(t, 8*len(plan.Entries[0].Request), o.BytesWritten)
	})
}

// A server that answers and hangs up while the body still goes out.
func TestAnEarlyAnswer(t *testing.T) {
	const early = "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	bothShapes(t, func(t *testing.T, clients int) {
		s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, func(p *peer) {
			p.request()
			p.say(early)
			_ = p.CloseWrite()
			_, _ = io.Copy(io.Discard, io.LimitReader(p.raw, 1<<20))
			_ = p.raw.CloseWrite()
			_, _ = io.Copy(io.Discard, p.raw)
		})
		plan := planOf(s, a, clients, 8)
		plan.Entries[0].Request = append([]byte(fmt.Sprintf("POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n", 8<<20)), make([]byte, 8<<20)...)
		o := drive(t, plan)
		assert.Equal(t, []stats.StatusCount{{Status: 413, Count: 8}}, o.Statuses, "%v", endings(o))
		assert.EqualValues(t, 8*len(early), o.BytesRead)
	})
}

// The peer is told that nothing follows.
func TestSessionsAreEnded(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	for _, reuse := range []bool{false, true} {
		bothShapes(t, func(t *testing.T, clients int) {
			ends := make(chan error, 100)
			s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, func(p *peer) {
				for p.request() {
					p.say(hello)
				}
				_, err := p.Conn.Read(make([]byte, 1))
				ends <- err
			})
			plan := planOf(s, a, clients, 8)
			plan.Reuse = reuse
			drive(t, plan)
			for range s.accepted.Load() {
				assert.ErrorIs(t, <-ends, io.EOF)
			}
		})
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	for _, row := range []client.TLS{
		{Roots: []byte("not PEM")},
		{Certificate: []byte("not PEM"), Key: []byte("not PEM")},
	} {
		_, err := New(&row)
		assert.Error(t, err)
	}
}

// throughProxy has a plan ask a proxy for the way to its target.
func throughProxy(plan *client.Plan, proxy *server) {
	plan.Address = target.Address(proxy.address())
	plan.Connect = []byte("CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n")
}

// forward is a proxy's tunnel to s, after it has said words.
func forward(s *server, words string) func(*server, *net.TCPConn) {
	return func(_ *server, c *net.TCPConn) {
		in := bufio.NewReader(c)
		if request, err := http.ReadRequest(in); err != nil || request.Method != http.MethodConnect {
			return
		}
		onward, err := net.Dial("tcp", s.address().String())
		if err != nil {
			return
		}
		defer onward.Close()
		_, _ = io.WriteString(c, words)
		var back sync.WaitGroup
		back.Go(func() {
			_, _ = io.Copy(c, onward)
			_ = c.CloseWrite()
		})
		_, _ = io.Copy(onward, in)
		_ = onward.(*net.TCPConn).CloseWrite()
		back.Wait()
	}
}

func TestThroughAProxy(t *testing.T) {
	a := newAuthority(t)
	certificate, _ := a.issue(t, nil, "localhost")
	for _, words := range []string{
		"HTTP/1.1 200 Connection established\r\n\r\n",
		"HTTP/1.0 200 OK\r\nServer: test\r\nContent-Length: 5\r\n\r\n", // no body follows, RFC 9110 section 9.3.6
	} {
		for _, reuse := range []bool{false, true} {
			bothShapes(t, func(t *testing.T, clients int) {
				s := listenTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, answerAll)
				proxy := listen(t, forward(s, words))
				plan := planOf(s, a, clients, 20)
				plan.Reuse = reuse
				throughProxy(&plan, proxy)
				o := drive(t, plan)
				assert.EqualValues(t, 20, o.Succeeded, "%v", endings(o))
				assert.EqualValues(t, 20*len(hello), o.BytesRead)
				assert.Equal(t, s.accepted.Load(), proxy.accepted.Load())
				assert.EqualValues(t, proxy.accepted.Load(), o.Handshake.Count())
			})
		}
	}
}

func TestProxiesThatOpenNoTunnel(t *testing.T) {
	a := newAuthority(t)
	say := func(words string) func(*server, *net.TCPConn) {
		return func(_ *server, c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, words)
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c)
		}
	}
	for _, row := range []struct {
		name   string
		script func(*server, *net.TCPConn)
		want   string
		reason string // what the connection before a run says
	}{
		{"it asks who we are", say("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 3\r\n\r\nwho"), "proxy_refused", "407"},
		{"it cannot reach the target", say("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"), "proxy_refused", "502"},
		{"it says nothing", say(""), "proxy_refused", "no tunnel"},
		{"it stops within its answer", say("HTTP/1.1 200 O"), "proxy_refused", ""},
		{"it is no proxy", say("SSH-2.0-OpenSSH\r\n\r\n"), "proxy_refused", "no tunnel"},
		{"it says more than that", say("HTTP/1.1 200 OK\r\n\r\nhello"), "proxy_refused", "200"},
		{"it is slow", func(s *server, _ *net.TCPConn) { <-s.stopped }, "timeout_connect", ""},
		{"it resets", func(_ *server, c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 4096))
			_ = c.SetLinger(0)
		}, "reset_connect", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				proxy := listen(t, row.script)
				plan := planOf(proxy, a, clients, 4)
				plan.ConnectTimeout = 200 * time.Millisecond
				throughProxy(&plan, proxy)
				o := drive(t, plan)
				assert.Equal(t, map[string]uint64{row.want + " while connecting": 4}, endings(o))
				assert.EqualValues(t, 4, o.NoConn)
				assert.Zero(t, o.Opened)
				if row.reason != "" {
					crypto, err := New(plan.TLS)
					require.NoError(t, err)
					class, reason := client.Knock(&plan, crypto)
					assert.Equal(t, stats.ProxyRefused, class)
					assert.ErrorContains(t, reason, row.reason)
				}
			})
		})
	}
}
