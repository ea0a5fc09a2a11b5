package procs

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"horde/procs/wire"
	"horde/stats"
)

// child is the parent's handle on one worker.
type child struct {
	id, clients int
	cpu         int      // the one CPU it is bound to, -1 = not bound
	batch       bool     // it is in SCHED_BATCH
	unbound     error    // why it could not be bound, nil if that was not asked for
	pid         int      // 0 = not started
	control     int      // our end of its control pipe, -1 = closed
	report      int      // our end of its report pipe, -1 = closed
	args        []string // its whole command line
	env         []string // and environment
	state       state
	out         []byte // what the control pipe had no room for yet
	owed        bool   // out is not empty, and the loop is told when there is room
	in          []byte // read and not decoded
	greeted     bool   // it has sent the magic line
	garbled     bool   // it has sent what cannot be believed

	counts        // as it reported them
	warmup counts // and of its warm-up

	final   wire.Final
	problem string // why it was given up, "" if its end speaks for itself
	exit    string
}

// counts is a worker's ledger.
type counts struct{ begun, succeeded, failed uint64 }

func (c *counts) underWay() uint64 { return c.begun - c.succeeded - c.failed }

// add enters what a worker counted, unless more has ended than was begun.
func (c *counts) add(t *stats.Tally) error {
	sum := counts{c.begun + t.Begun, c.succeeded + t.Succeeded, c.failed + t.Failed}
	if sum.begun < sum.succeeded+sum.failed {
		return fmt.Errorf("%d requests ended, %d begun", sum.succeeded+sum.failed, sum.begun)
	}
	*c = sum
	return nil
}

// state is how far a worker has come, as its parent knows.
type state uint8

const (
	starting state = iota // started or not; it has not said that it is ready
	prepared
	running  // told when to begin
	finished // its final record is in
	lost     // it ended, or was given up, without one
)

// starter starts the workers of one CPU from a thread of its own, whose
// affinity and timer slack they inherit. The thread lives until the workers are gone: Pdeathsig is tied to the thread
// that started a process, not to its parent process (prctl(2)).
type starter struct {
	path     string
	null     int // /dev/null
	children []*child
	batch    bool // in SCHED_BATCH, if that can be
	plan     func(*child) []byte
	cancel   func() bool
	handover *handover
}

// startAll starts the children, those of one CPU one after another, and
// returns the first error of each starter. The threads stay until release is
// called.
func startAll(children []*child, batch bool, plan func(*child) []byte, cancel func() bool) (errs []error, release func()) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return []error{os.NewSyscallError("open "+os.DevNull, err)}, func() {}
	}
	defer unix.Close(null)
	var h handover
	if err := h.open(); err != nil {
		return []error{err}, func() {}
	}
	defer h.close()
	byCPU := map[int][]*child{}
	for _, c := range children {
		byCPU[c.cpu] = append(byCPU[c.cpu], c)
	}
	var started, released sync.WaitGroup
	hold := make(chan struct{})
	failures := make(chan error, len(byCPU))
	for _, group := range byCPU {
		s := starter{path: workerPath(), null: null, children: group, batch: batch, plan: plan, cancel: cancel, handover: &h}
		started.Add(1)
		released.Add(1)
		go onOtherThread(func() {
			defer released.Done()
			if err := s.start(); err != nil {
				failures <- err
			}
			started.Done()
			<-hold
		})
	}
	go func() {
		started.Wait()
		close(h.sent)
	}()
	if err := h.receive(); err != nil {
		errs = append(errs, err)
	}
	close(failures)
	for err := range failures {
		errs = append(errs, err)
	}
	return errs, func() {
		close(hold)
		released.Wait()
	}
}

// onOtherThread runs f on a thread that ends with it, and so not on the process's
// first: that one cannot end, and what /proc shows of a process is its.
func onOtherThread(f func()) {
	runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	defer runtime.UnlockOSThread()
	begun := make(chan struct{})
	go func() { // somewhere else, as long as this thread is taken
		runtime.LockOSThread()
		close(begun)
		f()
	}()
	<-begun
}

// workerEnv is all that a worker's runtime needs to be told: one processor
// (and no search for a quota in the control groups, which keeps two files open),
// no collections (it allocates nothing in the steady state, unless it makes TLS
// sessions) and no signals to preempt a thread that has nobody to make room for.
func workerEnv(secured bool) []string {
	collect := "GOGC=off"
	if secured {
		collect = "GOGC=100"
	}
	return slices.Concat(raceEnv, []string{"GOMAXPROCS=1", collect, "GODEBUG=asyncpreemptoff=1,containermaxprocs=0,updatemaxprocs=0"})
}

