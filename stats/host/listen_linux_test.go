package host

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// listen opens a socket on a free port, with room for so many connections.
func listen(t *testing.T, backlog int) (port int, close func()) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	close = sync.OnceFunc(func() { unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, backlog))
	name, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return name.(*unix.SockaddrInet4).Port, close
}
