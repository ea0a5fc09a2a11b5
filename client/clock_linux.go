package client

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Clock counts nanoseconds since the release of the run, negative before it.
// It is built on the kernel's monotonic clock, which all processes of a host
// share: a step of the wall clock does not touch it.
type Clock struct {
	release int64     // by Monotonic
	began   time.Time // the same, for those who read the clock without a call
}

// NewClock returns a clock that is 0 when Monotonic reaches release.
func NewClock(release int64) (c Clock) {
	const (
		together = 10e3 // ns; if more lies between two looks, something came in between
		tries    = 10
	)
	for range tries {
		before := Monotonic()
		c = Clock{release, time.Now().Add(time.Duration(release - before))}
		if Monotonic()-before < together {
			break
		}
	}
	return c
}

// Now returns the nanoseconds since the release.
func (c Clock) Now() int64 { return int64(time.Since(c.began)) }

// Ask returns the same by a system call. That is dearer than Now, except in a
// process that runs for a few microseconds at a time: what Now reads (the vDSO, its
// data, the runtime's own) lies on five pages that are cold by then.
func (c Clock) Ask() int64 { return Monotonic() - c.release }

// Monotonic reads the kernel's monotonic clock, in nanoseconds.
func Monotonic() int64 { return kernelTime(unix.CLOCK_MONOTONIC) }

// threadTime is what the calling thread has used of its CPU, in nanoseconds.
func threadTime() int64 { return kernelTime(unix.CLOCK_THREAD_CPUTIME_ID) }

func kernelTime(clock uintptr) int64 {
	var ts unix.Timespec
	syscall.RawSyscall6(unix.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0, 0, 0, 0)
	return ts.Nano()
}
