package stats

import (
	"runtime"
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
		{At: 0, Length: time.Second, Succeeded: 6, Bytes: 60, Unfinished: 3, Max: 3e6},
		{At: time.Second, Length: time.Second, Unfinished: 3},
		{At: 2 * time.Second, Length: time.Second, Succeeded: 1, Bytes: 10, Unfinished: 2, Max: 1e9},
		{At: 3 * time.Second, Length: time.Second, Unfinished: 2},
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
		{At: -2 * time.Second, Length: time.Second, Succeeded: 1, Bytes: 10, Unfinished: 3, Max: 1e6},
		{At: -time.Second, Length: time.Second, Succeeded: 3, Bytes: 30, Max: 1e9},
		{At: 0, Length: time.Second, Succeeded: 1, Bytes: 10, Unfinished: 1, Max: 1e6},
		{At: time.Second, Length: time.Second},
	}, seconds)
}

func TestSecondsBeforeTheWindow(t *testing.T) {
	for at, second := range map[time.Duration]int{
		0: 0, 1: 0, time.Second: 1, -1: -1, -time.Second: -1, -time.Second - 1: -2, -1500 * time.Millisecond: -2,
	} {
		assert.Equal(t, second, SecondOf(at), "%v", at)
	}
}

// heard is a report of one answer at each of the times.
func heard(times ...time.Duration) *Tally {
	t := &Tally{Begun: uint64(len(times)), Succeeded: uint64(len(times))}
	for _, at := range times {
		t.Heard(int64(at))
		t.Total.Record(1e6)
	}
	return t
}

const ms = time.Millisecond

func TestAStallIsFoundToTheMillisecond(t *testing.T) {
	var s Series
	n := uint64(0)
	add := func(second int, times ...time.Duration) {
		s.Add(second, heard(times...))
		n += uint64(len(times))
	}
	for second := range 31 {
		for i := range 10 {
			add(second, time.Duration(second)*time.Second+time.Duration(100*i)*ms)
		}
	}
	add(31, 31100*ms)
	add(31, 31000*ms, 31200*ms) // by another worker
	add(35, 35*time.Second, 35500*ms)
	for second := 36; second < 60; second++ {
		add(second, time.Duration(second)*time.Second, time.Duration(second)*time.Second+999*ms)
	}
	assert.Equal(t, []Stall{{31200 * ms, 35 * time.Second}}, s.Stalls(time.Minute, n))
}

func TestSilenceAtEitherEndIsAStall(t *testing.T) {
	var s Series
	for second := 4; second < 8; second++ {
		s.Add(second, heard(time.Duration(second)*time.Second, time.Duration(second)*time.Second+900*ms))
	}
	assert.Equal(t, []Stall{{0, 4 * time.Second}, {7900 * ms, 20 * time.Second}}, s.Stalls(20*time.Second, 1000))
	var never Series
	never.Add(0, &Tally{Begun: 4})
	assert.Empty(t, never.Stalls(20*time.Second, 0), "a run without an answer has been told of")
}

func TestASlowTargetIsNotAStall(t *testing.T) {
	var s Series
	for second := 2; second < 60; second += 2 {
		s.Add(second, heard(time.Duration(second)*time.Second))
	}
	assert.Empty(t, s.Stalls(time.Minute, 29))
}

func TestTheLongestStallsAreKept(t *testing.T) {
	var s Series
	n, second := uint64(0), 0
	for i := range 40 { // one of 2 … 41 seconds
		s.Add(second, heard(time.Duration(second)*time.Second))
		second += i + 2
		n += 1000
	}
	s.Add(second, heard(time.Duration(second)*time.Second))
	stalls := s.Stalls(time.Duration(second+1)*time.Second, n)
	assert.Len(t, stalls, mostStalls)
	for _, stall := range stalls {
		assert.GreaterOrEqual(t, stall.To-stall.From, 25*time.Second)
	}
}

// A day of it by a clock that does not wait.
func TestADayFitsIntoBoundedMemory(t *testing.T) {
	const day, workers = 86400, 4
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := new(Series)
	one := &Tally{Begun: 110, Succeeded: 100, BytesRead: 1000}
	for i := range 100 {
		one.Total.Record(int64(i+1) * 1e5)
	}
	for class := HTTP4xx; class < HTTP4xx+10; class++ {
		one.Fail(class, Waiting, 0, 0, 1e6)
	}
	for second := range day {
		one.FirstHeard, one.LastHeard = int64(second)*1e9, int64(second)*1e9+999e6
		for range workers {
			s.Add(second, one)
		}
	}
	seconds := s.Seconds(day * time.Second)
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(10<<20))
	assert.LessOrEqual(t, len(seconds), mostEntries)
	var sum Second
	at := time.Duration(0)
	for _, e := range seconds {
		assert.Equal(t, at, e.At)
		assert.Equal(t, 32*time.Second, e.Length)
		at += e.Length
		sum.add(&e)
	}
	assert.Equal(t, uint64(day*workers*100), sum.Succeeded)
	assert.Equal(t, uint64(day*workers*10), sum.Failed)
	assert.Equal(t, uint64(day*workers*1000), sum.Bytes)
	assert.Len(t, sum.Classes, 10)
	assert.Equal(t, ClassCount{HTTP4xx, day * workers}, sum.Classes[0])
	assertAbout(t, 5*time.Millisecond, sum.P50, "p50")
	assertAbout(t, 9900*time.Microsecond, sum.P99, "p99")
	assert.Empty(t, s.Stalls(day*time.Second, day*workers*100))
	runtime.KeepAlive(s)
}
