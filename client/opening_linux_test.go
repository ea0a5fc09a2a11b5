package client

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/stats"
)

// proxyLine reads the header of version 1 and holds it to the connection.
func proxyLine(t *testing.T, p *peer) {
	line, err := p.in.ReadString('\n')
	assert.NoError(t, err)
	from, to := p.RemoteAddr().(*net.TCPAddr), p.LocalAddr().(*net.TCPAddr)
	fields := strings.Fields(line)
	if !assert.Len(t, fields, 6, "%q", line) {
		return
	}
	assert.Equal(t, fmt.Sprintf("%s %s %d %d\r\n", strings.Join(fields[:2], " "), strings.Join(fields[2:4], " "), from.Port, to.Port), line)
	family := map[bool]string{true: "TCP4", false: "TCP6"}[from.IP.To4() != nil]
	assert.Equal(t, []string{"PROXY", family}, fields[:2])
	assert.True(t, from.IP.Equal(net.ParseIP(fields[2])), "%q from %v", line, from)
	assert.True(t, to.IP.Equal(net.ParseIP(fields[3])), "%q to %v", line, to)
}

// proxyBinary reads the header of version 2 and holds it to the connection.
func proxyBinary(t *testing.T, p *peer) {
	head := make([]byte, 16)
	_, err := io.ReadFull(p.in, head)
	assert.NoError(t, err)
	assert.Equal(t, "\r\n\r\n\x00\r\nQUIT\n\x21", string(head[:13]))
	from, to := p.RemoteAddr().(*net.TCPAddr), p.LocalAddr().(*net.TCPAddr)
	family, want := byte(0x11), string(from.IP.To4())+string(to.IP.To4())
	if from.IP.To4() == nil {
		family, want = 0x21, string(from.IP.To16())+string(to.IP.To16())
	}
	want += string([]byte{byte(from.Port >> 8), byte(from.Port), byte(to.Port >> 8), byte(to.Port)})
	assert.Equal(t, []byte{family, 0, byte(len(want))}, head[13:])
	rest := make([]byte, len(want))
	_, err = io.ReadFull(p.in, rest)
	assert.NoError(t, err)
	assert.Equal(t, want, string(rest))
}

func TestALoadBalancerIsToldWhoConnects(t *testing.T) {
	for version, read := range map[uint8]func(*testing.T, *peer){1: proxyLine, 2: proxyBinary} {
		for _, host := range []string{"127.0.0.1:0", "[::1]:0"} {
			for _, reuse := range []bool{false, true} {
				t.Run(fmt.Sprintf("version %d, %s, reuse %v", version, host, reuse), func(t *testing.T) {
					bothShapes(t, func(t *testing.T, clients int) {
						s := serveAt(t, host, func(p *peer) {
							read(t, p)
							answerAll(p)
						})
						plan := planOf(s.address(), clients, 20)
						plan.ProxyProtocol, plan.Reuse = version, reuse
						o := drive(t, plan)
						assert.EqualValues(t, 20, o.Succeeded, "%v", o.endings())
						assert.EqualValues(t, 20*len(get), o.BytesWritten, "of requests")
						s.close()
					})
				})
			}
		}
	}
}

// serveUnix answers requests on a unix socket; it returns the socket's address
// and how many connections there were.
func serveUnix(t *testing.T) (Address, *atomic.Int64) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	var accepted atomic.Int64
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			running.Go(func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if line == "\r\n" {
						_, _ = io.WriteString(c, hello)
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return append(append(Address{unix.AF_UNIX, 0}, path...), 0), &accepted
}

func TestRequestsOverAUnixSocket(t *testing.T) {
	// The server takes the line of version 1 for one of the head.
	for _, version := range []uint8{0, 1} {
		for _, reuse := range []bool{false, true} {
			bothShapes(t, func(t *testing.T, clients int) {
				address, accepted := serveUnix(t)
				plan := planOf(closedPort(t), clients, 100)
				plan.Address, plan.Reuse, plan.ProxyProtocol = address, reuse, version
				o := drive(t, plan)
				connections := 100
				if reuse {
					connections = clients
				}
				assert.EqualValues(t, 100, o.Succeeded, "%v", o.endings())
				assert.EqualValues(t, connections, accepted.Load())
				assert.EqualValues(t, connections, o.Opened)
			})
		}
	}
}

// A unix socket whose queue is full refuses with EAGAIN; that is not the end.
func TestAFullQueueOfAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(l)
	require.NoError(t, unix.Bind(l, &unix.SockaddrUnix{Name: path}))
	require.NoError(t, unix.Listen(l, 0))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Connect(fd, &unix.SockaddrUnix{Name: path}))
	bothShapes(t, func(t *testing.T, clients int) {
		plan := planOf(closedPort(t), clients, 8)
		plan.Address, plan.ConnectTimeout = append(append(Address{unix.AF_UNIX, 0}, path...), 0), 50*time.Millisecond
		o := drive(t, plan)
		assert.Equal(t, map[ending]uint64{{stats.TimeoutConnect, stats.Connecting, 0}: 8}, o.endings())
		plan.Limited, plan.ConnectTimeout, plan.Duration = false, time.Minute, 100*time.Millisecond
		o = drive(t, plan)
		assert.EqualValues(t, clients, o.unfinished.Count[stats.Connecting])
	})
}
