package e2e

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// result is the document of --json and -o, by the names of the contract.
type result struct {
	Schema string `json:"schema"`
	Plan   struct {
		URL           string   `json:"url"`
		Address       string   `json:"address"`
		Method        string   `json:"method"`
		HTTP          string   `json:"http"`
		Clients       int      `json:"clients"`
		Keepalive     bool     `json:"keepalive"`
		Argv          []string `json:"argv"`
		RequestSHA256 string   `json:"request_sha256"`
	} `json:"plan"`
	Window struct {
		StartedAt   time.Time `json:"started_at"`
		MeasuredNS  int64     `json:"measured_ns"`
		Interrupted any       `json:"interrupted"`
	} `json:"window"`
	Requests struct {
		Begun      uint64 `json:"begun"`
		Succeeded  uint64 `json:"succeeded"`
		Failed     uint64 `json:"failed"`
		Unfinished uint64 `json:"unfinished"`
		Lost       uint64 `json:"lost"`
	} `json:"requests"`
	Throughput struct {
		PagesPerMin    float64 `json:"pages_per_min"`
		RequestsPerSec float64 `json:"requests_per_sec"`
		BytesPerSec    float64 `json:"bytes_per_sec"`
	} `json:"throughput"`
	Bytes struct {
		Read    uint64 `json:"read"`
		Written uint64 `json:"written"`
		Body    uint64 `json:"body"`
	} `json:"bytes"`
	Connections struct {
		Opened         uint64 `json:"opened"`
		Failed         uint64 `json:"failed"`
		ReusedRequests uint64 `json:"reused_requests"`
		ResentRequests uint64 `json:"resent_requests"`
	} `json:"connections"`
	Status      map[string]uint64 `json:"status"`
	StatusClass map[string]uint64 `json:"status_class"`
	Failures    []struct {
		Class        string `json:"class"`
		Phase        string `json:"phase"`
		Side         string `json:"side"`
		Errno        any    `json:"errno"`
		Count        uint64 `json:"count"`
		ClientTimeNS int64  `json:"client_time_ns"`
		FirstAtNS    int64  `json:"first_at_ns"`
		LastAtNS     int64  `json:"last_at_ns"`
	} `json:"failures"`
	Entries []struct {
		Where     string            `json:"where"`
		Method    string            `json:"method"`
		URL       string            `json:"url"`
		Succeeded uint64            `json:"succeeded"`
		Failed    uint64            `json:"failed"`
		BytesRead uint64            `json:"bytes_read"`
		Status    map[string]uint64 `json:"status"`
		Latency   latency           `json:"latency"`
	} `json:"entries"`
	Generator struct {
		CPUShare      *float64 `json:"cpu_share"`
		RunDelayShare *float64 `json:"run_delay_share"`
		HostBusyShare *float64 `json:"host_busy_share"`
		ThrottledNS   *int64   `json:"throttled_ns"`
		TargetHere    bool     `json:"target_here"`
		Ceiling       *struct {
			RequestsPerSec float64 `json:"requests_per_sec"`
			MeasuredNS     int64   `json:"measured_ns"`
			Share          float64 `json:"share"`
		} `json:"ceiling"`
	} `json:"generator"`
	Unfinished struct {
		Connecting uint64 `json:"connecting"`
		Sending    uint64 `json:"sending"`
		Waiting    uint64 `json:"waiting"`
		Receiving  uint64 `json:"receiving"`
		OldestNS   *int64 `json:"oldest_ns"`
	} `json:"unfinished"`
	Latency struct {
		Total     latency  `json:"total"`
		Connect   latency  `json:"connect"`
		FirstByte latency  `json:"first_byte"`
		Service   *latency `json:"service"`
	} `json:"latency"`
	Pace *struct {
		AskedPerSec   float64 `json:"asked_per_sec"`
		BegunPerSec   float64 `json:"begun_per_sec"`
		StartsDue     uint64  `json:"starts_due"`
		StartsNotMade uint64  `json:"starts_not_made"`
		StartsQueued  uint64  `json:"starts_queued"`
		SendLag       latency `json:"send_lag"`
	} `json:"pace"`
	Warmup *struct {
		Begun      uint64 `json:"begun"`
		Succeeded  uint64 `json:"succeeded"`
		Failed     uint64 `json:"failed"`
		Unfinished uint64 `json:"unfinished"`
	} `json:"warmup"`
	Series []struct {
		AtNS      int64  `json:"at_ns"`
		Succeeded uint64 `json:"succeeded"`
		Failed    uint64 `json:"failed"`
		Bytes     uint64 `json:"bytes"`
		Warmup    bool   `json:"warmup"`
	} `json:"series"`
	Workers struct {
		Asked   int `json:"asked"`
		Started int `json:"started"`
		Lost    int `json:"lost"`
		Pinned  int `json:"pinned"`
		Batch   int `json:"batch"`
		List    []struct {
			PID       int    `json:"pid"`
			CPU       *int   `json:"cpu"`
			Clients   int    `json:"clients"`
			Succeeded uint64 `json:"succeeded"`
			Failed    uint64 `json:"failed"`
			CPUNS     int64  `json:"cpu_ns"`
			Exit      any    `json:"exit"`
		} `json:"list"`
	} `json:"workers"`
	Verdicts struct {
		Valid            bool     `json:"valid"`
		GeneratorLimited any      `json:"generator_limited"`
		Partial          bool     `json:"partial"`
		Reasons          []string `json:"reasons"`
	} `json:"verdicts"`
}

