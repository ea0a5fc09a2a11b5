package stats

import "math"

// Law is a closed loop's check of itself by Little's law: the clients at work
// are the rate of requests times the time that each took. Whom these do not
// account for is named. All but Rate and Mean are clients, on average over the
// window.
type Law struct {
	Clients float64
	Rate    float64 // requests that ended, per second
	Mean    float64 // ns that each of them took
	Busy    float64 // by the law: Rate × Mean

	Unfinished float64 // with requests under way at the end
	Paused     float64 // after a failed connect
	NotStarted float64 // by the ramp
	Idle       float64 // the rest: between requests, or with none left to make
}

// lawTolerance is by which share of the clients the law may miss.
const lawTolerance = 0.02

// Holds reports whether the requests that ended account for the clients.
func (l *Law) Holds() bool { return math.Abs(l.Busy-l.Clients) <= lawTolerance*l.Clients }

// Law returns the check, nil where it says nothing: an open loop's clients wait
// for their time.
func (r *Run) Law() *Law {
	t := &r.Tally
	ended := t.Succeeded + t.Failed
	if r.Plan.RatePerSec > 0 || ended == 0 || r.Measured <= 0 {
		return nil
	}
	spent := t.Total.sum
	for _, f := range t.Failures {
		spent += float64(f.ClientTime)
	}
	window := float64(r.Measured)
	l := &Law{
		Clients: float64(r.Plan.Clients), Rate: r.PerSecond(ended), Mean: spent / float64(ended),
		Busy: spent / window, Unfinished: float64(r.Unfinished.ClientTime) / window, Paused: float64(t.Paused) / window,
		NotStarted: r.notStarted(),
	}
	l.Idle = max(0, l.Clients-l.Busy-l.Unfinished-l.Paused-l.NotStarted)
	return l
}

// notStarted is how many clients the ramp had not started yet.
func (r *Run) notStarted() float64 {
	ramp, warmup := r.Plan.Ramp.Seconds(), r.Plan.Warmup.Seconds()
	growing := min(r.Measured.Seconds(), ramp-warmup) // of the window
	if growing <= 0 {
		return 0
	}
	missing := growing - (growing*growing/2+warmup*growing)/ramp
	return float64(r.Plan.Clients) * missing / r.Measured.Seconds()
}
