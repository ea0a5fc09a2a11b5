package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCountsBeyond32Bits(t *testing.T) {
	r := Run{Measured: time.Minute}
	for range 2 {
		r.Tally.Add(&Tally{Begun: 2_200_000_000, Succeeded: 2_200_000_000, BytesRead: 3_000_000_000})
	}
	assert.Equal(t, uint64(6_000_000_000), r.Tally.BytesRead)
	assert.Equal(t, uint64(4_400_000_000), r.Tally.Succeeded)
	assert.InDelta(t, 100_000_000, r.PerSecond(r.Tally.BytesRead), 0)
	assert.InDelta(t, 4_400_000_000, r.PagesPerMin(), 0)
	assert.Zero(t, r.Balance())
}

func TestAWholeNumberOfPagesComesOutWhole(t *testing.T) {
	r := Run{Measured: time.Minute}
	for n := range uint64(100_000) {
		r.Tally.Succeeded = n
		if r.PagesPerMin() != float64(n) {
			t.Fatalf("%d pages in a minute come out as %v", n, r.PagesPerMin())
		}
	}
}

func TestRatesOfAnEmptyWindowAreZero(t *testing.T) {
	r := Run{Tally: Tally{Succeeded: 5}}
	assert.Zero(t, r.PagesPerMin())
	assert.Zero(t, r.PerSecond(5))
}

func TestBalanceTellsMissingFromSurplus(t *testing.T) {
	r := Run{Tally: Tally{Begun: 10, Succeeded: 4, Failed: 3}, Lost: 2}
	r.Unfinished.Count[Waiting] = 1
	assert.Zero(t, r.Balance())
	r.Tally.Begun++
	assert.Equal(t, int64(1), r.Balance())
	r.Lost += 5
	assert.Equal(t, int64(-4), r.Balance())
}

func TestLocalShareCountsLimitsOfThisHostOnly(t *testing.T) {
	var r Run
	assert.Zero(t, r.LocalShare())
	r.Tally.Begun = 100
	r.Tally.Fail(LocalPorts, Connecting, 99, 0, 0)
	r.Tally.Fail(LocalFDs, Connecting, 24, 0, 0)
	r.Tally.Fail(Refused, Connecting, 111, 0, 0)
	assert.InDelta(t, 0.02, r.LocalShare(), 1e-12)
}
