package nullserver

import (
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the hot path go around the scheduler: none of them blocks but
// epoll_pwait, and nothing else in a serving process wants its thread. The
// buffers are never empty.

func accept(listener int) (fd int, errno syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(r), errno
}

func recv(fd int, b []byte) (n int, errno syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
	return int(r), errno
}

func send(fd int, b []byte) (n int, errno syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(r), errno
}

func closeSocket(fd int) {
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

// wait blocks for events. Not epoll_wait: newer architectures lack it.
func wait(epoll int, events []unix.EpollEvent) (n int, errno syscall.Errno) {
	forever := -1
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(forever), 0, 0)
	return int(r), errno
}

func control(epoll, op, fd int, events uint32) syscall.Errno {
	event := unix.EpollEvent{Events: events, Fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epoll), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(&event)), 0, 0)
	return errno
}

// listen opens a listening socket in blocking mode. Accepted sockets inherit
// its TCP_NODELAY.
func listen(addr netip.AddrPort, backlog int, shared bool) (fd int, err error) {
	family := unix.AF_INET
	if addr.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err = bindAndListen(fd, addr, backlog, shared); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func bindAndListen(fd int, addr netip.AddrPort, backlog int, shared bool) error {
	for _, option := range []struct {
		level, name int
		wanted      bool
	}{
		{unix.SOL_SOCKET, unix.SO_REUSEADDR, true},
		{unix.SOL_SOCKET, unix.SO_REUSEPORT, shared},
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, true},
	} {
		if !option.wanted {
			continue
		}
		if err := unix.SetsockoptInt(fd, option.level, option.name, 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if err := unix.Bind(fd, sockaddr(addr)); err != nil {
		return os.NewSyscallError("bind", err)
	}
	return os.NewSyscallError("listen", unix.Listen(fd, backlog))
}

func sockaddr(addr netip.AddrPort) unix.Sockaddr {
	if addr.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
}

// localPort returns the port that the kernel chose.
func localPort(fd int) (uint16, error) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return uint16(name.Port), nil
	case *unix.SockaddrInet6:
		return uint16(name.Port), nil
	}
	return 0, os.NewSyscallError("getsockname", unix.EAFNOSUPPORT)
}
