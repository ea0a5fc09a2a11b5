package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// play lets a coalescer decide for some seconds in which the rate of requests
// depends on whether it sleeps, and returns how many of the decisions after the
// first trials were for sleeping.
func play(k *coalescer, median int64, with, without float64) (slept, decisions int) {
	var ended float64
	for now := int64(0); now < 30e9; {
		k.decide(now, uint64(ended), median)
		if k.trial == trialCount {
			decisions++
			if k.moment > 0 {
				slept++
			}
		}
		rate := without
		if k.moment > 0 {
			rate = with
		}
		ended += rate * float64(k.next-now) / 1e9
		now = k.next
	}
	return slept, decisions
}

func TestCoalescingIsKeptAsLongAsItCostsNoRequests(t *testing.T) {
	for _, row := range []struct {
		name          string
		median        int64
		with, without float64
		kept          bool
	}{
		{"it gains", 1e6, 120000, 100000, true},
		{"it makes no difference", 1e6, 100000, 100000, true},
		{"it costs", 1e6, 90000, 100000, false},
		{"the latency is too short for a moment", 100e3, 120000, 100000, false},
		{"nothing ends", 0, 0, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			slept, decisions := play(&coalescer{able: true}, row.median, row.with, row.without)
			assert.Positive(t, decisions)
			if row.kept {
				assert.Equal(t, decisions, slept)
			} else {
				assert.Zero(t, slept)
			}
		})
	}
}

func TestAMomentIsAStatedShareOfTheMedianAtMost(t *testing.T) {
	var k coalescer
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
