package procs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/client"
	"horde/stats"
)

// once calls act at the first sign of progress, a second into the run, when
// every worker has reported once. It runs in the goroutine that owns the run.
func once(act func()) func(stats.Snapshot) {
	return func(stats.Snapshot) {
		if act != nil {
			act()
			act = nil
		}
	}
}

// waitForWorkers returns when this process has so many workers, whose image is
// in place.
func waitForWorkers(n int) map[int]string {
	for {
		if pids := workerPIDs(os.Getpid()); len(pids) >= n {
			return pids
		}
		time.Sleep(time.Millisecond)
	}
}

// reported waits in the loop's place until a worker has reported something.
func reported(r *run, c *child) {
	for c.begun == 0 {
		r.wait(time.Second)
	}
}

func TestARunCountsWhatItsWorkersDid(t *testing.T) {
	leaveNothing(t)
	cpus, err := AllowedCPUs()
	require.NoError(t, err)
	var snapshots []stats.Snapshot
	r := newRun(Options{
		Plan: serve(t).plan(7, 1200*time.Millisecond), Workers: 3, CPUs: cpus,
		Progress: func(s stats.Snapshot) { snapshots = append(snapshots, s) },
	})
	before := time.Now()
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.WithinRange(t, out.StartedAt, before, time.Now())
	assert.Equal(t, 1200*time.Millisecond, out.Measured)
	assert.Positive(t, out.Tally.Succeeded)
	assert.Zero(t, out.Tally.Failed)
	assert.Zero(t, out.Lost)
	assert.Nil(t, out.Signal)
	assert.Empty(t, out.Reasons)
	assert.Len(t, out.Series, 2)
	assert.Positive(t, out.Series[0].Succeeded)
	assert.Equal(t, []int{3, 3, 0, 3}, []int{out.Workers.Asked, out.Workers.Started, out.Workers.Lost, out.Workers.Pinned})
	require.NotEmpty(t, snapshots)
	assert.Equal(t, 3, snapshots[0].Workers)
	assert.GreaterOrEqual(t, snapshots[0].Elapsed, time.Second)
	for i, w := range out.Workers.List {
		assert.Equal(t, i, w.ID)
		assert.Equal(t, cpus[i%len(cpus)], w.CPU)
		assert.Equal(t, []int{3, 2, 2}[i], w.Clients)
		assert.Equal(t, "exit 0", w.Exit)
		assert.Positive(t, w.Succeeded)
		assert.Positive(t, w.CPUTime)
	}
}

// runningThreads is how many threads a running worker may have. A binary that
// links C, as this one does because of net, has a few of its own; the program
// does not (see threads_test.go).
var runningThreads = 16

// Everything /proc says of a worker while it runs, and signals that are not for it.
func TestAWorkerAsTheHostSeesIt(t *testing.T) {
	leaveNothing(t)
	cpus, err := AllowedCPUs()
	require.NoError(t, err)
	var r *run
	look := func() {
		for _, c := range r.children {
			proc := fmt.Sprintf("/proc/%d/", c.pid)
			line, err := os.ReadFile(proc + "cmdline")
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintf("%s\x00%d\x00", workerName, c.id), string(line))
			tasks, err := filepath.Glob(proc + "task/*/status")
			require.NoError(t, err)
			require.NotEmpty(t, tasks)
			assert.LessOrEqual(t, len(tasks), runningThreads)
			for _, status := range tasks {
				assert.Equal(t, strconv.Itoa(c.cpu), statusField(t, status, "Cpus_allowed_list:"))
			}
			for _, s := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
				require.NoError(t, unix.Kill(c.pid, s))
			}
			out, err := os.Readlink(proc + "fd/1")
			require.NoError(t, err)
			assert.Equal(t, os.DevNull, out)
		}
	}
	r = newRun(Options{Plan: serve(t).plan(5, 1400*time.Millisecond), Workers: 5, CPUs: cpus, Progress: once(func() { look() })})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Zero(t, out.Workers.Lost)
	for _, c := range r.children {
		assert.Equal(t, "exit 0", c.exit)
		assert.Equal(t, 1400*time.Millisecond, c.final.End, "no signal ended it before its time")
	}
}

