package procs

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/client"
	"horde/procs/wire"
	"horde/stats"
)

// station is the parent's side of a worker that lives in this process.
type station struct {
	worker
	control, reports *os.File // the parent's ends
	ended            chan error
}

func startWorker(t *testing.T) *station {
	t.Helper()
	ours, theirs := pipe(t), pipe(t)
	s := &station{
		worker:  worker{control: int(ours[0].Fd()), reports: int(theirs[1].Fd())},
		control: ours[1], reports: theirs[0], ended: make(chan error, 1),
	}
	go func() {
		err := s.worker.run()
		_ = theirs[1].Close() // as a process closes it by ending
		s.ended <- err
	}()
	return s
}

func pipe(t *testing.T) [2]*os.File {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return [2]*os.File{r, w}
}

func (s *station) send(t *testing.T, b []byte) {
	t.Helper()
	_, err := s.control.Write(b)
	require.NoError(t, err)
}

// frames are the kinds of all frames the worker sent, and their payloads.
func (s *station) frames(t *testing.T) (kinds []wire.Kind, payloads [][]byte) {
	t.Helper()
	b, err := io.ReadAll(s.reports)
	require.NoError(t, err)
	require.Equal(t, wire.Magic, string(b[:min(len(b), len(wire.Magic))]))
	for b = b[len(wire.Magic):]; len(b) > 0; {
		kind, payload, rest, ok, err := wire.Next(b, wire.MaxReport)
		require.NoError(t, err)
		require.True(t, ok)
		kinds, payloads = append(kinds, kind), append(payloads, payload)
		b = rest
	}
	return kinds, payloads
}

func TestAWorkerSaysThatItIsReadyReportsAndEnds(t *testing.T) {
	leaveNothing(t)
	plan := serve(t).plan(3, 0)
	plan.Limited, plan.Requests = true, 8
	s := startWorker(t)
	s.send(t, wire.AppendGo(wire.AppendPlan(nil, &plan), int64(monotonicTime())))
	require.NoError(t, <-s.ended)
	kinds, payloads := s.frames(t)
	require.GreaterOrEqual(t, len(kinds), 3)
	assert.Equal(t, wire.KindReady, kinds[0])
	var all, one stats.Tally
	last := len(kinds) - 1
	for i := 1; i < last; i++ {
		require.Equal(t, wire.KindInterval, kinds[i])
		one.Reset()
		_, err := wire.ReadInterval(payloads[i], &one)
		require.NoError(t, err)
		all.Add(&one)
	}
	require.Equal(t, wire.KindFinal, kinds[last])
	final, err := wire.ReadFinal(payloads[last])
	require.NoError(t, err)
	assert.Equal(t, uint64(8), all.Begun)
	assert.Equal(t, uint64(8), all.Succeeded)
	assert.Zero(t, final.Unfinished.Sum())
	assert.Positive(t, final.End)
	assert.GreaterOrEqual(t, final.CPUTime, time.Duration(0))
	assert.GreaterOrEqual(t, final.RunDelay, time.Duration(-1))
}

func TestAWorkerWithNothingToReportSendsItsEndAlone(t *testing.T) {
	leaveNothing(t)
	plan := client.Plan{Address: nowhere(), Entries: []client.Entry{{Request: []byte("GET")}}, Clients: 1, Duration: time.Hour}
	s := startWorker(t)
	s.send(t, wire.AppendGo(wire.AppendPlan(nil, &plan), int64(monotonicTime()+time.Hour)))
	require.NoError(t, s.control.Close()) // stop, before the release
	require.NoError(t, <-s.ended)
	kinds, _ := s.frames(t)
	assert.Equal(t, []wire.Kind{wire.KindReady, wire.KindFinal}, kinds)
}

func TestAWorkerReadsWhatComesInPieces(t *testing.T) {
	leaveNothing(t)
	plan := client.Plan{Address: nowhere(), Entries: []client.Entry{{Request: make([]byte, 30<<10)}}, Clients: 1, Duration: time.Hour}
	plan.Limited = true
	s := startWorker(t)
	b := wire.AppendGo(wire.AppendPlan(nil, &plan), 0)
	for len(b) > 0 {
		n := min(len(b), 500)
		s.send(t, b[:n])
		b = b[n:]
	}
	require.NoError(t, <-s.ended)
}

func TestAWorkerThatHearsNonsenseSaysSo(t *testing.T) {
	leaveNothing(t)
	plan := wire.AppendPlan(nil, &client.Plan{Address: nowhere(), Entries: []client.Entry{{Request: []byte("GET")}}, Clients: 1, Duration: time.Hour})
	rows := []struct {
		name, want string
		bytes      []byte
	}{
		{"nothing at all", "EOF", nil},
		{"half a plan", "EOF", plan[:20]},
		{"a plan that is none", "malformed frame", []byte{2, 0, 0, 0, byte(wire.KindPlan), 9}},
		{"a frame of no length", "frame of 0 bytes", make([]byte, 10)},
		{"a release before the plan", "frame of kind 3 where 1 was due", wire.AppendGo(nil, 0)},
		{"a plan without a release", "EOF", plan},
		{"a release that is none", "malformed frame", append(plan[:len(plan):len(plan)], 1, 0, 0, 0, byte(wire.KindGo))},
	}
	for _, row := range rows {
		s := startWorker(t)
		s.send(t, row.bytes)
		require.NoError(t, s.control.Close())
		assert.ErrorContains(t, <-s.ended, row.want, row.name)
	}
}

func TestAWorkerWhoseParentHasGoneEnds(t *testing.T) {
	leaveNothing(t)
	plan := serve(t).plan(2, time.Hour)
	s := startWorker(t)
	require.NoError(t, s.reports.Close())
	s.send(t, wire.AppendPlan(nil, &plan))
	require.ErrorIs(t, <-s.ended, unix.EPIPE)

	s = startWorker(t)
	s.send(t, wire.AppendGo(wire.AppendPlan(nil, &plan), int64(monotonicTime())))
	ready := make([]byte, len(wire.Magic)+5)
	_, err := io.ReadFull(s.reports, ready)
	require.NoError(t, err)
	require.NoError(t, s.reports.Close())
	require.ErrorIs(t, <-s.ended, unix.EPIPE, "its report of the first second does not get through")
}

func TestReadingFromAClosedDescriptorIsAnError(t *testing.T) {
	_, err := readMore(1<<20, nil) // no descriptor has that number
	require.ErrorIs(t, err, unix.EBADF)
}

func TestRunDelayIsTheSumOverThreads(t *testing.T) {
	assert.NotEmpty(t, taskNames())
	assert.GreaterOrEqual(t, runDelay(), time.Duration(-1))
	path := t.TempDir() + "/schedstat"
	rows := map[string]struct {
		want time.Duration
		ok   bool
	}{
		"123 456 7\n": {456, true},
		"0 0 0\n":     {0, true},
		"":            {0, false},
		"12\n":        {0, false},
	}
	for text, want := range rows {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		delay, ok := schedDelay(path)
		assert.Equal(t, want.ok, ok, "%q", text)
		if ok {
			assert.Equal(t, want.want, delay, "%q", text)
		}
	}
	_, ok := schedDelay(path + "x")
	assert.False(t, ok)
}

func TestWorkersAreStartedFromThisVeryProgram(t *testing.T) {
	named, err := os.Stat(workerPath())
	require.NoError(t, err)
	self, err := os.Stat("/proc/self/exe")
	require.NoError(t, err)
	assert.True(t, os.SameFile(named, self))
	assert.Equal(t, []string{"horde-worker", "17"}, workerArgs(17, false))
}
