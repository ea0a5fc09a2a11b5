package wire

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
	"horde/client/http1"
	"horde/stats"
)

// rounds is how many random values each property is tried on.
const rounds = 300

func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// number is small or large with equal chance, so that every length of integer comes up.
func number(r *rand.Rand) uint64 { return r.Uint64() >> (17 + r.IntN(47)) }

func signedNumber(r *rand.Rand) int64 { return int64(r.Uint64()) >> r.IntN(64) }

func randomTally(r *rand.Rand) *stats.Tally {
	t := &stats.Tally{
		Begun: number(r), BytesRead: number(r), BytesWritten: number(r), BytesBody: number(r),
		Opened: number(r), Reused: number(r), Resent: number(r), NoConn: number(r), Resumed: number(r), Overslept: number(r), Queued: number(r), Paused: number(r),
		LastHeard: signedNumber(r),
	}
	t.FirstHeard = min(signedNumber(r), t.LastHeard)
	for range r.IntN(6) {
		t.Statuses = append(t.Statuses, stats.StatusCount{Status: r.IntN(1000), Count: number(r)})
	}
	for range r.IntN(6) {
		class := stats.Class(1 + r.IntN(int(stats.Other)))
		f := stats.Failure{
			Class: class, Phase: stats.Phase(r.IntN(int(stats.PhaseCount))), Errno: r.IntN(134), Count: r.Uint64N(40),
			ClientTime: signedNumber(r), FirstAt: signedNumber(r), LastAt: signedNumber(r),
		}
		t.Failed += f.Count
		t.Failures = append(t.Failures, f)
	}
	for _, h := range t.Histograms() {
		n := r.Uint64N(40)
		if h == &t.Service { // as many as succeeded, or none
			n = t.Total.Count() * r.Uint64N(2)
		}
		record(r, h, n)
	}
	t.FailedAfter.Reset()
	record(r, &t.FailedAfter, t.Failed)
	t.Succeeded = t.Total.Count()
	t.Begun += t.SendLag.Count()
	if r.IntN(2) == 0 {
		shareOut(r, t)
	}
	return t
}

// record gives a histogram n values of any size.
func record(r *rand.Rand, h *stats.Histogram, n uint64) {
	for range n {
		h.Record(int64(r.Uint64() >> (1 + r.IntN(63))))
	}
}

// shareOut makes what a tally counted that of a few entries.
func shareOut(r *rand.Rand, t *stats.Tally) {
	some := []int{0, r.IntN(client.MostEntries), client.MostEntries - 1}
	pick := func() *stats.EntryTally { return t.Entries.At(some[r.IntN(len(some))]) }
	for range t.Succeeded {
		e := pick()
		e.Succeed(number(r)>>8, int64(number(r)>>8))
		e.Status(200 + r.IntN(3))
	}
	pick().Failed = t.Failed
}

