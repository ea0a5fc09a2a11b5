package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// confidence is that of every interval, and 1 − confidence the error a verdict risks.
const confidence = 0.95

// Estimate is a difference of two means, after − before, on the scale the
// values were taken to (logarithms, or log-odds), with its interval.
type Estimate struct {
	Mid, Low, High float64
	P              float64 // of a difference at least this far from 0 if there is none
	Bounded        bool    // false: too few values for an interval; Mid alone holds
}

// changed reports whether the interval leaves out "no difference".
func (e Estimate) changed() bool { return e.Bounded && (e.Low > 0 || e.High < 0) }

// widen allows for values that are themselves known only within resolution.
func (e Estimate) widen(resolution float64) Estimate {
	e.Low -= resolution
	e.High += resolution
	return e
}

// welch estimates by the t-test for unequal variances: Welch, Biometrika 34
// (1947). resolution is what a difference may owe to the rounding of the values.
func welch(before, after []float64, resolution float64) Estimate {
	e := Estimate{Mid: stats.Mean(after) - stats.Mean(before), P: 1}
	if len(before) < 2 || len(after) < 2 {
		return e
	}
	e.Bounded = true
	seenB, seenA := stats.Variance(before)/float64(len(before)), stats.Variance(after)/float64(len(after))
	excess := math.Max(math.Abs(e.Mid)-resolution, 0)
	half := 0.0
	switch se := math.Sqrt(seenB + seenA); {
	case se > 0:
		freedom := (seenB + seenA) * (seenB + seenA) /
			(seenB*seenB/float64(len(before)-1) + seenA*seenA/float64(len(after)-1))
		t := stats.TDist{V: freedom}
		half = se * stats.InvCDF(t)(1-(1-confidence)/2)
		e.P = 2 * t.CDF(-excess/se)
	case excess > 0: // all runs of a side agree to the last digit
		e.P = 0
	}
	e.Low, e.High = e.Mid-half, e.Mid+half
	return e.widen(resolution)
}

// ranks estimates by the median of all pairwise differences, and its interval
// by inverting the Mann-Whitney test: Hodges and Lehmann, Annals of
// Mathematical Statistics 34 (1963). It asks nothing of the distribution.
func ranks(before, after []float64, resolution float64) Estimate {
	differences := make([]float64, 0, len(before)*len(after))
	for _, b := range before {
		for _, a := range after {
			differences = append(differences, a-b)
		}
	}
	slices.Sort(differences)
	n := len(differences)
	e := Estimate{Mid: (differences[(n-1)/2] + differences[n/2]) / 2, P: 1}
	if k := rarest(len(before), len(after)); k >= 0 {
		e.Bounded = true
		e.Low, e.High = differences[k], differences[n-1-k]
	}
	return e.widen(resolution)
}

// exactly is up to how many pairs of runs the rank test is counted out; beyond,
// the normal approximation is good to the fourth digit.
const exactly = 50 * 50

// rarest returns the largest Mann-Whitney statistic that is still rarer than
// half the error on one side, or -1 if none is: of n and m runs there are too few.
func rarest(n, m int) int {
	const tail = (1 - confidence) / 2
	middle := float64(n*m) / 2
	if n*m > exactly {
		z := stats.StdNormal.InvCDF(tail)
		return int(math.Floor(middle + z*math.Sqrt(middle*float64(n+m+1)/6) - 0.5))
	}
	u := stats.UDist{N1: n, N2: m}
	low, high := -1, int(middle) // P(U <= low) <= tail < P(U <= high)
	for high-low > 1 {
		if try := (low + high) / 2; u.CDF(float64(try)) <= tail {
			low = try
		} else {
			high = try
		}
	}
	return low
}

// Detectable is the spread of these values, about their coefficient of variation,
// and what change would show beside as many runs that spread alike: the half of
// an interval. It is not known of fewer than two.
func Detectable(values []float64) (spread, change float64, known bool) {
	if len(values) < 2 {
		return 0, 0, false
	}
	logs := make([]float64, len(values))
	for i, v := range values {
		if v <= 0 {
			return 0, 0, false
		}
		logs[i] = math.Log(v)
	}
	spread = stats.StdDev(logs)
	n := float64(len(values))
	t := stats.InvCDF(stats.TDist{V: 2*n - 2})(1 - (1-confidence)/2)
	return spread, math.Expm1(t * spread * math.Sqrt(2/n)), true
}

// holm adjusts p-values for there being several of them: Holm, Scandinavian
// Journal of Statistics 6 (1979).
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted, largest := make([]float64, len(p)), 0.0
	for rank, i := range order {
		largest = math.Max(largest, math.Min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = largest
	}
	return adjusted
}
