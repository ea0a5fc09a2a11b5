package report

import (
	"cmp"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"horde/stats"
)

// Schema names the layout of a result file. Fields are only ever added to it.
const Schema = "horde.result/1"

// Document is a result file. Counts are integers, units are in the names, and
// a nil pointer is null: there is no value.
type Document struct {
	Schema      string            `json:"schema"`
	Tool        Tool              `json:"tool"`
	Plan        Plan              `json:"plan"`
	Window      Window            `json:"window"`
	Requests    Requests          `json:"requests"`
	Throughput  Throughput        `json:"throughput"`
	Bytes       Bytes             `json:"bytes"`
	Connections Connections       `json:"connections"`
	Coalescing  *Coalescing       `json:"coalescing"`  // nil: never
	Pace        *Pace             `json:"pace"`        // nil: a closed loop
	Warmup      *Warmup           `json:"warmup"`      // nil: none
	Law         *Law              `json:"littles_law"` // nil: an open loop
	Status      map[string]uint64 `json:"status"`
	StatusClass map[string]uint64 `json:"status_class"`
	Failures    []Failure         `json:"failures"`
	Entries     []Entry           `json:"entries"` // of a list of requests
	Unfinished  Unfinished        `json:"unfinished"`
	PerClient   PerClient         `json:"per_client"`
	Latency     Latencies         `json:"latency"`
	Series      []Second          `json:"series"`
	Stalls      []Stall           `json:"stalls"`
	Trend       *Trend            `json:"trend"` // nil: too short a run to have one
	Workers     Workers           `json:"workers"`
	Host        Host              `json:"host"`
	Generator   *Generator        `json:"generator"` // nil: not measured
	Verdicts    Verdicts          `json:"verdicts"`
}

// Tool identifies the program that measured.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// Coalescing is how long workers slept to let answers collect: all of them in
// all, at most at once, and the share of the median latency that is never passed.
type Coalescing struct {
	SleptNS        int64   `json:"slept_ns"`
	LongestNS      int64   `json:"longest_ns"`
	ShareOfLatency float64 `json:"share_of_latency"`
}

// Plan is what was asked for. Without a limit of time or number, or without a
// rate, the field is nil.
type Plan struct {
	URL           string   `json:"url"`
	Address       string   `json:"address"`
	Method        string   `json:"method"`
	HTTP          string   `json:"http"`
	Clients       int      `json:"clients"`
	Workers       string   `json:"workers"`
	KeepAlive     bool     `json:"keepalive"`
	DurationNS    *int64   `json:"duration_ns"`
	Requests      *uint64  `json:"requests"`
	Loop          string   `json:"loop"` // "closed" or "open"
	RatePerSec    *float64 `json:"rate_per_sec"`
	WarmupNS      *int64   `json:"warmup_ns"`
	RampNS        *int64   `json:"ramp_ns"`
	TimeoutNS     *int64   `json:"timeout_ns"`
	ConnectNS     *int64   `json:"connect_timeout_ns"`
	Force         bool     `json:"force"`
	Repeat        *Repeat  `json:"repeat"`
	Argv          []string `json:"argv"`
	RequestSHA256 string   `json:"request_sha256"`
	TLS           *TLS     `json:"tls"` // nil: not secured
	Proxy         *string  `json:"proxy"`
	ProxyProtocol *int     `json:"proxy_protocol"`  // nil: not spoken
	Tried         []string `json:"addresses_tried"` // of the name, in this order
	List          *List    `json:"list"`            // nil: one request
}

// Repeat is the place of the run in a series, from 1; the pause before it, and
// how many connections of this host were in TIME_WAIT at its begin, nil if unknown.
type Repeat struct {
	Index    int   `json:"index"`
	Of       int   `json:"of"`
	PausedNS int64 `json:"paused_ns"`
	TimeWait *int  `json:"time_wait"`
}

// Window is the time measured. StartedAt is nil if the run never began;
// Interrupted names the signal, if one ended the run, and Unreachable says why
// the target could not be reached, if it could not.
type Window struct {
	StartedAt   *time.Time `json:"started_at"`
	MeasuredNS  int64      `json:"measured_ns"`
	Interrupted *string    `json:"interrupted"`
	Unreachable *string    `json:"unreachable"`
}