func randomBytes(r *rand.Rand, most int) []byte {
	b := make([]byte, r.IntN(most))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func randomPlan(r *rand.Rand) *client.Plan {
	p := &client.Plan{
		Address: randomBytes(r, 29), Connect: randomBytes(r, 300), ProxyProtocol: uint8(r.IntN(3)),
		Entries: make([]client.Entry, 1+r.IntN(4)),
		Order:   client.Order(r.IntN(2)), Check: client.Check(r.IntN(3)), Seed: r.Uint64(), First: r.Uint64(),
		ByEntry: r.IntN(2) == 0,
		Reuse:   r.IntN(2) == 0, Force: r.IntN(2) == 0,
		Classic: r.IntN(2) == 0, HalfSend: r.IntN(2) == 0, Limited: r.IntN(2) == 0,
		Clients: int(number(r)), Requests: r.Uint64() >> r.IntN(64),
		Duration: time.Duration(number(r)), Timeout: time.Duration(number(r)),
		ConnectTimeout: time.Duration(math.MaxInt64 >> r.IntN(63)),
		Warmup:         time.Duration(number(r)), FirstStart: time.Duration(number(r)), StartGap: time.Duration(number(r)),
		Pace: client.Pace{Rate: r.ExpFloat64() * float64(r.IntN(2)), Ramp: time.Duration(number(r)), First: number(r), Step: number(r)},
	}
	for i := range p.Entries {
		p.Entries[i] = client.Entry{
			Request: randomBytes(r, 500), Answer: http1.Answer(r.IntN(3)), Resend: r.IntN(2) == 0, Close: r.IntN(2) == 0,
			Body: client.Body{Length: r.Uint64(), Sum: randomBytes(r, 33)},
		}
		p.Entries[i].Later = r.IntN(len(p.Entries[i].Request) + 1)
	}
	if r.IntN(2) == 0 {
		p.TLS = randomTLS(r)
	}
	for i := range p.Expect {
		p.Expect[i] = r.Uint64()
	}
	return p
}

func randomTLS(r *rand.Rand) *client.TLS {
	t := &client.TLS{
		ServerName: strings.Repeat("n", r.IntN(20)), Host: strings.Repeat("h", r.IntN(20)),
		Insecure: r.IntN(2) == 0, Resume: r.IntN(2) == 0,
		Roots: randomBytes(r, 500), Certificate: randomBytes(r, 500), Key: randomBytes(r, 500),
	}
	for range r.IntN(4) {
		t.Verified = append(t.Verified, randomBytes(r, 500))
	}
	return t
}

func randomFinal(r *rand.Rand) *Final {
	f := &Final{WarmingUp: number(r), CPUTime: time.Duration(number(r)), RunDelay: time.Duration(number(r)) - 1}
	for i := range f.Unfinished.Count {
		f.Unfinished.Count[i] = r.Uint64N(10)
	}
	record(r, &f.Unfinished.Ages, f.Unfinished.Sum())
	f.Unfinished.Oldest, f.Unfinished.ClientTime = f.Unfinished.Ages.Max(), int64(number(r))
	record(r, &f.PerClient, r.Uint64N(40))
	f.End = time.Duration(f.Unfinished.Oldest) + time.Duration(number(r))
	return f
}

// only takes the one frame that b holds apart.
func only(t *testing.T, b []byte, want Kind) []byte {
	t.Helper()
	kind, payload, rest, ok, err := Next(b, MaxPlan)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, want, kind)
	require.Empty(t, rest)
	return payload
}

func TestEveryPlanArrivesAsItWasSent(t *testing.T) {
	r := random(t)
	for range rounds {
		want := randomPlan(r)
		got, err := ReadPlan(only(t, AppendPlan(nil, want), KindPlan))
		require.NoError(t, err)
		require.Equal(t, *want, got)
	}
}

func TestEveryIntervalArrivesAsItWasSent(t *testing.T) {
	r := random(t)
	kept := new(stats.Tally) // the parent reads all into one
	for range rounds {
		want, second := randomTally(r), int(signedNumber(r))
		sent := AppendInterval(nil, second, want)
		kept.Reset()
		got, err := ReadInterval(only(t, sent, KindInterval), kept)
		require.NoError(t, err)
		require.Equal(t, second, got)
		require.Equal(t, values(want), values(kept))
		require.Equal(t, sent, AppendInterval(nil, got, kept), "it would be sent on unchanged")
		for i, h := range want.Histograms() {
			require.Equal(t, h.Summary(), kept.Histograms()[i].Summary())
			require.Equal(t, h.Buckets(), kept.Histograms()[i].Buckets())
		}
		require.Len(t, kept.Entries.All(), len(want.Entries.All()))
		for _, e := range want.Entries.All() {
			got := kept.Entries.Find(e.Number)
			require.Equal(t, e.Total.Buckets(), got.Total.Buckets())
			require.ElementsMatch(t, e.Statuses, got.Statuses)
			require.Equal(t, [3]uint64{e.Failed, e.BytesRead, uint64(e.ClientTime)}, [3]uint64{got.Failed, got.BytesRead, uint64(got.ClientTime)})
		}
	}
}

// values are what counters points at.
func values(t *stats.Tally) (v [14]uint64) {
	for i, n := range counters(t) {
		v[i] = *n
	}
	return v
}

func TestEveryFinalArrivesAsItWasSent(t *testing.T) {
	r := random(t)
	for range rounds {
		want := randomFinal(r)
		got, err := ReadFinal(only(t, AppendFinal(nil, want), KindFinal))
		require.NoError(t, err)
		for _, pair := range [][2]*stats.Histogram{
			{&want.Unfinished.Ages, &got.Unfinished.Ages}, {&want.PerClient, &got.PerClient},
		} {
			require.Equal(t, pair[0].Summary(), pair[1].Summary())
			require.Equal(t, pair[0].Buckets(), pair[1].Buckets())
			*pair[1] = *pair[0]
		}
		require.Equal(t, *want, got)
	}
}

