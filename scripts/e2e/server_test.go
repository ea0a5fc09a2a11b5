package e2e

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pieceGap is the pause between the pieces of an answer: long enough that each
// arrives in a read of its own.
const pieceGap = 20 * time.Millisecond

// server is a scripted target on loopback: one goroutine per connection plays
// the script. With a budget of K requests, takes counts them down, so that a
// timed run has exact counts: K answered as scripted, then accepted, read and
// never answered.
type server struct {
	addr   string
	script func(*conn)

	mu       sync.Mutex
	listener net.Listener
	budget   int
	accepted int
	requests []request
	answered int
	events   map[string]int
	open     map[net.Conn]bool
	stopped  bool
	stop     chan struct{}
	running  sync.WaitGroup
}

// request is one request as the server saw it.
type request struct {
	conn     int // which connection, counted from 0
	nth      int // which request on that connection, counted from 0
	at       time.Time
	head     string
	body     int // bytes read of it
	answered bool
}

// unlimited is a budget that no run uses up.
const unlimited = 1 << 40

// serve starts a server on a free port of 127.0.0.1.
func serve(t *testing.T, budget int, script func(*conn)) *server {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", budget, script)
}

func serveAt(t *testing.T, addr string, budget int, script func(*conn)) *server {
	t.Helper()
	s := &server{
		budget: budget, script: script, events: map[string]int{},
		open: map[net.Conn]bool{}, stop: make(chan struct{}),
	}
	require.NoError(t, s.listen(addr))
	s.addr = s.listener.Addr().String()
	t.Cleanup(s.close)
	return s
}

func (s *server) url() string { return "http://" + s.addr + "/" }

func (s *server) port() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return port
}

func (s *server) listen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	s.running.Add(1)
	go s.accept(l)
	return nil
}

// refuse closes the listener: whoever connects now is refused. The connections
// that are there stay.
func (s *server) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener.Close()
}

// reopen listens on the same address again.
func (s *server) reopen() error { return s.listen(s.addr) }

func (s *server) accept(l net.Listener) {
	defer s.running.Done()
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Millisecond) // out of descriptors: this end's matter
			continue
		}
		if !s.play(nc) {
			return
		}
	}
}

func (s *server) play(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		nc.Close()
		return false
	}
	c := &conn{TCPConn: nc.(*net.TCPConn), server: s, r: bufio.NewReader(nc), id: s.accepted}
	s.accepted++
	s.open[nc] = true
	s.running.Go(func() {
		s.script(c)
		c.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, nc)
	})
	return true
}

func (s *server) close() {
	s.mu.Lock()
	s.stopped = true
	close(s.stop)
	s.listener.Close()
	for nc := range s.open {
		nc.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// note counts an event of a script's own.
func (s *server) note(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[event]++
}

func (s *server) noted(event string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[event]
}

// first returns true to the first script that asks.
func (s *server) first() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events["first"]++
	return s.events["first"] == 1
}

// connected returns how many connections there were, with a request or without.
func (s *server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// seen returns a copy of all requests so far, in the order of their arrival.
func (s *server) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

// firstRequest returns the first request, which must be there.
func (s *server) firstRequest(t *testing.T) request {
	t.Helper()
	seen := s.seen()
	require.NotEmpty(t, seen, "no request at the server")
	return seen[0]
}

// complete returns how many answers were written whole.
func (s *server) complete() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// carried returns how many connections carried an answered request.
func (s *server) carried() int {
	ids := map[int]bool{}
	for _, r := range s.seen() {
		if r.answered {
			ids[r.conn] = true
		}
	}
	return len(ids)
}

// await waits until n requests have been seen.
func (s *server) await(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(s.seen()) >= n }, 20*time.Second, 2*time.Millisecond,
		"%d requests at the server", n)
}

// conn is one connection in a script's hands. When the script returns, it is
// closed: an orderly end, or a reset if bytes are left unread.
type conn struct {
	*net.TCPConn
	server *server
	r      *bufio.Reader
	id     int
	count  int // requests so far
	index  int // of the current request in server.requests
}

