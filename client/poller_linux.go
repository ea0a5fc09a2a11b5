package client

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Readiness of a socket, as epoll and poll both spell it on Linux.
const (
	readable = unix.EPOLLIN
	writable = unix.EPOLLOUT
	hangup   = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// poller waits for many sockets at once. A socket is added once,
// edge-triggered: no further call per request. Closing a socket
// takes it out. It belongs to one worker's loop.
type poller struct {
	fd     int
	events [512]unix.EpollEvent
}

func openPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &poller{fd: fd}, nil
}

func (p *poller) close() { _ = unix.Close(p.fd) }

// add registers fd for the given readiness. Its events carry slot and
// generation: a later socket may have the number of one that was closed earlier
// in the same batch.
func (p *poller) add(fd int, events, slot, generation uint32) unix.Errno {
	return p.control(unix.EPOLL_CTL_ADD, fd, events, slot, generation)
}

// change watches a registered fd for other readiness.
func (p *poller) change(fd int, events, slot, generation uint32) unix.Errno {
	return p.control(unix.EPOLL_CTL_MOD, fd, events, slot, generation)
}

// remove watches fd no longer.
func (p *poller) remove(fd int) { p.control(unix.EPOLL_CTL_DEL, fd, 0, 0, 0) }

func (p *poller) control(op uintptr, fd int, events, slot, generation uint32) unix.Errno {
	ev := unix.EpollEvent{
		Events: events | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff,
		Fd:     int32(slot), Pad: int32(generation),
	}
	_, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), op, uintptr(fd),
		uintptr(unsafe.Pointer(&ev)), 0, 0)
	return errno
}

// wait returns the events of at most ms milliseconds. A signal ends the wait; a
// last look then tells what there is.
func (p *poller) wait(ms int) []unix.EpollEvent {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
			uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), uintptr(ms), 0, 0)
		switch {
		case errno == 0:
			return p.events[:n]
		case errno != unix.EINTR || ms == 0:
			return nil
		}
		ms = 0
	}
}
