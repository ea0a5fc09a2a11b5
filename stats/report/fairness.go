package report

import (
	"fmt"
	"math"

	"horde/stats"
	"horde/stats/units"
)

// PerClient is how many requests of each client succeeded: of clients whose
// workers were not lost. Slowest is what the slowest hundredth of them reached
// at most; Jain is Jain's fairness index, 1 if all clients reached the same.
type PerClient struct {
	Count          uint64    `json:"count"`
	WithoutSuccess uint64    `json:"without_success"`
	Jain           *float64  `json:"jain_index"`
	Min            *int64    `json:"min"`
	Slowest        *int64    `json:"slowest_1_percent"`
	Median         *int64    `json:"median"`
	Mean           *float64  `json:"mean"`
	Max            *int64    `json:"max"`
	Histogram      Histogram `json:"histogram"`
}

func newPerClient(h *stats.Histogram) PerClient {
	out := PerClient{Count: h.Count(), WithoutSuccess: h.Zeros(), Histogram: newHistogram(h, "requests")}
	if h.Count() == 0 {
		return out
	}
	least, slowest, median, mean, most := h.Min(), h.Quantile(0.01), h.Quantile(0.5), h.Mean(), h.Max()
	out.Min, out.Slowest, out.Median, out.Mean, out.Max = &least, &slowest, &median, &mean, &most
	if index, known := stats.Jain(h); known {
		out.Jain = &index
	}
	return out
}

// latency is the same distribution in the form of the others.
func (c *PerClient) latency() *Latency {
	return &Latency{Count: c.Count, MinNS: c.Min, MaxNS: c.Max, Histogram: c.Histogram}
}

// fairness says how evenly the target served the clients.
func (p *page) fairness(h *stats.Histogram) {
	if h.Count() < 2 {
		return
	}
	if n := h.Zeros(); n > 0 {
		p.row("Without", "%s of %s clients had not one request succeed", units.Count(n), units.Count(h.Count()))
	}
	index, known := stats.Jain(h)
	if !known {
		return
	}
	p.row("Per client", "%s to %s requests succeeded, in the mean %s, of the slowest 1 %% at most %s; Jain's fairness index %s",
		units.Count(uint64(h.Min())), units.Count(uint64(h.Max())), units.Rate(h.Mean()), units.Count(uint64(h.Quantile(0.01))),
		jainWords(index))
}

// jainWords never rounds up to 1, which is perfect.
func jainWords(index float64) string {
	if index < 1 {
		index = math.Min(index, 0.999)
	}
	return fmt.Sprintf("%.3f", index)
}
