package client

import "horde/stats"

// Wake-up coalescing: what network cards do with interrupts works for a load
// generator too. With many clients in flight the loop sleeps a moment before it
// looks for answers; more of them are there then, and the target gets the next
// requests together as well. Both ends sleep and wake less often for the same
// work.
//
// The moment is a stated share of the median latency just seen, so that it can
// lengthen an answer by no more than that; and it is made only as long as it
// does not cost requests: trials with and without it decide, again and again.
const (
	longestMoment   = 200e3 // ns
	shortestMoment  = 10e3  // ns; a shorter sleep costs more than it saves
	coalesceClients = 16    // fewer in one loop do not fill a batch

	trialLength   = 50e6 // ns
	trialCount    = 6    // every other one with the moment
	verdictLength = 3e9  // ns that a verdict stands
	acceptedRate  = 0.99 // of the requests without the moment
)

// coalescer decides how long a loop sleeps before it looks for events. Times
// are nanoseconds since the release. The zero value never sleeps.
type coalescer struct {
	able   bool
	moment int64 // the sleep before each look, 0 = none
	next   int64 // when to decide again

	trial    int // trialCount = a verdict stands
	since    int64
	requests uint64
	rates    [2]float64 // sums over the trials without and with the moment

	slept   int64 // ns in all
	longest int64
}

// sleep returns how long to sleep now, and takes note of it.
func (k *coalescer) sleep() int64 {
	if k.moment > 0 {
		k.slept += k.moment
		k.longest = max(k.longest, k.moment)
	}
	return k.moment
}

// decide ends a trial or a verdict whose time is over. ended is how many
// requests have ended since the release, median the latency to go by.
func (k *coalescer) decide(now int64, ended uint64, median int64) {
	if k.trial < trialCount && k.since > 0 {
		k.rates[k.trial%2] += float64(ended-k.requests) / float64(now-k.since)
	}
	k.since, k.requests = now, ended
	if k.trial++; k.trial > trialCount {
		k.trial, k.rates = 0, [2]float64{}
	}
	with := k.trial%2 == 1
	k.next = now + trialLength
	if k.trial == trialCount {
		with = k.rates[1] >= k.rates[0]*acceptedRate
		k.next = now + verdictLength
	}
	k.moment = min(int64(stats.CoalesceShare*float64(median)), longestMoment)
	if !with || k.moment < shortestMoment {
		k.moment = 0
	}
}
