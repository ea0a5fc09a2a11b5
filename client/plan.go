// Package client is one worker's load: everything that touches the target. A
// client is straight-line code (connect, send, receive, count, again); the loop
// lets one or many of them run on one thread. It runs in a worker process; the
// parent only makes the Plan.
package client

import (
	"slices"
	"time"
	"unsafe"

	"horde/client/http1"
)

// Address is a socket address in the kernel's own form (struct sockaddr). The
// parent makes it; a worker only passes it on.
//
// Note: this package must not import net/netip. That is initialised late, and
// everything that comes before it would then be initialised in every worker
// (see procs/worker.go).
type Address []byte

// Plan is what one worker does. The parent makes it; it crosses the control
// pipe as plain data.
type Plan struct {
	Address  Address
	Sources  []Address // to connect from, in turn by client; empty = the kernel chooses
	TLS      *TLS      // nil = connections are not secured
	Connect  []byte    // asks the proxy at Address for a tunnel; empty = there is none
	Entries  []Entry   // what to send: one request, or a list of them
	Order    Order     // how a list is walked
	Seed     uint64    // of a walk at random, the same for all workers
	First    uint64    // where this worker's walk begins: an entry, or at random a stream of its own
	ByEntry  bool      // count for each entry what came of it
	Reuse    bool      // keep connections open between requests
	Force    bool      // do not wait for the answer
	Classic  bool      // webbench's own idea of success, and no pacing
	Coalesce bool      // collect answers for a moment where that pays (keep-alive, many clients)
	Batch    bool      // in SCHED_BATCH, unless horde was started in a class of its own; the parent sees to it
	HalfSend bool      // half-close after the request (webbench's HTTP/0.9)

	// ProxyProtocol is the version in which each connection first tells a load
	// balancer who makes it; 0 = it does not.
	ProxyProtocol uint8

	Clients  int
	Limited  bool   // Requests is a limit
	Requests uint64 // how many requests this worker may begin in all

	Pace           Pace          // when requests start; the zero value is a closed loop
	Warmup         time.Duration // of load before the release, counted apart
	FirstStart     time.Duration // when the first client starts, since the load begins
	StartGap       time.Duration // and how long after it the next one does
	Duration       time.Duration // 0 = until the requests are done
	Timeout        time.Duration // one request, from begin to end
	ConnectTimeout time.Duration
	Expect         StatusSet
	Check          Check
}

// Size is how many bytes each worker keeps of what it sends.
func (p *Plan) Size() int {
	n := 0
	for i := range p.Entries {
		n += len(p.Entries[i].Request) + int(unsafe.Sizeof(p.Entries[i]))
	}
	return n
}

// oneSegment is below the payload of a segment on any usual network.
const oneSegment = 1200

// long reports whether a request of the plan may be sent in more than one segment.
func (p *Plan) long() bool {
	return slices.ContainsFunc(p.Entries, func(e Entry) bool { return len(e.Request) > oneSegment || e.Later > 0 })
}

// MostEntries is how long a list of requests may be.
const MostEntries = 10_000

// Entry is one request to send, built once in the parent.
type Entry struct {
	Request []byte       // as it goes over the wire
	Later   int          // bytes at its end that wait for leave (Expect: 100-continue)
	Answer  http1.Answer // how answers to it are framed
	Resend  bool         // its method allows a second try after a stale connection (RFC 9110 section 9.2.2)
	Close   bool         // it asks for the end of its connection, whatever the plan says of Reuse
	Body    Body         // what answers to it have as their body, as far as the plan checks that
}

// Order is the way through a list of requests.
type Order uint8

const (
	InOrder  Order = iota // one after another, from the first again after the last
	AtRandom              // each time any of them
)

// StatusSet is a set of statuses 0–1023, one bit each.
type StatusSet [16]uint64

// Add puts the statuses from lo to hi into the set.
func (s *StatusSet) Add(lo, hi int) {
	for status := lo; status <= hi; status++ {
		s[status>>6] |= 1 << (status & 63)
	}
}

// Has reports whether the status is in the set.
func (s *StatusSet) Has(status int) bool {
	return status >= 0 && status < 1024 && s[status>>6]&(1<<(status&63)) != 0
}
