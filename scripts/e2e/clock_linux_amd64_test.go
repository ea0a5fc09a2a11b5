package e2e

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Steps of the wall clock, without touching the machine's: horde and its
// workers run under a tracer that takes the vDSO from them, so that reading a
// clock is a system call, and then changes what CLOCK_REALTIME returns.

// stepVar tells this test binary to be the tracer of its arguments: by how
// much the clock steps, and when, as in "-1h0m0s 2s".
const stepVar = "HORDE_E2E_CLOCK_STEP"

func init() { traceClock = clockTracer }

func clockTracer() (code int, asked bool) {
	plan := os.Getenv(stepVar)
	if plan == "" {
		return 0, false
	}
	os.Unsetenv(stepVar)
	by, after, _ := strings.Cut(plan, " ")
	step, err1 := time.ParseDuration(by)
	delay, err2 := time.ParseDuration(after)
	if err1 != nil || err2 != nil {
		return fail(fmt.Errorf("%s=%q", stepVar, plan)), true
	}
	code, err := runStepped(os.Args[1:], step, time.Now().Add(delay))
	if err != nil {
		return fail(err), true
	}
	return code, true
}

// runStepped runs a command and all that it starts with a wall clock that
// steps at the given time, and returns its exit code.
func runStepped(line []string, step time.Duration, at time.Time) (int, error) {
	runtime.LockOSThread() // a tracee obeys one thread
	defer runtime.UnlockOSThread()
	path, err := exec.LookPath(line[0])
	if err != nil {
		return 0, err
	}
	root, err := syscall.ForkExec(path, line, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return 0, err
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(root, &status, unix.WALL, nil); err != nil {
		return 0, os.NewSyscallError("wait4", err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACECLONE |
		unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(root, options); err != nil {
		return 0, os.NewSyscallError("ptrace", err)
	}
	if err := hideVDSO(root); err != nil {
		return 0, err
	}
	return traceToEnd(root, step, at), nil
}

func traceToEnd(root int, step time.Duration, at time.Time) int {
	known := map[int]bool{root: true}
	_ = unix.PtraceSyscall(root, 0)
	for {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || tid == root && (status.Exited() || status.Signaled()) {
			return status.ExitStatus()
		}
		if !status.Stopped() {
			continue
		}
		// A tracee may be killed at any moment: errors of ptrace are no news.
		_ = unix.PtraceSyscall(tid, onStop(tid, status, known, step, at))
	}
}

// onStop does what a stop is for and returns the signal to go on with.
func onStop(tid int, status unix.WaitStatus, known map[int]bool, step time.Duration, at time.Time) int {
	signal := status.StopSignal()
	isNew := !known[tid]
	known[tid] = true
	switch {
	case signal == unix.SIGTRAP|0x80:
		if time.Now().After(at) {
			stepClock(tid, step)
		}
		return 0
	case signal == unix.SIGTRAP && status.TrapCause() == unix.PTRACE_EVENT_EXEC:
		_ = hideVDSO(tid)
		return 0
	case signal == unix.SIGTRAP && status.TrapCause() > 0, isNew && signal == unix.SIGSTOP:
		return 0 // the tracer's own doing
	}
	return int(signal)
}

// stepClock changes the result of clock_gettime(CLOCK_REALTIME) as it returns.
// On entry to a system call RAX holds -ENOSYS, so 0 means its success.
func stepClock(tid int, step time.Duration) {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(tid, &regs) != nil || regs.Orig_rax != unix.SYS_CLOCK_GETTIME ||
		regs.Rax != 0 || regs.Rdi != unix.CLOCK_REALTIME {
		return
	}
	seconds, err := peek(tid, regs.Rsi)
	if err == nil {
		_ = poke(tid, regs.Rsi, seconds+uint64(step/time.Second))
	}
}

// hideVDSO takes AT_SYSINFO_EHDR out of the auxiliary vector of a program that
// has just been loaded (getauxval(3), vdso(7)): the runtime finds no vDSO.
func hideVDSO(pid int) error {
	const atNull, atIgnore, atSysinfoEHDR = 0, 1, 33
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(pid, &regs); err != nil {
		return os.NewSyscallError("ptrace", err)
	}
	at := regs.Rsp
	argc, err := peek(pid, at)
	if err != nil {
		return err
	}
	at += 8 * (argc + 2)
	for word := uint64(1); word != 0; at += 8 { // the environment
		if word, err = peek(pid, at); err != nil {
			return err
		}
	}
	for ; ; at += 16 {
		kind, err := peek(pid, at)
		if err != nil || kind == atNull {
			return err
		}
		if kind == atSysinfoEHDR {
			return poke(pid, at, atIgnore)
		}
	}
}

func peek(pid int, at uint64) (uint64, error) {
	var word [8]byte
	_, err := unix.PtracePeekData(pid, uintptr(at), word[:])
	return binary.NativeEndian.Uint64(word[:]), os.NewSyscallError("ptrace", err)
}

func poke(pid int, at, value uint64) error {
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], value)
	_, err := unix.PtracePokeData(pid, uintptr(at), word[:])
	return os.NewSyscallError("ptrace", err)
}

// stepped returns the launch whose wall clock steps after 2 s.
func stepped(t *testing.T, step time.Duration) launch {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	l := launch{wrap: []string{self}, env: []string{fmt.Sprintf("%s=%v 2s", stepVar, step)}}
	if out, err := steppedCommand(l, "true").CombinedOutput(); err != nil {
		t.Skipf("no tracing here: %v %s", err, out)
	}
	return l
}

func steppedCommand(l launch, line ...string) *exec.Cmd {
	cmd := exec.Command(l.wrap[0], line...)
	cmd.Env = append(os.Environ(), l.env...)
	return cmd
}

func TestSteppedClockSteps(t *testing.T) {
	t.Parallel()
	l := stepped(t, -time.Hour)
	out, err := steppedCommand(l, "sh", "-c", "date +%s; sleep 3; date +%s").Output()
	require.NoError(t, err)
	readings := strings.Fields(string(out))
	require.Len(t, readings, 2)
	before, err := strconv.Atoi(readings[0])
	require.NoError(t, err)
	after, err := strconv.Atoi(readings[1])
	require.NoError(t, err)
	assert.InDelta(t, -3600+3, after-before, 2)
}

// Times cross from the parent to its workers: a wall clock among them would
// stretch or cut the run when it steps.
func TestWallClockStepsDuringTheRun(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, healthy)
			o := stepped(t, step).run(t, "-c", "2", "-t", "4", "-k", "--json", s.url()).json()
			o.onTime(4 * time.Second)
			assert.Zero(t, o.code)
			assert.Zero(t, o.Requests.Failed)
			assert.LessOrEqual(t, o.Requests.Succeeded, uint64(s.complete()))
			assert.Greater(t, o.Requests.Succeeded, uint64(20))
			assert.Less(t, o.slowest(), slack)
			for i, second := range o.Series {
				assert.LessOrEqual(t, second.AtNS, int64(i+1)*int64(time.Second), "the series")
			}
		})
	}
}
