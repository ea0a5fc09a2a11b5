package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

func written(t *testing.T, r *stats.Run) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, JSON(&out, r, stats.Judge(r, stats.Thresholds{})))
	return out.Bytes()
}

func TestWhatIsWrittenCanBeRead(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			v := s.verdict()
			d, err := Read(bytes.NewReader(written(t, &s.run)))
			require.NoError(t, err)
			want := newDocument(&s.run, v)
			want.Verdicts = d.Verdicts // thresholds are not in this one
			assert.Equal(t, want, d)
		})
	}
}

func TestWhatIsLoadedIsWrittenAgainByteForByte(t *testing.T) {
	for _, s := range append(scenes(), thousands()) {
		t.Run(s.name, func(t *testing.T) {
			var first, again bytes.Buffer
			require.NoError(t, JSON(&first, &s.run, s.verdict()))
			r, v, err := Load(bytes.NewReader(first.Bytes()))
			require.NoError(t, err)
			require.NoError(t, JSON(&again, r, v))
			assert.Equal(t, first.String(), again.String())
		})
	}
}

func TestALoadedResultIsReportedInTheSameWords(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			var file, first, again bytes.Buffer
			require.NoError(t, JSON(&file, &s.run, s.verdict()))
			require.NoError(t, Text(&first, &s.run, s.verdict()))
			r, v, err := Load(&file)
			require.NoError(t, err)
			require.NoError(t, Text(&again, r, v))
			assert.Equal(t, first.String(), again.String())
		})
	}
}

// thousands is a run of more workers than are listed.
func thousands() scene {
	s := lostWorkers()
	s.name = "thousands of workers"
	for i := range 2 * fullList {
		s.run.Workers.List = append(s.run.Workers.List, stats.Worker{ID: 4 + i, CPU: -1, RunDelay: -1, Exit: "exit 0"})
	}
	s.run.Host.Begin = &stats.HostState{
		Facts:    map[string]stats.Fact{"osrelease": {Value: "6.1"}, "governor": {Unknown: "there is none"}},
		Counters: stats.Counters{"stat": {"cpu0": {"user": 1}}, "schedstat": nil},
	}
	return s
}

// Files of every version stay readable: testdata/old holds one of each.
func TestFilesOfEarlierVersionsAreRead(t *testing.T) {
	names, err := filepath.Glob("testdata/old/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, err := os.ReadFile(name)
			require.NoError(t, err)
			r, v, err := Load(bytes.NewReader(file))
			require.NoError(t, err)
			var again, text bytes.Buffer
			require.NoError(t, JSON(&again, r, v))
			assertHolds(t, "", file, again.Bytes())
			require.NoError(t, Text(&text, r, v))
			golden(t, "old/"+filepath.Base(name)+".txt", text.Bytes())
		})
	}
}

// assertHolds asserts that every value of one document is in the other too.
func assertHolds(t *testing.T, path string, old, now json.RawMessage) {
	t.Helper()
	var before, after map[string]json.RawMessage
	if json.Unmarshal(old, &before) != nil || json.Unmarshal(now, &after) != nil {
		assert.JSONEq(t, string(old), string(now), path)
		return
	}
	for name := range before {
		if !assert.Contains(t, after, name, path) {
			continue
		}
		if list, ok := elements(before[name]); ok {
			again, _ := elements(after[name])
			require.Len(t, again, len(list), path+"."+name)
			for i := range list {
				assertHolds(t, fmt.Sprintf("%s.%s[%d]", path, name, i), list[i], again[i])
			}
			continue
		}
		assertHolds(t, path+"."+name, before[name], after[name])
	}
}

func elements(value json.RawMessage) (list []json.RawMessage, ok bool) {
	return list, value[0] == '[' && json.Unmarshal(value, &list) == nil
}

func TestSectionsStandInTheOrderOfTheSchema(t *testing.T) {
	r := newRun()
	decoder := json.NewDecoder(bytes.NewReader(written(t, &r)))
	_, err := decoder.Token()
	require.NoError(t, err)
	var names []string
	for decoder.More() {
		name, err := decoder.Token()
		require.NoError(t, err)
		names = append(names, name.(string))
		require.NoError(t, decoder.Decode(new(json.RawMessage)))
	}
	assert.Equal(t, strings.Fields(`schema tool plan window requests throughput bytes connections coalescing pace warmup littles_law status
		status_class failures entries unfinished per_client latency series stalls trend workers host generator verdicts`), names)
}

func TestARunWithoutASuccessHasNullsAndNoNumberThatIsNone(t *testing.T) {
	for _, s := range []scene{hung(), unreachable(), {run: stats.Run{}}} {
		doc := written(t, &s.run)
		for _, wrong := range []string{"NaN", "Inf", "-1", "9223372036854775807"} {
			assert.NotContains(t, string(doc), wrong)
		}
		d, err := Read(bytes.NewReader(doc))
		require.NoError(t, err)
		assert.Equal(t, Percentiles{}, d.Latency.Total.Percentiles)
		assert.Nil(t, d.Latency.Total.MinNS)
		assert.Nil(t, d.Latency.Total.MeanNS)
		assert.Nil(t, d.Latency.Total.MaxNS)
		assert.Zero(t, d.Throughput)
		assert.Zero(t, d.Requests.Succeeded)
	}
}

