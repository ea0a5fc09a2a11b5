package procs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheHostIsLookedAtWhileRequestsAreCounted(t *testing.T) {
	leaveNothing(t)
	var at []time.Duration
	r := newRun(Options{Plan: serve(t).plan(2, 1200*time.Millisecond), Workers: 2})
	r.options.Look = func() { at = append(at, r.elapsed()) }
	out, err := r.perform()
	require.NoError(t, err)
	require.Len(t, at, 3, "at the release, after a second, and at the end")
	assert.Less(t, at[0], time.Second)
	assert.GreaterOrEqual(t, at[1], time.Second)
	assert.GreaterOrEqual(t, at[2], 1200*time.Millisecond)
	assert.Positive(t, out.ParentCPU)
}

func TestTheHostIsLookedAtOnceMoreWhereRequestsWereTheLimit(t *testing.T) {
	leaveNothing(t)
	looks := 0
	plan := serve(t).plan(2, 0)
	plan.Requests, plan.Limited = 10, true
	out, err := Run(Options{Plan: plan, Workers: 2, Look: func() { looks++ }})
	require.NoError(t, err)
	assert.EqualValues(t, 10, out.Tally.Succeeded)
	assert.GreaterOrEqual(t, looks, 2)
}

func TestDelayBeforeAWorkerWasReadyIsNotItsRuns(t *testing.T) {
	now := runDelay()
	require.GreaterOrEqual(t, now, time.Duration(0), "this kernel says")
	assert.GreaterOrEqual(t, (&worker{}).delaySince(), now)
	assert.Zero(t, (&worker{before: usage{delay: now + time.Hour}}).delaySince(), "a thread that has ended takes its delay with it")
	assert.Equal(t, time.Duration(-1), (&worker{before: usage{delay: -1}}).delaySince())
}
