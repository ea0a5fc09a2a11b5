package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// play lets a coalescer decide for some seconds in which the rate of requests and
// the CPU time of each (in ns) depend on its way. It returns the verdicts.
func play(k *coalescer, median int64, rates, costs [ways]float64) (verdicts []way) {
	var ended, cpu float64
	for now := int64(0); now < 30e9; {
		k.decide(now, uint64(ended), median, int64(cpu))
		if k.trial == trialCount {
			verdicts = append(verdicts, k.way)
		}
		requests := rates[k.way] * float64(k.next-now) / 1e9
		ended += requests
		cpu += costs[k.way] * requests
		now = k.next
	}
	return verdicts
}

func TestTheWayIsKeptThatGainsMostAndCostsNoRequests(t *testing.T) {
	const enough = 200e3 // ns: its share is a moment
	for _, row := range []struct {
		name   string
		median int64
		rates  [ways]float64
		costs  [ways]float64
		polls  bool
		want   way
	}{
		{"polling is faster", 1e6, [ways]float64{100e3, 110e3, 112e3}, [ways]float64{7000, 6000, 6000}, true, polling},
		{"polling is faster, and too dear", 1e6, [ways]float64{100e3, 110e3, 112e3}, [ways]float64{7000, 6000, 7000}, true, collecting},
		{"collecting is cheaper, and too slow", 1e6, [ways]float64{100e3, 100e3, 110e3}, [ways]float64{7000, 6000, 7000}, true, polling},
		{"polling is not allowed", 1e6, [ways]float64{100e3, 100e3, 103e3}, [ways]float64{7000, 6000, 5000}, false, collecting},
		{"the moment costs requests", 1e6, [ways]float64{100e3, 90e3, 90e3}, [ways]float64{7000, 5000, 5000}, true, watching},
		{"nothing makes a difference", 1e6, [ways]float64{100e3, 100e3, 100e3}, [ways]float64{7000, 7000, 7000}, true, watching},
		{"the latency is just long enough", enough, [ways]float64{100e3, 100e3, 100e3}, [ways]float64{7000, 6000, 5000}, true, polling},
		{"the latency is too short for a moment", enough / 2, [ways]float64{100e3, 110e3, 120e3}, [ways]float64{7000, 6000, 5000}, true, watching},
		{"nothing ends", 0, [ways]float64{}, [ways]float64{}, true, watching},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newCoalescer(row.polls)
			verdicts := play(&k, row.median, row.rates, row.costs)
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
			k.decide(k.next, 0, median, 0)
			assert.LessOrEqual(t, float64(k.moment), 0.05*float64(median))
			assert.LessOrEqual(t, k.moment, int64(longestMoment))
			k.sleep()
		}
	}
	assert.Equal(t, int64(longestMoment), k.longest)
}