func statusField(t *testing.T, path, name string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestRequestsEndTheRunAndAreAllMade(t *testing.T) {
	leaveNothing(t)
	s := serve(t)
	plan := s.plan(4, 0)
	plan.Limited, plan.Requests = true, 101
	r := newRun(Options{Plan: plan, Workers: 3})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, uint64(101), out.Tally.Begun)
	assert.Equal(t, uint64(101), out.Tally.Succeeded)
	assert.Len(t, s.arrived, 101)
	assert.Equal(t, []uint64{34, 34, 33}, []uint64{r.children[0].begun, r.children[1].begun, r.children[2].begun})
}

// A parent that did not run for an hour, because somebody stopped it, must not turn workers that have done their work into lost ones.
func TestReportsThatWaitedForTheParentCount(t *testing.T) {
	leaveNothing(t)
	r := startRun(t, Options{Plan: serve(t).plan(4, 300*time.Millisecond), Workers: 4})
	r.watchAll()
	for _, c := range r.children { // all have said so before the parent looks
		awaitReadable(t, c.report)
	}
	r.lastSign = time.Now().Add(-time.Hour)
	r.prepare()
	require.Zero(t, r.waiting)
	r.release()
	for pid := range workerPIDs(os.Getpid()) {
		awaitEnd(t, pid)
	}
	r.endSeen = time.Now().Add(-time.Hour)
	r.lastSign = r.endSeen
	r.collect()
	out := r.outcome()
	assertBalance(t, r, out)
	assert.Empty(t, out.Reasons)
	assert.Zero(t, out.Workers.Lost)
}

// startRun is a run whose workers are started; the rest is the test's to do.
func startRun(t *testing.T, o Options) *run {
	t.Helper()
	r := newRun(o)
	require.NoError(t, r.open())
	t.Cleanup(r.close)
	errs, release := startAll(r.children, false, r.planFor, r.interrupted)
	t.Cleanup(release)
	require.Empty(t, errs)
	return r
}

// awaitEnd waits until a process has ended, reaped or not.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	require.NoError(t, err)
	defer unix.Close(fd)
	awaitReadable(t, fd)
}

func awaitReadable(t *testing.T, fd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 20000)
	for err == unix.EINTR {
		n, err = unix.Poll(fds, 20000)
	}
	require.NoError(t, err)
	require.Equal(t, 1, n, "nothing came")
}

func TestMoreWorkersThanClientsDoNoHarm(t *testing.T) {
	leaveNothing(t)
	r := newRun(Options{Plan: serve(t).plan(1, 100*time.Millisecond), Workers: 3})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Zero(t, out.Workers.Lost)
	assert.Positive(t, out.Tally.Succeeded)
}

// Silent targets make the ledger exact to the request: each client begins one.
func TestWorkersKilledInTheMiddleLoseWhatTheyHadUnderWay(t *testing.T) {
	leaveNothing(t)
	var r *run
	kill := func() {
		for _, c := range r.children[:2] {
			reported(r, c)
			require.NoError(t, unix.Kill(c.pid, unix.SIGKILL))
		}
	}
	r = newRun(Options{Plan: serveNothing(t).plan(11, 1600*time.Millisecond), Workers: 4, Progress: once(func() { kill() })})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, uint64(11), out.Tally.Begun)
	assert.Equal(t, uint64(6), out.Lost)
	assert.Equal(t, uint64(5), out.Unfinished.Count[stats.Waiting])
	assert.Equal(t, 2, out.Workers.Lost)
	assert.Equal(t, 1600*time.Millisecond, out.Measured)
	assert.Equal(t, []uint64{11, 5}, []uint64{out.Series[0].Unfinished, out.Series[1].Unfinished})
	for i, w := range out.Workers.List {
		assert.Equal(t, i < 2, w.Lost)
		assert.Equal(t, map[bool]string{true: "signal: killed", false: "exit 0"}[i < 2], w.Exit)
	}
}

func TestWhatAWorkerHadReportedBeforeItWasKilledCounts(t *testing.T) {
	leaveNothing(t)
	var r *run
	kill := func() {
		reported(r, r.children[0])
		require.NoError(t, unix.Kill(r.children[0].pid, unix.SIGKILL))
	}
	r = newRun(Options{Plan: serve(t).plan(6, 1500*time.Millisecond), Workers: 2, Progress: once(func() { kill() })})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Positive(t, r.children[0].succeeded)
	assert.LessOrEqual(t, out.Lost, uint64(3), "one request of each client at most")
	assert.True(t, out.Workers.List[0].Lost)
}

