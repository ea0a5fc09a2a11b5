package report

import (
	"fmt"
	"strings"

	"horde/stats"
	"horde/stats/units"
)

// Law is a closed loop's check of itself: clients on average over the window,
// busy by the rate and the mean time of the requests that ended, and with what else.
type Law struct {
	Clients     float64 `json:"clients"`
	EndedPerSec float64 `json:"ended_per_sec"`
	MeanNS      float64 `json:"mean_ns"`
	Busy        float64 `json:"busy"`
	Holds       bool    `json:"within_2_percent"`
	Unfinished  float64 `json:"unfinished"`
	Paused      float64 `json:"paused"`
	NotStarted  float64 `json:"not_started"`
	Idle        float64 `json:"idle"`
}

func newLaw(r *stats.Run) *Law {
	l := r.Law()
	if l == nil {
		return nil
	}
	return &Law{l.Clients, l.Rate, l.Mean, l.Busy, l.Holds(), l.Unfinished, l.Paused, l.NotStarted, l.Idle}
}

// law shows whether rate, latency and number of clients agree, and explains it
// where they do not.
func (p *page) law(r *stats.Run) {
	l := r.Law()
	if l == nil {
		return
	}
	words := fmt.Sprintf("%s requests/s x %s each = %.1f clients busy, of %s",
		units.Rate(l.Rate), units.Duration(l.Mean), l.Busy, units.Count(uint64(r.Plan.Clients)))
	switch {
	case l.Holds():
		words += ": they agree within 2 %"
	case l.Busy > l.Clients:
		words += ": MORE THAN THERE ARE, so the times are wrong; this is a defect of horde"
	default:
		words += "; the others were " + lawWords(r, l)
	}
	p.row("Little's law", "%s", words)
}

func lawWords(r *stats.Run, l *stats.Law) string {
	idle := "between requests"
	if r.Plan.Requests > 0 {
		idle += " or had none left to make"
	}
	if r.Plan.Warmup > 0 {
		idle += " or with one of the warm-up"
	}
	if r.Workers.Lost > 0 || r.Workers.Started < r.Workers.Asked {
		idle += " or without their process"
	}
	var parts []string
	for _, part := range []struct {
		clients float64
		words   string
	}{
		{l.Unfinished, "with requests that did not end"},
		{l.Paused, "pausing after a failed connect"},
		{l.NotStarted, "not started yet by the ramp"},
		{l.Idle, idle},
	} {
		if part.clients >= 0.05 {
			parts = append(parts, fmt.Sprintf("%s (%.1f)", part.words, part.clients))
		}
	}
	return strings.Join(parts, ", ")
}