func TestAnEmptyRunWritesEmptyListsNotNull(t *testing.T) {
	doc := string(written(t, &stats.Run{}))
	for _, want := range []string{
		`"failures":[]`, `"series":[]`, `"list":[]`, `"argv":[]`, `"status":{}`, `"host":{"begin":null,"end":null}`,
		`"started_at":null`, `"interrupted":null`, `"generator_limited":null`, `"stationary":null`, `"oldest_ns":null`,
	} {
		assert.Contains(t, doc, want)
	}
}

func TestCountsBeyond32BitsArePlainIntegers(t *testing.T) {
	r := stats.Run{Measured: time.Minute}
	for range 2 {
		r.Tally.Add(&stats.Tally{
			Begun: 2_200_000_000, Succeeded: 2_200_000_000, BytesRead: 3_000_000_000, BytesBody: 1 << 62,
			Statuses: []stats.StatusCount{{Status: 200, Count: 2_200_000_000}},
		})
	}
	doc := string(written(t, &r))
	assert.Contains(t, doc, `"pages_per_min":4400000000,`)
	assert.Contains(t, doc, `"bytes_per_sec":100000000}`)
	assert.Contains(t, doc, `"bytes":{"read":6000000000,"written":0,"body":9223372036854775808}`)
	assert.Contains(t, doc, `"status":{"200":4400000000}`)

	var text bytes.Buffer
	require.NoError(t, Text(&text, &r, stats.Judge(&r, stats.Thresholds{})))
	assert.Contains(t, text.String(), "Speed=4400000000 pages/min, 100000000 bytes/sec.\nRequests: 4400000000 succeeded, 0 failed, 0 unfinished.\n")
}

func TestAURLStaysAsItWasTyped(t *testing.T) {
	r := newRun()
	assert.Contains(t, string(written(t, &r)), `"url":"http://127.0.0.1:8080/a?b=1&c=2"`)
}

func TestAnOddStatusCountsAs5xx(t *testing.T) {
	counts := []stats.StatusCount{{Status: 99, Count: 1}, {Status: 103, Count: 2}, {Status: 204, Count: 4}, {Status: 799, Count: 8}}
	assert.Equal(t, map[string]uint64{"1xx": 2, "2xx": 4, "3xx": 0, "4xx": 0, "5xx": 9}, statusClasses(counts))
}

func TestAFileCutShortAnywhereIsRefused(t *testing.T) {
	r := hung().run
	doc := bytes.TrimSpace(written(t, &r))
	for n := range doc {
		_, err := Read(bytes.NewReader(doc[:n]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut after %d bytes", n)
	}
	_, err := Read(bytes.NewReader(doc))
	require.NoError(t, err)
}

func TestReadRefuses(t *testing.T) {
	r := clean().run
	doc := string(written(t, &r))
	for _, row := range []struct{ name, from, to, says string }{
		{"another schema", "horde.result/1", "horde.result/2", `the schema is "horde.result/2", not "horde.result/1"`},
		{"no schema", `"schema"`, `"scheme"`, `the schema is "", not "horde.result/1"`},
		{"a schema that is a number", `"horde.result/1"`, `1`, `the schema is "", not "horde.result/1"`},
		{"a missing section", `"requests":{`, `"demands":{`, `no "requests" in it`},
		{"two documents", "}\n", "}{}\n", "something follows the document"},
		{"a count that is no integer", `"begun":40004`, `"begun":40004.5`, "cannot unmarshal"},
		{"a negative count", `"begun":40004`, `"begun":-1`, "cannot unmarshal"},
		{"buckets that do not add up", `"total":{"count":40000`, `"total":{"count":39999`, `latency "total": the buckets hold 40000 values, not 39999`},
		{"a bucket of three numbers", `"buckets":[[`, `"buckets":[[0,0,0],[`, "bucket [0,0,0] is not a pair"},
		{"a bucket of text", `"buckets":[[`, `"buckets":["",[`, "cannot unmarshal"},
		{"buckets out of order", `"buckets":[[`, `"buckets":[[99000000,0],[`, `latency "unfinished": bucket`},
		{"a count without a minimum", `"min_ns":`, `"least_ns":`, `latency "unfinished": min_ns and max_ns do not belong together`},
		{"a list", `{"schema"`, `[{"schema"`, "read result"},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Contains(t, doc, row.from)
			_, err := Read(strings.NewReader(strings.Replace(doc, row.from, row.to, 1)))
			require.ErrorContains(t, err, row.says)
			assert.ErrorContains(t, err, "read result: ")
		})
	}
}