// raceEnv is what tests add.
var raceEnv []string

func (s *starter) start() error {
	ownDescriptors(s.null, s.handover.from)
	if cpu := s.children[0].cpu; cpu >= 0 {
		if err := bindThread(cpu); err != nil {
			for _, c := range s.children {
				c.cpu, c.unbound = -1, err
			}
		}
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(monitorSlack), 0, 0, 0)
	batch := s.batch && batchThread()
	for _, c := range s.children {
		if s.cancel() || s.handover.full.Load() {
			return nil
		}
		c.batch = batch
		if err := s.startOne(c); err != nil {
			return fmt.Errorf("start worker %d: %w", c.id, err)
		}
	}
	return nil
}

// startOne starts a worker and hands it its plan, or as much of it as its pipe
// takes at once.
func (s *starter) startOne(c *child) (err error) {
	var control, report [2]int
	if err := unix.Pipe2(control[:], unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	defer unix.Close(control[0])
	if err := unix.Pipe2(report[:], unix.O_CLOEXEC); err != nil {
		_ = unix.Close(control[1])
		return os.NewSyscallError("pipe2", err)
	}
	defer unix.Close(report[1])
	c.control, c.report = control[1], report[0]
	defer func() {
		if err != nil {
			c.abandon()
		}
	}()
	for _, fd := range [...]int{c.control, c.report} {
		if err := unix.SetNonblock(fd, true); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	null := uintptr(s.null)
	pid, err := syscall.ForkExec(s.path, c.args, &syscall.ProcAttr{
		Env:   c.env,
		Files: []uintptr{null, null, 2, uintptr(control[0]), uintptr(report[1])},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return err
	}
	c.pid = pid
	c.out = s.plan(c)
	c.push()
	return s.handover.send(c)
}

// push writes what it can of out. A worker that has died shows on its report
// pipe, so a failed write is not judged here.
func (c *child) push() {
	for len(c.out) > 0 && c.control >= 0 {
		n, err := unix.Write(c.control, c.out)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return
		case err != nil:
			c.out = nil
		default:
			c.out = c.out[n:]
		}
	}
	c.out = nil // a plan may be large
}

// pull reads once from what the worker has sent; ended says that it sent its
// last. What is left is another event: one worker cannot keep the loop from
// the others.
func (c *child) pull(buf []byte) (ended bool) {
	n, err := unix.Read(c.report, buf)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return false
	case err != nil || n == 0:
		return true
	}
	c.in = append(c.in, buf[:n]...)
	return false
}

// closeControl tells the worker to stop.
func (c *child) closeControl() {
	if c.control >= 0 {
		_ = unix.Close(c.control)
		c.control, c.out, c.owed = -1, nil, false
	}
}

func (c *child) closeReport() {
	if c.report >= 0 {
		_ = unix.Close(c.report)
		c.report = -1
	}
}

// closeEnds closes our ends of both pipes. What the control pipe had no room for stays.
func (c *child) closeEnds() {
	for _, end := range [...]*int{&c.control, &c.report} {
		if *end >= 0 {
			_ = unix.Close(*end)
			*end = -1
		}
	}
}

// abandon ends a worker that could not be started to its end.
func (c *child) abandon() {
	c.closeEnds()
	if c.pid != 0 {
		c.kill()
		c.reap()
	}
	c.pid, c.exit = 0, ""
}

func (c *child) kill() { _ = unix.Kill(c.pid, unix.SIGKILL) }

// reap waits for the end of the process and notes how it ended.
func (c *child) reap() {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(c.pid, &status, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			c.exit = "unknown"
			return
		}
		break
	}
	if status.Signaled() {
		c.exit = "signal: " + status.Signal().String()
		return
	}
	c.exit = fmt.Sprintf("exit %d", status.ExitStatus())
}

// monotonicTime is the clock of release times.
func monotonicTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// atWork reports whether a process is ready to run, in the kernel's hands, or runs
// now and then: a worker that lets answers collect sleeps between its looks.
func atWork(pid int) bool {
	const awhile = 2 * time.Millisecond
	if state := processState(pid); state == 'R' || state == 'D' {
		return true
	}
	schedstat := func() string {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		return string(text)
	}
	before := schedstat()
	time.Sleep(awhile)
	return schedstat() != before
}

// processState is the state of a process as proc_pid_stat(5) has it: R is ready
// to run, D in the kernel's hands, T stopped. It is 0 if there is no such process.
func processState(pid int) byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name before it stands in parentheses and may hold anything.
	_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
	if rest == "" {
		return 0
	}
	return rest[0]
}
