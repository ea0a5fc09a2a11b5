package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the server receives.

// headOf runs one request and returns its head as the server saw it.
func headOf(t *testing.T, s *server, args ...string) string {
	t.Helper()
	o := run(t, append([]string{"-n", "1", "--json"}, args...)...)
	o.counts(1, 0, 0)
	assert.Zero(t, o.code)
	seen := s.seen()
	require.Len(t, seen, 1)
	return seen[0].head
}

func requestLine(head string) string {
	line, _, _ := strings.Cut(head, "\r\n")
	return line
}

func TestHostHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, listen, url, host string }{
		{"an IPv4 address and a port", "127.0.0.1:0", "http://127.0.0.1:PORT/", "127.0.0.1:PORT"},
		{"an IPv6 address in brackets", "[::1]:0", "http://[::1]:PORT/x", "[::1]:PORT"},
		{"a name in capitals", "127.0.0.1:0", "http://LOCALHOST:PORT/", "localhost:PORT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serveAt(t, c.listen, unlimited, keepOpen(ok5))
			head := headOf(t, s, strings.ReplaceAll(c.url, "PORT", s.port()))
			hosts := fields(head, "host")
			require.Len(t, hosts, 1)
			assert.Equal(t, strings.ReplaceAll(c.host, "PORT", s.port()), strings.ToLower(hosts[0]))
		})
	}
}

func TestTargetIsSentAsTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, line string }{
		{"http://HOST", "GET / HTTP/1.1"},
		{"http://HOST?key=val", "GET /?key=val HTTP/1.1"},
		{"http://HOST/a%2Fb?x=%20y&z", "GET /a%2Fb?x=%20y&z HTTP/1.1"},
		{"http://HOST/a%0d%0ab", "GET /a%0d%0ab HTTP/1.1"},
		{"http://HOST/../a//b/./c", "GET /../a//b/./c HTTP/1.1"},
		{"http://HOST/page#part", "GET /page HTTP/1.1"},
		{"HTTP://HOST/capitals", "GET /capitals HTTP/1.1"},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, keepOpen(ok5))
			head := headOf(t, s, strings.Replace(c.url, "HOST", s.addr, 1))
			assert.Equal(t, c.line, requestLine(head))
		})
	}
}

func TestSpaceInThePathIsRefusedOrEncoded(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-n", "1", s.url()+"a b")
	if o.code == 2 {
		assert.Zero(t, s.connected())
		return
	}
	assert.Zero(t, o.code)
	assert.Equal(t, "GET /a%20b HTTP/1.1", requestLine(s.firstRequest(t).head))
}

func TestVeryLongPathIsSentWholeOrRefused(t *testing.T) {
	t.Parallel()
	path := strings.Repeat("a", 100_000)
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-n", "1", s.url()+path)
	if o.code == 2 {
		assert.Zero(t, s.connected())
		return
	}
	assert.Zero(t, o.code)
	assert.Equal(t, "GET /"+path+" HTTP/1.1", requestLine(s.firstRequest(t).head))
}

func TestOwnHeadersReplaceBuiltInOnes(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	head := headOf(t, s, "-H", "Host: shop.test", "-H", "user-agent: probe",
		"-H", "X-A: 1", "-H", "X-A: 2", "-H", "X-Empty:", s.url())
	assert.Equal(t, []string{"shop.test"}, fields(head, "host"))
	assert.Equal(t, []string{"probe"}, fields(head, "user-agent"))
	assert.Equal(t, []string{"1", "2"}, fields(head, "x-a"))
	assert.Equal(t, []string{""}, fields(head, "x-empty"))
}

func TestOwnConnectionHeaderEndsReuse(t *testing.T) {
	t.Parallel()
	s := serve(t, 10, keepOpen(ok5))
	o := run(t, "-c", "1", "-t", "1", "--keepalive", "-H", "Connection: close", "--json", s.url())
	o.counts(10, 0, 1)
	assert.Equal(t, 10, s.carried())
	for _, r := range s.seen() {
		assert.Equal(t, []string{"close"}, fields(r.head, "connection"))
	}
}