// latency holds null, here nil, wherever there is no value.
type latency struct {
	Count         uint64              `json:"count"`
	MinNS         *float64            `json:"min_ns"`
	MeanNS        *float64            `json:"mean_ns"`
	StddevNS      *float64            `json:"stddev_ns"`
	MaxNS         *float64            `json:"max_ns"`
	PercentilesNS map[string]*float64 `json:"percentiles_ns"`
	Histogram     struct {
		Unit    string      `json:"unit"`
		Buckets [][2]uint64 `json:"buckets"`
		Over    uint64      `json:"over"`
	} `json:"histogram"`
}

var percentiles = []string{"50", "75", "90", "95", "99", "99.9", "99.99"}

// decode takes exactly one JSON document and a newline, and nothing else.
// encoding/json refuses NaN, Inf and numbers out of range by itself.
func decode(t *testing.T, text string) *result {
	t.Helper()
	require.True(t, utf8.ValidString(text), "not UTF-8")
	require.True(t, strings.HasSuffix(text, "}\n"), "no newline after the document")
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var tree map[string]any
	require.NoError(t, dec.Decode(&tree), "not JSON")
	_, err := dec.Token()
	require.ErrorIs(t, err, io.EOF, "more than one document")
	delete(tree, "host") // raw facts of the kernel may be negative
	assertNoSentinel(t, "", tree)
	r := new(result)
	require.NoError(t, json.Unmarshal([]byte(text), r))
	return r
}

// assertNoSentinel asserts that no value is negative: what has no value is null.
func assertNoSentinel(t *testing.T, path string, node any) {
	t.Helper()
	switch node := node.(type) {
	case map[string]any:
		for name, v := range node {
			assertNoSentinel(t, path+"."+name, v)
		}
	case []any:
		for _, v := range node {
			assertNoSentinel(t, path+"[]", v)
		}
	case json.Number:
		if strings.HasPrefix(node.String(), "-") && path != ".series[].at_ns" { // below 0 in a warm-up
			assert.Fail(t, "negative number", "%s = %s", path, node)
		}
	}
}

// assertConsistent asserts what must hold in the result of any run.
func assertConsistent(t *testing.T, r *result) {
	t.Helper()
	assert.Equal(t, "horde.result/1", r.Schema)
	q := r.Requests
	assert.Equal(t, q.Begun, q.Succeeded+q.Failed+q.Unfinished+q.Lost, "the ledger does not balance: %+v", q)
	u := r.Unfinished
	assert.Equal(t, q.Unfinished, u.Connecting+u.Sending+u.Waiting+u.Receiving, "unfinished by phase")
	assert.Equal(t, q.Failed, sum(r.classes()), "failures by class")
	assert.Equal(t, sum(r.Status), sum(r.StatusClass), "statuses against their classes")
	if r.Plan.HTTP != "0.9" && !slices.Contains(r.Plan.Argv, "--force") {
		assert.GreaterOrEqual(t, sum(r.Status), q.Succeeded, "every success has a status")
	}
	assert.Equal(t, q.Succeeded, r.Latency.Total.Count, "one total latency for each success")
	assertLatency(t, "total", r.Latency.Total)
	assertLatency(t, "connect", r.Latency.Connect)
	assertLatency(t, "first byte", r.Latency.FirstByte)
	assertRates(t, r)
	assertWorkers(t, r)
}

