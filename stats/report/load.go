package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"horde/stats"
)

// Load reads a result file back into what it was written from: JSON of it is
// the file again, byte for byte if this version wrote it. A value that an older
// file does not have is the zero value, as if it had not been measured.
func Load(from io.Reader) (*stats.Run, stats.Verdict, error) {
	d, err := Read(from)
	if err != nil {
		return nil, stats.Verdict{}, err
	}
	r, err := d.run()
	if err != nil {
		return nil, stats.Verdict{}, fmt.Errorf("read result: %w", err)
	}
	return r, d.verdict(r), nil
}

// zero is the reverse of some: what nil stands for.
func zero[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

func (d *Document) run() (*stats.Run, error) {
	r := &stats.Run{
		Tool: stats.Tool(d.Tool), Plan: d.Plan.facts(),
		Measured: time.Duration(d.Window.MeasuredNS), StartedAt: zero(d.Window.StartedAt),
		Interrupted: zero(d.Window.Interrupted), Unreachable: zero(d.Window.Unreachable),
		Unfinished: d.Unfinished.snapshot(), Lost: d.Requests.Lost,
		Workers: d.Workers.workers(), Host: d.Host.Stats(), Generator: d.Generator.generator(),
	}
	if c := d.Coalescing; c != nil {
		r.Coalescing = stats.Coalescing{Slept: time.Duration(c.SleptNS), Longest: time.Duration(c.LongestNS)}
	}
	d.Pace.load(r)
	d.Warmup.load(r)
	for _, s := range d.Series {
		r.Series = append(r.Series, s.second())
	}
	for _, s := range d.Stalls {
		r.Stalls = append(r.Stalls, stats.Stall{From: time.Duration(s.FromNS), To: time.Duration(s.ToNS)})
	}
	if err := d.loadEntries(r); err != nil {
		return nil, err
	}
	if err := d.tally(&r.Tally); err != nil {
		return nil, err
	}
	for _, kind := range d.kinds(r) {
		if err := kind.load(kind.of); err != nil {
			return nil, fmt.Errorf("latency %q: %w", kind.name, err)
		}
	}
	return r, nil
}

func (p *Plan) facts() stats.PlanFacts {
	return stats.PlanFacts{
		URL: p.URL, Address: p.Address, Method: p.Method, HTTP: p.HTTP,
		Clients: p.Clients, Workers: p.Workers, KeepAlive: p.KeepAlive, Force: p.Force,
		Duration: time.Duration(zero(p.DurationNS)), Ramp: time.Duration(zero(p.RampNS)),
		Requests: zero(p.Requests), RatePerSec: zero(p.RatePerSec), Warmup: time.Duration(zero(p.WarmupNS)),
		Repeat:  p.Repeat.stats(),
		Timeout: time.Duration(zero(p.TimeoutNS)), ConnectTimeout: time.Duration(zero(p.ConnectNS)),
		Argv: p.Argv, RequestSHA256: p.RequestSHA256, TLS: p.TLS.facts(),
		Proxy: zero(p.Proxy), ProxyProtocol: zero(p.ProxyProtocol), Tried: p.Tried,
	}
}

func (u *Unfinished) snapshot() stats.Unfinished {
	return stats.Unfinished{
		Count: [stats.PhaseCount]uint64{
			stats.Connecting: u.Connecting, stats.Handshaking: u.Handshaking, stats.Sending: u.Sending,
			stats.Waiting: u.Waiting, stats.Receiving: u.Receiving,
		},
		Oldest: zero(u.OldestNS), ClientTime: u.ClientTimeNS,
	}
}

func (s *Second) second() stats.Second {
	out := stats.Second{
		At: time.Duration(s.AtNS), Length: time.Duration(s.LengthNS),
		Succeeded: s.Succeeded, Failed: s.Failed, Unfinished: s.Unfinished, Bytes: s.Bytes,
		P50: zero(s.P50NS), P99: zero(s.P99NS), Max: zero(s.MaxNS),
	}
	if out.Length <= 0 { // the first files had seconds only
		out.Length = time.Second
	}
	for _, id := range slices.Sorted(maps.Keys(s.Classes)) {
		if class, ok := stats.ClassOf(id); ok {
			out.Classes = append(out.Classes, stats.ClassCount{Class: class, Count: s.Classes[id]})
		}
	}
	return out
}

// tally loads what was counted over the whole run.
func (d *Document) tally(t *stats.Tally) error {
	t.Begun, t.Succeeded, t.Failed = d.Requests.Begun, d.Requests.Succeeded, d.Requests.Failed
	t.BytesRead, t.BytesWritten, t.BytesBody = d.Bytes.Read, d.Bytes.Written, d.Bytes.Body
	t.Opened, t.NoConn = d.Connections.Opened, d.Connections.Failed
	t.Reused, t.Resent, t.Paused = d.Connections.ReusedRequests, d.Connections.ResentRequests, d.Connections.PausedNS
	t.Resumed = d.Connections.Resumed
	t.Overslept = d.Workers.Overslept
	var err error
	if t.Statuses, err = statusCounts(d.Status); err != nil {
		return err
	}
	for _, f := range d.Failures {
		failure, err := f.failure()
		if err != nil {
			return err
		}
		t.Failures = append(t.Failures, failure)
	}
	return nil
}

func (f *Failure) failure() (stats.Failure, error) {
	class, ok := stats.ClassOf(f.Class)
	if !ok {
		return stats.Failure{}, fmt.Errorf("the failure class %.40q is not one of this version", f.Class)
	}
	phase, ok := stats.PhaseOf(f.Phase)
	if !ok {
		return stats.Failure{}, fmt.Errorf("the phase %.40q is not one of this version", f.Phase)
	}
	return stats.Failure{
		Class: class, Phase: phase, Errno: zero(f.Errno), Count: f.Count,
		ClientTime: f.ClientTimeNS, FirstAt: f.FirstAtNS, LastAt: f.LastAtNS,
	}, nil
}

// load fills an empty histogram. Without the sums, which the first files did
// not hold, they follow from the mean and the deviation.
func (l *Latency) load(h *stats.Histogram) error {
	if l.Count == 0 {
		return nil
	}
	for _, b := range l.Histogram.Buckets {
		if !h.LoadValue(int64(b[0]), b[1]) {
			return fmt.Errorf("there is no bucket at %d", b[0])
		}
	}
	n, mean, deviation := float64(l.Count), float64(zero(l.MeanNS)), float64(zero(l.StdDevNS))
	s := stats.Summary{
		Count: l.Count, Over: l.Histogram.Over, Min: *l.MinNS, Max: *l.MaxNS,
		Sum: n * mean, SumSq: n * (mean*mean + deviation*deviation),
	}
	if l.Histogram.Sum != nil && l.Histogram.Squares != nil {
		s.Sum, s.SumSq = *l.Histogram.Sum, *l.Histogram.Squares
	}
	h.Load(s)
	return nil
}

func (w *Workers) workers() stats.Workers {
	out := stats.Workers{
		Asked: w.Asked, Started: w.Started, Lost: w.Lost, Pinned: w.Pinned, Batch: w.Batch,
		ReadyIn: time.Duration(w.ReadyNS), Summary: w.Summary,
	}
	for i := range w.List {
		out.List = append(out.List, w.List[i].worker())
	}
	return out
}

func (w *Worker) worker() stats.Worker {
	out := stats.Worker{
		ID: w.ID, Host: w.Host, PID: w.PID, CPU: -1, Clients: w.Clients, Succeeded: w.Succeeded, Failed: w.Failed,
		StartCPU: duration(w.StartCPUNS), CPUTime: duration(w.CPUNS), RunDelay: duration(w.RunDelayNS), Lag: duration(w.LagNS),
		Exit: w.Exit, Lost: w.Lost,
	}
	if w.CPU != nil {
		out.CPU = *w.CPU
	}
	return out
}

// duration is the reverse of nanoseconds.
func duration(ns *int64) time.Duration {
	if ns == nil {
		return -1
	}
	return time.Duration(*ns)
}

// verdict is the one that was drawn when the run ended, with all its reasons.
// Files of before the exit code was written are judged again for it.
func (d *Document) verdict(r *stats.Run) stats.Verdict {
	v := stats.Verdict{
		Valid: d.Verdicts.Valid, GeneratorLimited: d.Verdicts.GeneratorLimited, Partial: d.Verdicts.Partial,
		Stationary: d.Verdicts.Stationary, Reasons: d.Verdicts.Reasons,
	}
	if d.Verdicts.Exit == nil {
		v.Exit = stats.Judge(r, stats.Thresholds{}).Exit
		return v
	}
	v.Exit = *d.Verdicts.Exit
	return v
}
