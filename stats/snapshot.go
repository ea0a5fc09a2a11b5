package stats

import "time"

// Snapshot is how a run stands while it goes on, as far as the workers have
// reported. It lives in the parent. Counts are since the release.
type Snapshot struct {
	Elapsed    time.Duration // below 0 in the warm-up
	Duration   time.Duration // as asked; 0 = no limit of time
	Rate       float64       // requests that succeeded per second, lately
	Succeeded  uint64
	Failed     uint64
	Unfinished uint64
	Alive      int // workers that still report
	Workers    int // workers that were to be started
}
