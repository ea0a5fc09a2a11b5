package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process pays for each descriptor of the thread that starts it.
func TestAStarterHoldsNoPipeOfAWorker(t *testing.T) {
	leaveNothing(t)
	r := startRun(t, Options{Plan: serve(t).plan(5, 100*time.Millisecond), Workers: 5})
	pipes := map[string]bool{}
	for _, c := range r.children {
		for _, fd := range []int{c.control, c.report} {
			name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			require.NoError(t, err)
			pipes[name] = true
		}
	}
	assert.Len(t, pipes, 10)
	starters := 0
	threads, err := filepath.Glob("/proc/self/task/*")
	require.NoError(t, err)
	for _, thread := range threads {
		names, err := filepath.Glob(thread + "/fd/*")
		require.NoError(t, err)
		held := 0
		for _, path := range names {
			if name, err := os.Readlink(path); err == nil && pipes[name] {
				held++
			}
		}
		if held == 0 {
			starters++
			assert.Less(t, len(names), 12, "and little else: %v", names)
		}
	}
	assert.Equal(t, 1, starters)

	r.watchAll()
	r.prepare()
	r.release()
	r.collect()
	assert.Zero(t, r.outcome().Workers.Lost)
}
