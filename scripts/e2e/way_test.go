package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ways to a target: unix sockets, given addresses, proxies, load balancers.

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	o := run(t, "-n", "1", "--unix-socket", path, "http://shop.test/")
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stderr, "connect to "+path+": no such file or directory")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	var requests atomic.Uint64
	var host atomic.Value
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		host.Store(r.Host)
		_, _ = io.WriteString(w, "hello")
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	for _, args := range [][]string{{"-c", "5"}, {"-c", "5", "-k"}, {"-c", "20", "-w", "2", "-k"}} {
		requests.Store(0)
		o := run(t, append(args, "-n", "100", "--json", "--unix-socket", path, "http://shop.test/")...)
		o.counts(100, 0, 0)
		assert.EqualValues(t, 100, requests.Load())
		assert.Equal(t, "shop.test", host.Load())
		assert.Contains(t, o.stdout, `"address":"`+path+`"`)
	}
}

func TestGivenAddresses(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	given := func(addrs string) []string {
		return []string{"-c", "2", "-n", "10", "--resolve", "no-such-host.invalid:" + s.port() + ":" + addrs, "http://no-such-host.invalid:" + s.port() + "/"}
	}
	o := run(t, append(given("127.0.0.1"), "--json")...)
	o.counts(10, 0, 0)
	assert.Equal(t, "no-such-host.invalid:"+s.port(), field(s.firstRequest(t).head, "Host"))
	o = run(t, given("127.0.0.9,127.0.0.1")...) // nothing listens on the first
	assert.Equal(t, 0, o.code)
	assert.Contains(t, o.stdout, "127.0.0.1:"+s.port()+" (2 of 2 addresses, ")
}

// haproxy runs with a configuration on free ports; it logs to a file.
type haproxy struct {
	t         *testing.T
	front, at string // where it listens, and its log
}

func startHaproxy(t *testing.T, front, back string) *haproxy {
	t.Helper()
	program := need(t, "haproxy")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dir := t.TempDir()
	h := &haproxy{t: t, front: l.Addr().String(), at: filepath.Join(dir, "log")}
	require.NoError(t, l.Close())
	config := filepath.Join(dir, "haproxy.cfg")
	text := fmt.Sprintf(`
global
	log stdout format raw local0
defaults
	mode http
	log global
	timeout connect 5s
	timeout client 5s
	timeout server 5s
frontend in
	bind %s %s
	log-format "%%ci %%cp %%ST %%HM %%HU"
	default_backend out
backend out
	server one %s
`, h.front, front, back)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o644))
	log, err := os.Create(h.at)
	require.NoError(t, err)
	defer log.Close()
	cmd := exec.Command(program, "-db", "-f", config)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", h.front)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, 10*time.Second, 10*time.Millisecond, "haproxy does not listen")
	return h
}

// logged waits for n lines with want in them.
func (h *haproxy) logged(n int, want string) {
	h.t.Helper()
	var log []byte
	assert.Eventually(h.t, func() bool {
		log, _ = os.ReadFile(h.at)
		return strings.Count(string(log), want) == n
	}, 5*time.Second, 20*time.Millisecond, "%d lines with %q", n, want)
	if h.t.Failed() {
		h.t.Logf("%s", log)
	}
}

func TestLoadBalancerIsToldWhoConnects(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	for _, version := range []string{"v1", "v2"} {
		for _, keep := range []string{"--keepalive", "--http11"} {
			h := startHaproxy(t, "accept-proxy", s.addr)
			// The source is one that no other connection of this test has.
			o := run(t, "-c", "4", "-n", "40", "--json", keep, "--source", "127.9.8.7", "--proxy-protocol", version, "http://"+h.front+"/"+version)
			o.counts(40, 0, 0)
			h.logged(40, " 200 GET /"+version)
			log, err := os.ReadFile(h.at)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, strings.Count(string(log), "127.9.8.7 "), 40)
		}
	}
	h := startHaproxy(t, "accept-proxy", s.addr)
	o := run(t, "-c", "2", "-n", "4", "--json", "http://"+h.front+"/")
	assert.Zero(t, o.json().Requests.Succeeded, "it insists on being told")
}

// connectProxy opens tunnels to wherever it is asked to, if it is told the
// password.
func connectProxy(t *testing.T) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveConnect(c)
		}
	}()
	return l.Addr().String()
}

func serveConnect(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	request, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if request.Method != http.MethodConnect || request.Header.Get("Proxy-Authorization") != "Basic bWU6c2VjcmV0" {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return
	}
	onward, err := net.Dial("tcp", request.Host)
	if err != nil {
		_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer onward.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(onward, in)
		_ = onward.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(c, onward)
}

func TestTunnelThroughAProxy(t *testing.T) {
	t.Parallel()
	s := serveTLS(t)
	proxy := connectProxy(t)
	for _, keep := range []string{"--keepalive", "--http11"} {
		before := s.requests.Load()
		o := run(t, "-c", "3", "-n", "30", "--json", keep, "--cacert", s.certificate, "-p", "me:secret@"+proxy, s.url("127.0.0.1"))
		o.counts(30, 0, 0)
		assert.EqualValues(t, 30, s.requests.Load()-before)
		assert.Equal(t, proxy, o.secure().Plan.Proxy)
		assert.NotContains(t, o.everything(), "secret")
	}
	o := run(t, "-c", "3", "-n", "30", "--cacert", s.certificate, "-p", "me:wrong@"+proxy, s.url("127.0.0.1"))
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stderr, "the proxy answered 407 to CONNECT")
	assert.NotContains(t, o.everything(), "wrong")
}

func TestTunnelThroughHaproxy(t *testing.T) {
	t.Parallel()
	s := serveTLS(t)
	h := startHaproxy(t, "", connectProxy(t))
	o := run(t, "-c", "3", "-n", "12", "--json", "--cacert", s.certificate, "-p", "me:secret@"+h.front, s.url("127.0.0.1"))
	o.counts(12, 0, 0)
	h.logged(13, " 200 CONNECT ") // and the one before the run
}
