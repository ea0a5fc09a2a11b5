package report

import (
	"math"
	"strconv"
	"time"

	"horde/stats"
	"horde/stats/units"
)

const timelineRows = 12

// span is some seconds of the time line put together.
type span struct {
	from, to   time.Duration
	succeeded  uint64
	failed     uint64
	unfinished uint64 // at its end
	// Quantiles do not add up: these are of the worst second.
	p50, p99, max int64
}

// merge puts a time line together into spans of equal, round length, few
// enough to be read at a glance. A short rest at the end joins the last one.
func merge(series []stats.Second, measured time.Duration) []span {
	step := stepFor(measured)
	var spans []span
	for _, s := range series {
		from := s.At - (s.At%step+step)%step // downwards, before 0 too
		rest := len(spans) > 0 && measured-from < step/4
		if !rest && (len(spans) == 0 || spans[len(spans)-1].from != from) {
			spans = append(spans, span{from: from})
		}
		last := &spans[len(spans)-1]
		last.to = max(min(from+step, measured), s.At)
		last.add(s)
	}
	return spans
}

func (p *span) add(s stats.Second) {
	p.succeeded += s.Succeeded
	p.failed += s.Failed
	p.unfinished = s.Unfinished
	p.p50 = max(p.p50, s.P50)
	p.p99 = max(p.p99, s.P99)
	p.max = max(p.max, s.Max)
}

// stepFor returns the shortest round length that cuts the window into few rows.
func stepFor(measured time.Duration) time.Duration {
	steps := []time.Duration{1, 2, 5, 6, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600}
	for _, s := range steps {
		if measured < (timelineRows*s*time.Second)+s*time.Second/4 {
			return s * time.Second
		}
	}
	return (measured/timelineRows + time.Hour).Truncate(time.Hour)
}

func (s *span) rate(n uint64) string {
	if s.to <= s.from {
		return units.None
	}
	return units.Rate(float64(n) / (s.to - s.from).Seconds())
}

// known writes a latency; 0 is none.
func known(ns int64) string {
	if ns == 0 {
		return units.None
	}
	return units.Duration(float64(ns))
}

// seconds writes d in seconds with at most one decimal, and never an exponent.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64)
}

func (p *page) timeline(r *stats.Run) {
	spans := merge(r.Series, r.Measured)
	if len(spans) < 2 { // says no more than the headline
		return
	}
	worst, warmup := "second", ""
	if step := r.Series[0].Length; step > time.Second {
		worst = seconds(step) + " s, to which seconds were merged to save memory,"
	}
	if r.Plan.Warmup > 0 {
		warmup = "; before 0: the warm-up"
	}
	p.line("Time line (50 %% and 99 %%: of the worst %s in each row%s)", worst, warmup)
	rows := [][]string{{"seconds", "succeeded/s", "failed/s", "unfinished", "50 %", "99 %", "max"}}
	for _, s := range spans {
		rows = append(rows, []string{
			seconds(s.from) + " - " + seconds(s.to),
			s.rate(s.succeeded), s.rate(s.failed), units.Count(s.unfinished),
			known(s.p50), known(s.p99), known(s.max),
		})
	}
	p.table(rows)
	p.line("")
}
