package compare

import (
	"fmt"
	"slices"
)

// notes are what to know before believing the verdicts.
func notes(c *Comparison) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c.Order == InSessions {
		say("all runs of one side came before those of the other: what drifted between the two sessions looks like a change; interleave the runs, or measure a control in both sessions")
	}
	if c.Boots.Before == 1 && c.Boots.After == 1 && !c.Boots.Shared {
		say("one boot on each side: how much one boot differs from the next is not in these intervals; measure several boots of each to know")
	}
	if c.Boots.Before > 0 && !c.Boots.Shared && !c.Boots.Units && c.Boots.Before+c.Boots.After > 2 {
		say("several boots on one side only: runs of one boot are alike, and the intervals leave that out")
	}
	for _, side := range []struct {
		name string
		runs []Run
	}{{"before", c.Before}, {"after", c.After}} {
		if n := count(side.runs, func(r *Run) bool { return r.Drifting }); n > 0 {
			say("%d of %d runs %s were not stationary", n, len(side.runs), side.name)
		}
		planned := 0
		for i := range side.runs {
			planned = max(planned, side.runs[i].PlannedRuns)
		}
		if planned > len(side.runs) {
			say("%d of the %d runs planned stand %s: a choice among them is no sample", len(side.runs), planned, side.name)
		}
	}
	if b, a := versions(c.Before, build), versions(c.After, build); b != a {
		say("measured by horde %s before and %s after: some of a change may be its own", b, a)
	}
	if slices.ContainsFunc(c.Metrics, func(m Metric) bool { return m.Several }) {
		say("of several metrics one is off by chance soon: all but throughput share one error of 5 %% (Holm)")
	}
	return out
}

func build(r *Run) string {
	if r.Commit == "" {
		return r.Tool
	}
	return r.Tool + " (" + r.Commit[:min(len(r.Commit), 9)] + ")"
}
