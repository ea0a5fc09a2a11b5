package client

import "horde/stats"

// Wake-up coalescing: what network cards do with interrupts works for a load
// generator too. With many clients in flight the loop sleeps a moment before it
// looks for answers; more of them are there then, and the target gets the next
// requests together as well. Both ends sleep and wake less often for the same
// work.
//
// The moment is a stated share of the median latency just seen, so that it can
// lengthen an answer by no more than that. After it the loop need not have the
// kernel tell it who has an answer: it can poll the connections in turn, and the
// target's end is spared the work of waking a watched socket. Trials of the three
// ways decide, again and again: the one stays that does most requests for its
// CPU time, of those that hardly cost any.
const (
	longestMoment   = 200e3 // ns
	shortestMoment  = 10e3  // ns; a shorter sleep costs more than it saves
	coalesceClients = 16    // fewer in one loop do not fill a batch

	trialLength   = 50e6          // ns
	trialCount    = 3 * int(ways) // each way in turn
	verdictLength = 4500e6        // ns that a verdict stands
	acceptedRate  = 0.95          // of the requests of the fastest way
	worthwhile    = 1.01          // times what a simpler way gets for its CPU time
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
	cpu      int64
	trials   [ways]trial

	slept   int64 // ns in all
	longest int64
}

// trial is what a way did, summed up over its trials.
type trial struct{ requests, time, cpu float64 }

func (t *trial) rate() float64 { return t.requests / t.time }

// gain is what a way is judged by: requests per time and per CPU time.
func (t *trial) gain() float64 { return t.rate() * t.requests / t.cpu }

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
// requests have ended since the release, median the latency to go by, and cpu
// what the loop has used of its CPU, in nanoseconds.
func (k *coalescer) decide(now int64, ended uint64, median, cpu int64) {
	if k.trial < trialCount {
		t := &k.trials[k.trial%int(ways)]
		t.requests += float64(ended - k.requests)
		t.time += float64(now - k.since)
		t.cpu += float64(cpu - k.cpu)
	}
	k.since, k.requests, k.cpu = now, ended, cpu
	if k.trial++; k.trial > trialCount {
		k.trial, k.trials = 0, [ways]trial{}
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

// best is the way that gains most without costing requests; in doubt the simpler one.
func (k *coalescer) best() way {
	t := &k.trials
	fastest := max(t[watching].rate(), t[collecting].rate(), t[polling].rate())
	best, most := watching, 0.0
	for w := range ways {
		if w == polling && !k.polls || t[w].rate() < acceptedRate*fastest {
			continue
		}
		if gain := t[w].gain(); gain > worthwhile*most {
			best, most = w, gain
		}
	}
	return best
}
