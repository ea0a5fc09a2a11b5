package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// slack is what a shared machine may add to any wall time.
	slack = 3 * time.Second
	// runLimit ends a horde that does not end by itself.
	runLimit = 90 * time.Second
)

// launch says how horde is started; the zero value is the plain way.
type launch struct {
	program string   // the path to call it by, when not the binary's own
	wrap    []string // a command that execs the command line after it
	env     []string // added to the environment
	uid     uint32   // run as that user
	stdin   string   // what it reads there
	stderr  *os.File // in place of a captured stderr
	merged  bool     // stdout and stderr in one file, as with >FILE 2>&1
}

// process is a horde that was started.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	args           []string
	stdout, stderr *os.File
	begin, end     time.Time
	done           chan struct{}
}

// outcome is what a horde left when it ended. With --json, result holds the
// decoded document.
type outcome struct {
	*result
	t              *testing.T
	stdout, stderr string
	code           int // -1 when a signal ended it
	wall           time.Duration
}

// run starts horde in the plain way and waits for its end.
func run(t *testing.T, args ...string) *outcome {
	t.Helper()
	return launch{}.run(t, args...)
}

func (l launch) run(t *testing.T, args ...string) *outcome {
	t.Helper()
	return l.start(t, args...).wait()
}

// start starts horde as the leader of a process group of its own, as a shell
// does, with plain files as stdout and stderr: a pipe would tie the end of the
// test to that of the last process that holds it.
func (l launch) start(t *testing.T, args ...string) *process {
	t.Helper()
	program := l.program
	if program == "" {
		program = horde
	}
	line := append(append(slices.Clone(l.wrap), program), args...)
	p := &process{t: t, args: args, done: make(chan struct{})}
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Dir = "/"
	p.cmd.Env = append(os.Environ(), l.env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if l.uid != 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: l.uid, Gid: l.uid}
	}
	p.openFiles(l)
	p.begin = time.Now()
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	go func() {
		_ = p.cmd.Wait() // the exit code says it
		p.end = time.Now()
		close(p.done)
	}()
	return p
}

func (p *process) openFiles(l launch) {
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(p.t.TempDir(), name))
		require.NoError(p.t, err)
		p.t.Cleanup(func() { f.Close() })
		return f
	}
	p.stdout = create("stdout")
	p.stderr = p.stdout
	if !l.merged {
		p.stderr = create("stderr")
	}
	if l.stdin != "" {
		p.cmd.Stdin = strings.NewReader(l.stdin)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if l.stderr != nil {
		p.cmd.Stderr = l.stderr
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// signal sends to the parent alone, signalGroup to its workers too, as a
// terminal does on Ctrl-C.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	assert.NoError(p.t, syscall.Kill(p.pid(), s))
}

func (p *process) signalGroup(s syscall.Signal) {
	p.t.Helper()
	assert.NoError(p.t, syscall.Kill(-p.pid(), s))
}

// workers waits until n workers are there and returns them.
func (p *process) workers(n int) []int {
	p.t.Helper()
	var pids []int
	require.Eventually(p.t, func() bool {
		pids = workersOf(p.pid())
		return len(pids) == n
	}, 15*time.Second, 5*time.Millisecond, "%d workers", n)
	return pids
}

func (p *process) kill() {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
		<-p.done
	}
}

// wait returns when horde has ended, and asserts what holds after every run:
// nothing of its process group is left, and stdout is free of control bytes.
func (p *process) wait() *outcome {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(runLimit):
		_ = syscall.Kill(p.pid(), syscall.SIGQUIT) // where it hangs, on stderr
		time.Sleep(time.Second)
		p.kill()
		assert.Fail(p.t, "horde did not end by itself")
	}
	o := &outcome{t: p.t, code: p.cmd.ProcessState.ExitCode(), wall: p.end.Sub(p.begin)}
	o.stdout, o.stderr = contents(p.t, p.stdout), contents(p.t, p.stderr)
	p.logOnFailure(o)
	assert.Eventually(p.t, func() bool { return len(groupMembers(p.pid())) == 0 },
		2*time.Second, 10*time.Millisecond, "processes left in the group of horde")
	assert.NotContains(p.t, o.stdout, "\x1b", "escape sequences on stdout")
	assert.NotContains(p.t, o.stdout, "\r", "carriage returns on stdout")
	assert.NotContains(p.t, o.stderr, "goroutine ", "a crash")
	if p.givesResult() && o.stdout != "" {
		o.result = decode(p.t, o.stdout)
		assertConsistent(p.t, o.result)
	}
	return o
}

// givesResult reports whether stdout is one result file.
func (p *process) givesResult() bool {
	return slices.Contains(p.args, "--json") && !slices.Contains(p.args, "--repeat") && p.args[0] != "compare" && p.args[0] != "doctor"
}

func (p *process) logOnFailure(o *outcome) {
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("horde %s\nexit %d after %v\nstdout: %s\nstderr: %s", brief(strings.Join(p.args, " ")),
				o.code, o.wall.Round(time.Millisecond), brief(o.stdout), brief(o.stderr))
		}
	})
}

func brief(s string) string {
	if len(s) > 5000 {
		return s[:5000] + "…"
	}
	return s
}

func contents(t *testing.T, f *os.File) string {
	b, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	return string(bytes.Clone(b))
}

// json requires that the run gave a JSON document.
func (o *outcome) json() *outcome {
	o.t.Helper()
	require.NotNil(o.t, o.result, "no JSON on stdout")
	return o
}

// onTime asserts that the run took its asked time, and ended within a second of it.
func (o *outcome) onTime(asked time.Duration) {
	o.t.Helper()
	assert.GreaterOrEqual(o.t, o.wall, asked, "the run ended early")
	assert.LessOrEqual(o.t, o.wall, asked+time.Second+slack, "the run ended late")
	if o.result != nil {
		assert.InDelta(o.t, asked.Seconds(), o.measured().Seconds(), 0.5, "measured window")
	}
}

// counts asserts succeeded and failed exactly and at most so many unfinished.
func (o *outcome) counts(succeeded, failed, unfinished uint64) {
	o.t.Helper()
	o.json()
	assert.Equal(o.t, succeeded, o.Requests.Succeeded, "succeeded")
	assert.Equal(o.t, failed, o.Requests.Failed, "failed")
	assert.LessOrEqual(o.t, o.Requests.Unfinished, unfinished, "unfinished")
	assert.Zero(o.t, o.Requests.Lost, "lost")
}

// everything is all that the run said, for sentences that may stand on either
// stream or in the document.
func (o *outcome) everything() string { return o.stdout + o.stderr }
