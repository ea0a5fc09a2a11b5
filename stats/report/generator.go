package report

import (
	"math"
	"strings"
	"time"

	"horde/stats"
	"horde/stats/units"
)

// Generator is how far this side was from its own limits while the requests were
// counted: the figures behind verdicts.generator_limited. Shares are 0-1; what
// could not be measured is nil.
type Generator struct {
	SpanNS           int64    `json:"span_ns"`            // that the host was watched
	CPUs             int      `json:"cpus"`               // that horde may use
	WorkerCPUs       int      `json:"worker_cpus"`        // that the workers could use at once
	CPUShare         *float64 `json:"cpu_share"`          // of worker_cpus, used by the workers
	BusiestCPUShare  *float64 `json:"busiest_cpu_share"`  // of one CPU, by the worker that used most
	RunDelayShare    *float64 `json:"run_delay_share"`    // of a worker's time, ready to run and without a CPU
	LagNS            int64    `json:"lag_ns"`             // by how much a worker looked at the clock too late, at worst
	ParentCPUNS      int64    `json:"parent_cpu_ns"`      // used by the parent process
	HostBusyShare    *float64 `json:"host_busy_share"`    // of cpus, used by anybody
	HostBusiestShare *float64 `json:"host_busiest_share"` // of the CPU used most
	OthersShare      *float64 `json:"others_share"`       // of cpus, used by anybody but horde
	HostFullNS       *int64   `json:"host_full_ns"`       // in which all cpus were busy
	StealShare       *float64 `json:"steal_share"`
	IOWaitShare      *float64 `json:"iowait_share"`
	SoftirqShare     *float64 `json:"softirq_share"`  // of the CPU with the most of it
	PressureShare    *float64 `json:"pressure_share"` // of the time, somebody waiting for a CPU (PSI)
	ThrottledNS      *int64   `json:"throttled_ns"`   // by control groups, summed over CPUs
	QuotaCPUs        *float64 `json:"quota_cpus"`     // that control groups allow
	SoftnetDropped   *int64   `json:"softnet_dropped"`
	SoftnetSqueezed  *int64   `json:"softnet_squeezed"`
	TargetHere       bool     `json:"target_here"` // the target's address is one of this host's
	Ceiling          *Ceiling `json:"ceiling"`     // nil: --calibrate never measured one for such a run
}

// Ceiling is what this host reached against a target that does nothing and shares
// its CPUs.
type Ceiling struct {
	RequestsPerSec float64   `json:"requests_per_sec"`
	MeasuredNS     int64     `json:"measured_ns"`
	MeasuredAt     time.Time `json:"measured_at"`
	Share          float64   `json:"share"` // of it, reached by this run
}

func newGenerator(r *stats.Run) *Generator {
	g := r.Generator
	if g == nil {
		return nil
	}
	w := &g.Workers
	return &Generator{
		SpanNS: int64(g.Span), CPUs: g.CPUs,
		WorkerCPUs: w.CPUs, CPUShare: measured(w.CPU), BusiestCPUShare: measured(w.Busiest), RunDelayShare: measured(w.Delay), LagNS: int64(w.Lag),
		ParentCPUNS: int64(g.ParentCPU), HostBusyShare: measured(g.Busy), HostBusiestShare: measured(g.Busiest),
		OthersShare: measured(g.Others()), HostFullNS: measured(int64(g.Full)),
		StealShare: measured(g.Steal), IOWaitShare: measured(g.IOWait), SoftirqShare: measured(g.Softirq), PressureShare: measured(g.Pressure),
		ThrottledNS: measured(int64(g.Throttled)), QuotaCPUs: some(g.Quota),
		SoftnetDropped: measured(g.Dropped), SoftnetSqueezed: measured(g.Squeezed), TargetHere: g.TargetHere, Ceiling: newCeiling(r),
	}
}