func TestEveryGoArrivesAsItWasSent(t *testing.T) {
	for _, want := range []int64{0, 1, -1, 1e18, math.MaxInt64, math.MinInt64} {
		got, err := ReadGo(only(t, AppendGo(nil, want), KindGo))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestReadyAndErrorArriveAsTheyWereSent(t *testing.T) {
	assert.Empty(t, only(t, AppendReady(nil), KindReady))
	assert.Equal(t, "no memory", string(only(t, AppendError(nil, "no memory"), KindError)))
	assert.Empty(t, only(t, AppendError(nil, ""), KindError))
}

// frames is one of each kind.
func frames(t *testing.T) [][]byte {
	r := random(t)
	return [][]byte{
		AppendPlan(nil, randomPlan(r)), AppendReady(nil), AppendGo(nil, signedNumber(r)),
		AppendInterval(nil, 3, randomTally(r)), AppendFinal(nil, randomFinal(r)), AppendError(nil, "why"),
	}
}

func TestFramesBehindEachOtherComeApart(t *testing.T) {
	all := frames(t)
	var b []byte
	for _, f := range all {
		b = append(b, f...)
	}
	for i, f := range all {
		kind, payload, rest, ok, err := Next(b, MaxPlan)
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, Kind(i+1), kind)
		assert.Equal(t, f[headerSize:], payload)
		b = rest
	}
	assert.Empty(t, b)
}

func TestFramesAreAppendedBehindWhatIsThere(t *testing.T) {
	r := random(t)
	plan, tally, final := randomPlan(r), randomTally(r), randomFinal(r)
	rows := map[string]func([]byte) []byte{
		"plan":     func(b []byte) []byte { return AppendPlan(b, plan) },
		"ready":    AppendReady,
		"go":       func(b []byte) []byte { return AppendGo(b, 5) },
		"interval": func(b []byte) []byte { return AppendInterval(b, 1, tally) },
		"final":    func(b []byte) []byte { return AppendFinal(b, final) },
		"error":    func(b []byte) []byte { return AppendError(b, "why") },
	}
	for name, write := range rows {
		assert.Equal(t, append([]byte(Magic), write(nil)...), write([]byte(Magic)), name)
	}
}

func TestHalfAFrameIsWaitedFor(t *testing.T) {
	for _, f := range frames(t) {
		for n := range f {
			_, payload, rest, ok, err := Next(f[:n], MaxPlan)
			require.NoError(t, err)
			require.False(t, ok)
			require.Nil(t, payload)
			require.Equal(t, f[:n], rest)
		}
	}
}

// read decodes a payload of any kind that has one.
func read(kind Kind, payload []byte) (err error) {
	switch kind {
	case KindPlan:
		_, err = ReadPlan(payload)
	case KindGo:
		_, err = ReadGo(payload)
	case KindInterval:
		_, err = ReadInterval(payload, new(stats.Tally))
	case KindFinal:
		_, err = ReadFinal(payload)
	}
	return err
}

func TestPayloadsCutOffAtAnyByteAreRefused(t *testing.T) {
	for _, f := range frames(t) {
		kind, payload := Kind(f[4]), f[headerSize:]
		if kind == KindReady || kind == KindError {
			continue
		}
		require.NoError(t, read(kind, payload))
		for n := range payload {
			require.Error(t, read(kind, payload[:n:n]), "kind %d, %d of %d bytes", kind, n, len(payload))
		}
		require.ErrorContains(t, read(kind, append(payload[:len(payload):len(payload)], 0)), "bytes after its end")
	}
}

func TestFramesOfImpossibleLengthAreRefused(t *testing.T) {
	rows := []struct {
		name   string
		length uint32
		most   int
	}{
		{"no kind", 0, MaxPlan},
		{"a report longer than any", MaxReport + 1, MaxReport},
		{"a plan longer than any", MaxPlan + 1, MaxPlan},
		{"the longest there is", math.MaxUint32, MaxPlan},
	}
	for _, row := range rows {
		b := binary.LittleEndian.AppendUint32(nil, row.length)
		_, _, rest, ok, err := Next(append(b, byte(KindReady)), row.most)
		require.Error(t, err, row.name)
		assert.False(t, ok, row.name)
		assert.Len(t, rest, headerSize, row.name)
	}
	_, _, _, _, err := Next(append(binary.LittleEndian.AppendUint32(nil, MaxReport), 1), MaxReport)
	require.NoError(t, err, "the longest that is allowed")
}

func TestUnknownKindsAreTheReadersToRefuse(t *testing.T) {
	for _, kind := range []Kind{0, KindError + 1, 255} {
		got, payload, _, ok, err := Next([]byte{2, 0, 0, 0, byte(kind), 7}, MaxReport)
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, kind, got)
		assert.Equal(t, []byte{7}, payload)
	}
}

