// Package ceiling measures how much load this host can generate: the same plan
// against the embedded target, which does nothing. It remembers that for later
// runs of the same shape. It lives in the parent.
package ceiling

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"horde/client"
	"horde/client/nullserver"
	"horde/client/target"
	"horde/procs"
	"horde/stats"
)

// longest is how long a ceiling is measured; a shorter plan is measured as long
// as it takes.
const longest = 5 * time.Second

// clientsPerSource is how many clients have ports enough with one source address.
const clientsPerSource = 9000

// ErrInterrupted says that a signal came before the ceiling was measured.
var ErrInterrupted = errors.New("interrupted")

// Measure has so many workers, bound to cpus, load the embedded target with plan
// as a closed loop without a ramp, and with answers of bodySize bytes. The
// target shares the CPUs with the workers: a target elsewhere leaves them more.
func Measure(plan client.Plan, workers int, cpus []int, bodySize int64, signals <-chan os.Signal) (*stats.Ceiling, error) {
	server, err := nullserver.Start(nullserver.Options{BodySize: bodySize, Plain: true})
	if err != nil {
		return nil, fmt.Errorf("start the embedded target: %w", err)
	}
	at := time.Now()
	outcome, err := procs.Run(procs.Options{Plan: closed(plan, server.Addr()), Workers: workers, CPUs: cpus, Signals: signals})
	if _, e := server.Stop(); err == nil && e != nil {
		err = fmt.Errorf("the embedded target failed: %w", e)
	}
	switch {
	case err != nil:
		return nil, err
	case outcome.Signal != nil:
		return nil, ErrInterrupted
	case outcome.Tally.Failed > outcome.Tally.Succeeded/1000 || outcome.Tally.Succeeded == 0:
		return nil, fmt.Errorf("of the requests to the embedded target %d succeeded and %d failed", outcome.Tally.Succeeded, outcome.Tally.Failed)
	}
	return &stats.Ceiling{
		PerSecond: float64(outcome.Tally.Succeeded) / outcome.Measured.Seconds(), Span: outcome.Measured, At: at,
	}, nil
}

// closed is what of a plan decides how much the workers can do.
func closed(p client.Plan, address netip.AddrPort) client.Plan {
	out := client.Plan{
		Address: target.Address(address), Entries: p.Entries, Order: p.Order, Seed: p.Seed,
		Reuse: p.Reuse, Force: p.Force, Coalesce: p.Coalesce, Batch: p.Batch, HalfSend: p.HalfSend,
		Clients: p.Clients, Duration: longest, Timeout: p.Timeout, ConnectTimeout: p.ConnectTimeout,
	}
	if p.Duration > 0 {
		out.Duration = min(p.Duration, longest)
	}
	if p.Clients > clientsPerSource {
		for _, a := range target.LoopbackSources(p.Clients, clientsPerSource) {
			out.Sources = append(out.Sources, target.Address(netip.AddrPortFrom(a, 0)))
		}
	}
	out.Expect.Add(200, 399)
	return out
}
