package client

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock counts nanoseconds since the release of the run, negative before it.
// It is built on the kernel's monotonic clock, which all processes of a host
// share: a step of the wall clock does not touch it.
type Clock struct{ release time.Time }

// NewClock returns a clock that is 0 when Monotonic reaches release.
func NewClock(release int64) Clock {
	return Clock{time.Now().Add(time.Duration(release - Monotonic()))}
}

// Now returns the nanoseconds since the release.
func (c Clock) Now() int64 { return int64(time.Since(c.release)) }

// Monotonic reads the kernel's monotonic clock, in nanoseconds.
func Monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// threadTime is what the calling thread has used of its CPU, in nanoseconds.
func threadTime() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return ts.Nano()
}
