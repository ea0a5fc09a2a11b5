// Package wire is what passes between the parent and its workers, in both
// directions, writer beside reader.
//
// A worker first writes Magic, so that whatever a shell may print before it is
// not taken for data and an unequal version is noticed. From then on either
// side writes frames: a 4-byte little-endian length of what follows, one byte
// of kind, the payload.
//
//	parent                          worker
//	  ── Plan ──────────────────▶           what to do
//	  ◀───────────────── Ready ──           prepared, nothing sent to the target
//	  ── Go (release) ──────────▶           begin at this moment
//	  ◀────────────── Interval ──           once a second, if anything happened
//	  ── hang-up ───────────────▶           stop now
//	  ◀───────────────── Final ──           the last of it; without one the worker is lost
//	  ◀───────────────── Error ──           instead of any of these
//
// Integers are unsigned varints, zigzag where they may be negative. Everything
// read is checked: a frame that does not decode to the end is an error, and so
// is a count that contradicts another.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"horde/client"
	"horde/client/http1"
	"horde/stats"
)

// Magic opens a worker's stream; the digit is the version of the format.
const Magic = "horde-wire 1\n"

// What a reader believes a frame may hold, in bytes: a plan has the requests
// in it, a report nine full histograms and what it counted of each of them.
const (
	MaxPlan   = 1 << 30
	MaxReport = 1 << 24
)

// Kind is the kind of a frame.
type Kind byte

const (
	KindPlan Kind = iota + 1
	KindReady
	KindGo
	KindInterval
	KindFinal
	KindError
)

const headerSize = 5

// ErrMagic says that a stream does not begin as a worker's does.
var ErrMagic = errors.New("not a worker of this version")

// begin starts a frame of kind at the end of b; end sets its length once the
// payload is there. Both sides build frames in a buffer they keep.
func begin(b []byte, kind Kind) []byte { return append(b, 0, 0, 0, 0, byte(kind)) }

func end(b []byte, start int) []byte {
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// Next splits the first frame off b. ok is false if b does not hold a whole
// one; the error says that it never will, because its length is not from 1 to
// most bytes.
func Next(b []byte, most int) (kind Kind, payload, rest []byte, ok bool, err error) {
	if len(b) < headerSize {
		return 0, nil, b, false, nil
	}
	n := binary.LittleEndian.Uint32(b)
	if n == 0 || uint64(n) > uint64(most) {
		return 0, nil, b, false, fmt.Errorf("frame of %d bytes", n)
	}
	if uint64(len(b)) < 4+uint64(n) {
		return 0, nil, b, false, nil
	}
	return Kind(b[4]), b[headerSize : 4+n], b[4+n:], true, nil
}

// AppendPlan appends a Plan frame.
func AppendPlan(b []byte, p *client.Plan) []byte {
	start := len(b)
	b = begin(b, KindPlan)
	b = appendBytes(b, p.Address)
	b = binary.AppendUvarint(b, uint64(len(p.Sources)))
	for _, s := range p.Sources {
		b = appendBytes(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Entries)))
	for i := range p.Entries {
		b = appendRequest(b, &p.Entries[i])
	}
	b = append(b, byte(p.Order), byte(p.Check))
	b = binary.AppendUvarint(b, p.Seed)
	b = binary.AppendUvarint(b, p.First)
	b = appendBools(b, p.ByEntry, p.Reuse, p.Force, p.Classic, p.HalfSend, p.Limited, p.Coalesce, p.Batch)
	b = binary.AppendUvarint(b, uint64(p.Clients))
	b = binary.AppendUvarint(b, p.Requests)
	for _, d := range planTimes(p) {
		b = binary.AppendUvarint(b, uint64(*d))
	}
	for _, n := range [...]uint64{math.Float64bits(p.Pace.Rate), p.Pace.First, p.Pace.Step} {
		b = binary.AppendUvarint(b, n)
	}
	for _, w := range p.Expect {
		b = binary.AppendUvarint(b, w)
	}
	b = appendBytes(append(b, p.ProxyProtocol), p.Connect)
	return end(appendTLS(b, p.TLS), start)
}

func planTimes(p *client.Plan) [7]*time.Duration {
	return [...]*time.Duration{&p.FirstStart, &p.StartGap, &p.Duration, &p.Timeout, &p.ConnectTimeout, &p.Warmup, &p.Pace.Ramp}
}

