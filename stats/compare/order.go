package compare

import "slices"

// Boots says how many boots of the generator's host the runs of each side are from.
type Boots struct {
	Before, After int  // 0: not known
	Shared        bool // the sides have boots in common
	Units         bool // boots, not runs, are the sample: each side has several of its own
}

func bootsOf(before, after []Run) Boots {
	b, a := distinct(before), distinct(after)
	if b == nil || a == nil {
		return Boots{}
	}
	shared := slices.ContainsFunc(b, func(id string) bool { return slices.Contains(a, id) })
	return Boots{Before: len(b), After: len(a), Shared: shared, Units: !shared && len(b) > 1 && len(a) > 1}
}

// distinct returns the boots of a side, nil if one is not known.
func distinct(runs []Run) []string {
	var ids []string
	for i := range runs {
		id := runs[i].boot()
		if id == "" {
			return nil
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Order is how the runs of both sides followed each other in time.
type Order string

// The orders. Where all runs of one side came first, whatever drifted from one
// session to the next looks like a change.
const (
	OrderUnknown  Order = ""
	InSessions    Order = "sessions not interleaved"
	Interleaved   Order = "interleaved"
	InPairs       Order = "alternating pairs" // one of each side, always in the same order
	InRandomPairs Order = "random pairs"
)

func orderOf(before, after []Run) Order {
	type start struct {
		run   Run
		after bool
	}
	var all []start
	for _, r := range before {
		all = append(all, start{r, false})
	}
	for _, r := range after {
		all = append(all, start{r, true})
	}
	if slices.ContainsFunc(all, func(s start) bool { return s.run.StartedAt.IsZero() }) {
		return OrderUnknown
	}
	slices.SortStableFunc(all, func(a, b start) int { return a.run.StartedAt.Compare(b.run.StartedAt) })
	sides := make([]bool, len(all))
	for i, s := range all {
		sides[i] = s.after
	}
	return orderOfSides(sides)
}

func orderOfSides(after []bool) Order {
	switches, pairs, turned := 0, len(after)%2 == 0, false
	for i := 1; i < len(after); i++ {
		if after[i] != after[i-1] {
			switches++
		} else if i%2 == 1 {
			pairs = false
		}
		turned = turned || i%2 == 1 && after[i] != after[1]
	}
	switch {
	case switches <= 1:
		return InSessions
	case pairs && turned:
		return InRandomPairs
	case pairs:
		return InPairs
	}
	return Interleaved
}
