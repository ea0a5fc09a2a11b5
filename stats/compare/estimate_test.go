package compare

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Student's own data on sleep, Biometrika 6 (1908), and what R's t.test makes of them.
func TestWelchByTheBook(t *testing.T) {
	before := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	after := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	e := welch(before, after, 0)
	require.True(t, e.Bounded)
	assert.InDelta(t, 1.58, e.Mid, 1e-9)
	assert.InDelta(t, 0.07939, e.P, 1e-5)
	assert.InDelta(t, -0.2054832, e.Low, 1e-6)
	assert.InDelta(t, 3.3654832, e.High, 1e-6)
	assert.False(t, e.changed())
}

func TestWelchTakesQuantilesOfTheRightWidth(t *testing.T) {
	// Five values a side of equal variance: eight degrees of freedom, t = 2.306.
	before, after := []float64{-2, -1, 0, 1, 2}, []float64{-1, 0, 1, 2, 3}
	e := welch(before, after, 0)
	assert.InDelta(t, 1, e.Mid, 1e-12)
	assert.InDelta(t, 2.306004, (e.High-e.Low)/2, 1e-5)
	assert.InDelta(t, 0.3466, e.P, 1e-4)
	assert.False(t, e.changed())
}

func TestWelchOfTooFewValuesHasNoInterval(t *testing.T) {
	e := welch([]float64{1}, []float64{3, 4}, 0)
	assert.False(t, e.Bounded)
	assert.False(t, e.changed())
	assert.InDelta(t, 2.5, e.Mid, 1e-12)
}

func TestWelchOfValuesThatAllAgree(t *testing.T) {
	same := []float64{5, 5, 5, 5, 5}
	none := welch(same, same, 0)
	assert.Equal(t, Estimate{P: 1, Bounded: true}, none)
	moved := welch(same, []float64{6, 6, 6, 6, 6}, 0)
	assert.Equal(t, Estimate{Mid: 1, Low: 1, High: 1, Bounded: true}, moved)
	within := welch(same, []float64{5.1, 5.1, 5.1, 5.1, 5.1}, 0.2)
	assert.False(t, within.changed(), "a step that rounding alone may make")
	assert.Equal(t, 1.0, within.P)
}

// Hollander and Wolfe, Nonparametric Statistical Methods, table 4.1, and what
// R's wilcox.test makes of it.
func TestRanksByTheBook(t *testing.T) {
	before := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	after := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	e := ranks(before, after, 0)
	require.True(t, e.Bounded)
	assert.InDelta(t, -0.305, e.Mid, 1e-9)
	assert.InDelta(t, -0.76, e.Low, 1e-9)
	assert.InDelta(t, 0.15, e.High, 1e-9)
}

func TestTheRarestRankStatistic(t *testing.T) {
	for _, c := range []struct{ n, m, want int }{
		{3, 3, -1}, {4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {10, 10, 23}, {20, 20, 127}, {5, 10, 8},
	} {
		assert.Equal(t, c.want, rarest(c.n, c.m), "%d and %d runs", c.n, c.m)
	}
	assert.InDelta(t, rarest(50, 50), rarest(51, 50), 60, "the approximation goes on where counting ends")
	assert.Positive(t, rarest(1000, 1000))
}

func TestHolm(t *testing.T) {
	assert.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	assert.Empty(t, holm(nil))
	assert.Equal(t, []float64{1, 1}, holm([]float64{0.7, 0.9}))
}

func TestSwappingTheSidesMirrorsAnEstimate(t *testing.T) {
	a, b := []float64{1, 2, 4, 7, 11}, []float64{2, 3, 5, 8, 9, 14}
	for name, estimate := range map[string]func(a, b []float64, r float64) Estimate{"welch": welch, "ranks": ranks} {
		there, back := estimate(a, b, 0.01), estimate(b, a, 0.01)
		assert.InDelta(t, there.Mid, -back.Mid, 1e-12, name)
		assert.InDelta(t, there.Low, -back.High, 1e-12, name)
		assert.InDelta(t, there.P, back.P, 1e-12, name)
		assert.False(t, math.IsNaN(there.P))
	}
}