func assertRates(t *testing.T, r *result) {
	t.Helper()
	seconds := r.measured().Seconds()
	if r.Requests.Begun == 0 && seconds == 0 {
		return // the target was not there
	}
	require.Positive(t, seconds, "measured window")
	perSecond := float64(r.Requests.Succeeded) / seconds
	assert.InDelta(t, perSecond*60, r.Throughput.PagesPerMin, 1+perSecond*60/1e6, "pages/min")
	assert.InDelta(t, perSecond, r.Throughput.RequestsPerSec, 1+perSecond/1e6, "requests/s")
	assert.InDelta(t, float64(r.Bytes.Read)/seconds, r.Throughput.BytesPerSec, 1+float64(r.Bytes.Read)/1e6, "bytes/s")
	assert.LessOrEqual(t, r.Bytes.Body, r.Bytes.Read, "body bytes are part of the bytes read")
}

func assertWorkers(t *testing.T, r *result) {
	t.Helper()
	w := r.Workers
	assert.LessOrEqual(t, w.Started, w.Asked, "workers started")
	assert.LessOrEqual(t, w.Lost, w.Started, "workers lost")
	assert.LessOrEqual(t, w.Pinned, w.Started, "workers pinned")
	if len(w.List) != w.Started || w.Started == 0 {
		return // summarised
	}
	var succeeded, failed uint64
	for _, x := range w.List {
		succeeded += x.Succeeded
		failed += x.Failed
	}
	assert.Equal(t, r.Requests.Succeeded, succeeded, "succeeded, over the workers")
	assert.Equal(t, r.Requests.Failed, failed, "failed, over the workers")
	for _, s := range r.Series {
		assert.Less(t, s.AtNS, r.Window.MeasuredNS, "an entry of the series after the end of the window")
	}
	if w.Lost > 0 {
		return // the last second of a dead worker is in no interval
	}
	var inSeries, failedInSeries uint64
	for _, s := range r.Series {
		require.Equal(t, s.AtNS < 0, s.Warmup)
		if s.Warmup {
			continue
		}
		inSeries += s.Succeeded
		failedInSeries += s.Failed
	}
	assert.Equal(t, r.Requests.Succeeded, inSeries, "succeeded, over the series")
	assert.Equal(t, r.Requests.Failed, failedInSeries, "failed, over the series")
}

// assertLatency asserts that the figures are in order, or all null.
func assertLatency(t *testing.T, name string, l latency) {
	t.Helper()
	inBuckets := l.Histogram.Over
	for _, b := range l.Histogram.Buckets {
		inBuckets += b[1]
	}
	assert.Equal(t, l.Count, inBuckets, "%s: histogram", name)
	figures := []*float64{l.MinNS}
	for _, p := range percentiles {
		assert.Contains(t, l.PercentilesNS, p, "%s: percentile", name)
		figures = append(figures, l.PercentilesNS[p])
	}
	figures = append(figures, l.MaxNS)
	if l.Count == 0 {
		for _, f := range append(figures, l.MeanNS, l.StddevNS) {
			assert.Nil(t, f, "%s: a figure without a sample", name)
		}
		return
	}
	for i := range figures {
		require.NotNil(t, figures[i], "%s: figure %d of min, percentiles, max", name, i)
		if i > 0 {
			assert.LessOrEqual(t, *figures[i-1], *figures[i], "%s: min, percentiles, max do not rise", name)
		}
	}
	require.NotNil(t, l.MeanNS, "%s: mean", name)
	assert.LessOrEqual(t, *l.MinNS, *l.MeanNS+1, "%s: min above mean", name)
	assert.LessOrEqual(t, *l.MeanNS, *l.MaxNS+1, "%s: mean above max", name)
}

func sum(m map[string]uint64) uint64 {
	var n uint64
	for _, v := range m {
		n += v
	}
	return n
}

func (r *result) measured() time.Duration { return time.Duration(r.Window.MeasuredNS) }

// classes returns the failed requests by class.
func (r *result) classes() map[string]uint64 {
	m := map[string]uint64{}
	for _, f := range r.Failures {
		m[f.Class] += f.Count
	}
	return m
}

// interrupted reports whether the window is marked as cut short.
func (r *result) interrupted() bool {
	switch v := r.Window.Interrupted.(type) {
	case bool:
		return v
	case string:
		return v != ""
	}
	return false
}

// percentile returns one of the percentiles of the total latency.
func (o *outcome) percentile(p string) time.Duration {
	o.t.Helper()
	v := o.json().Latency.Total.PercentilesNS[p]
	require.NotNil(o.t, v, "percentile %s", p)
	return time.Duration(*v)
}

// slowest returns the longest total latency.
func (o *outcome) slowest() time.Duration {
	o.t.Helper()
	require.NotNil(o.t, o.json().Latency.Total.MaxNS, "no latency")
	return time.Duration(*o.Latency.Total.MaxNS)
}