// Requests is the ledger: begun is the sum of the others.
type Requests struct {
	Begun      uint64 `json:"begun"`
	Succeeded  uint64 `json:"succeeded"`
	Failed     uint64 `json:"failed"`
	Unfinished uint64 `json:"unfinished"`
	Lost       uint64 `json:"lost"`
}

// Throughput counts succeeded requests, and bytes read, over the measured window.
type Throughput struct {
	PagesPerMin    float64 `json:"pages_per_min"`
	RequestsPerSec float64 `json:"requests_per_sec"`
	BytesPerSec    float64 `json:"bytes_per_sec"`
}

// Bytes counts bytes on sockets, and of decoded bodies.
type Bytes struct {
	Read    uint64 `json:"read"`
	Written uint64 `json:"written"`
	Body    uint64 `json:"body"`
}

// Connections counts connections, and requests by how a connection served them.
type Connections struct {
	Opened         uint64 `json:"opened"`
	Failed         uint64 `json:"failed"`
	ReusedRequests uint64 `json:"reused_requests"`
	ResentRequests uint64 `json:"resent_requests"`
	PausedNS       uint64 `json:"paused_ns"`        // by clients, after attempts that failed
	Resumed        uint64 `json:"resumed_sessions"` // of TLS
}

// Failure counts failed requests of one class, phase and errno (nil: no system
// call failed). Times are offsets from the release of the run.
type Failure struct {
	Class        string `json:"class"`
	Phase        string `json:"phase"`
	Side         string `json:"side"`
	Errno        *int   `json:"errno"`
	Count        uint64 `json:"count"`
	ClientTimeNS int64  `json:"client_time_ns"`
	FirstAtNS    int64  `json:"first_at_ns"`
	LastAtNS     int64  `json:"last_at_ns"`
}

// Unfinished counts by phase the requests under way when the time ran out.
type Unfinished struct {
	Connecting  uint64  `json:"connecting"`
	Handshaking uint64  `json:"handshaking"`
	Sending     uint64  `json:"sending"`
	Waiting     uint64  `json:"waiting"`
	Receiving   uint64  `json:"receiving"`
	OldestNS    *int64  `json:"oldest_ns"`
	Ages        Latency `json:"ages"`

	ClientTimeNS int64 `json:"client_time_ns"` // since each of them began, in all
}

// Latencies are those of succeeded requests (total and first_byte since the
// request began, processing and waiting since it had its connection), of
// established connections (connect), and of TLS handshakes made (handshake, nil
// where there are none to make); failed is how long failed requests took to fail.
// An open loop's total and first_byte count from when a request was due; service,
// nil in a closed loop, from when it did begin. WithUnfinished is total with the
// requests still under way at the end.
type Latencies struct {
	Total          Latency  `json:"total"`
	Connect        Latency  `json:"connect"`
	Handshake      *Latency `json:"handshake"`
	FirstByte      Latency  `json:"first_byte"`
	Processing     Latency  `json:"processing"`
	Waiting        Latency  `json:"waiting"`
	Service        *Latency `json:"service"`
	Failed         Latency  `json:"failed"`
	WithUnfinished Bounds   `json:"with_unfinished"`
}

// Bounds are what percentiles are at least, as if all unfinished requests had
// ended with the run, and at most, as if they never did: nil where they are
// among these.
type Bounds struct {
	Count   uint64      `json:"count"`
	AtLeast Percentiles `json:"at_least_ns"`
	AtMost  Percentiles `json:"at_most_ns"`
}

// Latency is one distribution; its values are nil while Count is 0.
type Latency struct {
	Count       uint64      `json:"count"`
	MinNS       *int64      `json:"min_ns"`
	MeanNS      *int64      `json:"mean_ns"`
	StdDevNS    *int64      `json:"stddev_ns"`
	MaxNS       *int64      `json:"max_ns"`
	Percentiles Percentiles `json:"percentiles_ns"`
	Histogram   Histogram   `json:"histogram"`
}

// Percentiles are nearest-rank percentiles in nanoseconds.
type Percentiles struct {
	P50   *int64 `json:"50"`
	P75   *int64 `json:"75"`
	P90   *int64 `json:"90"`
	P95   *int64 `json:"95"`
	P99   *int64 `json:"99"`
	P999  *int64 `json:"99.9"`
	P9999 *int64 `json:"99.99"`
}