// head reads the next request up to its blank line. It returns false when the
// client has ended the connection.
func (c *conn) head() bool {
	var head strings.Builder
	for {
		line, err := c.r.ReadString('\n')
		head.WriteString(line)
		if err != nil {
			return false
		}
		if line == "\r\n" {
			break
		}
	}
	c.record(head.String())
	return true
}

// line reads a request of one line, as HTTP/0.9 has them.
func (c *conn) line() bool {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return false
	}
	c.record(line)
	return true
}

func (c *conn) record(head string) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.index = len(c.server.requests)
	c.server.requests = append(c.server.requests, request{conn: c.id, nth: c.count, at: time.Now(), head: head})
	c.count++
}

// request reads the next request and the body that its Content-Length announces.
func (c *conn) request() bool {
	if !c.head() {
		return false
	}
	c.server.mu.Lock()
	head := c.server.requests[c.index].head
	c.server.mu.Unlock()
	length, _ := strconv.ParseInt(field(head, "content-length"), 10, 64)
	n, err := io.CopyN(io.Discard, c.r, length)
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.requests[c.index].body = int(n)
	return err == nil
}

// take takes one request from the budget. When that is used up, it keeps the
// connection, reading and silent, until the client closes it, and returns false.
func (c *conn) take() bool {
	c.server.mu.Lock()
	left := c.server.budget > 0
	if left {
		c.server.budget--
	}
	c.server.mu.Unlock()
	if !left {
		c.hold()
	}
	return left
}

// nthInAll returns the number of the current request over all connections, from 0.
func (c *conn) nthInAll() int { return c.index }

// answer writes an answer in pieces, a pause between them.
func (c *conn) answer(pieces ...string) bool {
	for i, p := range pieces {
		if i > 0 {
			c.pause(pieceGap)
		}
		if !c.send(p) {
			return false
		}
	}
	c.finish()
	return true
}

// send writes a part of an answer.
func (c *conn) send(part string) bool {
	_, err := io.WriteString(c.TCPConn, part)
	return err == nil
}

// finish counts the current request as answered whole.
func (c *conn) finish() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.answered++
	c.server.requests[c.index].answered = true
}

// pause waits, though not beyond the end of the test.
func (c *conn) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.server.stop:
	}
}

// What the client does while the server waits.
const (
	quiet  = "quiet"
	talks  = "talks"  // has sent something
	closed = "closed" // has closed its side, or all
)

// watch waits up to d for the client to do something.
func (c *conn) watch(d time.Duration) string {
	_ = c.SetReadDeadline(time.Now().Add(d))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	_, err := c.r.Peek(1)
	switch {
	case err == nil:
		return talks
	case errors.Is(err, os.ErrDeadlineExceeded):
		return quiet
	}
	return closed
}

// hold keeps the connection, reading and silent, until the client closes it.
func (c *conn) hold() { _, _ = io.Copy(io.Discard, c.r) }

// ignore keeps the connection and never reads.
func (c *conn) ignore() { <-c.server.stop }

// fin ends the server's side and leaves the client's open.
func (c *conn) fin() { _ = c.CloseWrite() }

// reset ends the connection with a reset.
func (c *conn) reset() {
	_ = c.SetLinger(0)
	c.Close()
}

// keepOpen is the commonest script: answer each request within the budget in
// the same pieces, never close first.
func keepOpen(pieces ...string) func(*conn) {
	return func(c *conn) {
		for c.request() && c.take() && c.answer(pieces...) {
		}
	}
}

// thenClose answers one request a connection and closes it in order.
func thenClose(pieces ...string) func(*conn) {
	return func(c *conn) {
		if c.request() && c.take() {
			c.answer(pieces...)
		}
	}
}

// silent reads and never answers.
func silent(c *conn) {
	if c.request() {
		c.hold()
	}
}

// field returns the value of a request's header field, "" if it has none.
func field(head, name string) string {
	if values := fields(head, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// fields returns all values of a header field, whatever the case of its name.
func fields(head, name string) []string {
	var values []string
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if ok && strings.EqualFold(key, name) {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

// ok5 is a complete answer of 43 bytes: 38 of head, 5 of body.
const ok5 = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
