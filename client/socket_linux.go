package client

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// System calls of the hot path go through RawSyscall: a worker has one
// goroutine that matters, so there is nobody to hand its processor to while it
// blocks, and the runtime's monitor thread has nothing to do (see
// ARCHITECTURE.md, "What a worker costs").

// address is an Address where the kernel can read it, for as long as the
// worker lives.
type address struct {
	raw  unix.RawSockaddrAny
	size uintptr
}

func newAddress(a Address) address {
	var b address
	raw := (*[unix.SizeofSockaddrAny]byte)(unsafe.Pointer(&b.raw))
	b.size = uintptr(copy(raw[:], a))
	return b
}

// dial opens a socket and connects it. A kind of SOCK_NONBLOCK only begins to,
// and so does an interrupted call: that is no error, the first send, or
// writability, tells how it went.
//
// A source is bound without a port (IP_BIND_ADDRESS_NO_PORT, ip(7)): connect
// chooses one, which for another source or target may be in use already.
func dial(a, source *address, kind uintptr) (fd int, errno unix.Errno) {
	r, _, errno := syscall.RawSyscall6(unix.SYS_SOCKET, uintptr(a.raw.Addr.Family),
		unix.SOCK_STREAM|unix.SOCK_CLOEXEC|kind, 0, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	if source != nil {
		if errno := bindTo(int(r), source); errno != 0 {
			closeSocket(int(r))
			return -1, errno
		}
	}
	_, _, errno = syscall.RawSyscall6(unix.SYS_CONNECT, r, uintptr(unsafe.Pointer(&a.raw)), a.size, 0, 0, 0)
	switch errno {
	case 0, unix.EINPROGRESS, unix.EINTR:
		return int(r), 0
	}
	closeSocket(int(r))
	return -1, errno
}

func bindTo(fd int, source *address) unix.Errno {
	one := int32(1)
	// A kernel that does not know the option chooses the port at once.
	syscall.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT,
		uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one), 0)
	_, _, errno := syscall.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&source.raw)), source.size)
	return errno
}

const nonBlocking = unix.SOCK_NONBLOCK

// again reports whether a call only has to wait for its socket.
func again(errno unix.Errno) bool { return errno == unix.EAGAIN || errno == unix.EINTR }

func send(fd int, b []byte) (int, unix.Errno) {
	r, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return int(r), errno
}

// recv receives what is there.
func recv(fd int, b []byte) (int, unix.Errno) { return receive(fd, b, unix.MSG_DONTWAIT) }

// recvWaiting waits until something is there, unless the socket is SOCK_NONBLOCK.
func recvWaiting(fd int, b []byte) (int, unix.Errno) { return receive(fd, b, 0) }

func receive(fd int, b []byte, flags uintptr) (int, unix.Errno) {
	r, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
	return int(r), errno
}

// sendAtOnce turns Nagle's algorithm off, which would hold back the last piece
// of a request longer than one segment until the others are acknowledged.
func sendAtOnce(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// finishSending half-closes the connection, as webbench does after an HTTP/0.9 request.
func finishSending(fd int) { _ = unix.Shutdown(fd, unix.SHUT_WR) }

func closeSocket(fd int) { syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0, 0) }

// pollTwo waits until fd reports some of events (0 = fd does not matter),
// until control reports anything, or for at most limit nanoseconds. A signal ends
// the wait; a last look then tells what there is.
func pollTwo(fd int, events uint32, control int, limit int64) (ready uint32, stop bool) {
	fds := [2]unix.PollFd{{Fd: int32(control), Events: unix.POLLIN}, {Fd: int32(fd), Events: int16(events) | unix.POLLRDHUP}}
	n := uintptr(2)
	if events == 0 {
		n = 1
	}
	for limit := max(limit, 0); ; limit = 0 {
		ts := unix.NsecToTimespec(limit)
		_, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), n,
			uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		if errno == 0 {
			break
		}
		if errno != unix.EINTR || limit == 0 {
			return 0, false
		}
	}
	return uint32(fds[1].Revents), fds[0].Revents != 0
}

// nap sleeps for ns nanoseconds.
func nap(ns int64) {
	ts := unix.NsecToTimespec(ns)
	syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// sleepExactly lets sleeps of the calling thread end within a microsecond
// instead of fifty (prctl(2), PR_SET_TIMERSLACK).
func sleepExactly() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0) }
