package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

func TestTrendIsTheFirstTenthAgainstTheLast(t *testing.T) {
	r := newRun()
	r.Measured = 100 * time.Second
	for i := range 100 {
		s := second(&r, i)
		s.Succeeded, s.P50, s.P99, s.Max = uint64(1000-5*i), int64(1e6+1e4*i), 9e6, 1e7
		if i >= 90 {
			s.Failed = 545
		}
	}
	trend := newTrend(&r)
	require.NotNil(t, trend)
	assert.InDelta(t, 977.5, trend.First.RequestsPerSec, 1e-9)
	assert.InDelta(t, 527.5, trend.Last.RequestsPerSec, 1e-9)
	assert.InDelta(t, 0, *trend.First.FailedShare, 0)
	assert.InDelta(t, 545/(545+527.5), *trend.Last.FailedShare, 1e-9)
	assert.Equal(t, int64(1.05e6), *trend.First.P50NS)
	assert.Equal(t, int64(1.95e6), *trend.Last.P50NS)
	r.Measured = 59 * time.Second
	assert.Nil(t, newTrend(&r), "too short")
}

func TestRecoveryIsMeasuredAgainstTheRateBefore(t *testing.T) {
	r := newRun()
	for i, n := range []uint64{100, 100, 100, 20, 0, 30, 60, 95, 100} {
		second(&r, i).Succeeded = n
	}
	stall := stats.Stall{From: 3200 * time.Millisecond, To: 5500 * time.Millisecond}
	after, known := recovery(r.Series, stall)
	assert.True(t, known)
	assert.Equal(t, 1500*time.Millisecond, after)
	_, known = recovery(r.Series[:7], stall)
	assert.False(t, known, "it did not come back")
	_, known = recovery(r.Series, stats.Stall{From: 0, To: time.Second})
	assert.False(t, known, "there was none before")
}
