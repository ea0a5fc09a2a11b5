package client

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// System calls of the hot path go through RawSyscall: a worker has one
// goroutine that matters, so there is nobody to hand its processor to while it
// blocks, and the runtime's monitor thread has nothing to do (see
// ARCHITECTURE.md, "What a worker costs").

// address is a destination in the kernel's own form, built once.
type address struct {
	family uintptr
	raw    unix.RawSockaddrInet6 // the larger of the two; a sockaddr_in lies at its start
	size   uintptr
}

func newAddress(ap netip.AddrPort) address {
	port := [2]byte{byte(ap.Port() >> 8), byte(ap.Port())} // network order
	if ip := ap.Addr().Unmap(); ip.Is4() {
		a := address{family: unix.AF_INET, size: unix.SizeofSockaddrInet4}
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(&a.raw))
		in.Family = unix.AF_INET
		in.Port = *(*uint16)(unsafe.Pointer(&port))
		in.Addr = ip.As4()
		return a
	}
	a := address{family: unix.AF_INET6, size: unix.SizeofSockaddrInet6}
	a.raw.Family = unix.AF_INET6
	a.raw.Port = *(*uint16)(unsafe.Pointer(&port))
	a.raw.Addr = ap.Addr().As16()
	a.raw.Scope_id = zoneIndex(ap.Addr().Zone())
	return a
}

// zoneIndex turns the zone of a link-local address into an interface index, 0
// if there is no such interface (connect then says so itself).
func zoneIndex(zone string) uint32 {
	if zone == "" {
		return 0
	}
	index := 0
	for _, digit := range []byte(zone) {
		if digit < '0' || digit > '9' {
			return interfaceIndex(zone)
		}
		index = index*10 + int(digit-'0')
	}
	return uint32(index)
}

func interfaceIndex(name string) uint32 {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	ifreq, err := unix.NewIfreq(name)
	if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifreq) != nil {
		return 0
	}
	return ifreq.Uint32()
}

// dial opens a non-blocking socket and begins to connect it. EINPROGRESS is not
// an error: the first send, or writability, tells how it went.
func dial(a *address) (fd int, errno unix.Errno) {
	r, _, errno := unix.RawSyscall(unix.SYS_SOCKET, a.family,
		unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if errno != 0 {
		return -1, errno
	}
	_, _, errno = unix.RawSyscall(unix.SYS_CONNECT, r, uintptr(unsafe.Pointer(&a.raw)), a.size)
	if errno != 0 && errno != unix.EINPROGRESS && errno != unix.EINTR {
		closeSocket(int(r))
		return -1, errno
	}
	return int(r), 0
}

// again reports whether a call only has to wait for its socket.
func again(errno unix.Errno) bool { return errno == unix.EAGAIN || errno == unix.EINTR }

func send(fd int, b []byte) (int, unix.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(r), errno
}

func recv(fd int, b []byte) (int, unix.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	return int(r), errno
}

// sendAtOnce turns Nagle's algorithm off, which would hold back the last piece
// of a request longer than one segment until the others are acknowledged.
func sendAtOnce(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// finishSending half-closes the connection, as webbench does after an HTTP/0.9 request.
func finishSending(fd int) { _ = unix.Shutdown(fd, unix.SHUT_WR) }

func closeSocket(fd int) { unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// pollTwo waits until fd reports some of events (0 = fd does not matter),
// until control reports anything, or for at most limit nanoseconds.
func pollTwo(fd int, events uint32, control int, limit int64) (ready uint32, stop bool) {
	fds := [2]unix.PollFd{{Fd: int32(control), Events: unix.POLLIN}, {Fd: int32(fd), Events: int16(events) | unix.POLLRDHUP}}
	n := uintptr(2)
	if events == 0 {
		n = 1
	}
	ts := unix.NsecToTimespec(max(limit, 0))
	_, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), n,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	if errno != 0 { // EINTR: nothing is ready, the caller looks at the clock
		return 0, false
	}
	return uint32(fds[1].Revents), fds[0].Revents != 0
}