// Histogram holds the non-empty buckets in rising order; Over counts the
// values too long for any of them. The sums are of all values and of their
// squares, so that mean and deviation of several results together can be told.
type Histogram struct {
	Unit    string   `json:"unit"`
	Buckets []Bucket `json:"buckets"`
	Over    uint64   `json:"over"`
	Sum     *float64 `json:"sum"`
	Squares *float64 `json:"sum_of_squares"`
}

// Bucket is a lower bound and a count; in JSON a pair.
type Bucket [2]uint64

// Second is one second of the time line, before 0 in the warm-up; a latency is nil where none is known.
type Second struct {
	AtNS       int64             `json:"at_ns"`
	LengthNS   int64             `json:"length_ns"`
	Succeeded  uint64            `json:"succeeded"`
	Failed     uint64            `json:"failed"`
	Unfinished uint64            `json:"unfinished"`
	Bytes      uint64            `json:"bytes"`
	P50NS      *int64            `json:"p50_ns"`
	P99NS      *int64            `json:"p99_ns"`
	MaxNS      *int64            `json:"max_ns"`
	Classes    map[string]uint64 `json:"failed_by_class"`
	Warmup     bool              `json:"warmup,omitempty"`
}

// Workers counts the worker processes. Beyond 1,000 of them List holds only
// the odd ones out, and Summary, nil otherwise, describes all.
type Workers struct {
	Asked   int   `json:"asked"`
	Started int   `json:"started"`
	Lost    int   `json:"lost"`
	Pinned  int   `json:"pinned"`
	Batch   int   `json:"batch"`    // in SCHED_BATCH
	ReadyNS int64 `json:"ready_ns"` // from the first start until all were ready
	// time-outs that may be this host's own: what was waited for was there
	Overslept uint64               `json:"timeouts_overslept"`
	List      []Worker             `json:"list"`
	Summary   *stats.WorkerSummary `json:"summary,omitempty"`
}

// Worker is one worker process. CPU is nil if it was not pinned; the times are nil
// if it was lost before it could say, or its kernel does not.
type Worker struct {
	ID         int    `json:"id"`
	Host       string `json:"host"`
	PID        int    `json:"pid"`
	CPU        *int   `json:"cpu"`
	Clients    int    `json:"clients"`
	Succeeded  uint64 `json:"succeeded"`
	Failed     uint64 `json:"failed"`
	StartCPUNS *int64 `json:"start_cpu_ns"` // until the release
	CPUNS      *int64 `json:"cpu_ns"`       // and since
	RunDelayNS *int64 `json:"run_delay_ns"`
	LagNS      *int64 `json:"lag_ns"`
	Exit       string `json:"exit"`
	Lost       bool   `json:"lost"`
}

// Verdicts says how far the numbers can be trusted; nil is not measured.
type Verdicts struct {
	Valid            bool     `json:"valid"`
	GeneratorLimited *bool    `json:"generator_limited"`
	Partial          bool     `json:"partial"`
	Stationary       *bool    `json:"stationary"`
	Reasons          []string `json:"reasons"`
	Exit             *int     `json:"exit"` // code; nil in files of before it was written
}

// JSON writes the result file of r: one document and a newline.
func JSON(w io.Writer, r *stats.Run, v stats.Verdict) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // a URL stays as it was typed
	return encoder.Encode(newDocument(r, v))
}

