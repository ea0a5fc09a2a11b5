package stats

import "time"

// Snapshot is how a run stands while it goes on, as far as the workers have
// reported. It lives in the parent.
type Snapshot struct {
	Elapsed    time.Duration
	PerSecond  float64 // requests that succeeded, in the second before
	Succeeded  uint64
	Failed     uint64
	Unfinished uint64
	Alive      int // workers
	Workers    int
}