func TestRequestAsTheOptionsSay(t *testing.T) {
	t.Parallel()
	const host = "Host: HOST\r\n"
	for _, c := range []struct {
		name    string
		options []string
		line    string
		holds   []string
		not     []string
	}{
		{"plain", nil, "GET / HTTP/1.1", []string{host, "Connection: close\r\n"}, nil},
		{"keep-alive", []string{"-k"}, "GET / HTTP/1.1", []string{host}, []string{"close"}},
		{"HTTP/1.0", []string{"-1"}, "GET / HTTP/1.0", []string{host}, nil},
		{"HTTP/1.0 kept alive", []string{"-1", "-k"}, "GET / HTTP/1.0", []string{"Connection: keep-alive\r\n"}, nil},
		{"HTTP/1.1 by its long name", []string{"--http11"}, "GET / HTTP/1.1", []string{host}, nil},
		{"reload", []string{"-r"}, "GET / HTTP/1.1", []string{"Pragma: no-cache\r\n"}, nil},
		{"OPTIONS", []string{"--options"}, "OPTIONS / HTTP/1.1", nil, nil},
		{"TRACE", []string{"--trace"}, "TRACE / HTTP/1.1", nil, nil},
		{"any method", []string{"-m", "PURGE"}, "PURGE / HTTP/1.1", nil, nil},
		{"authority", []string{"-A", "user:pa:ss"}, "GET / HTTP/1.1", []string{"Authorization: Basic dXNlcjpwYTpzcw==\r\n"}, nil},
		{"cookie and agent", []string{"--cookie", "a=b; c=d", "--user-agent", "probe/1"}, "GET / HTTP/1.1",
			[]string{"Cookie: a=b; c=d\r\n", "User-Agent: probe/1\r\n"}, nil},
		{"body", []string{"-m", "PUT", "--data", "hello", "-T", "text/plain"}, "PUT / HTTP/1.1",
			[]string{"Content-Length: 5\r\n", "Content-Type: text/plain\r\n"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, keepOpen(ok5))
			head := headOf(t, s, append(c.options, s.url())...)
			assert.Equal(t, c.line, requestLine(head))
			for _, want := range c.holds {
				assert.Contains(t, head, strings.Replace(want, "HOST", s.addr, 1))
			}
			for _, not := range c.not {
				assert.NotContains(t, head, not)
			}
		})
	}
}

// A proxy gets the whole URL, and is what is connected to.
func TestProxyGetsTheAbsoluteForm(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	head := headOf(t, s, "-p", s.addr, "http://shop.test:81/a?b")
	assert.Equal(t, "GET http://shop.test:81/a?b HTTP/1.1", requestLine(head))
	assert.Equal(t, []string{"shop.test:81"}, fields(head, "host"))
}

func TestHTTP09(t *testing.T) {
	t.Parallel()
	s := serve(t, 10, func(c *conn) {
		if c.line() && c.take() {
			c.answer("just a page, no head\n")
		}
	})
	o := run(t, "-9", "-c", "1", "-t", "1", "--json", s.url()+"old")
	o.counts(10, 0, 1)
	assert.EqualValues(t, 10*len("just a page, no head\n"), o.Bytes.Read)
	assert.Equal(t, "GET /old\r\n", s.firstRequest(t).head)
}

// With --force the answer is not waited for.
func TestForceDoesNotWaitForTheAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, silent)
	o := run(t, "--force", "-c", "2", "-n", "20", "-t", "5", "--json", s.url())
	o.counts(20, 0, 0)
	assert.Less(t, o.wall, 5*time.Second)
	s.await(t, 20)
}

func TestOptionsMayFollowTheURL(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	for _, args := range [][]string{
		{s.url(), "-n", "2", "-c", "1", "--json", "-kq"},
		{"-n", "2", s.url(), "-kq", "-c", "1", "--json"},
		{"-kq", "-n2", "-c1", "--json", "--", s.url()},
		{"-kqn2", "--clients=1", "--json", s.url()},
		{"--requests", "2", "--keepalive", "--quiet", "--json", s.url()},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			o := run(t, args...)
			o.counts(2, 0, 0)
			assert.True(t, o.Plan.Keepalive)
			assert.Equal(t, 1, o.Plan.Clients)
			assert.Zero(t, o.code)
		})
	}
}