func newDocument(r *stats.Run, v stats.Verdict) *Document {
	t := &r.Tally
	return &Document{
		Schema:     Schema,
		Tool:       Tool(r.Tool),
		Plan:       newPlan(&r.Plan),
		Window:     newWindow(r),
		Requests:   Requests{t.Begun, t.Succeeded, t.Failed, r.Unfinished.Sum(), r.Lost},
		Throughput: Throughput{r.PagesPerMin(), r.PerSecond(t.Succeeded), r.PerSecond(t.BytesRead)},
		Bytes:      Bytes{t.BytesRead, t.BytesWritten, t.BytesBody},
		Connections: Connections{
			Opened: t.Opened, Failed: t.NoConn, ReusedRequests: t.Reused, ResentRequests: t.Resent, PausedNS: t.Paused, Resumed: t.Resumed,
		},
		Status:      statuses(t.Statuses),
		StatusClass: statusClasses(t.Statuses),
		Failures:    newFailures(t.Failures),
		Entries:     newEntries(r),
		Unfinished:  newUnfinished(&r.Unfinished),
		PerClient:   newPerClient(&r.PerClient),
		Latency:     newLatencies(r),
		Coalescing:  newCoalescing(r.Coalescing),
		Pace:        newPace(r),
		Warmup:      newWarmup(r),
		Law:         newLaw(r),
		Series:      newSeries(r.Series),
		Stalls:      newStalls(r),
		Trend:       newTrend(r),
		Workers:     newWorkers(&r.Workers, t.Overslept),
		Host:        Host{newHostState(r.Host.Begin), newHostState(r.Host.End)},
		Generator:   newGenerator(r),
		Verdicts:    Verdicts{v.Valid, v.GeneratorLimited, v.Partial, v.Stationary, filled(v.Reasons), &v.Exit},
	}
}

// some returns a pointer to v, or nil for the zero value: null.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// filled turns a nil slice into an empty one: [] instead of null.
func filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func newPlan(p *stats.PlanFacts) Plan {
	return Plan{
		URL: p.URL, Address: p.Address, Method: p.Method, HTTP: p.HTTP,
		Clients: p.Clients, Workers: p.Workers, KeepAlive: p.KeepAlive,
		DurationNS:    some(int64(p.Duration)),
		Requests:      some(p.Requests),
		Loop:          loopName(p),
		RatePerSec:    some(p.RatePerSec),
		WarmupNS:      some(int64(p.Warmup)),
		RampNS:        some(int64(p.Ramp)),
		TimeoutNS:     some(int64(p.Timeout)),
		ConnectNS:     some(int64(p.ConnectTimeout)),
		Force:         p.Force,
		Repeat:        newRepeat(p.Repeat),
		Argv:          filled(p.Argv),
		RequestSHA256: p.RequestSHA256,
		TLS:           newTLS(p.TLS),
		Proxy:         some(p.Proxy), ProxyProtocol: some(p.ProxyProtocol), Tried: filled(p.Tried),
		List: newList(p.List),
	}
}

func newRepeat(r stats.Repeat) *Repeat {
	if r.Of == 0 {
		return nil
	}
	out := &Repeat{Index: r.Index, Of: r.Of, PausedNS: int64(r.Paused)}
	if r.TimeWait >= 0 {
		out.TimeWait = &r.TimeWait
	}
	return out
}

func (r *Repeat) stats() stats.Repeat {
	if r == nil {
		return stats.Repeat{}
	}
	out := stats.Repeat{Index: r.Index, Of: r.Of, Paused: time.Duration(r.PausedNS), TimeWait: -1}
	if r.TimeWait != nil {
		out.TimeWait = *r.TimeWait
	}
	return out
}

func newCoalescing(c stats.Coalescing) *Coalescing {
	if c.Slept == 0 {
		return nil
	}
	return &Coalescing{int64(c.Slept), int64(c.Longest), stats.CoalesceShare}
}

func newWindow(r *stats.Run) Window {
	w := Window{MeasuredNS: int64(r.Measured), Interrupted: some(r.Interrupted), Unreachable: some(r.Unreachable)}
	if !r.StartedAt.IsZero() {
		at := r.StartedAt.UTC().Truncate(time.Millisecond)
		w.StartedAt = &at
	}
	return w
}

func statuses(counts []stats.StatusCount) map[string]uint64 {
	out := map[string]uint64{}
	for _, s := range counts {
		out[strconv.Itoa(s.Status)] += s.Count
	}
	return out
}

// statusClasses has every class in it, so that a script can ask for one that
// did not occur. A status outside 100–599 counts as 5xx, as its failure does.
func statusClasses(counts []stats.StatusCount) map[string]uint64 {
	out := map[string]uint64{"1xx": 0, "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0}
	for _, s := range counts {
		out[statusClass(s.Status)] += s.Count
	}
	return out
}

func statusClass(status int) string {
	if status < 100 || status > 599 {
		return "5xx"
	}
	return strconv.Itoa(status/100) + "xx"
}

// sortedFailures returns a copy, the most frequent first.
func sortedFailures(failures []stats.Failure) []stats.Failure {
	sorted := slices.Clone(failures)
	slices.SortFunc(sorted, func(a, b stats.Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Errno, b.Errno))
	})
	return sorted
}

