package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"horde/stats/units"
)

// Kind says what a metric's values are.
type Kind int

// The kinds of values.
const (
	Rate     Kind = iota // per second
	Share                // of the requests that ended
	Duration             // nanoseconds
)

// Direction is which way a change went.
type Direction string

// The directions; Unknown where there is no value to tell by.
const (
	Better  Direction = "better"
	Worse   Direction = "worse"
	Same    Direction = "same"
	Unknown Direction = ""
)

// Metric is one metric on both sides, and the verdict on it. Changes are
// after/before − 1.
type Metric struct {
	Name          string
	Kind          Kind
	Before, After Values
	Change        *float64 // nil: a value is missing, or there is nothing to divide by
	Low, High     *float64 // 95 % interval of Change
	Direction     Direction
	Verdict       Word
	Reason        string  // why it is NotComparable, or NoChange with nothing to divide
	P             float64 // of the verdict; for all but throughput adjusted for their number
	Several       bool    // Inconclusive only because several metrics were asked about
	Spread        float64 // of the values on their scale, both sides pooled: about the coefficient of variation
	Needed        int     // runs (or boots) a side that would settle it; 0 = not known
	Welch, Ranks  Estimate
	WelchVerdict  Word
	RankVerdict   Word
	RankLow       *float64
	RankHigh      *float64
}

// Values are a metric's values on one side.
type Values struct {
	Each    []float64 // by run
	Typical float64   // geometric mean; of a share, that of all runs together
	Missing int       // runs without a value
}

// ShareMargin is the change of a failed share that is negligible: 0.1 points.
// A ratio of shares has no such margin, since next to nothing doubles easily.
const ShareMargin = 0.001

// weigh judges one metric.
func (c *Comparison) weigh(m measure) Metric {
	out := Metric{Name: m.name, Kind: m.kind, Before: m.take(c.Before), After: m.take(c.After)}
	out.measureChange()
	switch reason := c.unfit(m, &out); {
	case reason != "":
		out.Verdict, out.Reason = NotComparable, reason
	case len(c.Before) < FewestRuns || len(c.After) < FewestRuns:
		out.Verdict = NoVerdict
	case out.Kind == Share && out.Before.Typical == 0 && out.After.Typical == 0:
		out.concludeNoFailures(c)
	default:
		c.judge(m, &out)
	}
	return out
}

// measureChange sets Change and Direction from the values alone.
func (m *Metric) measureChange() {
	before, after := m.Before.Typical, m.After.Typical
	switch {
	case math.IsNaN(before) || math.IsNaN(after):
		return
	case before != 0:
		m.Change = some(after/before - 1)
	}
	m.Direction = direction(m.Kind, after-before)
}

func direction(kind Kind, change float64) Direction {
	switch {
	case change == 0:
		return Same
	case (change > 0) == (kind == Rate):
		return Better
	}
	return Worse
}

// unfit says why no verdict can be drawn, "" if one can.
func (c *Comparison) unfit(m measure, out *Metric) string {
	if !c.Comparable() {
		return c.Refused[0]
	}
	for _, side := range []struct {
		name   string
		runs   []Run
		values Values
	}{{"before", c.Before, out.Before}, {"after", c.After, out.After}} {
		if n := side.values.Missing; n > 0 {
			return fmt.Sprintf("no value in %d of %d runs %s", n, len(side.runs), side.name)
		}
		if out.Kind == Rate && side.values.Typical == 0 {
			return "in a run " + side.name + " nothing succeeded"
		}
		thin := func(r Run) bool { return m.thin != nil && len(side.runs) >= FewestRuns && m.thin(&r) }
		if i := slices.IndexFunc(side.runs, thin); i >= 0 {
			return fmt.Sprintf("%s has fewer than %d answers beyond it", side.runs[i].Name, fewestBeyond)
		}
	}
	return ""
}

// concludeNoFailures judges a share of 0 on both sides by the rule of three: none
// failed in n requests speaks for at most 3/n, 95 times in 100.
func (m *Metric) concludeNoFailures(c *Comparison) {
	most := 3 / float64(min(ended(c.Before), ended(c.After)))
	m.Low, m.High = nil, nil
	m.Verdict, m.Reason = NoChange, fmt.Sprintf("none failed: at most %s at 95 %%", units.Percent(most))
	if most > ShareMargin {
		m.Verdict = Inconclusive
	}
}

func ended(runs []Run) uint64 {
	var n uint64
	for i := range runs {
		n += runs[i].Succeeded + runs[i].Failed
	}
	return n
}

// judge draws the verdict by Welch's test, which the ranks must share.
func (c *Comparison) judge(m measure, out *Metric) {
	before, after := c.units(c.Before, m.scale(c.Before)), c.units(c.After, m.scale(c.After))
	out.Welch = welch(before, after, m.resolution)
	out.P = out.Welch.P
	out.Spread = math.Sqrt((stats.Variance(before) + stats.Variance(after)) / 2)
	if len(before) < FewestRuns || len(after) < FewestRuns { // ranks of so few boots say nothing; those of their runs do
		before, after = m.scale(c.Before), m.scale(c.After)
	}
	out.Ranks = ranks(before, after, m.resolution)
	ratio := out.ratios(stats.Mean(before))
	inside := func(e Estimate) bool { return ratio(e.Low) >= -c.Margin && ratio(e.High) <= c.Margin }
	if out.Kind == Share {
		base := share(stats.Mean(before))
		inside = func(e Estimate) bool {
			return base*ratio(e.Low) >= -ShareMargin && base*ratio(e.High) <= ShareMargin
		}
	} else {
		out.Needed = needed(out.Spread, c.Margin-m.resolution)
	}
	out.conclude(ratio, inside)
}

// ratios turns a difference on the metric's scale into a change of the value.
// A share needs to know what it is a change of: the log-odds base.
func (m *Metric) ratios(base float64) func(float64) float64 {
	if m.Kind == Share {
		return func(x float64) float64 { return share(base+x)/share(base) - 1 }
	}
	return math.Expm1
}

// share is the share whose log-odds are x.
func share(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (m *Metric) conclude(ratio func(float64) float64, inside func(Estimate) bool) {
	m.Direction = direction(m.Kind, m.Welch.Mid)
	if m.Kind != Share || m.Before.Typical > 0 {
		m.Change, m.Low, m.High = some(ratio(m.Welch.Mid)), some(ratio(m.Welch.Low)), some(ratio(m.Welch.High))
		m.RankLow, m.RankHigh = some(ratio(m.Ranks.Low)), some(ratio(m.Ranks.High))
	}
	m.WelchVerdict, m.RankVerdict = m.Welch.word(inside), m.Ranks.word(inside)
	m.Verdict = m.WelchVerdict
	if m.WelchVerdict != m.RankVerdict {
		m.Verdict = Inconclusive
	}
}

func (e Estimate) word(inside func(Estimate) bool) Word {
	switch {
	case e.changed() && inside(e):
		return Negligible
	case e.changed():
		return Changed
	case e.Bounded && inside(e):
		return NoChange
	}
	return Inconclusive
}

func some(v float64) *float64 { return &v }
