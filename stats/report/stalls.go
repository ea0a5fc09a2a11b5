package report

import (
	"fmt"
	"time"

	"horde/stats"
	"horde/stats/units"
)

// Stall is a time in which no byte of an answer came to any client.
// RecoveredAfterNS is from its end until the first second with 90 % of the rate
// before it; nil if there was none, or nothing to measure by.
type Stall struct {
	FromNS           int64  `json:"from_ns"`
	ToNS             int64  `json:"to_ns"`
	RecoveredAfterNS *int64 `json:"recovered_after_ns"`
}

func newStalls(r *stats.Run) []Stall {
	out := []Stall{}
	for _, s := range r.Stalls {
		stall := Stall{FromNS: int64(s.From), ToNS: int64(s.To)}
		if after, known := recovery(r.Series, s); known {
			ns := int64(after)
			stall.RecoveredAfterNS = &ns
		}
		out = append(out, stall)
	}
	return out
}

// recovery is the time from the end of a stall until the begin of the first
// entry of the time line in which requests succeed at 90 % of their rate before.
func recovery(series []stats.Second, s stats.Stall) (after time.Duration, known bool) {
	var before uint64
	var span time.Duration
	for _, e := range series {
		if e.At >= 0 && e.At+e.Length <= s.From {
			before, span = before+e.Succeeded, span+e.Length
		}
	}
	if before == 0 {
		return 0, false
	}
	rate := float64(before) / span.Seconds()
	for _, e := range series {
		if e.At+e.Length > s.To && float64(e.Succeeded) >= 0.9*rate*e.Length.Seconds() {
			return max(e.At-s.To, 0), true
		}
	}
	return 0, false
}

// stalls says when the target was silent.
func (p *page) stalls(r *stats.Run) {
	for _, s := range r.Stalls {
		words := fmt.Sprintf("no answer between second %.1f and %.1f (%s)", s.From.Seconds(), s.To.Seconds(), units.Duration(float64(s.To-s.From)))
		switch after, known := recovery(r.Series, s); {
		case s.To >= r.Measured:
			words += ", the end of the run"
		case s.From == 0:
			words = fmt.Sprintf("no answer before second %.1f", s.To.Seconds())
		case known:
			words += fmt.Sprintf("; %s s after it the rate was back at 90 %% of that before", seconds(after))
		default:
			words += "; the rate did not come back to 90 % of that before"
		}
		p.row("Stall", "%s", words)
	}
	if len(r.Stalls) > 0 {
		p.line("")
	}
}
