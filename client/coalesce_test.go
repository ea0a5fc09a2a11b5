package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// play lets a coalescer decide for some seconds in which the rate of requests
// depends on its way, and of the connections asked the share yield has an
// answer. It returns the verdicts.
func play(k *coalescer, median int64, rates [ways]float64, yield float64) (verdicts []way) {
	var ended float64
	for now := int64(0); now < 30e9; {
		k.decide(now, uint64(ended), median)
		if k.trial == trialCount {
			verdicts = append(verdicts, k.way)
		}
		if k.way == polling {
			k.asked += 1000
			k.answered += uint64(1000 * yield)
		}
		ended += rates[k.way] * float64(k.next-now) / 1e9
		now = k.next
	}
	return verdicts
}

func TestAWayIsKeptAsLongAsItCostsNoRequests(t *testing.T) {
	const enough = 200e3 // ns: its share is a moment
	for _, row := range []struct {
		name   string
		median int64
		rates  [ways]float64
		yield  float64
		polls  bool
		want   way
	}{
		{"polling gains", 1e6, [ways]float64{100e3, 110e3, 120e3}, 0.8, true, polling},
		{"nothing makes a difference", 1e6, [ways]float64{100e3, 100e3, 100e3}, 0.8, true, polling},
		{"few of those asked have an answer", 1e6, [ways]float64{100e3, 100e3, 120e3}, 0.2, true, collecting},
		{"polling costs", 1e6, [ways]float64{100e3, 100e3, 90e3}, 0.8, true, collecting},
		{"polling is not allowed", 1e6, [ways]float64{100e3, 100e3, 120e3}, 0.8, false, collecting},
		{"the moment costs", 1e6, [ways]float64{100e3, 90e3, 90e3}, 0.8, true, watching},
		{"the latency is just long enough", enough, [ways]float64{100e3, 100e3, 100e3}, 0.8, true, polling},
		{"the latency is too short for a moment", enough / 2, [ways]float64{100e3, 110e3, 120e3}, 0.8, true, watching},
		{"nothing ends", 0, [ways]float64{}, 0, true, watching},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newCoalescer(row.polls)
			verdicts := play(&k, row.median, row.rates, row.yield)
			assert.NotEmpty(t, verdicts)
			for _, v := range verdicts {
				assert.Equal(t, row.want, v)
			}
		})
	}
}

func TestAMomentIsAStatedShareOfTheMedianAtMost(t *testing.T) {
	k := newCoalescer(true)
	for _, median := range []int64{0, 1, 100e3, 200e3, 1e6, 3e6, 1e9, never} {
		for range 2 * (trialCount + 1) {
			k.decide(k.next, 0, median)
			assert.LessOrEqual(t, float64(k.moment), 0.05*float64(median))
			assert.LessOrEqual(t, k.moment, int64(longestMoment))
			k.sleep()
		}
	}
	assert.Equal(t, int64(longestMoment), k.longest)
}