func TestLoadRefusesWhatThisVersionHasNoNameFor(t *testing.T) {
	r := overload().run
	doc := string(written(t, &r))
	for _, row := range []struct{ name, from, to, says string }{
		{"a class", `"class":"refused"`, `"class":"bored"`, `the failure class "bored" is not one of this version`},
		{"a phase", `"phase":"connecting"`, `"phase":"asleep"`, `the phase "asleep" is not one of this version`},
		{"a status", `"200":`, `"200 OK":`, `the status "200 OK" is no number`},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Contains(t, doc, row.from)
			_, _, err := Load(strings.NewReader(strings.Replace(doc, row.from, row.to, 1)))
			require.ErrorContains(t, err, "read result: "+row.says)
		})
	}
	var h stats.Histogram
	l := Latency{Count: 1, MinNS: set(int64(1)), MaxNS: set(int64(1)), Histogram: Histogram{Buckets: []Bucket{{1 << 50, 1}}}}
	require.ErrorContains(t, l.load(&h), "there is no bucket at 1125899906842624")
}

func TestReadPassesOverFieldsItDoesNotKnow(t *testing.T) {
	r := clean().run
	doc := strings.Replace(string(written(t, &r)), `"requests":{`, `"weather":"fine","requests":{"dropped":7,`, 1)
	d, err := Read(strings.NewReader(doc))
	require.NoError(t, err)
	assert.Equal(t, uint64(40000), d.Requests.Succeeded)
}

func TestErrorsOfTheStreamsArePassedOn(t *testing.T) {
	broken := errors.New("disk gone")
	_, err := Read(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	r, v := newRun(), stats.Verdict{}
	pipe, writer := io.Pipe()
	require.NoError(t, pipe.CloseWithError(broken))
	require.ErrorIs(t, JSON(writer, &r, v), broken)
	require.ErrorIs(t, Text(writer, &r, v), broken)
	require.ErrorIs(t, Classic(writer, &r, v), broken)
}

func TestManyWorkersAreSummarised(t *testing.T) {
	var w stats.Workers
	for i := range 5000 {
		w.List = append(w.List, stats.Worker{ID: i, CPU: -1, Succeeded: uint64(1000 + i%7), CPUTime: time.Duration(i + 1), Exit: "exit 0"})
	}
	w.Asked, w.Started, w.Lost = 5000, 5000, 50
	for i := range 50 {
		w.List[i*100].Lost, w.List[i*100].Exit = true, "signal: killed"
	}
	w.List[4321].Exit = "exit 2"
	w.List[777].RunDelay = time.Second

	out := newWorkers(&w, 0)
	var lost int
	ids := map[int]bool{}
	for _, k := range out.List {
		ids[k.ID] = true
		if k.Exit == "signal: killed" {
			lost++
		}
		assert.Nil(t, k.CPU)
	}
	assert.Equal(t, 50, lost, "every lost worker is listed")
	assert.True(t, ids[4321], "so is one that ended in its own way")
	assert.True(t, ids[777], "and the one that waited longest for a CPU")
	assert.Less(t, len(out.List), 60)
	assert.Equal(t, &stats.Spread[uint64]{Min: 1000, Median: 1003, Max: 1006}, out.Summary.Succeeded)
	assert.Equal(t, &stats.Spread[int64]{Min: 2, Median: 2502, Max: 5000}, out.Summary.CPUNS)
}

func TestAThousandWorkersAreListedInFull(t *testing.T) {
	w := stats.Workers{List: make([]stats.Worker, fullList)}
	out := newWorkers(&w, 0)
	assert.Len(t, out.List, fullList)
	assert.Nil(t, out.Summary)
	assert.Equal(t, 0, *out.List[0].CPU)
}

func FuzzRead(f *testing.F) {
	for _, s := range []scene{hung(), unreachable(), lostWorkers()} {
		var out bytes.Buffer
		if err := JSON(&out, &s.run, s.verdict()); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Add([]byte(`{"schema":"horde.result/1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(bytes.NewReader(data))
		if err != nil {
			assert.Nil(t, d)
			return
		}
		if r, v, err := Load(bytes.NewReader(data)); err == nil {
			assertStable(t, r, v)
		}
		again, err := json.Marshal(d)
		require.NoError(t, err)
		e, err := Read(bytes.NewReader(again))
		require.NoError(t, err)
		third, err := json.Marshal(e)
		require.NoError(t, err)
		assert.Equal(t, string(again), string(third))
	})
}

// assertStable asserts that what was loaded, from whatever file, is written and
// read again without a change.
func assertStable(t *testing.T, r *stats.Run, v stats.Verdict) {
	var first, again bytes.Buffer
	require.NoError(t, JSON(&first, r, v))
	require.NoError(t, Text(io.Discard, r, v))
	r, v, err := Load(bytes.NewReader(first.Bytes()))
	require.NoError(t, err)
	require.NoError(t, JSON(&again, r, v))
	assert.Equal(t, first.String(), again.String())
}