func appendRequest(b []byte, e *client.Entry) []byte {
	b = appendBytes(b, e.Request)
	b = append(b, byte(e.Answer))
	b = binary.AppendUvarint(b, uint64(e.Later))
	b = binary.AppendUvarint(b, e.Body.Length)
	b = appendBytes(b, e.Body.Sum)
	return appendBools(b, e.Resend, e.Close)
}

// ReadPlan decodes the payload of a Plan frame. Addresses and requests are not
// copied.
func ReadPlan(payload []byte) (client.Plan, error) {
	d := decoder{b: payload}
	var p client.Plan
	p.Address = d.bytes()
	for range d.length() {
		p.Sources = append(p.Sources, d.bytes())
	}
	p.Entries = make([]client.Entry, d.length())
	for i := range p.Entries {
		d.request(&p.Entries[i])
	}
	if len(p.Entries) == 0 {
		d.fail("a plan without a request")
	}
	if p.Order = client.Order(d.byte()); p.Order > client.AtRandom {
		d.fail("order")
	}
	if p.Check = client.Check(d.byte()); p.Check > client.BodySum {
		d.fail("check of bodies")
	}
	p.Seed = d.uint()
	p.First = d.uint()
	d.bools(&p.ByEntry, &p.Reuse, &p.Force, &p.Classic, &p.HalfSend, &p.Limited, &p.Coalesce, &p.Batch)
	p.Clients = d.int()
	p.Requests = d.uint()
	for _, t := range planTimes(&p) {
		*t = time.Duration(d.int())
	}
	p.Pace.Rate, p.Pace.First, p.Pace.Step = math.Float64frombits(d.uint()), d.uint(), d.uint()
	if !(p.Pace.Rate >= 0) || math.IsInf(p.Pace.Rate, 0) {
		d.fail("rate")
	}
	for i := range p.Expect {
		p.Expect[i] = d.uint()
	}
	if p.ProxyProtocol = d.byte(); p.ProxyProtocol > 2 {
		d.fail("version of the PROXY protocol")
	}
	p.Connect = d.bytes()
	p.TLS = d.tls()
	return p, d.end()
}

func (d *decoder) request(e *client.Entry) {
	e.Request = d.bytes()
	if e.Answer = http1.Answer(d.byte()); e.Answer > http1.Answer09 {
		d.fail("kind of answer")
	}
	if e.Later = d.int(); e.Later > len(e.Request) {
		d.fail("more bytes to wait than there are")
	}
	e.Body.Length = d.uint()
	e.Body.Sum = d.bytes()
	d.bools(&e.Resend, &e.Close)
}

// appendTLS appends a 0 for a plan without TLS, else a 1 and what it says.
func appendTLS(b []byte, t *client.TLS) []byte {
	if t == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	b = appendBools(b, t.Insecure, t.Resume)
	for _, v := range [...][]byte{[]byte(t.ServerName), []byte(t.Host), t.Roots, t.Certificate, t.Key} {
		b = appendBytes(b, v)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Verified)))
	for _, v := range t.Verified {
		b = appendBytes(b, v)
	}
	return b
}

func (d *decoder) tls() *client.TLS {
	switch d.byte() {
	case 0:
		return nil
	case 1:
	default:
		d.fail("TLS or not")
	}
	var t client.TLS
	d.bools(&t.Insecure, &t.Resume)
	t.ServerName, t.Host = string(d.bytes()), string(d.bytes())
	t.Roots, t.Certificate, t.Key = d.bytes(), d.bytes(), d.bytes()
	for range d.length() {
		t.Verified = append(t.Verified, d.bytes())
	}
	return &t
}

// AppendReady appends a Ready frame.
func AppendReady(b []byte) []byte { return end(begin(b, KindReady), len(b)) }

// AppendGo appends a Go frame: the release, in CLOCK_MONOTONIC nanoseconds of
// the host both sides run on.
func AppendGo(b []byte, release int64) []byte {
	start := len(b)
	return end(binary.AppendVarint(begin(b, KindGo), release), start)
}

// ReadGo decodes the payload of a Go frame.
func ReadGo(payload []byte) (release int64, err error) {
	d := decoder{b: payload}
	release = d.signed()
	return release, d.end()
}

// AppendError appends an Error frame: why a worker cannot go on.
func AppendError(b []byte, text string) []byte {
	start := len(b)
	return end(append(begin(b, KindError), text...), start)
}

// AppendInterval appends an Interval frame: what was counted since the last
// one, and the second of the run it belongs to, below 0 for the warm-up's.
func AppendInterval(b []byte, second int, t *stats.Tally) []byte {
	start := len(b)
	b = begin(b, KindInterval)
	b = binary.AppendVarint(b, int64(second))
	return end(appendTally(b, t), start)
}