// The largest report there can be is let through.
func TestFullHistogramsFitIntoAReport(t *testing.T) {
	var full stats.Tally
	for _, h := range full.Histograms() {
		for i := 0; h.LoadBucket(i, maxCount>>13); i++ {
		}
		var s stats.Summary
		for _, n := range h.Filled() {
			s.Count += n
		}
		s.Max, s.Sum, s.SumSq = math.MaxInt64, math.MaxFloat64, math.MaxFloat64
		h.Load(s)
	}
	full.Succeeded, full.Begun = full.Total.Count(), full.Total.Count()
	for status := range 1000 {
		full.Statuses = append(full.Statuses, stats.StatusCount{Status: status, Count: maxCount})
	}
	for class := stats.Class(1); class.Valid(); class++ {
		for errno := range 134 {
			f := stats.Failure{Class: class, Errno: errno, Count: maxCount >> 14, ClientTime: math.MaxInt64}
			full.Failed += f.Count
			full.Failures = append(full.Failures, f)
		}
	}
	s := full.FailedAfter.Summary()
	full.Failures[0].Count += s.Count // or more would have failed in time than have failed
	full.Failed += s.Count
	s.Over += full.Failed - s.Count
	s.Count = full.Failed
	full.FailedAfter.Load(s)
	payload := only(t, AppendInterval(nil, 1e9, &full), KindInterval)
	assert.Less(t, len(payload), MaxReport/2)
	_, err := ReadInterval(payload, new(stats.Tally))
	require.NoError(t, err)
}

func TestIntervalsThatContradictThemselvesAreRefused(t *testing.T) {
	failure := stats.Failure{Class: stats.Refused, Phase: stats.Connecting, Count: 2}
	first := func(t *stats.Tally) *stats.EntryTally { return t.Entries.At(0) }
	rows := []struct {
		name, want string
		spoil      func(*stats.Tally)
	}{
		{"an entry with one success more", "latencies", func(t *stats.Tally) { first(t).Succeeded++ }},
		{"an entry with one failure more", "add up", func(t *stats.Tally) { first(t).Failed++ }},
		{"an entry with a latency more", "add up", func(t *stats.Tally) { t.Entries.At(1).Succeed(1, 1) }},
		{"an entry beyond the longest list", "number of an entry", func(t *stats.Tally) { t.Entries.At(client.MostEntries) }},
		{"failed is not the sum of its classes", "sum of its classes", func(t *stats.Tally) { t.Failed++ }},
		{"a class too much", "sum of its classes", func(t *stats.Tally) { t.Failures = append(t.Failures, failure) }},
		{"succeeded is not the number of latencies", "number of latencies", func(t *stats.Tally) { t.Succeeded++ }},
		{"a latency too much", "number of latencies", func(t *stats.Tally) { t.Total.Record(1) }},
		{"a time since a begin too few", "latencies of an open loop", func(t *stats.Tally) {
			t.Service.Reset()
			t.Succeeded, t.Begun = 2, 2
			t.Total.Record(1)
			t.Service.Record(1)
		}},
		{"later starts than starts", "latencies of an open loop", func(t *stats.Tally) { t.SendLag.Record(1) }},
		{"failed is not the number of its latencies", "failed is not the number of latencies", func(t *stats.Tally) { t.FailedAfter.Record(1) }},
		{"heard backwards", "heard last before first", func(t *stats.Tally) { t.FirstHeard = 2; t.LastHeard = 1 }},
		{"no class", "class or phase", func(t *stats.Tally) { t.Failures[0].Class = stats.ClassNone }},
		{"a class of another version", "class or phase", func(t *stats.Tally) { t.Failures[0].Class = math.MaxUint8 }},
		{"a phase of another version", "class or phase", func(t *stats.Tally) { t.Failures[0].Phase = stats.PhaseCount }},
		{"a negative errno", "integer out of range", func(t *stats.Tally) { t.Failures[0].Errno = -1 }},
		{"a negative status", "integer out of range", func(t *stats.Tally) { t.Statuses[0].Status = -1 }},
		{"a count beyond belief", "count out of range", func(t *stats.Tally) { t.BytesRead = maxCount + 1 }},
		{"classes whose sum wraps around", "count out of range", func(t *stats.Tally) {
			t.Failed, t.Failures[0].Count = 2, 1<<63
			f := failure
			f.Count = 1<<63 + 2
			t.Failures = append(t.Failures, f)
		}},
	}
	for _, row := range rows {
		tally := &stats.Tally{
			Failed: 2, Failures: []stats.Failure{failure},
			Statuses: []stats.StatusCount{{Status: 200, Count: 1}}, Succeeded: 1,
		}
		tally.Total.Record(5e6)
		first(tally).Succeed(100, 5e6)
		first(tally).Failed = 2
		record(random(t), &tally.FailedAfter, 2)
		require.NoError(t, read(KindInterval, only(t, AppendInterval(nil, 0, tally), KindInterval)))
		row.spoil(tally)
		assert.ErrorContains(t, read(KindInterval, only(t, AppendInterval(nil, 0, tally), KindInterval)), row.want, row.name)
	}
}

