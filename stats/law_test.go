package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// busyRun is 10 clients for 10 s that were always under way with 1,000 requests of 100 ms.
func busyRun() *Run {
	r := happy()
	r.Plan.Clients = 10
	r.Tally.Total.Reset()
	for range 1000 {
		r.Tally.Total.Record(100e6)
	}
	return r
}

func TestTheClientsAreTheRateTimesTheTimeOfEach(t *testing.T) {
	l := busyRun().Law()
	require.NotNil(t, l)
	assert.InDelta(t, 100, l.Rate, 1e-9)
	assert.InDelta(t, 100e6, l.Mean, 1e-3)
	assert.InDelta(t, 10, l.Busy, 1e-6)
	assert.Zero(t, l.Idle)
	assert.True(t, l.Holds())
}

func TestWhomRequestsDoNotAccountForIsNamed(t *testing.T) {
	for _, row := range []struct {
		name    string
		happens func(*Run)
		want    Law // Busy, and whom else there is
		holds   bool
	}{
		{"failures take time too", func(r *Run) {
			failing(r, Refused, 10)
			r.Tally.Failures[0].ClientTime = 10e9
			r.Plan.Clients = 11
		}, Law{Busy: 11}, true},
		{"unfinished", func(r *Run) { r.Plan.Clients, r.Unfinished.ClientTime = 13, 30e9 }, Law{Busy: 10, Unfinished: 3}, false},
		{"paused", func(r *Run) { r.Plan.Clients, r.Tally.Paused = 12, 20e9 }, Law{Busy: 10, Paused: 2}, false},
		{"a ramp over all of the run", func(r *Run) { r.Plan.Clients, r.Plan.Ramp = 20, 10*time.Second }, Law{Busy: 10, NotStarted: 10}, false},
		{"a ramp over half of it", func(r *Run) { r.Plan.Clients, r.Plan.Ramp = 16, 5*time.Second }, Law{Busy: 10, NotStarted: 4, Idle: 2}, false},
		{"a ramp that is over half done in the warm-up", func(r *Run) {
			r.Plan.Clients, r.Plan.Ramp, r.Plan.Warmup = 16, 10*time.Second, 5*time.Second
		}, Law{Busy: 10, NotStarted: 2, Idle: 4}, false},
		{"a ramp that ends before the window", func(r *Run) { r.Plan.Ramp, r.Plan.Warmup = 5*time.Second, 5*time.Second }, Law{Busy: 10}, true},
		{"idle", func(r *Run) { r.Plan.Clients = 11 }, Law{Busy: 10, Idle: 1}, false},
		{"a little idle", func(r *Run) { r.Plan.Clients, r.Measured = 100, 1010*time.Millisecond }, Law{Busy: 100e9 / 1.01e9, Idle: 100 - 100e9/1.01e9}, true},
		{"more than there are", func(r *Run) { r.Plan.Clients = 9 }, Law{Busy: 10}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := busyRun()
			row.happens(r)
			l := r.Law()
			require.NotNil(t, l)
			want := []float64{row.want.Busy, row.want.Unfinished, row.want.Paused, row.want.NotStarted, row.want.Idle}
			assert.InDeltaSlice(t, want, []float64{l.Busy, l.Unfinished, l.Paused, l.NotStarted, l.Idle}, 1e-6)
			assert.Equal(t, row.holds, l.Holds())
		})
	}
}

func TestTheLawSaysNothingOfAnOpenLoopOrOfNothing(t *testing.T) {
	r := busyRun()
	r.Plan.RatePerSec = 100
	assert.Nil(t, r.Law())
	r = happy()
	nothingSucceeded(r)
	assert.Nil(t, r.Law())
	r = busyRun()
	r.Measured = 0
	assert.Nil(t, r.Law())
}
