package stats

import (
	"cmp"
	"time"
)

// Run is one finished run, merged over all workers: the one value that every
// renderer reads. It lives in the parent.
type Run struct {
	Tool Tool
	Plan PlanFacts

	StartedAt   time.Time     // wall clock at the release, for people; never used for arithmetic
	Measured    time.Duration // the real window: release to end; the divisor of every rate
	Interrupted string        // "", "SIGINT" or "SIGTERM"
	Unreachable string        // why the target could not be reached at the start; "" if it was

	Tally      Tally
	Scheduled  uint64 // starts that an open loop's schedule had in the window
	Warmup     Warmup
	Unfinished Unfinished
	PerClient  Histogram // how many requests of each client succeeded; of clients whose workers were not lost
	Lost       uint64    // requests begun by workers that died before they could say how these ended
	Series     []Second
	Stalls     []Stall
	Coalescing Coalescing

	Workers   Workers
	Host      Host
	Generator *Generator // nil: not measured
	Reasons   []string   // sentences that ride with the result: what makes the numbers doubtful, or needs saying
}

// Tool identifies the program that measured.
type Tool struct{ Version, Commit, Go string }

// PlanFacts is what was asked for, as far as a reader of the result must know it.
type PlanFacts struct {
	URL            string
	Address        string   // the address in use
	Proxy          string   // HOST:PORT of the proxy that Address is of; "" = none
	ProxyProtocol  int      // its version, 0 = not spoken
	Tried          []string // the addresses of the name, in the order to try them
	Method         string
	HTTP           string // "0.9", "1.0" or "1.1"
	Clients        int
	Workers        string // as asked: "per-client", "auto" or a number
	KeepAlive      bool
	Force          bool
	Duration       time.Duration // 0 = no limit
	Ramp           time.Duration // over which the clients start; 0 = all at once
	Requests       uint64        // 0 = no limit
	RatePerSec     float64       // 0 = closed loop
	Warmup         time.Duration // before the window
	Timeout        time.Duration
	ConnectTimeout time.Duration
	Repeat         Repeat
	Argv           []string   // credentials struck out
	RequestSHA256  string     // of all requests behind each other, as sent
	TLS            *TLS       // nil = not secured
	List           *ListFacts // nil where there is one request
}

// ListFacts is the list of requests that was asked for.
type ListFacts struct {
	File    string
	Order   string // "sequential" or "random"
	Seed    uint64 // of a random order
	Entries []EntryFacts
}

// EntryFacts is one request of the list, as the list has it.
type EntryFacts struct {
	Where  string // "line 3"
	Method string
	URL    string
}

// TLS is how connections were secured: as asked, and as agreed with the target
// in the handshake before the run ("" = there was none).
type TLS struct {
	ServerName string   // told to the target, "" = none was
	Verified   bool     // the certificate was held to its name and the authorities
	Resume     bool     // sessions were resumed where the target let them
	Offered    []string // key exchanges, the one with a share first

	Version, Cipher, Group, Protocol string
}

// Repeat is the place of a run in a series, and what went before it. The zero
// value is of no series.
type Repeat struct {
	Index, Of int           // from 1
	Paused    time.Duration // before it, after the run before
	TimeWait  int           // connections in TIME_WAIT when it began; -1 = not known
}

// Coalescing says how long workers slept before they looked for answers, so that
// more of them were there at once: in all workers together, and at most at once.
// The zero value is never.
type Coalescing struct{ Slept, Longest time.Duration }

// CoalesceShare is what such a sleep is at most, as a share of the median latency.
const CoalesceShare = 0.05

// Second is one entry of the run's time line: a second, or more of them where a
// long run has been merged to bound its memory.
type Second struct {
	At         time.Duration // its begin, since the release; below 0 in the warm-up
	Length     time.Duration
	Succeeded  uint64
	Failed     uint64
	Unfinished uint64 // under way at its end
	Bytes      uint64 // read
	P50        int64  // ns, of requests that succeeded in it; 0 if none did
	P99        int64
	Max        int64
	Classes    []ClassCount // of what failed in it
}

