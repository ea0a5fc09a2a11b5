package client

import (
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/stats"
)

// What this host is short of is never blamed on the target, and never asked
// for in a spin.

// leaveDescriptors bounds this process to n descriptors more than are open.
func leaveDescriptors(t *testing.T, n int) {
	t.Helper()
	highest, err := unix.Dup(0)
	require.NoError(t, err)
	limit := uint64(highest + 64)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}))
	fillers := []int{highest}
	for {
		fd, err := unix.Dup(0)
		if err == unix.EMFILE {
			break
		}
		require.NoError(t, err)
		fillers = append(fillers, fd)
	}
	for _, fd := range fillers[:n] {
		unix.Close(fd)
	}
	t.Cleanup(func() {
		for _, fd := range fillers[n:] {
			unix.Close(fd)
		}
	})
}

func TestDescriptorsRunOut(t *testing.T) {
	if !inside(t) {
		return
	}
	// Nobody accepts: a connection costs this process one descriptor.
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(l)
	require.NoError(t, unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(l, 64))
	name, err := unix.Getsockname(l)
	require.NoError(t, err)
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port))

	control := openControl(t)
	for _, row := range []struct {
		name          string
		clients, room int
		waiting       uint64
	}{
		{"one client and no descriptor", 1, 0, 0},
		{"four clients, two descriptors and the poller's", 4, 3, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			leaveDescriptors(t, row.room)
			plan := planOf(address, row.clients, 0)
			plan.Duration = time.Second
			o := driveUntil(t, plan, control, nil)
			none := uint64(row.clients) - row.waiting
			assert.Equal(t, row.waiting, o.unfinished.Count[stats.Waiting])
			assert.Len(t, o.endings(), 1)
			assert.Equal(t, o.Failed, o.endings()[ending{stats.LocalFDs, stats.Connecting, syscall.EMFILE}])
			assert.GreaterOrEqual(t, o.Failed, none)
			assert.LessOrEqual(t, o.Failed, 16*none, "paced")
		})
	}
	t.Run("not even one to wait with", func(t *testing.T) {
		leaveDescriptors(t, 0)
		plan := planOf(address, 2, 0)
		_, err := runLocked(&plan, NewClock(Monotonic()), control.read, func(int, *stats.Tally) error { return nil })
		require.ErrorIs(t, err, syscall.EMFILE)
	})
}

// loopbackUp brings the loopback interface of a fresh network namespace up.
func loopbackUp(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	require.NoError(t, err)
	require.NoError(t, unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo))
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	require.NoError(t, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo))
}

func setKernel(t *testing.T, name, value string) {
	t.Helper()
	require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0o644))
}

func TestLocalPortsRunOut(t *testing.T) {
	if !inside(t, "unshare", "-rn") {
		return
	}
	loopbackUp(t)
	setKernel(t, "tcp_tw_reuse", "0")
	ranges := []string{"40000 40015", "41000 41015"} // TIME_WAIT lasts a minute
	for i, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			setKernel(t, "ip_local_port_range", "50000 60000")
			s := serve(t, answerAll)
			setKernel(t, "ip_local_port_range", ranges[i])
			plan := planOf(s.address(), shape.clients, 0)
			plan.Duration = time.Second
			o := drive(t, plan)
			assert.EqualValues(t, 16, o.Succeeded)
			assert.Equal(t, map[ending]uint64{{stats.LocalPorts, stats.Connecting, syscall.EADDRNOTAVAIL}: o.Failed}, o.endings())
			assert.LessOrEqual(t, o.Failed, uint64(16*shape.clients), "paced")
		})
	}
}

func TestNoRoute(t *testing.T) {
	if !inside(t, "unshare", "-rn") {
		return
	}
	bothShapes(t, func(t *testing.T, clients int) {
		o := drive(t, planOf(netip.MustParseAddrPort("192.0.2.1:80"), clients, 4))
		assert.Equal(t, map[ending]uint64{{stats.Unreachable, stats.Connecting, syscall.ENETUNREACH}: 4}, o.endings())
	})
}

func TestTheKernelGivesAConnectUp(t *testing.T) {
	if !inside(t, "unshare", "-rn") {
		return
	}
	loopbackUp(t)
	setKernel(t, "tcp_syn_retries", "1")
	bothShapes(t, func(t *testing.T, clients int) {
		o := drive(t, planOf(fullQueue(t), clients, uint64(clients)))
		assert.Equal(t, map[ending]uint64{{stats.KernelETimedout, stats.Connecting, syscall.ETIMEDOUT}: uint64(clients)}, o.endings())
	})
}