func TestWorkersKilledBeforeTheirFirstReportLoseARequestOfEachClient(t *testing.T) {
	leaveNothing(t)
	s := serveNothing(t)
	go func() {
		for range 9 {
			<-s.arrived
		}
		for pid := range workerPIDs(os.Getpid()) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}()
	r := newRun(Options{Plan: s.plan(9, 30*time.Second), Workers: 3})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, uint64(9), out.Tally.Begun)
	assert.Equal(t, uint64(9), out.Lost)
	assert.Equal(t, 3, out.Workers.Lost)
	assert.Positive(t, out.Measured, "the parent's own clock where no worker lived to say it")
	assert.Less(t, out.Measured, 30*time.Second)
}

func TestAStoppedWorkerIsKilledAndTheRunEndsOnTime(t *testing.T) {
	leaveNothing(t)
	var r *run
	stop := func() { require.NoError(t, unix.Kill(r.children[1].pid, unix.SIGSTOP)) }
	r = newRun(Options{Plan: serveNothing(t).plan(3, 1500*time.Millisecond), Workers: 3, Progress: once(func() { stop() })})
	began := time.Now()
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Less(t, time.Since(began), 15*time.Second)
	assert.Equal(t, []string{"worker 1 did not report its end in time"}, out.Reasons)
	assert.Equal(t, "signal: killed", r.children[1].exit)
	assert.Equal(t, 1, out.Workers.Lost)
	assert.Equal(t, 1500*time.Millisecond, out.Measured)
	assert.Len(t, out.Series, 2, "the time line ends with the run, not with the worker")
}

func TestTheFirstSignalStopsTheRunAndItsCountsStay(t *testing.T) {
	leaveNothing(t)
	signals := make(chan os.Signal, 1)
	r := newRun(Options{
		Plan: serve(t).plan(4, time.Hour), Workers: 2, Signals: signals,
		Progress: once(func() { signals <- os.Interrupt }),
	})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, os.Interrupt, out.Signal)
	assert.Zero(t, out.Workers.Lost)
	assert.Empty(t, out.Reasons)
	assert.Positive(t, out.Tally.Succeeded)
	assert.Greater(t, out.Measured, time.Second)
	assert.Less(t, out.Measured, time.Minute)
}

// After the first signal a worker that does not react must not need a second.
func TestAStoppedWorkerIsKilledAfterTheFirstSignalToo(t *testing.T) {
	leaveNothing(t)
	signals := make(chan os.Signal, 1)
	var r *run
	stop := func() {
		require.NoError(t, unix.Kill(r.children[0].pid, unix.SIGSTOP))
		signals <- os.Interrupt
	}
	r = newRun(Options{Plan: serve(t).plan(2, time.Hour), Workers: 2, Signals: signals, Progress: once(func() { stop() })})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, []string{"worker 0 did not report its end in time"}, out.Reasons)
	assert.Equal(t, 1, out.Workers.Lost)
}

func TestTheSecondSignalKills(t *testing.T) {
	leaveNothing(t)
	signals := make(chan os.Signal, 2)
	var r *run
	stop := func() {
		for _, c := range r.children { // or they end on the first
			require.NoError(t, unix.Kill(c.pid, unix.SIGSTOP))
		}
		signals <- syscall.SIGTERM
		signals <- os.Interrupt
	}
	r = newRun(Options{Plan: serve(t).plan(2, time.Hour), Workers: 2, Signals: signals, Progress: once(func() { stop() })})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Contains(t, out.Reasons, "2 workers [0 1] killed by a second signal")
	assert.Equal(t, syscall.SIGTERM, out.Signal, "the first is what ended the run")
	assert.Equal(t, "signal: killed", r.children[0].exit)
}

func TestASignalBeforeTheStartSendsNothing(t *testing.T) {
	leaveNothing(t)
	s := serve(t)
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	r := newRun(Options{Plan: s.plan(40, time.Hour), Workers: 40, Signals: signals})
	_, err := r.perform()
	var interrupted *Interrupted
	require.ErrorAs(t, err, &interrupted)
	assert.Empty(t, s.arrived)
}

