package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An open loop asks for what it was told to ask for, in total and evenly, and
// says what it could not ask.

func TestARateIsThatOfAllWorkersTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"many processes", []string{"--rate", "10", "-c", "50", "-t", "2"}, 20},
		{"a rate that does not divide", []string{"--rate", "7", "-c", "3", "-t", "3"}, 21},
		{"a fraction", []string{"--rate", "0.5", "-c", "2", "-t", "4"}, 2},
		{"clients in two processes", []string{"-R20", "-kc5", "-w2", "-t", "2"}, 40},
		{"a rate that grows", []string{"--rate", "20", "--ramp", "2", "-c", "3", "-t", "3"}, 40},
		{"a number of requests", []string{"--rate", "20", "-n", "11", "-c", "3"}, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, keepOpen(ok5))
			o := run(t, append(c.args, "--json", s.url())...).json()
			assert.InDelta(t, c.want, o.Requests.Begun, 1)
			assert.InDelta(t, c.want, o.Requests.Succeeded, 1)
			require.NotNil(t, o.Pace)
			assert.EqualValues(t, c.want, o.Pace.StartsDue)
			assert.Equal(t, o.Requests.Begun, o.Pace.SendLag.Count)
			assert.Zero(t, o.code)
			assert.Less(t, mostWithin(s.seen(), 20*time.Millisecond), max(5, c.want/4), "no burst")
		})
	}
}

// mostWithin is how many requests came in the busiest span.
func mostWithin(requests []request, span time.Duration) int {
	slices.SortFunc(requests, func(a, b request) int { return a.at.Compare(b.at) })
	most, first := 0, 0
	for i, r := range requests {
		for r.at.Sub(requests[first].at) > span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// The server holds everything for two of five seconds. Whoever asks ten times a
// second waits up to two seconds, and so the latencies say.
func TestAStallIsChargedForAllWhoWouldHaveWaited(t *testing.T) {
	t.Parallel()
	const from, to = 1500 * time.Millisecond, 3500 * time.Millisecond
	var begin time.Time
	s := serve(t, unlimited, func(c *conn) {
		for c.request() {
			if begin.IsZero() {
				begin = time.Now()
			}
			if at := time.Since(begin); at > from && at < to {
				time.Sleep(to - at)
			}
			if !c.answer(ok5) {
				return
			}
		}
	})
	o := run(t, "--rate", "20", "-c", "1", "-t", "5", "--keepalive", "--json", s.url()).json()
	assert.InDelta(t, 100, o.Requests.Succeeded, 1)
	for p, want := range map[string]float64{"50": 0, "75": 0.75, "90": 1.5, "99": 1.95} {
		assert.InDelta(t, want, o.percentile(p).Seconds(), 0.15, p)
	}
	assert.InDelta(t, 2, o.slowest().Seconds(), 0.15)
	assert.InDelta(t, 0.41, *o.Latency.Total.MeanNS/1e9, 0.15)
	require.NotNil(t, o.Latency.Service)
	assert.InDelta(t, 0, *o.Latency.Service.PercentilesNS["95"]/1e9, 0.15, "since it was sent, one alone took long")
	assert.InDelta(t, 39, o.Pace.StartsQueued, 3)
	assert.Zero(t, o.Pace.StartsNotMade)
}

func TestStartsThatCouldNotBeMadeAreSaid(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		for c.request() {
			time.Sleep(100 * time.Millisecond)
			if !c.answer(ok5) {
				return
			}
		}
	})
	o := run(t, "--rate", "100", "-c", "1", "-t", "3", "--keepalive", "--json", s.url()).json()
	assert.InDelta(t, 100, o.Pace.AskedPerSec, 0)
	assert.InDelta(t, 10, o.Pace.BegunPerSec, 1.5)
	assert.Equal(t, uint64(300), o.Pace.StartsNotMade+o.Requests.Begun)
	require.NotEmpty(t, o.Verdicts.Reasons)
	assert.Contains(t, o.Verdicts.Reasons[0], "starts that were due were not made")

	o = run(t, "--rate", "100", "-c", "1", "-t", "1", "--keepalive", s.url())
	assert.Regexp(t, `! +9\d of the 100 starts that were due were not made`, o.stdout)
	assert.Regexp(t, `9\d starts not made`, o.stdout)
	assert.Contains(t, o.stdout, "open loop: 100 requests/s asked")
}

func TestWarmUpCountsNowhereButInTheSeries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
	}{
		{"closed loop", []string{"-c", "3"}},
		{"open loop", []string{"-R", "100", "-kc", "4", "-w", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, keepOpen(ok5))
			o := run(t, append(c.args, "--warmup", "1.5", "-t", "1", "--json", s.url())...).json()
			assert.GreaterOrEqual(t, o.wall, 2500*time.Millisecond)
			require.NotNil(t, o.Warmup)
			assert.Positive(t, o.Warmup.Succeeded)
			assert.Equal(t, o.Warmup.Begun, o.Warmup.Succeeded+o.Warmup.Failed+o.Warmup.Unfinished)
			assert.EqualValues(t, s.complete(), o.Requests.Begun+o.Warmup.Begun)
			var before uint64
			for _, second := range o.Series {
				if second.Warmup {
					before += second.Succeeded
				}
			}
			assert.Equal(t, o.Warmup.Succeeded, before)
			assert.EqualValues(t, -2e9, o.Series[0].AtNS)
			assert.EqualValues(t, 1e9, o.Window.MeasuredNS)
		})
	}
}
