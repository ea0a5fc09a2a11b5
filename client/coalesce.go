package client

import "horde/stats"

// Wake-up coalescing: what network cards do with interrupts works for a load
// generator too. With many clients in flight the loop sleeps a moment before it
// looks for answers; more of them are there then, and the target gets the next
// requests together as well. Both ends sleep and wake less often for the same
// work.
//
// The moment is a stated share of the median latency just seen, so that it can
// lengthen an answer by no more than that. Where most of the connections have
// their answer after it, the loop need not have the kernel tell it which: it
// polls them in turn, and the target's end is spared the work of waking a
// watched socket. Both are done only as long as they do not cost requests:
// trials of the three ways decide, again and again.
const (
	longestMoment   = 200e3 // ns
	shortestMoment  = 10e3  // ns; a shorter sleep costs more than it saves
	coalesceClients = 16    // fewer in one loop do not fill a batch

	trialLength   = 50e6          // ns
	trialCount    = 3 * int(ways) // each way in turn
	verdictLength = 4500e6        // ns that a verdict stands
	acceptedRate  = 0.99          // of the requests of a simpler way
	pollingYield  = 0.25          // of the connections asked must have an answer
)

// way is how a loop learns of answers.
type way int

const (
	watching   way = iota // the poller tells of each as it comes
	collecting            // the same, after a moment
	polling               // each connection is asked in turn, after a moment
	ways
)

// coalescer decides how a loop learns of answers. Times are nanoseconds since
// the release. The zero value watches, and is not to decide.
type coalescer struct {
	able   bool
	polls  bool // polling is one of its ways
	way    way
	moment int64 // the sleep before each look, 0 = none
	next   int64 // when to decide again

	trial    int // trialCount = a verdict stands
	since    int64
	requests uint64
	rates    [ways]float64 // sums over the trials of each way
	asked    uint64        // connections, while polling on trial
	answered uint64        // and those of them that had an answer

	slept   int64 // ns in all
	longest int64
}

// newCoalescer is one that begins with trials.
func newCoalescer(polls bool) coalescer {
	return coalescer{able: true, polls: polls, trial: trialCount}
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
	if k.trial < trialCount {
		k.rates[k.trial%int(ways)] += float64(ended-k.requests) / float64(now-k.since)
	}
	k.since, k.requests = now, ended
	if k.trial++; k.trial > trialCount {
		k.trial, k.rates, k.asked, k.answered = 0, [ways]float64{}, 0, 0
	}
	k.way, k.next = way(k.trial%int(ways)), now+trialLength
	if k.trial == trialCount {
		k.way, k.next = k.best(), now+verdictLength
	}
	if k.way == polling && !k.polls {
		k.way = watching
	}
	k.moment = min(int64(stats.CoalesceShare*float64(median)), longestMoment)
	if k.way == watching || k.moment < shortestMoment {
		k.way, k.moment = watching, 0
	}
}

// best is the way that saves most and costs no requests.
func (k *coalescer) best() way {
	r := &k.rates
	switch {
	case k.asked > 0 && float64(k.answered) >= pollingYield*float64(k.asked) &&
		r[polling] >= acceptedRate*max(r[watching], r[collecting]):
		return polling
	case r[collecting] >= acceptedRate*r[watching]:
		return collecting
	}
	return watching
}
