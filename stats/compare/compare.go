// Package compare draws a verdict between two sets of runs: did throughput,
// failures or latency change, by how much, and is that more than chance.
//
// The unit is the run: seconds inside a run are no samples of their own. Where
// both sides were measured over several boots, the unit is the boot, since runs
// of one boot share what that boot happened to be like. Ratios are judged on
// logarithms by Welch's test, and ranks must agree with it. Nothing here reads
// files or lays out text; it lives in the parent.
package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"horde/stats"
)

// Word is a verdict on one metric.
type Word string

// The verdicts. NoChange is the only one that says there was none: the whole
// interval lies inside the margin.
const (
	Changed       Word = "CHANGED"
	Negligible    Word = "CHANGED, NEGLIGIBLE"
	NoChange      Word = "NO CHANGE BEYOND"
	Inconclusive  Word = "INCONCLUSIVE"
	NotComparable Word = "NOT COMPARABLE"
	NoVerdict     Word = "NO VERDICT"
)

// FewestRuns is how many runs a side needs for a verdict.
const FewestRuns = 5

// Margin is what counts as no change, as a share of the value, unless told.
const Margin = 0.02

// Options say how to judge.
type Options struct {
	Margin float64 // a change within ± this share is negligible
	Anyway bool    // judge what is not comparable, too
}

// Run is one run as a comparison sees it.
type Run struct {
	Name      string            // of its file
	StartedAt time.Time         // zero: not known
	Tool      string            // version of horde
	Commit    string            // and the commit it was built from
	Plan      map[string]string // what was asked for, by name, as JSON; "" = nothing

	Measured  time.Duration
	Succeeded uint64
	Failed    uint64
	Classes   map[string]uint64  // failed requests by class
	Latency   map[string]float64 // of succeeded requests: ns by name of the quantile
	Mean      float64            // ns, their mean; 0 = none

	Opened uint64 // connections

	Clients    int
	OpenLoop   bool // a rate was set
	OnLoopback bool // the target is on this host

	Valid            bool
	Partial          bool
	GeneratorLimited bool
	Drifting         bool // not stationary
	PlannedRuns      int  // of the series it belongs to; 0 = of none

	Host stats.Host // the generator's
}

func (r *Run) fact(name string) string {
	if r.Host.Begin == nil {
		return ""
	}
	return r.Host.Begin.Facts[name].Value
}

// boot is the id of the host's boot, "" if it is not known.
func (r *Run) boot() string { return r.fact("kernel.random.boot_id") }

// Comparison is the verdict between two sets of runs.
type Comparison struct {
	Options
	Before, After []Run
	Boots         Boots
	Order         Order
	Refused       []string // why the sides cannot be compared; empty = they can
	Together      bool     // generator and target were limited together on one host
	Metrics       []Metric // throughput first; none is missing, whatever the verdict
	Notes         []string // sentences: what to know before believing the verdicts
	Causes        []Cause  // what differs between the hosts, likeliest first
	Attribution   string   // why a change cannot be put down to one end; "" = it can
}

// Compare judges after against before. Neither side may be empty.
func Compare(before, after []Run, o Options) *Comparison {
	c := &Comparison{Options: o, Before: before, After: after, Boots: bootsOf(before, after), Order: orderOf(before, after)}
	c.Refused = differences(before, after)
	c.Together = limited(before) > 0 && limited(after) > 0
	for _, m := range measures {
		c.Metrics = append(c.Metrics, c.weigh(m))
	}
	c.adjust()
	c.Causes, c.Attribution = causes(before, after)
	c.Notes = notes(c)
	return c
}

// Comparable reports whether verdicts were drawn.
func (c *Comparison) Comparable() bool { return len(c.Refused) == 0 || c.Anyway }

// Worse reports whether a metric changed for the worse.
func (c *Comparison) Worse() bool {
	return slices.ContainsFunc(c.Metrics, func(m Metric) bool { return m.Verdict == Changed && m.Direction == Worse })
}

// OnThisHost reports whether the targets of all runs were on the generator's host.
func (c *Comparison) OnThisHost() bool {
	off := func(r Run) bool { return !r.OnLoopback }
	return !slices.ContainsFunc(c.Before, off) && !slices.ContainsFunc(c.After, off)
}

// HostsKnown reports whether both sides say what their host was like.
func (c *Comparison) HostsKnown() bool {
	silent := func(r Run) bool { return r.Host.Begin == nil }
	return !slices.ContainsFunc(c.Before, silent) && !slices.ContainsFunc(c.After, silent)
}

// Class is a class of failed requests with their number.
type Class struct {
	Name  string
	Count uint64
}

// Classes are the failures of each side by class, the most frequent first.
func (c *Comparison) Classes() (before, after []Class) {
	return classes(c.Before), classes(c.After)
}

func classes(runs []Run) []Class {
	sums := map[string]uint64{}
	for i := range runs {
		for name, n := range runs[i].Classes {
			sums[name] += n
		}
	}
	var out []Class
	for name, n := range sums {
		out = append(out, Class{name, n})
	}
	slices.SortFunc(out, func(a, b Class) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// adjust takes account of there being several metrics. Throughput stands alone
// as the question asked; the others share one error among them.
func (c *Comparison) adjust() {
	var judged []*Metric
	var p []float64
	for i := range c.Metrics[1:] {
		if m := &c.Metrics[1+i]; m.Welch.Bounded {
			judged, p = append(judged, m), append(p, m.Welch.P)
		}
	}
	for i, adjusted := range holm(p) {
		m := judged[i]
		m.P = adjusted
		if changed := m.Verdict == Changed || m.Verdict == Negligible; changed && adjusted >= 1-confidence {
			m.Verdict, m.Several = Inconclusive, true
		}
	}
}

// units groups values by what they are a sample of: the run, or the boot where
// both sides have several.
func (c *Comparison) units(runs []Run, values []float64) []float64 {
	if !c.Boots.Units {
		return values
	}
	var ids []string
	sums, counts := map[string]float64{}, map[string]float64{}
	for i := range runs {
		id := runs[i].boot()
		if counts[id] == 0 {
			ids = append(ids, id)
		}
		sums[id] += values[i]
		counts[id]++
	}
	means := make([]float64, len(ids))
	for i, id := range ids {
		means[i] = sums[id] / counts[id]
	}
	return means
}

// needed is about how many runs a side show that there is no change beyond
// margin if there is none: two one-sided tests at 5 %, 90 times in 100.
func needed(spread, margin float64) int {
	const z = 1.6449 // of 95 %, twice
	if margin <= 0 {
		return 0
	}
	return max(int(math.Ceil(2*4*z*z*spread*spread/(margin*margin))), FewestRuns)
}
