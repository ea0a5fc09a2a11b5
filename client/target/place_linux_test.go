package target

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestUnixSocketsAreReached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, name := range []string{path, "@horde-test-" + filepath.Base(t.TempDir()) + t.Name()} {
		_, err := ReachSocket(name)
		assert.Error(t, err, "nobody listens")
		l, err := net.Listen("unix", name)
		require.NoError(t, err)
		place, err := ReachSocket(name)
		l.Close()
		require.NoError(t, err)
		assert.Equal(t, name, place.String())
		assert.Empty(t, place.Names())
	}
	_, err := ReachSocket(path)
	assert.ErrorIs(t, err, syscall.ENOENT)
	assert.ErrorContains(t, err, "connect to "+path)
}

func TestUnixSocketWithAFullQueueIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(l)
	require.NoError(t, unix.Bind(l, &unix.SockaddrUnix{Name: path}))
	require.NoError(t, unix.Listen(l, 0))
	for range 3 {
		_, err := ReachSocket(path)
		require.NoError(t, err)
	}
}

func TestSocketAddressIsWhatTheKernelReads(t *testing.T) {
	assert.Equal(t, "\x01\x00/run/s\x00", string(Place{Socket: "/run/s"}.Raw()))
	assert.Equal(t, "\x01\x00\x00name", string(Place{Socket: "@name"}.Raw()))
}

func TestCheckSocket(t *testing.T) {
	for _, path := range []string{"/run/s", "s", "@name", strings.Repeat("x", 107)} {
		assert.NoError(t, CheckSocket(path), path)
	}
	for _, path := range []string{"", "@", strings.Repeat("x", 108), "a\x00b"} {
		assert.Error(t, CheckSocket(path), path)
	}
}

func TestAPlaceKnowsWhatWasTried(t *testing.T) {
	bad, good := refusing(t), listening(t, "127.0.0.1:0")
	place, err := ReachOne([]netip.AddrPort{bad, good}, netip.Addr{}, time.Second)
	require.NoError(t, err)
	assert.Equal(t, good.String(), place.String())
	assert.Equal(t, []string{bad.String(), good.String()}, place.Names())
	assert.Equal(t, Address(good), place.Raw())
}
