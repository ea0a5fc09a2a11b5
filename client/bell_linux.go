package client

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bell ends a blocking system call of one thread when a time has come or the
// control pipe has something to say: the call returns EINTR. With it a client
// that is alone in its process can wait in recv itself and needs no poll before.
//
// A ring may come while the thread is not in a call. So its handler, which is a
// single store (bell_linux_*.s), also leaves a mark to look at after each call; and it
// rings again and again until it is set anew.
//
// A bell belongs to the thread that hung it, which must stay locked to its
// goroutine. A process has one.
type bell struct {
	hung    bool
	timer   int32
	control int
	flags   int    // of the control pipe, before
	next    int64  // when it rings, in nanoseconds since the release
	rung    uint32 // not 0 since a ring
}

// mark is where a ring leaves its mark: in the bell that was hung last.
//
//lint:ignore U1000 ring, in assembly, reads it
var mark *uint32

// heard reports whether the bell has rung since it was asked last.
func (b *bell) heard() bool {
	return atomic.LoadUint32(&b.rung) != 0 && atomic.SwapUint32(&b.rung, 0) != 0
}

const (
	bellSignal = unix.SIGIO
	// ringAgain is after how many nanoseconds it rings again until it is set
	// anew: a ring just before the call does not end it.
	ringAgain = 10e6
	// ringEarly is how much too early it may ring, so that it need not be set
	// for each wait.
	ringEarly = 3 * second / 2
)

// From the kernel's <asm/signal.h>, <asm/siginfo.h> and <fcntl.h>; a sigaction
// is four words here, the second its flags.
const (
	saRestart      = 0x10000000
	sigevThreadID  = 4
	fSetOwnerEx    = 15
	fSetSignal     = 10
	ownerThread    = 0
	sizeofSigset   = 8
	sigeventPadded = 64
)

// hang sets up a bell for the calling thread.
func (b *bell) hang(control int) error {
	if ringAddress() == 0 {
		return errors.ErrUnsupported
	}
	mark = &b.rung
	if err := handle(bellSignal, ringAddress()); err != nil {
		return err
	}
	// Where the runtime has something to interrupt a thread for, it shall succeed.
	if err := handle(unix.SIGURG, 0); err != nil {
		return err
	}
	thread := int32(unix.Gettid())
	event := struct {
		value                  uint64
		signal, notify, thread int32
		_                      [sigeventPadded - 20]byte
	}{signal: int32(bellSignal), notify: sigevThreadID, thread: thread}
	_, _, errno := syscall.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC,
		uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&b.timer)))
	if errno != 0 {
		return os.NewSyscallError("timer_create", errno)
	}
	b.hung, b.control = true, control
	if err := b.listen(thread); err != nil {
		b.takeDown()
		return os.NewSyscallError("fcntl", err)
	}
	return nil
}

// listen has the kernel ring when control becomes readable or hangs up.
func (b *bell) listen(thread int32) error {
	flags, err := unix.FcntlInt(uintptr(b.control), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	b.flags = flags
	if _, err := unix.FcntlInt(uintptr(b.control), fSetSignal, int(bellSignal)); err != nil {
		return err
	}
	owner := [2]int32{ownerThread, thread}
	_, _, errno := syscall.RawSyscall(unix.SYS_FCNTL, uintptr(b.control), fSetOwnerEx, uintptr(unsafe.Pointer(&owner)))
	if errno != 0 {
		return errno
	}
	_, err = unix.FcntlInt(uintptr(b.control), unix.F_SETFL, flags|unix.O_ASYNC)
	return err
}

// takeDown undoes hang.
func (b *bell) takeDown() {
	if b.hung {
		syscall.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(b.timer), 0, 0)
		_, _ = unix.FcntlInt(uintptr(b.control), unix.F_SETFL, b.flags)
		b.hung = false
	}
}

// set has the bell ring at due, or up to ringEarly before.
func (b *bell) set(due, now int64) {
	if now < b.next && b.next <= due && due-b.next < ringEarly {
		return
	}
	b.next = due
	spec := unix.ItimerSpec{
		Value:    unix.NsecToTimespec(max(due-now, 1)),
		Interval: unix.NsecToTimespec(ringAgain),
	}
	syscall.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(b.timer), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// handle has a signal end blocking calls, which the runtime has the kernel take
// up again, and, unless it is 0, be handled at the given address. The rest of
// what the runtime set up for it stays: the stack and the way back.
func handle(signal unix.Signal, handler uintptr) error {
	var action [4]uint64
	if errno := sigaction(signal, nil, &action); errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	if handler != 0 {
		action[0] = uint64(handler)
	}
	action[1] &^= saRestart
	if errno := sigaction(signal, &action, nil); errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}

func sigaction(signal unix.Signal, set, old *[4]uint64) unix.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), sizeofSigset, 0, 0)
	return errno
}
