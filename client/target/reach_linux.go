package target

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"horde/client"
)

// Reach makes the one connect that comes before a run and returns the first of
// the addresses that takes it. One that neither takes nor refuses it within
// limit is used if no other does: the run will show it connecting. The error
// names the address and what it said. A valid source is where to connect from.
func Reach(addresses []netip.AddrPort, source netip.Addr, limit time.Duration) (netip.AddrPort, error) {
	var silent netip.AddrPort
	var refusal error
	for _, ap := range addresses {
		switch err := connect(ap, source, limit); {
		case err == nil:
			return ap, nil
		case err == unix.EINPROGRESS:
			if !silent.IsValid() {
				silent = ap
			}
		case refusal == nil:
			refusal = fmt.Errorf("connect to %v: %w", ap, err)
		}
	}
	if silent.IsValid() {
		return silent, nil
	}
	return netip.AddrPort{}, refusal
}

// connect returns nil, what the connect failed with, or EINPROGRESS if it was
// not decided within limit.
func connect(ap netip.AddrPort, source netip.Addr, limit time.Duration) error {
	a := sockaddr(ap)
	fd, err := unix.Socket(familyOf(a), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	// Closed by a reset, it leaves no TIME_WAIT behind that would keep a port.
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	if source.IsValid() {
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(source, 0))); err != nil {
			return fmt.Errorf("from %v: %w", source, err)
		}
	}
	if err = unix.Connect(fd, a); err != unix.EINPROGRESS {
		return err
	}
	for end := time.Now().Add(limit); err == unix.EINPROGRESS && time.Now().Before(end); {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		_, _ = unix.Poll(fds, int(time.Until(end).Milliseconds())+1)
		err = connectError(fd)
	}
	return err
}

// CheckSource reports whether this host has the address to connect from.
func CheckSource(a netip.Addr) error {
	name := sockaddr(netip.AddrPortFrom(a, 0))
	fd, err := unix.Socket(familyOf(name), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, name); err != nil {
		return fmt.Errorf("connect from %v: %w", a, err)
	}
	return nil
}

func familyOf(a unix.Sockaddr) int {
	if _, is4 := a.(*unix.SockaddrInet4); is4 {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// connectError asks how a connect ended. A wake-up alone proves nothing, so
// without an error it asks for the peer. A reset is no error here: one that
// answers a SYN is ECONNREFUSED, so this connection was there, and what becomes
// of such is for the run to count.
func connectError(fd int) error {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	switch {
	case err != nil:
		return os.NewSyscallError("getsockopt", err)
	case unix.Errno(errno) == unix.ECONNRESET:
		return nil
	case errno != 0:
		return unix.Errno(errno)
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return unix.EINPROGRESS
	}
	return nil
}

func sockaddr(ap netip.AddrPort) unix.Sockaddr {
	if ip := ap.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(ap.Port()), Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16(), ZoneId: zoneIndex(ap.Addr().Zone())}
}

// Address is ap in the kernel's own form.
func Address(ap netip.AddrPort) client.Address {
	port := [2]byte{byte(ap.Port() >> 8), byte(ap.Port())} // network order
	switch a := sockaddr(ap).(type) {
	case *unix.SockaddrInet4:
		raw := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: a.Addr}
		return client.Address((*[unix.SizeofSockaddrInet4]byte)(unsafe.Pointer(&raw))[:])
	case *unix.SockaddrInet6:
		raw := unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: a.Addr, Scope_id: a.ZoneId}
		return client.Address((*[unix.SizeofSockaddrInet6]byte)(unsafe.Pointer(&raw))[:])
	}
	panic("target: internal error: an address of no known family")
}

// zoneIndex turns the zone of a link-local address into an interface index, 0
// if there is no such interface (connect then says so itself).
func zoneIndex(zone string) uint32 {
	if index, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(index)
	}
	ifreq, err := unix.NewIfreq(zone)
	if err != nil {
		return 0
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifreq) != nil {
		return 0
	}
	return ifreq.Uint32()
}
