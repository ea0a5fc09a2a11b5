package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"horde/stats"
)

func TestProgress(t *testing.T) {
	for _, row := range []struct {
		name string
		s    stats.Snapshot
		line string
		live string
	}{
		{
			"a run with a time limit",
			stats.Snapshot{Elapsed: 12 * time.Second, Duration: time.Minute, Rate: 28206.8, Succeeded: 1692407, Failed: 2554, Unfinished: 5000, Alive: 4998, Workers: 5000},
			"12s/60s  28,207/s  1,692,407 ok  2,554 failed  5,000 unfinished  4998/5000 workers",
			"12s/60s  28,207/s  1.69M ok  2554 failed  5000 unfinished  4998/5000 workers",
		},
		{
			"a run by number of requests that has hardly begun",
			stats.Snapshot{Elapsed: 400 * time.Millisecond, Alive: 1, Workers: 1},
			"0s  0/s  0 ok  0 failed  0 unfinished  1 workers",
			"0s  0/s  0 ok  0 failed  0 unfinished  1 workers",
		},
		{
			"a warm-up",
			stats.Snapshot{Elapsed: -2900 * time.Millisecond, Duration: time.Minute, Alive: 2, Workers: 2},
			"warm-up, 3s to go  2 workers",
			"warm-up, 3s to go  2 workers",
		},
		{
			"half a second, and a rate that is no number",
			stats.Snapshot{Elapsed: 500 * time.Millisecond, Duration: 500 * time.Millisecond, Rate: math.NaN(), Alive: 2, Workers: 2},
			"0s/0.5s  n/a/s  0 ok  0 failed  0 unfinished  2 workers",
			"0s/0.5s  n/a/s  0 ok  0 failed  0 unfinished  2 workers",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.line, Line(row.s))
			live := Live(row.s)
			assert.Equal(t, "\r"+row.live, strings.TrimRight(live, " "))
			assert.Len(t, live, 1+liveWidth)
		})
	}
}

func TestTheLiveLineNeverWraps(t *testing.T) {
	huge := stats.Snapshot{Elapsed: 99 * time.Hour, Duration: 100 * time.Hour, Rate: 1e9, Succeeded: math.MaxUint64, Failed: math.MaxUint64, Unfinished: math.MaxUint64, Alive: 99999, Workers: 100000}
	assert.Len(t, Live(huge), 1+liveWidth)
	assert.Len(t, Clear, 2+liveWidth)
}