func largePlan(s *server) client.Plan {
	const body = 1 << 20
	plan := s.plan(3, 2*time.Second)
	plan.Entries[0].Request = append(fmt.Appendf(nil, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n", body), make([]byte, body)...)
	return plan
}

func TestAPlanLargerThanThePipeArrives(t *testing.T) {
	leaveNothing(t)
	var r *run
	look := func() {
		for _, c := range r.children {
			assert.Nil(t, c.out, "the parent does not keep the plan of each worker")
		}
	}
	r = newRun(Options{Plan: largePlan(serve(t)), Workers: 3, Progress: once(func() { look() })})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Empty(t, out.Reasons)
	for _, c := range r.children {
		assert.Positive(t, c.succeeded)
	}
}

func TestManyWorkersEndingAtOnceAreAllCounted(t *testing.T) {
	leaveNothing(t)
	const workers = 120
	s := serveNothing(t)
	r := newRun(Options{Plan: s.plan(2*workers, 700*time.Millisecond), Workers: workers})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Zero(t, out.Workers.Lost, "%v", out.Reasons)
	assert.Equal(t, uint64(2*workers), out.Tally.Begun)
	assert.Equal(t, uint64(2*workers), out.Unfinished.Sum())
}

// limitDescriptors leaves this process so many free descriptors.
func limitDescriptors(t *testing.T, free int) {
	t.Helper()
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	low := old
	for range free + 1 { // the first that is one too many
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		low.Cur = uint64(fd)
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old)) })
}

func TestWhereDescriptorsRunOutTheReasonIsNamed(t *testing.T) {
	rows := []struct {
		name string
		free int
		want string
	}{
		{"none for the poller", 0, "epoll_create1: too many open files"},
		{"none for the signals", 1, "eventfd: too many open files"},
		{"none for /dev/null", 2, "open /dev/null: too many open files"},
		{"one for the handover", 4, "socketpair: too many open files"},
		{"none for a worker's pipes", 5, "start worker 0: "},
		{"one for a worker's pipes", 6, "start worker 0: "},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			leaveNothing(t)
			plan := client.Plan{Address: nowhere(), Entries: []client.Entry{{Request: []byte("GET")}}, Clients: 2, Duration: time.Hour}
			limitDescriptors(t, row.free)
			_, err := Run(Options{Plan: plan, Workers: 2})
			require.ErrorContains(t, err, row.want)
			assert.ErrorContains(t, err, "too many open files")
		})
	}
}

func TestWhereSomeWorkersCannotBeStartedTheOthersRun(t *testing.T) {
	leaveNothing(t)
	s := serveNothing(t)
	r := newRun(Options{Plan: s.plan(20, 200*time.Millisecond), Workers: 20})
	// The loop's two, /dev/null, the handover's two, two for each of five workers
	// and half of what one more would take; the target's stay out of it.
	limitDescriptors(t, 3+2+5*2+1)
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Equal(t, 20, out.Workers.Asked)
	assert.Positive(t, out.Workers.Started)
	assert.Less(t, out.Workers.Started, 20)
	assert.Zero(t, out.Workers.Lost)
	assert.Len(t, out.Workers.List, out.Workers.Started)
	require.NotEmpty(t, out.Reasons)
	assert.True(t, slices.ContainsFunc(out.Reasons, func(s string) bool { return strings.Contains(s, "too many open files") }), "%v", out.Reasons)
}

func TestProcessState(t *testing.T) {
	leaveNothing(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	assert.Equal(t, byte('R'), processState(unix.Gettid()), "this thread runs")
	assert.Zero(t, processState(1<<30))
}

func TestAProcessThatSleepsBetweenItsLooksIsAtWork(t *testing.T) {
	leaveNothing(t)
	rows := []struct {
		name string
		args []string
		want bool
	}{
		{"busy", []string{"sh", "-c", "while :; do :; done"}, true},
		{"now and then", []string{"sh", "-c", "while :; do sleep 0.0005; done"}, true},
		{"asleep", []string{"sleep", "60"}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			cmd := exec.Command(row.args[0], row.args[1:]...)
			require.NoError(t, cmd.Start())
			defer func() {
				require.NoError(t, cmd.Process.Kill())
				_ = cmd.Wait()
			}()
			at := func() bool { return atWork(cmd.Process.Pid) }
			require.Eventually(t, func() bool { return at() == row.want }, 5*time.Second, time.Millisecond)
			require.NoError(t, cmd.Process.Signal(unix.SIGSTOP))
			require.Eventually(t, func() bool { return !at() }, 5*time.Second, time.Millisecond, "stopped")
		})
	}
	assert.False(t, atWork(1<<30))
}

func TestWorkersAreNamedAFewAtMost(t *testing.T) {
	assert.Equal(t, "worker 7", nameWorkers([]int{7}))
	assert.Equal(t, "2 workers [7 9]", nameWorkers([]int{7, 9}))
	assert.Equal(t, "9 workers, the first [0 1 2 3 4 5 6 7],", nameWorkers([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}))
}
