package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var pairs = flag.Int("pairs", 1000, "pairs of sides to simulate for each case; 10000 for the figures to publish")

// noise draws by what factor a run is off.
type noise func(*rand.Rand) float64

func normal(cv float64) noise {
	return func(r *rand.Rand) float64 { return 1 + cv*r.NormFloat64() }
}

func lognormal(cv float64) noise {
	return func(r *rand.Rand) float64 { return math.Exp(cv * r.NormFloat64()) }
}

// modes are a fast one and, three times in ten, one slower by gap.
func modes(gap, cv float64) noise {
	return func(r *rand.Rand) float64 {
		if r.Float64() < 0.3 {
			return (1 - gap) * (1 + cv*r.NormFloat64())
		}
		return 1 + cv*r.NormFloat64()
	}
}

// side is n runs around rate requests/s.
func side(r *rand.Rand, n int, rate float64, off noise) []Run {
	runs := make([]Run, n)
	for i := range runs {
		runs[i] = Run{Valid: true, Measured: 10 * time.Second, Succeeded: uint64(10 * rate * off(r))}
	}
	return runs
}

// outcome are shares of the simulated comparisons.
type outcome struct{ changed, beyond, noChange, covered, ranksCovered float64 }

// simulate compares pairs of sides of n runs, after faster by the factor ratio.
func simulate(n int, ratio float64, off noise) outcome {
	r := rand.New(rand.NewPCG(uint64(n), 20261201))
	var o outcome
	one := 1 / float64(*pairs)
	truth := math.Log(ratio)
	for range *pairs {
		m := Compare(side(r, n, 10_000, off), side(r, n, 10_000*ratio, off), Options{Margin: Margin}).Metrics[0]
		switch m.Verdict {
		case Changed:
			o.changed += one
			o.beyond += one
		case Negligible:
			o.changed += one
		case NoChange:
			o.noChange += one
		}
		if m.Welch.Low <= truth && truth <= m.Welch.High {
			o.covered += one
		}
		if m.Ranks.Low <= truth && truth <= m.Ranks.High {
			o.ranksCovered += one
		}
	}
	return o
}

// How often a verdict errs, by simulation: two sides that are the same must
// seldom be told apart, and the interval must hold the truth as often as it says.
// The bounds are those published, and what so few pairs may be off by chance.
func TestSimulatedErrorRates(t *testing.T) {
	chance := 4 * math.Sqrt(0.05*0.95/float64(*pairs))
	if *pairs >= 10_000 {
		chance = 0
	}
	for _, c := range []struct {
		name string
		off  noise
	}{
		{"normal, CV 1 %", normal(0.01)},
		{"normal, CV 3 %", normal(0.03)},
		{"log-normal, CV 5 %", lognormal(0.05)},
		{"two modes 7 % apart", modes(0.07, 0.01)},
	} {
		for _, n := range []int{5, 10, 20} {
			t.Run(fmt.Sprintf("%s, %d runs a side", c.name, n), func(t *testing.T) {
				t.Parallel()
				o := simulate(n, 1, c.off)
				t.Logf("%d pairs alike: changed %.2f %% (beyond 2 %%: %.2f %%), interval holds the truth %.2f %% (ranks %.2f %%)",
					*pairs, o.changed*100, o.beyond*100, o.covered*100, o.ranksCovered*100)
				assert.LessOrEqual(t, o.changed, 0.06+chance)
				assert.GreaterOrEqual(t, o.covered, 0.93-chance)
				assert.LessOrEqual(t, o.covered, 0.97+chance)
			})
		}
	}
}

func TestSimulatedChangesAreFound(t *testing.T) {
	for _, c := range []struct {
		n         int
		ratio, cv float64
		found     float64
	}{
		{10, 1.05, 0.02, 0.95},
		{10, 0.95, 0.02, 0.95},
		{5, 1.24, 0.03, 0.95},
	} {
		o := simulate(c.n, c.ratio, normal(c.cv))
		t.Logf("%+.0f %% at CV %.0f %%, %d runs a side: found %.2f %%, interval holds it %.2f %%",
			(c.ratio-1)*100, c.cv*100, c.n, o.changed*100, o.covered*100)
		assert.GreaterOrEqual(t, o.changed, c.found)
		assert.InDelta(t, 0.95, o.covered, 0.03)
	}
}

// With as many runs as a verdict asks for, it is settled.
func TestAsManyRunsAsNeededShowThatNothingChanged(t *testing.T) {
	const spread = 0.01
	n := needed(spread, Margin)
	assert.Equal(t, 6, n)
	assert.Equal(t, 49, needed(0.03, Margin))
	assert.Equal(t, 22, needed(0.01, 0.01))
	assert.GreaterOrEqual(t, simulate(n+3, 1, normal(spread)).noChange, 0.85)
}

// A session that drifts is not the comparison's to find; that its sides were
// not interleaved is said with every verdict.
func TestSimulatedDriftNeedsInterleaving(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	apart, mixed := 0, 0
	for range 300 {
		blocks, turns := [2][]Run{}, [2][]Run{}
		start := time.Unix(0, 0)
		for i := range 20 {
			off := normal(0.01)
			run := side(r, 1, 10_000*(1+0.02*float64(i)/19), off)[0]
			run.StartedAt = start.Add(time.Duration(i) * time.Minute)
			blocks[i/10] = append(blocks[i/10], run)
			turns[i%2] = append(turns[i%2], run)
		}
		if c := Compare(blocks[0], blocks[1], Options{Margin: Margin}); c.Metrics[0].Welch.changed() {
			apart++
			assert.Equal(t, InSessions, c.Order)
		}
		if Compare(turns[0], turns[1], Options{Margin: Margin}).Metrics[0].Welch.changed() {
			mixed++
		}
	}
	t.Logf("2 %% drift over a session: told apart in %d of 300 when one side came first, in %d when they took turns", apart, mixed)
	assert.Greater(t, apart, 100)
	assert.Less(t, mixed, 24)
}
