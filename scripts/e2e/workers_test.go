package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Worker processes: how many there are, where they run, how they die, and that
// none is ever left.

// healthy answers each request after a millisecond, on a kept connection or not.
func healthy(c *conn) {
	for c.request() {
		c.pause(time.Millisecond)
		c.answer(ok5)
	}
}

func TestOneProcessPerClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, workers string
		want          int
	}{
		{"by default", "", 6},
		{"by name", "per-client", 6},
		{"packed into a number", "4", 4},
		{"packed into more than there are clients", "9", 6},
		{"one per allowed CPU", "auto", min(6, len(ownCPUs(t)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, healthy)
			args := []string{"-c", "6", "-t", "1", "--json", s.url()}
			if c.workers != "" {
				args = append(args, "-w", c.workers)
			}
			p := launch{}.start(t, args...)
			pids := p.workers(c.want)
			o := p.wait().json()
			assert.Equal(t, c.want, o.Workers.Asked)
			assert.Equal(t, c.want, o.Workers.Started)
			assert.Zero(t, o.Workers.Lost)
			var listed []int
			for _, w := range o.Workers.List {
				listed = append(listed, w.PID)
			}
			assert.ElementsMatch(t, pids, listed)
			assert.Equal(t, 6, o.Plan.Clients)
			assert.Zero(t, o.code)
		})
	}
}

func TestTheClassOfTheWorkers(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	for _, c := range []struct {
		name string
		args []string
		want int // workers in SCHED_BATCH
	}{
		{"one process per client", []string{"-c", "3"}, 3},
		{"packed, one to a CPU", []string{"-c", "8", "-w", "1"}, 1},
		{"packed, several to a CPU", []string{"-c", "8", "-w", "4", "--pin", strconv.Itoa(ownCPUs(t)[0])}, 0},
		{"an open loop", []string{"-c", "3", "--rate", "50"}, 0},
		{"as horde's own", []string{"-c", "3", "--sched", "keep"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := launch{}.start(t, append(c.args, "-t", "1", "--json", s.url())...).wait().json()
			assert.Equal(t, c.want, o.Workers.Batch)
			assert.Zero(t, o.code)
		})
	}
}

func TestKilledWorker(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "4", "-t", "4", "--json", s.url())
	pids := p.workers(4)
	s.await(t, 100)
	time.Sleep(1500 * time.Millisecond) // well past a report of each worker
	require.NoError(t, syscall.Kill(pids[1], syscall.SIGKILL))
	assert.Eventually(t, func() bool { return !slices.Contains(zombiesOf(p.pid()), pids[1]) },
		5*time.Second, 10*time.Millisecond, "the dead worker is not reaped")
	o := p.wait().json()
	o.onTime(4 * time.Second)
	assert.Equal(t, 4, o.Workers.Started)
	assert.Equal(t, 1, o.Workers.Lost)
	assert.Equal(t, 3, o.code)
	assert.LessOrEqual(t, o.Requests.Succeeded, uint64(s.complete()))
	assert.Positive(t, o.Requests.Succeeded)
	assert.Regexp(t, `1 of 4 workers (was |were )?lost`, strings.Join(o.Verdicts.Reasons, "\n"))
	for _, w := range o.Workers.List {
		assert.Positive(t, w.Succeeded, "what a worker had reported before it died still counts")
	}
}

func TestKilledWorkerInTheText(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "4", "-t", "3", s.url())
	pids := p.workers(4)
	s.await(t, 100)
	require.NoError(t, syscall.Kill(pids[2], syscall.SIGKILL))
	o := p.wait()
	o.onTime(3 * time.Second)
	assert.Equal(t, 3, o.code)
	assert.Regexp(t, `1 of 4 workers (was |were )?lost.*(signal 9|killed)`, o.stdout)
	o.headline()
	above, _, _ := strings.Cut(o.stdout, "Speed=")
	assert.Contains(t, above, "lost", "what makes the numbers doubtful stands above them")
}

func TestManyWorkersKilled(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "40", "-t", "3", "-k", "--json", s.url())
	pids := p.workers(40)
	s.await(t, 400)
	for _, pid := range pids[10:17] {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	o := p.wait().json()
	o.onTime(3 * time.Second)
	assert.Equal(t, 7, o.Workers.Lost)
	assert.Equal(t, 3, o.code)
}

func TestAllWorkersKilled(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "3", "-t", "20", "--json", s.url())
	pids := p.workers(3)
	s.await(t, 10)
	for _, pid := range pids {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	o := p.wait().json()
	assert.Less(t, o.wall, 21*time.Second+slack)
	assert.Equal(t, 3, o.Workers.Lost)
	assert.Equal(t, 3, o.code)
}

// A stopped worker never reports its end; the parent must not wait for it.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "4", "-t", "3", "--json", s.url())
	pids := p.workers(4)
	s.await(t, 100)
	require.NoError(t, stop(pids[0]))
	o := p.wait().json()
	o.onTime(3 * time.Second)
	assert.Equal(t, 1, o.Workers.Lost)
	assert.Equal(t, 3, o.code)
	assert.Empty(t, alive(pids))
}

