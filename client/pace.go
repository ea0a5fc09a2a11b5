package client

import (
	"math"
	"time"
)

// Pace is the schedule of an open loop: when requests are to start, whatever
// has become of those before. Start k of all workers together is due at a time
// that follows from k alone, so starts that could not be made yet are a number
// and not a list. The zero value is a closed loop.
type Pace struct {
	Rate float64       // starts per second of all workers together
	Ramp time.Duration // over which the rate grows evenly from 0

	First, Step uint64 // a worker's own starts are First, First+Step, …
}

// Open reports whether there is a schedule.
func (p *Pace) Open() bool { return p.Rate > 0 }

// At returns when start k is due, in nanoseconds since the first one. While the
// rate grows, the starts made until t are the area of a triangle, Rate·t²/(2·Ramp).
func (p *Pace) At(k uint64) int64 {
	n, ramp := float64(k), p.Ramp.Seconds()
	at := n/p.Rate + ramp/2
	if 2*n < p.Rate*ramp {
		at = math.Sqrt(2 * n * ramp / p.Rate)
	}
	if at *= 1e9; at < farthest {
		return int64(at)
	}
	return never
}

// farthest is beyond the end of any run, and far enough from the largest integer.
const farthest = 1 << 62

// Before returns how many starts of all workers together are due before t.
func (p *Pace) Before(t int64) uint64 {
	if t <= 0 {
		return 0
	}
	at, ramp := float64(t)/1e9, p.Ramp.Seconds()
	n := (at - ramp/2) * p.Rate
	if at < ramp {
		n = at * at * p.Rate / (2 * ramp)
	}
	k := uint64(n)
	for k > 0 && p.At(k-1) >= t { // what rounding may have done
		k--
	}
	for p.At(k) < t {
		k++
	}
	return k
}

// sharp returns how long to wait at once for something that is rest
// nanoseconds ahead. The kernel lets a poll end late by up to a 200th of its
// length (fs/select.c, select_estimate_accuracy), so that a long one is cut
// short, and what is left is waited for by itself.
func sharp(rest int64) int64 {
	const short = 2e6
	if rest > short {
		rest -= rest / 128
	}
	return max(rest, 0)
}
