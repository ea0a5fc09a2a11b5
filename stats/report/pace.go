package report

import (
	"fmt"

	"horde/stats"
	"horde/stats/units"
)

// pace says how well an open loop kept to its schedule, and what the warm-up was.
func (p *page) pace(r *stats.Run) {
	if r.Plan.RatePerSec > 0 {
		p.row("Pace", "%s", paceWords(r))
		p.row("Starts late", "%s", lagWords(r))
	}
	if r.Plan.Warmup > 0 {
		p.row("Warm-up", "%s", warmupWords(&r.Warmup))
	}
}

func paceWords(r *stats.Run) string {
	return fmt.Sprintf("%s of %s starts due were made, %s/s of the %s/s asked; %s starts not made",
		units.Count(r.Tally.Begun), units.Count(r.Scheduled), units.Rate(r.PerSecond(r.Tally.Begun)), units.Rate(r.Plan.RatePerSec), units.Count(r.NotMade()))
}

func lagWords(r *stats.Run) string {
	lag := &r.Tally.SendLag
	if lag.Count() == 0 {
		return units.None
	}
	return fmt.Sprintf("by %s (50 %%), %s (99 %%), %s (max); %s found every client busy",
		units.Duration(float64(lag.Quantile(0.5))), units.Duration(float64(lag.Quantile(0.99))), units.Duration(float64(lag.Max())),
		requests(r.Tally.Queued))
}

func warmupWords(w *stats.Warmup) string {
	return fmt.Sprintf("%s begun, %s succeeded, %s failed, %s unfinished: in the time line alone",
		requests(w.Begun), units.Count(w.Succeeded), units.Count(w.Failed), units.Count(w.Unfinished))
}

// Pace is how an open loop kept to its schedule. Asked is a rate, the others
// are counts of starts due in the window.
type Pace struct {
	AskedPerSec   float64 `json:"asked_per_sec"`
	BegunPerSec   float64 `json:"begun_per_sec"`
	StartsDue     uint64  `json:"starts_due"`
	StartsNotMade uint64  `json:"starts_not_made"`
	StartsQueued  uint64  `json:"starts_queued"` // all clients were busy when they were due
	SendLag       Latency `json:"send_lag"`      // by how much requests began too late
}

// Warmup counts the requests that were due before the window, which no other count holds.
type Warmup struct {
	DurationNS int64  `json:"duration_ns"`
	Begun      uint64 `json:"begun"`
	Succeeded  uint64 `json:"succeeded"`
	Failed     uint64 `json:"failed"`
	Unfinished uint64 `json:"unfinished"`
}

func newPace(r *stats.Run) *Pace {
	if r.Plan.RatePerSec == 0 {
		return nil
	}
	return &Pace{
		AskedPerSec: r.Plan.RatePerSec, BegunPerSec: r.PerSecond(r.Tally.Begun),
		StartsDue: r.Scheduled, StartsNotMade: r.NotMade(), StartsQueued: r.Tally.Queued,
		SendLag: newLatency(&r.Tally.SendLag),
	}
}

func (p *Pace) load(r *stats.Run) {
	if p != nil {
		r.Scheduled, r.Tally.Queued = p.StartsDue, p.StartsQueued
	}
}

func newService(r *stats.Run) *Latency {
	if r.Plan.RatePerSec == 0 {
		return nil
	}
	l := newLatency(&r.Tally.Service)
	return &l
}

func newWarmup(r *stats.Run) *Warmup {
	if r.Plan.Warmup == 0 {
		return nil
	}
	w := &r.Warmup
	return &Warmup{int64(r.Plan.Warmup), w.Begun, w.Succeeded, w.Failed, w.Unfinished}
}

func (w *Warmup) load(r *stats.Run) {
	if w != nil {
		r.Warmup = stats.Warmup{Begun: w.Begun, Succeeded: w.Succeeded, Failed: w.Failed, Unfinished: w.Unfinished}
	}
}

// loopName says which loop made the load.
func loopName(p *stats.PlanFacts) string {
	if p.RatePerSec > 0 {
		return "open"
	}
	return "closed"
}