// ReadInterval decodes the payload of an Interval frame into an empty tally.
func ReadInterval(payload []byte, t *stats.Tally) (second int, err error) {
	d := decoder{b: payload}
	second = int(d.signed())
	d.tally(t)
	return second, d.end()
}

// Final is a worker's last word.
type Final struct {
	Unfinished stats.Unfinished
	WarmingUp  uint64          // requests of the warm-up still under way
	PerClient  stats.Histogram // how many requests of each client succeeded
	End        time.Duration   // when it stopped counting, since the release
	StartCPU   time.Duration   // CPU it used until the release
	CPUTime    time.Duration   // and since
	RunDelay   time.Duration   // time its threads waited for a CPU since it was ready; -1 = unknown

	Coalesced     time.Duration // slept to let answers collect, in all
	LongestMoment time.Duration // and at once
	Lag           time.Duration // by how much it looked at the clock too late, at worst
}

// AppendFinal appends a Final frame.
func AppendFinal(b []byte, f *Final) []byte {
	start := len(b)
	b = begin(b, KindFinal)
	for _, n := range f.Unfinished.Count {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.AppendUvarint(b, f.WarmingUp)
	b = binary.AppendVarint(b, f.Unfinished.Oldest)
	b = binary.AppendUvarint(b, uint64(f.Unfinished.ClientTime))
	for _, d := range durations(f) {
		b = binary.AppendVarint(b, int64(*d))
	}
	b = appendHistogram(b, &f.Unfinished.Ages)
	return end(appendHistogram(b, &f.PerClient), start)
}

func durations(f *Final) [7]*time.Duration {
	return [...]*time.Duration{&f.End, &f.StartCPU, &f.CPUTime, &f.RunDelay, &f.Coalesced, &f.LongestMoment, &f.Lag}
}

// ReadFinal decodes the payload of a Final frame.
func ReadFinal(payload []byte) (Final, error) {
	d := decoder{b: payload}
	var f Final
	for i := range f.Unfinished.Count {
		f.Unfinished.Count[i] = d.count()
	}
	f.WarmingUp = d.count()
	f.Unfinished.Oldest = d.signed()
	f.Unfinished.ClientTime = int64(d.int())
	for _, v := range durations(&f) {
		*v = time.Duration(d.signed())
	}
	d.histogram(&f.Unfinished.Ages)
	d.histogram(&f.PerClient)
	if f.Unfinished.Ages.Count() != f.Unfinished.Sum() || f.Unfinished.Ages.Max() != f.Unfinished.Oldest {
		d.fail("ages of other requests than those under way")
	}
	if f.Unfinished.Oldest < 0 || f.Unfinished.Oldest > int64(f.End) {
		d.fail("a request older than the run")
	}
	return f, d.end()
}

func counters(t *stats.Tally) [14]*uint64 {
	return [...]*uint64{
		&t.Begun, &t.Succeeded, &t.Failed, &t.BytesRead, &t.BytesWritten, &t.BytesBody,
		&t.Opened, &t.Reused, &t.Resent, &t.NoConn, &t.Resumed, &t.Overslept, &t.Queued, &t.Paused,
	}
}

func appendTally(b []byte, t *stats.Tally) []byte {
	for _, n := range counters(t) {
		b = binary.AppendUvarint(b, *n)
	}
	b = binary.AppendVarint(b, t.FirstHeard)
	b = binary.AppendVarint(b, t.LastHeard)
	b = appendStatuses(b, t.Statuses)
	b = binary.AppendUvarint(b, uint64(len(t.Failures)))
	for _, f := range t.Failures {
		b = append(b, byte(f.Class), byte(f.Phase))
		b = binary.AppendUvarint(b, uint64(f.Errno))
		b = binary.AppendUvarint(b, f.Count)
		for _, v := range [...]int64{f.ClientTime, f.FirstAt, f.LastAt} {
			b = binary.AppendVarint(b, v)
		}
	}
	for _, h := range t.Histograms() {
		b = appendHistogram(b, h)
	}
	return appendEntries(b, &t.Entries)
}

func appendStatuses(b []byte, statuses []stats.StatusCount) []byte {
	b = binary.AppendUvarint(b, uint64(len(statuses)))
	for _, s := range statuses {
		b = binary.AppendUvarint(b, uint64(s.Status))
		b = binary.AppendUvarint(b, s.Count)
	}
	return b
}

func (d *decoder) tally(t *stats.Tally) {
	for _, n := range counters(t) {
		*n = d.count()
	}
	if t.FirstHeard, t.LastHeard = d.signed(), d.signed(); t.FirstHeard > t.LastHeard {
		d.fail("heard last before first")
	}
	t.Statuses = d.statuses(t.Statuses)
	var failed uint64
	for range d.length() {
		f := stats.Failure{
			Class: stats.Class(d.byte()), Phase: stats.Phase(d.byte()), Errno: d.int(), Count: d.count(),
			ClientTime: d.signed(), FirstAt: d.signed(), LastAt: d.signed(),
		}
		if !f.Class.Valid() || f.Phase >= stats.PhaseCount {
			d.fail("failure class or phase")
		}
		failed += f.Count
		t.Failures = append(t.Failures, f)
	}
	if failed != t.Failed {
		d.fail("failed is not the sum of its classes")
	}
	for _, h := range t.Histograms() {
		d.histogram(h)
	}
	if t.Total.Count() != t.Succeeded {
		d.fail("succeeded is not the number of latencies")
	}
	if n := t.Service.Count(); n > 0 && n != t.Succeeded || t.SendLag.Count() > t.Begun {
		d.fail("more latencies of an open loop than requests")
	}
	if t.FailedAfter.Count() != t.Failed {
		d.fail("failed is not the number of latencies")
	}
	d.entries(t)
}

func (d *decoder) statuses(into []stats.StatusCount) []stats.StatusCount {
	for range d.length() {
		into = append(into, stats.StatusCount{Status: d.int(), Count: d.count()})
	}
	return into
}

// appendHistogram writes the summary, then the buckets as gap and count.
func appendHistogram(b []byte, h *stats.Histogram) []byte {
	s := h.Summary()
	b = binary.AppendUvarint(b, s.Count)
	if s.Count == 0 {
		return b
	}
	for _, n := range [...]uint64{s.Over, uint64(s.Min), uint64(s.Max), math.Float64bits(s.Sum), math.Float64bits(s.SumSq)} {
		b = binary.AppendUvarint(b, n)
	}
	last := -1
	for i, n := range h.Filled() {
		b = binary.AppendUvarint(b, uint64(i-last))
		b = binary.AppendUvarint(b, n)
		last = i
	}
	return append(b, 0)
}

func (d *decoder) histogram(h *stats.Histogram) {
	s := stats.Summary{Count: d.count()}
	if s.Count == 0 {
		return
	}
	s.Over, s.Min, s.Max = d.count(), int64(d.int()), int64(d.int())
	s.Sum, s.SumSq = math.Float64frombits(d.uint()), math.Float64frombits(d.uint())
	if s.Min > s.Max || !(s.Sum >= 0 && s.SumSq >= 0) || math.IsInf(s.Sum, 0) || math.IsInf(s.SumSq, 0) {
		d.fail("histogram summary")
	}
	sum, index := s.Over, -1
	for gap := d.int(); gap != 0; gap = d.int() {
		n := d.count()
		index += gap
		sum += n
		if !h.LoadBucket(index, n) {
			d.fail("histogram bucket")
			return
		}
	}
	if sum != s.Count {
		d.fail("histogram count is not the sum of its buckets")
	}
	h.Load(s)
}

func appendBytes(b, v []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

func appendBools(b []byte, values ...bool) []byte {
	var bits byte
	for i, v := range values {
		if v {
			bits |= 1 << i
		}
	}
	return append(b, bits)
}

// decoder reads a payload. The first error stays; everything read after it is zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("malformed frame: %s", what)
	}
	d.b = nil
}

func (d *decoder) end() error {
	if len(d.b) > 0 {
		d.fail("bytes after its end")
	}
	return d.err
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("integer")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail("integer")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int {
	v := d.uint()
	if v > math.MaxInt64 {
		d.fail("integer out of range")
		return 0
	}
	return int(v)
}

// maxCount bounds what is believed of one count in one frame, so that no sum of
// counts can wrap around.
const maxCount = 1 << 48

func (d *decoder) count() uint64 {
	n := d.uint()
	if n > maxCount {
		d.fail("count out of range")
		return 0
	}
	return n
}

// length is the number of elements that follow, at most one for each byte left.
func (d *decoder) length() int {
	n := d.int()
	if n > len(d.b) {
		d.fail("length")
		return 0
	}
	return n
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail("end of data")
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.length()
	v := d.b[:n]
	if d.err != nil {
		return nil
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bools(values ...*bool) {
	bits := d.byte()
	if bits>>len(values) != 0 {
		d.fail("flags")
	}
	for i, v := range values {
		*v = bits&(1<<i) != 0
	}
}