func newFailures(failures []stats.Failure) []Failure {
	out := []Failure{}
	for _, f := range sortedFailures(failures) {
		out = append(out, Failure{
			Class: f.Class.String(), Phase: f.Phase.String(), Side: f.Class.Side().String(),
			Errno: some(f.Errno), Count: f.Count,
			ClientTimeNS: f.ClientTime, FirstAtNS: f.FirstAt, LastAtNS: f.LastAt,
		})
	}
	return out
}

func newUnfinished(u *stats.Unfinished) Unfinished {
	out := Unfinished{
		Connecting: u.Count[stats.Connecting], Handshaking: u.Count[stats.Handshaking], Sending: u.Count[stats.Sending],
		Waiting: u.Count[stats.Waiting], Receiving: u.Count[stats.Receiving], ClientTimeNS: u.ClientTime,
	}
	if u.Sum() > 0 {
		oldest := u.Oldest
		out.OldestNS = &oldest
	}
	out.Ages = newLatency(&u.Ages)
	return out
}

func newLatencies(r *stats.Run) Latencies {
	t := &r.Tally
	l := Latencies{
		Total: newLatency(&t.Total), Connect: newLatency(&t.Connect), FirstByte: newLatency(&t.FirstByte),
		Processing: newLatency(&t.Processing), Waiting: newLatency(&t.Waiting), Failed: newLatency(&t.FailedAfter),
		Service:        newService(r),
		WithUnfinished: newBounds(stats.NewCensored(&t.Total, &r.Unfinished.Ages)),
	}
	if r.Plan.TLS != nil {
		handshake := newLatency(&t.Handshake)
		l.Handshake = &handshake
	}
	return l
}

func newLatency(h *stats.Histogram) Latency {
	l := Latency{Count: h.Count(), Histogram: newHistogram(h, "ns")}
	if h.Count() == 0 {
		return l
	}
	value := func(ns int64) *int64 { return &ns }
	l.MinNS, l.MaxNS = value(h.Min()), value(h.Max())
	l.MeanNS, l.StdDevNS = value(int64(math.Round(h.Mean()))), value(int64(math.Round(h.StdDev())))
	l.Percentiles = newPercentiles(func(q float64) *int64 { return value(h.Quantile(q)) })
	return l
}

func newHistogram(h *stats.Histogram, unit string) Histogram {
	out := Histogram{Unit: unit, Buckets: []Bucket{}, Over: h.Over()}
	for _, b := range h.Buckets() {
		out.Buckets = append(out.Buckets, Bucket{uint64(b.Lower), b.Count})
	}
	if h.Count() > 0 {
		sums := h.Summary()
		out.Sum, out.Squares = &sums.Sum, &sums.SumSq
	}
	return out
}

func newPercentiles(value func(q float64) *int64) Percentiles {
	return Percentiles{
		P50: value(0.5), P75: value(0.75), P90: value(0.9), P95: value(0.95),
		P99: value(0.99), P999: value(0.999), P9999: value(0.9999),
	}
}

func newBounds(c *stats.Censored) Bounds {
	b := Bounds{Count: c.Count()}
	if c.Count() == 0 {
		return b
	}
	b.AtLeast = newPercentiles(func(q float64) *int64 {
		least := c.AtLeast(q)
		return &least
	})
	b.AtMost = newPercentiles(func(q float64) *int64 {
		if most, known := c.AtMost(q); known {
			return &most
		}
		return nil
	})
	return b
}

func newSeries(series []stats.Second) []Second {
	out := []Second{}
	for _, s := range series {
		out = append(out, Second{
			AtNS: int64(s.At), LengthNS: int64(s.Length), Succeeded: s.Succeeded, Failed: s.Failed, Unfinished: s.Unfinished, Bytes: s.Bytes,
			P50NS: some(s.P50), P99NS: some(s.P99), MaxNS: some(s.Max), Classes: newClasses(s.Classes), Warmup: s.At < 0,
		})
	}
	return out
}