func TestCtrlC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		send func(*process)
		code int
		word string
	}{
		{"to the whole group, as a terminal sends it", func(p *process) { p.signalGroup(syscall.SIGINT) }, 130, "SIGINT"},
		{"to the parent alone", func(p *process) { p.signal(syscall.SIGINT) }, 130, "SIGINT"},
		{"SIGTERM to the parent alone", func(p *process) { p.signal(syscall.SIGTERM) }, 143, "SIGTERM"},
		{"SIGTERM to the whole group", func(p *process) { p.signalGroup(syscall.SIGTERM) }, 143, "SIGTERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, healthy)
			p := launch{}.start(t, "-c", "4", "-t", "60", "--json", s.url())
			s.await(t, 1)
			time.Sleep(time.Until(s.firstRequest(t).at.Add(2 * time.Second)))
			sent := time.Now()
			c.send(p)
			o := p.wait().json()
			assert.Less(t, p.end.Sub(sent), time.Second+slack, "the report comes at once")
			assert.Equal(t, c.code, o.code)
			assert.True(t, o.interrupted())
			assert.InDelta(t, 2, o.measured().Seconds(), 0.7, "rates are over the real window")
			assert.Positive(t, o.Requests.Succeeded)
			assert.LessOrEqual(t, o.Requests.Succeeded, uint64(s.complete()))
			assert.GreaterOrEqual(t, o.Requests.Succeeded+o.Requests.Unfinished, uint64(s.complete()))
			assert.Zero(t, o.Workers.Lost, "workers die of the signal before they have reported")
		})
	}
}

func TestCtrlCInTheText(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "2", "-t", "60", s.url())
	s.await(t, 10)
	p.signalGroup(syscall.SIGINT)
	o := p.wait()
	assert.Equal(t, 130, o.code)
	assert.Positive(t, o.headline().succeeded)
	above, _, _ := strings.Cut(o.stdout, "Speed=")
	assert.Contains(t, strings.ToLower(above), "interrupted")
}

// The first Ctrl-C waits for a worker that cannot answer; the second does not.
func TestSecondCtrlC(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "4", "-t", "60", s.url())
	pids := p.workers(4)
	s.await(t, 10)
	require.NoError(t, stop(pids[0]))
	p.signalGroup(syscall.SIGINT)
	time.Sleep(100 * time.Millisecond)
	sent := time.Now()
	select {
	case <-p.done:
	default:
		p.signalGroup(syscall.SIGINT)
	}
	o := p.wait()
	assert.Less(t, p.end.Sub(sent), slack)
	assert.Equal(t, 130, o.code)
	assert.Empty(t, alive(pids))
}

func TestWorkersEndWithTheirParent(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"busy", "waiting", "starting"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			script := healthy
			if mode == "waiting" {
				script = silent
			}
			s := serve(t, unlimited, script)
			p := launch{}.start(t, "-c", "20", "-t", "60", s.url())
			var pids []int
			if mode == "starting" {
				require.Eventually(t, func() bool {
					pids = workersOf(p.pid())
					return len(pids) > 3
				}, 10*time.Second, time.Millisecond, "some workers")
			} else {
				pids = p.workers(20)
				s.await(t, 20)
			}
			p.signal(syscall.SIGKILL)
			o := p.wait()
			assert.Equal(t, -1, o.code)
			assert.Eventually(t, func() bool { return len(alive(pids)) == 0 }, slack, 10*time.Millisecond)
		})
	}
}

