package procs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/client"
)

// Some tests need a parent of their own: this binary, with its role in the environment.
const (
	roleVariable    = "HORDE_PROCS_ROLE"
	addressVariable = "HORDE_PROCS_ADDRESS"
)

var roles = map[string]func() int{
	"run for an hour": runForAnHour,
	"list the CPUs":   listCPUs,
	"small pipes":     runWithSmallPipes,
}

func roleCommand(role string, s *server) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	if s != nil {
		cmd.Env = append(cmd.Env, addressVariable+"="+s.listener.Addr().String())
	}
	cmd.Stderr = os.Stderr
	return cmd
}

func rolePlan() client.Plan {
	s := server{listener: listenerAt(os.Getenv(addressVariable))}
	return s.plan(3, time.Hour)
}

// listenerAt stands for a listener of another process.
func listenerAt(address string) net.Listener { return elsewhere{address} }

type elsewhere struct{ address string }

func (elsewhere) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (elsewhere) Close() error              { return nil }
func (e elsewhere) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(e.address))
}

// runForAnHour prints the numbers of its workers when all have reported.
func runForAnHour() int {
	var r *run
	tell := func() {
		for _, c := range r.children {
			fmt.Println(c.pid)
		}
	}
	r = newRun(Options{Plan: rolePlan(), Workers: 3, Progress: once(func() { tell() })})
	_, err := r.perform()
	fmt.Fprintln(os.Stderr, "the run ended:", err)
	return 1
}

// All workers die with their parent, even one that does not run.
func TestAKilledParentLeavesNoWorker(t *testing.T) {
	leaveNothing(t)
	cmd := roleCommand("run for an hour", serve(t))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	lines := bufio.NewScanner(out)
	var pidfds []int
	for range 3 {
		require.True(t, lines.Scan())
		fd, err := unix.PidfdOpen(number(lines.Text()), 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		pidfds = append(pidfds, fd)
		if len(pidfds) == 1 {
			require.NoError(t, unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0))
		}
	}
	require.NoError(t, cmd.Process.Kill())
	for _, fd := range pidfds {
		awaitReadable(t, fd)
	}
}

func listCPUs() int {
	cpus, err := AllowedCPUs()
	if err != nil {
		return 1
	}
	_ = json.NewEncoder(os.Stdout).Encode(cpus)
	return 0
}

func TestAllowedCPUsAreThoseOfTheMask(t *testing.T) {
	leaveNothing(t)
	all, err := AllowedCPUs()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, cpu := range all {
		var out []byte
		onCPU(t, cpu, func() { out, err = roleCommand("list the CPUs", nil).Output() })
		require.NoError(t, err)
		assert.JSONEq(t, fmt.Sprintf("[%d]", cpu), string(out))
	}
}

// onCPU runs f on a thread of its own that is bound to a CPU.
func onCPU(t *testing.T, cpu int, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := bindThread(cpu)
		if err == nil {
			f()
		}
		done <- err
	}()
	require.NoError(t, <-done)
}

type smallPipesResult struct {
	PipeSize, Started, Lost int
	Succeeded               []uint64
	Reasons                 []string
	Err                     string
}

// runWithSmallPipes uses up what a user's pipes may hold in all, which leaves
// each further pipe two pages (pipe(7), pipe-user-pages-soft).
func runWithSmallPipes() int {
	size := 0
	for {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		size, _ = unix.FcntlInt(uintptr(p[0]), unix.F_GETPIPE_SZ, 0)
		if size < 64<<10 {
			break
		}
	}
	plan := largePlan(&server{listener: listenerAt(os.Getenv(addressVariable))})
	r := newRun(Options{Plan: plan, Workers: 3})
	out, err := r.perform()
	result := smallPipesResult{PipeSize: size}
	if err != nil {
		result.Err = err.Error()
	} else {
		result.Started, result.Lost, result.Reasons = out.Workers.Started, out.Workers.Lost, out.Reasons
		for _, w := range out.Workers.List {
			result.Succeeded = append(result.Succeeded, w.Succeeded)
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
	return 0
}

func TestALargePlanGetsThroughSmallPipes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become a user whose pipes are counted")
	}
	leaveNothing(t)
	cmd := roleCommand("small pipes", serve(t))
	cmd.SysProcAttr = asNobody()
	out, err := cmd.Output()
	require.NoError(t, err)
	var got smallPipesResult
	require.NoError(t, json.Unmarshal(out, &got), "%s", out)
	assert.Less(t, got.PipeSize, 64<<10)
	assert.Empty(t, got.Err)
	assert.Empty(t, got.Reasons)
	assert.Equal(t, []int{3, 0}, []int{got.Started, got.Lost})
	for _, n := range got.Succeeded {
		assert.Positive(t, n)
	}
}

// asNobody starts a process without the rights of root. Where this binary lies
// may be out of its reach, so that its workers are started from /proc/self/exe.
func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
