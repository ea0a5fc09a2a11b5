package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// interval is what a worker counted in one second: requests begun, and those
// that succeeded, each after took.
func interval(begun, succeeded int, took time.Duration) *Tally {
	t := &Tally{Begun: uint64(begun), Succeeded: uint64(succeeded), BytesRead: uint64(succeeded) * 10}
	for range succeeded {
		t.Total.Record(int64(took))
	}
	return t
}

func TestSeriesAddsUpWorkersSecondBySecond(t *testing.T) {
	var s Series
	s.Add(0, interval(5, 4, time.Millisecond))
	s.Add(0, interval(4, 2, 3*time.Millisecond))
	s.Add(2, interval(0, 1, time.Second))
	seconds := s.Seconds(3500 * time.Millisecond)
	require.Len(t, seconds, 4, "a second in which nothing was reported is there too")
	assertAbout(t, time.Millisecond, seconds[0].P50, "p50 over both workers")
	assertAbout(t, 3*time.Millisecond, seconds[0].P99, "p99 over both workers")
	for i := range seconds {
		seconds[i].P50, seconds[i].P99 = 0, 0
	}
	assert.Equal(t, []Second{
		{At: 0, Succeeded: 6, Bytes: 60, Unfinished: 3, Max: 3e6},
		{At: time.Second, Unfinished: 3},
		{At: 2 * time.Second, Succeeded: 1, Bytes: 10, Unfinished: 2, Max: 1e9},
		{At: 3 * time.Second, Unfinished: 2},
	}, seconds)
}

func TestSeriesEndsWithTheWindow(t *testing.T) {
	var s Series
	assert.Empty(t, s.Seconds(0))
	assert.Len(t, s.Seconds(time.Second), 1)
	assert.Len(t, s.Seconds(time.Second+1), 2)
}

func TestRequestsOfADeadWorkerAreNoLongerUnderWay(t *testing.T) {
	var s Series
	s.Add(0, interval(3, 0, 0))
	s.Lose(1, 2)
	seconds := s.Seconds(2 * time.Second)
	assert.Equal(t, uint64(3), seconds[0].Unfinished)
	assert.Equal(t, uint64(1), seconds[1].Unfinished)
}

func TestAReportThatComesVeryLateCountsWithoutMovingThePercentiles(t *testing.T) {
	var s Series
	s.Add(0, interval(1, 1, time.Millisecond))
	s.Add(10, interval(1, 1, time.Millisecond))
	s.Add(0, interval(1, 1, time.Second))
	first := s.Seconds(11 * time.Second)[0]
	assert.Equal(t, uint64(2), first.Succeeded)
	assertAbout(t, time.Millisecond, first.P99, "p99")
	assert.Equal(t, int64(time.Second), first.Max)
}

func TestTheWarmUpComesBeforeSecond0(t *testing.T) {
	s := Series{Warmup: 1500 * time.Millisecond}
	s.Add(-2, interval(4, 1, time.Millisecond))
	s.Add(0, interval(2, 1, time.Millisecond))
	s.Add(-1, interval(0, 3, time.Second)) // what was due in the warm-up and ended after it
	s.Lose(1, 1)
	seconds := s.Seconds(1500 * time.Millisecond)
	for i := range seconds {
		seconds[i].P50, seconds[i].P99 = 0, 0
	}
	assert.Equal(t, []Second{
		{At: -2 * time.Second, Succeeded: 1, Bytes: 10, Unfinished: 3, Max: 1e6},
		{At: -time.Second, Succeeded: 3, Bytes: 30, Max: 1e9},
		{At: 0, Succeeded: 1, Bytes: 10, Unfinished: 1, Max: 1e6},
		{At: time.Second},
	}, seconds)
}

func TestSecondsBeforeTheWindow(t *testing.T) {
	for at, second := range map[time.Duration]int{
		0: 0, 1: 0, time.Second: 1, -1: -1, -time.Second: -1, -time.Second - 1: -2, -1500 * time.Millisecond: -2,
	} {
		assert.Equal(t, second, SecondOf(at), "%v", at)
	}
}