// zombiesOf returns the children of a process that wait to be reaped.
func zombiesOf(parent int) []int {
	var pids []int
	for _, p := range processes() {
		if p.parent == parent && p.state == "Z" {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// ownCPUs returns the CPUs that this process may use.
func ownCPUs(t *testing.T) []int { return expandCPUs(t, allowedCPUs(t, os.Getpid())[0]) }

func TestEveryThreadOfEveryWorkerIsPinned(t *testing.T) {
	t.Parallel()
	allowed := ownCPUs(t)
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "6", "-t", "2", "--json", s.url())
	pids := p.workers(6)
	s.await(t, 20)
	perCPU := map[int]int{}
	for _, pid := range pids {
		threads := allowedCPUs(t, pid)
		cpus := expandCPUs(t, threads[0])
		require.Len(t, cpus, 1, "CPUs of worker %d", pid)
		perCPU[cpus[0]]++
		for _, other := range threads {
			assert.Equal(t, threads[0], other, "threads of one worker")
		}
	}
	o := p.wait().json()
	assert.Equal(t, 6, o.Workers.Pinned)
	for i, cpu := range allowed[:min(6, len(allowed))] {
		want := 6 / len(allowed)
		if i < 6%len(allowed) {
			want++
		}
		assert.Equal(t, want, perCPU[cpu], "round robin: workers on CPU %d", cpu)
	}
	for _, w := range o.Workers.List {
		require.NotNil(t, w.CPU)
		assert.Contains(t, allowed, *w.CPU)
	}
}

func TestPinningInsideARestrictedSetOfCPUs(t *testing.T) {
	t.Parallel()
	taskset := need(t, "taskset")
	allowed := ownCPUs(t)
	last := fmt.Sprint(allowed[len(allowed)-1])
	s := serve(t, unlimited, healthy)
	p := launch{wrap: []string{taskset, "-c", last}}.start(t, "-c", "4", "-t", "2", "--json", s.url())
	pids := p.workers(4)
	s.await(t, 20)
	for _, pid := range pids {
		for _, cpus := range allowedCPUs(t, pid) {
			assert.Equal(t, last, cpus)
		}
	}
	o := p.wait().json()
	o.onTime(2 * time.Second)
	assert.Equal(t, 4, o.Workers.Pinned)
	assert.Zero(t, o.code)
}

func TestPinningOff(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	p := launch{}.start(t, "-c", "2", "-t", "1", "--pin", "none", "--json", s.url())
	pids := p.workers(2)
	s.await(t, 2)
	for _, pid := range pids {
		for _, cpus := range allowedCPUs(t, pid) {
			assert.Equal(t, allowedCPUs(t, os.Getpid())[0], cpus)
		}
	}
	o := p.wait().json()
	assert.Zero(t, o.Workers.Pinned)
	assert.Zero(t, o.code)
}

// In a sandbox the affinity call may be forbidden. That is worth a word, not
// the run.
func TestPinningForbidden(t *testing.T) {
	t.Parallel()
	strace := need(t, "strace")
	forbid := []string{strace, "-f", "-qq", "-o", "/dev/null",
		"-e", "trace=sched_setaffinity", "-e", "inject=sched_setaffinity:error=EPERM"}
	if out, err := exec.Command(forbid[0], append(forbid[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v %s", err, out)
	}
	s := serve(t, unlimited, healthy)
	o := launch{wrap: forbid}.run(t, "-c", "4", "-t", "1", "--json", s.url()).json()
	assert.Zero(t, o.code)
	assert.Positive(t, o.Requests.Succeeded)
	assert.Equal(t, 4, o.Workers.Started)
	assert.Zero(t, o.Workers.Pinned)
	assert.Contains(t, strings.Join(o.Verdicts.Reasons, "\n")+o.stderr, "pin")
}

// need returns the path of a program, or skips the test.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

// pidsCgroup makes a cgroup that holds at most n tasks and returns the wrapper
// that starts a program in it.
func pidsCgroup(t *testing.T, n int) []string {
	t.Helper()
	dir := ""
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		d := filepath.Join(root, fmt.Sprintf("horde-e2e-%d", os.Getpid()))
		if os.Mkdir(d, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			assert.Eventually(t, func() bool { return os.Remove(d) == nil }, 5*time.Second, 50*time.Millisecond)
		})
		if os.WriteFile(filepath.Join(d, "pids.max"), []byte(fmt.Sprint(n)), 0o644) == nil {
			dir = d
			break
		}
	}
	if dir == "" {
		t.Skip("no writable pids cgroup")
	}
	return []string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, dir}
}

// assertRefusedOrPacked asserts that a plan beyond a limit of this host does
// not end in a report that looks full.
func assertRefusedOrPacked(t *testing.T, s *server, o *outcome, asked int, limit string) {
	t.Helper()
	assert.Equal(t, 3, o.code)
	said := o.everything()
	if o.result == nil || o.Workers.Started == 0 {
		assert.Empty(t, s.seen(), "refused, and yet requests were sent")
	} else {
		assert.Equal(t, asked, o.Workers.Asked)
		assert.Less(t, o.Workers.Started, asked)
		assert.Zero(t, o.Workers.Lost)
		said += strings.Join(o.Verdicts.Reasons, "\n")
	}
	assert.Regexp(t, limit, said, "the limit has a name")
}

func TestMoreWorkersThanTheCgroupHolds(t *testing.T) {
	wrap := pidsCgroup(t, 100)
	s := serve(t, unlimited, healthy)
	o := launch{wrap: wrap}.run(t, "-c", "200", "-t", "2", "--json", s.url())
	assertRefusedOrPacked(t, s, o, 200, `pids`)
	assert.Less(t, o.wall, 2*time.Second+2*slack)
}

func TestMoreWorkersThanAnyHostHolds(t *testing.T) {
	wrap := pidsCgroup(t, 300)
	s := serve(t, 2000, thenClose("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"))
	o := launch{wrap: wrap}.run(t, "-c", "100000", "-t", "2", "--json", s.url())
	assertRefusedOrPacked(t, s, o, 100000, `pids|descriptor|nofile|memory`)
}

func TestMoreWorkersThanTheUserMayHave(t *testing.T) {
	prlimit := need(t, "prlimit")
	if os.Getuid() != 0 {
		t.Skip("needs another user to run as")
	}
	s := serve(t, unlimited, healthy)
	o := launch{uid: 54321, wrap: []string{prlimit, "--nproc=100:100"}}.run(t, "-c", "200", "-t", "2", "--json", s.url())
	assertRefusedOrPacked(t, s, o, 200, `(?i)nproc|processes`)
}
