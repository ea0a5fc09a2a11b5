package procs

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"horde/client"
	"horde/procs/wire"
	"horde/stats"
)

// Whatever clients the workers have, their starts are those of the schedule, in turn.
func TestTheStartsOfAllWorkersAreTheSchedule(t *testing.T) {
	o := Options{Workers: 3, Plan: client.Plan{Entries: make([]client.Entry, 1), Clients: 4, Pace: client.Pace{Rate: 10}}}
	r := &run{options: o, children: layOut(o)}
	var starts []uint64
	for _, c := range r.children {
		_, payload, _, _, err := wire.Next(r.planFor(c), wire.MaxPlan)
		require.NoError(t, err)
		plan, err := wire.ReadPlan(payload)
		require.NoError(t, err)
		assert.InDelta(t, 10, plan.Pace.Rate, 0, "the times are those of all workers together")
		for i := range uint64(4) {
			starts = append(starts, plan.Pace.First+i*plan.Pace.Step)
		}
	}
	slices.Sort(starts)
	assert.Equal(t, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, starts)
}

func TestAnOpenLoopAfterAWarmUp(t *testing.T) {
	leaveNothing(t)
	plan := serve(t).plan(3, 600*time.Millisecond)
	plan.Pace, plan.Warmup = client.Pace{Rate: 50}, 400*time.Millisecond
	r := newRun(Options{Plan: plan, Workers: 3})
	out, err := r.perform()
	require.NoError(t, err)
	warmup := slices.IndexFunc(out.Series, func(s stats.Second) bool { return s.At == 0 })
	require.Equal(t, 1, warmup, "one second before the window")
	assert.Equal(t, out.Warmup.Succeeded, out.Series[0].Succeeded)
	out.Series = out.Series[warmup:]
	assertBalance(t, r, out)
	assert.EqualValues(t, 30, out.Scheduled)
	assert.LessOrEqual(t, out.Tally.Begun, uint64(30))
	assert.LessOrEqual(t, out.Warmup.Begun, uint64(20))
	assert.Equal(t, out.Warmup.Begun, out.Warmup.Succeeded+out.Warmup.Failed+out.Warmup.Unfinished)
	assert.Equal(t, 600*time.Millisecond, out.Measured)
}

func TestStartsThatAreDue(t *testing.T) {
	r := &run{options: Options{Plan: client.Plan{Pace: client.Pace{Rate: 10}, Warmup: 3 * time.Second}}}
	assert.EqualValues(t, 20, r.scheduled(2*time.Second))
	assert.Zero(t, r.scheduled(0))
	r.options.Plan.Limited, r.options.Plan.Requests = true, 7
	assert.EqualValues(t, 7, r.scheduled(2*time.Second))
	r.options.Plan.Pace.Rate = 0
	assert.Zero(t, r.scheduled(2*time.Second), "a closed loop has no schedule")
}

func TestASignalInTheWarmUpLeavesNoWindow(t *testing.T) {
	leaveNothing(t)
	plan := serve(t).plan(2, time.Hour)
	plan.Warmup = time.Hour
	signals := make(chan os.Signal, 1)
	progress := once(func() { signals <- unix.SIGINT })
	r := newRun(Options{Plan: plan, Workers: 2, Signals: signals, Progress: progress})
	out, err := r.perform()
	require.NoError(t, err)
	assert.Equal(t, unix.SIGINT, out.Signal)
	assert.Zero(t, out.Measured)
	assert.Zero(t, out.Tally.Begun)
	assert.NotZero(t, out.Warmup.Begun)
	assert.Empty(t, out.Reasons)
	assert.Zero(t, out.Workers.Lost)
}

// The time between two starts is not a worker's silence.
func TestARareStartIsWaitedFor(t *testing.T) {
	r := &run{lastSign: time.Now().Add(-time.Minute)}
	assert.True(t, r.silent())
	r.options.Plan.Pace = client.Pace{Rate: 0.01}
	assert.False(t, r.silent())
}
