package procs

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// inClass runs f on a thread of the given scheduling class, which ends with it.
func inClass(t *testing.T, class uint32, f func()) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: class, Nice: 3}, 0)
		if err == nil {
			f()
		}
		done <- err
	}()
	require.NoError(t, <-done)
}

func TestOnlyTheUsualClassIsLeft(t *testing.T) {
	for _, row := range []struct {
		class, want uint32
	}{
		{unix.SCHED_NORMAL, unix.SCHED_BATCH},
		{unix.SCHED_BATCH, unix.SCHED_BATCH},
		{unix.SCHED_IDLE, unix.SCHED_IDLE},
	} {
		inClass(t, row.class, func() {
			assert.Equal(t, row.want == unix.SCHED_BATCH, batchThread())
			a, err := unix.SchedGetAttr(0, 0)
			if assert.NoError(t, err) {
				assert.Equal(t, row.want, a.Policy)
				assert.True(t, a.Nice == 3 || row.class == unix.SCHED_IDLE, "as it was")
			}
		})
	}
}

func TestWorkersRunInTheClassThatTheReportNames(t *testing.T) {
	leaveNothing(t)
	for _, batch := range []bool{true, false} {
		plan := serve(t).plan(2, 100_000_000)
		plan.Batch = batch
		r := newRun(Options{Plan: plan, Workers: 2})
		var classes []uint32
		r.options.Look = func() {
			for _, c := range r.children {
				if a, err := unix.SchedGetAttr(c.pid, 0); err == nil {
					classes = append(classes, a.Policy)
				}
			}
		}
		out, err := r.perform()
		require.NoError(t, err)
		want, count := uint32(unix.SCHED_NORMAL), 0
		if batch {
			want, count = unix.SCHED_BATCH, 2
		}
		assert.Equal(t, count, out.Workers.Batch)
		require.NotEmpty(t, classes)
		for _, class := range classes {
			assert.Equal(t, want, class)
		}
	}
}

func TestWhomSchedBatchSuits(t *testing.T) {
	assert.True(t, BatchSuits(5000, 5000, 2), "a process to each client")
	assert.True(t, BatchSuits(2, 100, 2), "a worker to each CPU")
	assert.False(t, BatchSuits(51, 1000000, 2), "many packed workers to a CPU")
}
