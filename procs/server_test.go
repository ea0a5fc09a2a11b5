package procs

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"horde/client"
	"horde/client/target"
)

// server is a target inside the test. It answers every request, or none.
type server struct {
	listener net.Listener
	silent   bool
	arrived  chan struct{} // one for each request that is there to its last byte

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
	served sync.WaitGroup
}

func serve(t *testing.T) *server { return startServer(t, false) }

// serveNothing accepts and reads, and never answers.
func serveNothing(t *testing.T) *server { return startServer(t, true) }

func startServer(t *testing.T, silent bool) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{listener: listener, silent: silent, arrived: make(chan struct{}, 1<<20)}
	t.Cleanup(s.close)
	s.served.Go(s.accept)
	return s
}

func (s *server) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.served.Wait()
}

func (s *server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		if s.closed {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.served.Go(func() { s.serve(c) })
	}
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		select {
		case s.arrived <- struct{}{}:
		default:
		}
		if s.silent {
			continue
		}
		time.Sleep(time.Millisecond) // the tests are about processes, not about speed
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
	}
}

// plan is a plan against the server for so many clients and so long.
func (s *server) plan(clients int, duration time.Duration) client.Plan {
	p := client.Plan{
		Address: target.Address(s.listener.Addr().(*net.TCPAddr).AddrPort()),
		Entries: []client.Entry{{Request: []byte("GET / HTTP/1.1\r\nHost: test\r\n\r\n"), Resend: true}},
		Reuse:   true,
		Clients: clients, Duration: duration,
		Timeout: 10 * time.Second, ConnectTimeout: 3 * time.Second,
	}
	p.Expect.Add(200, 399)
	return p
}

// nowhere is an address that nothing must be sent to.
func nowhere() client.Address { return target.Address(netip.MustParseAddrPort("127.0.0.1:1")) }