// ClassCount counts failed requests of one class.
type ClassCount struct {
	Class Class
	Count uint64
}

// Stall is a time in which no byte of an answer came to any client.
type Stall struct{ From, To time.Duration }

// Warmup counts the requests that were due before the window began: they are in
// the time line, and nowhere else.
type Warmup struct {
	Begun, Succeeded, Failed uint64
	Unfinished               uint64 // when the run was over, or with a worker that died
}

// Add enters what was counted of requests of the warm-up.
func (w *Warmup) Add(t *Tally) {
	w.Begun += t.Begun
	w.Succeeded += t.Succeeded
	w.Failed += t.Failed
}

// Workers says what became of the worker processes.
type Workers struct {
	Asked   int
	Started int
	Lost    int
	Pinned  int           // workers whose every thread is bound to one CPU
	Batch   int           // workers in SCHED_BATCH, all their threads
	ReadyIn time.Duration // from the first start until all were ready to begin
	List    []Worker
	Summary *WorkerSummary // of all workers, where List was read from a file that holds only some
}

// WorkerSummary describes more workers than are worth listing. It stands in
// result files as it is.
type WorkerSummary struct {
	Succeeded  *Spread[uint64] `json:"succeeded"`
	Failed     *Spread[uint64] `json:"failed"`
	StartCPUNS *Spread[int64]  `json:"start_cpu_ns"`
	CPUNS      *Spread[int64]  `json:"cpu_ns"`
	RunDelayNS *Spread[int64]  `json:"run_delay_ns"`
	LagNS      *Spread[int64]  `json:"lag_ns"`
}

// Spread is the least, the middle and the greatest value over all workers.
type Spread[T cmp.Ordered] struct {
	Min    T `json:"min"`
	Median T `json:"median"`
	Max    T `json:"max"`
}

// Worker is one worker process as its parent saw it.
type Worker struct {
	ID        int
	Host      string
	PID       int
	CPU       int // -1 = not pinned
	Clients   int
	Succeeded uint64
	Failed    uint64
	StartCPU  time.Duration // CPU used until the release
	CPUTime   time.Duration // and since
	RunDelay  time.Duration // time its threads waited for a CPU since it was ready; -1 = unknown
	Lag       time.Duration // by how much it looked at the clock too late, at worst
	Exit      string        // "exit 0", "signal: killed", …
	Lost      bool          // ended without a final record
}

// Balance returns begun − (succeeded + failed + unfinished + lost): 0 in a
// truthful run.
func (r *Run) Balance() int64 {
	return int64(r.Tally.Begun - r.Tally.Succeeded - r.Tally.Failed - r.Unfinished.Sum() - r.Lost)
}

// NotMade is how many of an open loop's starts were due in the window and not
// made: all clients were busy, or their worker was gone.
func (r *Run) NotMade() uint64 { return max(r.Scheduled, r.Tally.Begun) - r.Tally.Begun }

// PerSecond divides a count by the measured window; 0 for an empty window.
func (r *Run) PerSecond(n uint64) float64 {
	if r.Measured <= 0 {
		return 0
	}
	return float64(n) / r.Measured.Seconds()
}

// PagesPerMin is succeeded × 60 / measured seconds. It multiplies first: a
// whole number of pages comes out whole.
func (r *Run) PagesPerMin() float64 { return r.PerSecond(r.Tally.Succeeded * 60) }

// LocalShare is the part of all begun requests that failed by limits of this host.
func (r *Run) LocalShare() float64 {
	if r.Tally.Begun == 0 {
		return 0
	}
	var n uint64
	for _, f := range r.Tally.Failures {
		if f.Class.Side() == SideClient {
			n += f.Count
		}
	}
	return float64(n) / float64(r.Tally.Begun)
}
