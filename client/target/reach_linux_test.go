package target

import (
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/client"
)

func listening(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil && addr != "127.0.0.1:0" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

func refusing(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// undecided is a listener whose queue is full.
func undecided(t *testing.T) netip.AddrPort {
	t.Helper()
	open := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	l := open()
	require.NoError(t, unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(l, 0))
	name, err := unix.Getsockname(l)
	require.NoError(t, err)
	for range 8 {
		if err := unix.Connect(open(), name); err != nil {
			require.Equal(t, unix.EINPROGRESS, err)
		}
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port))
}

func TestATargetThatResetsIsReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var over sync.WaitGroup
	over.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	})
	defer over.Wait()
	defer l.Close()
	at := l.Addr().(*net.TCPAddr).AddrPort()
	for range 1000 {
		_, err := Reach([]netip.AddrPort{at}, netip.Addr{}, time.Second)
		require.NoError(t, err)
	}
}

func TestReach(t *testing.T) {
	good, other := listening(t, "127.0.0.1:0"), listening(t, "127.0.0.1:0")
	bad, silent := refusing(t), undecided(t)
	const limit = 100 * time.Millisecond
	for _, row := range []struct {
		name string
		list []netip.AddrPort
		want netip.AddrPort
	}{
		{"the only one", []netip.AddrPort{good}, good},
		{"the first of two", []netip.AddrPort{good, other}, good},
		{"the one that takes it after one that refuses", []netip.AddrPort{bad, good}, good},
		{"the one that takes it after one that is silent", []netip.AddrPort{silent, good}, good},
		{"the silent one where no other takes it", []netip.AddrPort{bad, silent, bad}, silent},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Reach(row.list, netip.Addr{}, limit)
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
	t.Run("none", func(t *testing.T) {
		_, err := Reach([]netip.AddrPort{bad, refusing(t)}, netip.Addr{}, limit)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.ErrorContains(t, err, "connect to "+bad.String())
	})
}

func TestReachOverIPv6(t *testing.T) {
	good := listening(t, "[::1]:0")
	got, err := Reach([]netip.AddrPort{good}, netip.Addr{}, 10*time.Second)
	require.NoError(t, err)
	assert.Equal(t, good, got)
}

func TestReachNeedsADescriptor(t *testing.T) {
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}))
	_, err := Reach([]netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}, netip.Addr{}, time.Second)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	assert.ErrorIs(t, err, syscall.EMFILE)
}

func TestAddressIsWhatTheKernelReads(t *testing.T) {
	v4 := client.Address{unix.AF_INET, 0, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
	assert.Equal(t, v4, Address(netip.MustParseAddrPort("127.0.0.1:8080")))
	assert.Equal(t, v4, Address(netip.MustParseAddrPort("[::ffff:127.0.0.1]:8080")), "mapped is IPv4")

	v6 := make(client.Address, unix.SizeofSockaddrInet6)
	v6[0], v6[2], v6[3], v6[23] = unix.AF_INET6, 0x1f, 0x90, 1
	assert.Equal(t, v6, Address(netip.MustParseAddrPort("[::1]:8080")))
}

func TestZones(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skip(err)
	}
	for zone, want := range map[string]uint32{
		"lo": uint32(lo.Index), "7": 7, "": 0, "no-such-if": 0, "a name that is far too long": 0, "99999999999": 0,
	} {
		assert.Equal(t, want, zoneIndex(zone), "%q", zone)
	}
}

func TestAProbeThatCannotBeAsked(t *testing.T) {
	assert.ErrorIs(t, connectError(-1), syscall.EBADF)
}