func newCeiling(r *stats.Run) *Ceiling {
	c := r.Generator.Ceiling
	if c == nil {
		return nil
	}
	return &Ceiling{c.PerSecond, int64(c.Span), c.At.UTC().Truncate(time.Second), r.PerSecond(r.Tally.Succeeded) / c.PerSecond}
}

// ceiling is the reverse of newCeiling.
func (c *Ceiling) ceiling() *stats.Ceiling {
	if c == nil {
		return nil
	}
	return &stats.Ceiling{PerSecond: c.RequestsPerSec, Span: time.Duration(c.MeasuredNS), At: c.MeasuredAt}
}

// generator is the reverse of newGenerator.
func (g *Generator) generator() *stats.Generator {
	if g == nil {
		return nil
	}
	return &stats.Generator{
		Span: time.Duration(g.SpanNS), CPUs: g.CPUs, Busy: value(g.HostBusyShare), Busiest: value(g.HostBusiestShare),
		Full: duration(g.HostFullNS), Steal: value(g.StealShare), IOWait: value(g.IOWaitShare), Softirq: value(g.SoftirqShare),
		Pressure: value(g.PressureShare), Throttled: duration(g.ThrottledNS), Quota: zero(g.QuotaCPUs),
		Dropped: value(g.SoftnetDropped), Squeezed: value(g.SoftnetSqueezed),
		TargetHere: g.TargetHere, Ceiling: g.Ceiling.ceiling(), ParentCPU: time.Duration(g.ParentCPUNS),
		Workers: stats.WorkerLoad{
			CPUs: g.WorkerCPUs, CPU: value(g.CPUShare), Busiest: value(g.BusiestCPUShare), Delay: value(g.RunDelayShare), Lag: time.Duration(g.LagNS),
		},
	}
}

// value is the reverse of measured.
func value[T int64 | float64](p *T) T {
	if p == nil {
		return -1
	}
	return *p
}

// measured is nil for what is below 0: not known.
func measured[T int64 | float64](v T) *T {
	if v < 0 {
		return nil
	}
	return &v
}

// generator says how far this side was from its limits, whatever the verdict.
func (p *page) generator(r *stats.Run) {
	g := r.Generator
	if g == nil || r.Unreachable != "" {
		return
	}
	words := []string{
		"workers used " + stats.Proportion(g.Workers.CPU) + " of " + plural(g.Workers.CPUs, "CPU", "CPUs") +
			" and waited " + stats.Proportion(g.Workers.Delay) + " of the time for one",
		"all others used " + stats.Proportion(g.Others()) + " of this host's " + plural(g.CPUs, "CPU", "CPUs"),
	}
	if g.Steal >= 0.01 {
		words = append(words, "the hypervisor kept "+stats.Proportion(g.Steal))
	}
	if g.Throttled >= time.Millisecond {
		words = append(words, "control groups kept horde from a CPU for "+units.Duration(float64(g.Throttled)))
	}
	if g.Full >= time.Second && r.Measured-g.Full >= time.Second {
		words = append(words, "all CPUs were busy for "+seconds(g.Full)+" s")
	}
	p.row("Generator", "%s", strings.Join(words, "; "))
	p.ceiling(r)
}

// ceiling holds the run against what this host can generate, where that is known.
func (p *page) ceiling(r *stats.Run) {
	c := r.Generator.Ceiling
	if c == nil {
		return
	}
	meaning := "against a target elsewhere it can generate that much at least"
	if r.Generator.TargetHere {
		meaning = "a target on this host can hardly be faster"
	}
	rate := r.PerSecond(r.Tally.Succeeded)
	p.row("Ceiling", "you measured %s requests/s; this host can generate %s/s (%s of it reached), as it did on %s for %s s with a target that does nothing and shares its CPUs: %s",
		units.Rate(rate), units.Rate(c.PerSecond), units.Percent(math.Round(rate/c.PerSecond*1000)/1000),
		c.At.UTC().Format(time.DateOnly), seconds(c.Span), meaning)
}
