package client

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// server is a scripted target on loopback: each connection plays the script.
type server struct {
	listener net.Listener
	script   func(*peer)
	accepted atomic.Int64
	requests atomic.Int64

	mu      sync.Mutex
	peers   []*peer
	stopped chan struct{}
	running sync.WaitGroup
}

// peer is the server's end of one connection.
type peer struct {
	*net.TCPConn
	in      *bufio.Reader
	nth     int // of the server's connections, from 0
	server  *server
	stopped <-chan struct{}
}

// serve plays script on every connection to a free port of 127.0.0.1, and
// closes the connection after it.
func serve(t testing.TB, script func(*peer)) *server {
	t.Helper()
	return serveAt(t, "127.0.0.1:0", script)
}

func serveAt(t testing.TB, addr string, script func(*peer)) *server {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	s := &server{listener: l, script: script, stopped: make(chan struct{})}
	s.running.Add(1)
	go s.accept()
	t.Cleanup(s.close)
	return s
}

func (s *server) address() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

func (s *server) accept() {
	defer s.running.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		p := &peer{
			TCPConn: c.(*net.TCPConn), in: bufio.NewReaderSize(c, 64<<10),
			nth: int(s.accepted.Add(1) - 1), server: s, stopped: s.stopped,
		}
		s.mu.Lock()
		s.peers = append(s.peers, p)
		s.mu.Unlock()
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			defer p.Close()
			s.script(p)
		}()
	}
}

func (s *server) close() {
	s.listener.Close()
	select {
	case <-s.stopped:
		return
	default:
		close(s.stopped)
	}
	s.mu.Lock()
	for _, p := range s.peers {
		p.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// head reads the head of a request; "" at the end of the stream.
func (p *peer) head() string {
	var head strings.Builder
	for {
		line, err := p.in.ReadString('\n')
		if err != nil {
			return ""
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String()
		}
	}
}

// request reads a whole request; "" at the end of the stream.
func (p *peer) request() string {
	head := p.head()
	if head == "" {
		return ""
	}
	length := int64(0)
	if _, after, found := strings.Cut(head, "Content-Length: "); found {
		_, _ = fmt.Sscan(after, &length)
	}
	if n, err := io.CopyN(io.Discard, p.in, length); n < length || err != nil {
		return ""
	}
	p.server.requests.Add(1)
	return head
}

func (p *peer) say(text string) { _, _ = io.WriteString(p, text) }

// reset closes the connection with a reset.
func (p *peer) reset() {
	_ = p.SetLinger(0)
	p.Close()
}

// hold keeps the connection open, without a word, until the test is over.
func (p *peer) hold() { <-p.stopped }

// hello is the answer of a server in good health.
const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

// answerAll answers every request of a connection.
func answerAll(p *peer) {
	for p.request() != "" {
		p.say(hello)
	}
}

// answerOnce answers the first request of a connection and closes it.
func answerOnce(p *peer) {
	p.request()
	p.say(hello)
}

// closedPort is an address where nothing listens.
func closedPort(t testing.TB) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// fullQueue is the address of a listener whose queue is full: a connect to it
// is never decided.
func fullQueue(t testing.TB) netip.AddrPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	ap := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*syscall.SockaddrInet4).Port))
	a := newAddress(rawAddress(ap))
	for range 8 {
		filler, errno := dial(&a, nil, nonBlocking)
		require.Zero(t, errno)
		t.Cleanup(func() { closeSocket(filler) })
	}
	return ap
}

// answerForever is a server in a process of its own: it prints its address and
// answers until its stdin ends.
func answerForever() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerRaw(c)
		}
	}()
	var b [1]byte
	for {
		var n int
		n, err = syscall.Read(0, b[:])
		if n == 0 || err != nil && err != syscall.EINTR {
			return 0
		}
	}
}

// answerRaw answers each read: good enough for a client that sends one request
// at a time, and short.
func answerRaw(c net.Conn) {
	defer c.Close()
	b := make([]byte, 4096)
	for {
		if n, err := c.Read(b); n == 0 || err != nil {
			return
		}
		if _, err := io.WriteString(c, hello); err != nil {
			return
		}
	}
}
