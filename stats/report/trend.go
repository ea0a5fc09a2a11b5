package report

import (
	"fmt"
	"slices"
	"time"

	"horde/stats"
	"horde/stats/units"
)

// A run as long as this, of so many entries, has a trend.
const (
	trendTime    = time.Minute
	trendEntries = 20
)

// Trend is the first tenth of a long run against its last.
type Trend struct {
	First Tenth `json:"first_tenth"`
	Last  Tenth `json:"last_tenth"`
}

// Tenth is a tenth of the time line. The percentiles are the median of those of
// its entries; nil if nothing succeeded in it.
type Tenth struct {
	RequestsPerSec float64  `json:"requests_per_sec"`
	FailedShare    *float64 `json:"failed_share"`
	P50NS          *int64   `json:"p50_ns"`
	P99NS          *int64   `json:"p99_ns"`
}

// newTrend is nil for a run too short to have one. A warm-up is no part of it.
func newTrend(r *stats.Run) *Trend {
	series := slices.DeleteFunc(slices.Clone(r.Series), func(s stats.Second) bool { return s.At < 0 || s.At+s.Length > r.Measured })
	n := len(series) / 10
	if r.Measured < trendTime || len(series) < trendEntries {
		return nil
	}
	return &Trend{newTenth(series[:n]), newTenth(series[len(series)-n:])}
}

func newTenth(series []stats.Second) Tenth {
	var succeeded, failed uint64
	var span time.Duration
	var p50, p99 []int64
	for _, s := range series {
		succeeded, failed, span = succeeded+s.Succeeded, failed+s.Failed, span+s.Length
		if s.Succeeded > 0 {
			p50, p99 = append(p50, s.P50), append(p99, s.P99)
		}
	}
	t := Tenth{RequestsPerSec: float64(succeeded) / span.Seconds(), P50NS: median(p50), P99NS: median(p99)}
	if ended := succeeded + failed; ended > 0 {
		share := float64(failed) / float64(ended)
		t.FailedShare = &share
	}
	return t
}

func median(values []int64) *int64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	return &values[len(values)/2]
}

// trend says how the end of a long run differed from its begin.
func (p *page) trend(r *stats.Run) {
	if t := newTrend(r); t != nil {
		p.row("Trend", "first tenth: %s; last tenth: %s", t.First.words(), t.Last.words())
		p.line("")
	}
}

func (t *Tenth) words() string {
	share := units.None
	if t.FailedShare != nil {
		share = units.Percent(*t.FailedShare)
	}
	return fmt.Sprintf("%s requests/s succeeded, %s failed, 50 %% %s, 99 %% %s",
		units.Rate(t.RequestsPerSec), share, known(zero(t.P50NS)), known(zero(t.P99NS)))
}

func newClasses(counts []stats.ClassCount) map[string]uint64 {
	out := map[string]uint64{}
	for _, c := range counts {
		out[c.Class.String()] += c.Count
	}
	return out
}