func TestAnEntryThatComesTwiceIsRefused(t *testing.T) {
	var one stats.Entries
	one.At(5)
	b := appendEntries(nil, &one)
	d := decoder{b: append(append([]byte{2}, b[1:]...), b[1:]...)}
	d.entries(new(stats.Tally))
	assert.ErrorContains(t, d.end(), "number of an entry")
}

// histogramBytes is a histogram as it is sent: the summary, then gaps and counts.
func histogramBytes(s stats.Summary, pairs ...uint64) []byte {
	var b []byte
	for _, n := range append([]uint64{s.Count, s.Over, uint64(s.Min), uint64(s.Max), math.Float64bits(s.Sum), math.Float64bits(s.SumSq)}, pairs...) {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func TestHistogramsThatContradictThemselvesAreRefused(t *testing.T) {
	good := stats.Summary{Count: 3, Min: 1, Max: 2, Sum: 4, SumSq: 6}
	with := func(spoil func(*stats.Summary)) stats.Summary {
		s := good
		spoil(&s)
		return s
	}
	rows := []struct {
		name, want string
		bytes      []byte
	}{
		{"fewer in the buckets than counted", "sum of its buckets", histogramBytes(good, 2, 1, 1, 1, 0)},
		{"more in the buckets than counted", "sum of its buckets", histogramBytes(good, 2, 1, 1, 3, 0)},
		{"more above all buckets than counted", "sum of its buckets", histogramBytes(with(func(s *stats.Summary) { s.Over = 4 }), 0)},
		{"a bucket that does not exist", "bucket", histogramBytes(good, 1<<20, 3, 0)},
		{"a bucket far beyond", "bucket", histogramBytes(good, 2, 1, math.MaxInt64, 3, 0)},
		{"a gap out of range", "out of range", histogramBytes(good, math.MaxUint64, 3, 0)},
		{"a bucket beyond belief", "count out of range", histogramBytes(good, 2, math.MaxUint64, 1, 4, 0)},
		{"the shortest longer than the longest", "summary", histogramBytes(with(func(s *stats.Summary) { s.Min = 3 }), 2, 3, 0)},
		{"a sum that is no number", "summary", histogramBytes(with(func(s *stats.Summary) { s.Sum = math.NaN() }), 2, 3, 0)},
		{"a negative sum", "summary", histogramBytes(with(func(s *stats.Summary) { s.Sum = -1 }), 2, 3, 0)},
		{"an endless sum", "summary", histogramBytes(with(func(s *stats.Summary) { s.Sum = math.Inf(1) }), 2, 3, 0)},
		{"an endless sum of squares", "summary", histogramBytes(with(func(s *stats.Summary) { s.SumSq = math.Inf(1) }), 2, 3, 0)},
		{"a sum of squares that is no number", "summary", histogramBytes(with(func(s *stats.Summary) { s.SumSq = math.NaN() }), 2, 3, 0)},
	}
	for _, row := range rows {
		d := decoder{b: row.bytes}
		d.histogram(new(stats.Histogram))
		assert.ErrorContains(t, d.end(), row.want, row.name)
	}
	d := decoder{b: histogramBytes(good, 2, 1, 1, 2, 0)}
	var h stats.Histogram
	d.histogram(&h)
	require.NoError(t, d.end())
	assert.Equal(t, good, h.Summary())
}

func TestPlansThatCannotBeAreRefused(t *testing.T) {
	plan := &client.Plan{Address: []byte("here"), Entries: []client.Entry{{Request: []byte("x")}}}
	rows := []struct {
		name, want string
		bytes      func() []byte
	}{
		{"an address longer than the frame", "length", func() []byte {
			b := only(t, AppendPlan(nil, plan), KindPlan)
			return append([]byte{0xff, 0xff, 0xff, 0x7f}, b[1:]...)
		}},
		{"a request longer than the frame", "length", func() []byte {
			b := only(t, AppendPlan(nil, plan), KindPlan)
			b[1+b[0]+2] = 127
			return b
		}},
		{"a kind of answer of another version", "answer", func() []byte {
			return only(t, AppendPlan(nil, &client.Plan{Entries: []client.Entry{{Answer: http1.Answer09 + 1}}}), KindPlan)
		}},
		{"a flag of another version", "flags", func() []byte {
			b := only(t, AppendPlan(nil, plan), KindPlan)
			b[1+b[0]+2+2+1+3] = 1 << 7
			return b
		}},
		{"no request", "without a request", func() []byte { return only(t, AppendPlan(nil, &client.Plan{}), KindPlan) }},
		{"an order of another version", "order", func() []byte {
			return only(t, AppendPlan(nil, &client.Plan{Entries: plan.Entries, Order: client.AtRandom + 1}), KindPlan)
		}},
		{"neither with TLS nor without", "TLS", func() []byte {
			b := only(t, AppendPlan(nil, plan), KindPlan)
			b[len(b)-1] = 2
			return b
		}},
		{"a check of another version", "check of bodies", func() []byte {
			return only(t, AppendPlan(nil, &client.Plan{Entries: plan.Entries, Check: client.BodySum + 1}), KindPlan)
		}},
		{"a negative duration", "out of range", func() []byte {
			p := *plan
			p.Duration = -1
			return only(t, AppendPlan(nil, &p), KindPlan)
		}},
	}
	for _, row := range rows {
		_, err := ReadPlan(row.bytes())
		assert.ErrorContains(t, err, row.want, row.name)
	}
}

func TestFinalsThatCannotBeAreRefused(t *testing.T) {
	rows := map[string]Final{
		"an end before the begin":            {End: -1},
		"a request older than the run":       {End: 5, Unfinished: stats.Unfinished{Oldest: 6}},
		"a request of negative age":          {End: 5, Unfinished: stats.Unfinished{Oldest: -1}},
		"fewer ages than requests":           {End: 5, Unfinished: stats.Unfinished{Count: [stats.PhaseCount]uint64{stats.Waiting: 1}}},
		"more under way than can be counted": {End: 5, Unfinished: stats.Unfinished{Count: [stats.PhaseCount]uint64{stats.Waiting: maxCount + 1}}},
	}
	for name, f := range rows {
		_, err := ReadFinal(only(t, AppendFinal(nil, &f), KindFinal))
		assert.Error(t, err, name)
	}
}

// What a plan's request is read from is the reader's: a plan may be large.
func TestAPlansRequestIsNotCopied(t *testing.T) {
	payload := only(t, AppendPlan(nil, &client.Plan{Entries: []client.Entry{{Request: []byte("GET")}}}), KindPlan)
	plan, err := ReadPlan(payload)
	require.NoError(t, err)
	clear(payload)
	assert.Equal(t, []byte{0, 0, 0}, plan.Entries[0].Request)
}
