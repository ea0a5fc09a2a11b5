package client

import (
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Reach makes the one connect that comes before a run and returns the first of
// the addresses that takes it. One that neither takes nor refuses it within
// limit is used if no other does: the run will show it connecting. It runs in
// the parent. The error names the address and what it said.
func Reach(addresses []netip.AddrPort, limit time.Duration) (netip.AddrPort, error) {
	var silent netip.AddrPort
	var refusal error
	for _, ap := range addresses {
		errno := tryConnect(ap, limit)
		switch {
		case errno == 0:
			return ap, nil
		case errno == unix.EINPROGRESS:
			if !silent.IsValid() {
				silent = ap
			}
		case refusal == nil:
			refusal = fmt.Errorf("connect to %v: %w", ap, errno)
		}
	}
	if silent.IsValid() {
		return silent, nil
	}
	return netip.AddrPort{}, refusal
}

// tryConnect returns 0, what the connect failed with, or EINPROGRESS if it was
// not decided within limit.
func tryConnect(ap netip.AddrPort, limit time.Duration) unix.Errno {
	a := newAddress(ap)
	fd, errno := dial(&a)
	if errno != 0 {
		return errno
	}
	defer closeSocket(fd)
	for end := time.Now().Add(limit); ; {
		left := time.Until(end)
		if left <= 0 {
			return unix.EINPROGRESS
		}
		pollOne(fd, writable, left)
		if connected(fd) {
			return 0
		}
		if errno := connectError(fd); errno != 0 && errno != unix.EINPROGRESS {
			return errno
		}
	}
}

// connected asks for the peer: a wake-up alone proves nothing.
func connected(fd int) bool {
	_, err := unix.Getpeername(fd)
	return err == nil
}

func pollOne(fd int, events int16, limit time.Duration) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	_, _ = unix.Poll(fds, int(limit.Milliseconds())+1)
}

// connectError asks how a connect ended: 0 established, EINPROGRESS not yet.
func connectError(fd int) unix.Errno {
	value, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err.(unix.Errno)
	}
	return unix.Errno(value)
}
