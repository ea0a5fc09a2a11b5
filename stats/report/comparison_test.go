package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
	"horde/stats/compare"
)

// writeRun writes the result file of a run at so many requests a second of this
// median latency, and returns its name.
func writeRun(t *testing.T, dir string, minute, perSecond int, median time.Duration, change func(*stats.Run)) string {
	t.Helper()
	r := newRun()
	r.StartedAt = r.StartedAt.Add(time.Duration(minute) * time.Minute)
	succeed(&r, perSecond*10, median, 0, 10)
	r.Host.Begin = &stats.HostState{Facts: map[string]stats.Fact{
		"kernel.random.boot_id": {Value: "first"}, "kernel.osrelease": {Value: "6.1.0"}, "nice": {Value: "0"},
	}}
	r.Host.End = r.Host.Begin
	if change != nil {
		change(&r)
	}
	name := filepath.Join(dir, fmt.Sprintf("%02d.json", minute))
	var document bytes.Buffer
	require.NoError(t, JSON(&document, &r, stats.Judge(&r, stats.Thresholds{})))
	require.NoError(t, os.WriteFile(name, document.Bytes(), 0o644))
	return name
}

// wobble is a steady rate as runs have it: up to 1 % off.
func wobble(perSecond, i int) int { return perSecond * (1000 + []int{3, -7, 9, -4, 1}[i%5]) / 1000 }

// twoSides are directories with five runs each, the second under another kernel.
func twoSides(t *testing.T, before, after int, change func(*stats.Run)) (b, a string) {
	b, a = filepath.Join(t.TempDir(), "6.1.0"), filepath.Join(t.TempDir(), "6.12.0")
	require.NoError(t, os.Mkdir(b, 0o755))
	require.NoError(t, os.Mkdir(a, 0o755))
	for i := range 5 {
		writeRun(t, b, i, wobble(before, i), 4*time.Second/time.Duration(before), nil)
		writeRun(t, a, 10+i, wobble(after, i+1), 4*time.Second/time.Duration(after), func(r *stats.Run) {
			r.Host.Begin.Facts["kernel.random.boot_id"] = stats.Fact{Value: "second"}
			r.Host.Begin.Facts["kernel.osrelease"] = stats.Fact{Value: "6.12.0"}
			if change != nil {
				change(r)
			}
		})
	}
	return b, a
}

func compared(t *testing.T, before, after string, o compare.Options) *compare.Comparison {
	t.Helper()
	b, err := LoadRuns([]string{before})
	require.NoError(t, err)
	a, err := LoadRuns([]string{after})
	require.NoError(t, err)
	for _, side := range [][]compare.Run{b, a} { // as a user would have named them
		for i := range side {
			side[i].Name = filepath.Join(filepath.Base(filepath.Dir(side[i].Name)), filepath.Base(side[i].Name))
		}
	}
	o.Margin = compare.Margin
	return compare.Compare(b, a, o)
}

func TestGoldenComparison(t *testing.T) {
	fail := func(r *stats.Run) {
		for range 40 {
			r.Tally.Fail(stats.Refused, stats.Connecting, 111, 5e9, 1e6)
		}
		r.Tally.Begun += 40
	}
	for _, c := range []struct {
		name          string
		before, after int
		change        func(*stats.Run)
		anyway        bool
	}{
		{"faster", 1000, 1240, nil, false},
		{"the_same", 1000, 1000, nil, false},
		{"slower_and_failing", 1000, 950, fail, false},
		{"other_clients", 1000, 1240, func(r *stats.Run) { r.Plan.Clients = 8 }, false},
		{"other_clients_anyway", 1000, 1240, func(r *stats.Run) { r.Plan.Clients = 8 }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, a := twoSides(t, c.before, c.after, c.change)
			found := compared(t, b, a, compare.Options{Anyway: c.anyway})
			var text, document, indented bytes.Buffer
			require.NoError(t, Comparison(&text, found))
			golden(t, "compare_"+c.name+".txt", text.Bytes())
			require.NoError(t, ComparisonJSON(&document, found))
			require.NoError(t, json.Indent(&indented, document.Bytes(), "", "  "))
			if c.name == "slower_and_failing" || c.name == "other_clients" {
				golden(t, "compare_"+c.name+".json", indented.Bytes())
			}
			assert.NotContains(t, text.String()+document.String(), "NaN")
		})
	}
}

func metric(c *compare.Comparison, name string) *compare.Metric {
	for i := range c.Metrics {
		if c.Metrics[i].Name == name {
			return &c.Metrics[i]
		}
	}
	return nil
}

// Two files alone: numbers, a direction, no verdict.
func TestTwoResultFilesInWords(t *testing.T) {
	fail := func(n int) func(*stats.Run) {
		return func(r *stats.Run) {
			for range n {
				r.Tally.Fail(stats.Refused, stats.Connecting, 111, 5e9, 1e6)
			}
			r.Tally.Begun += uint64(n)
		}
	}
	for _, c := range []struct {
		name          string
		before, after int // requests per second
		median        [2]time.Duration
		change        [2]func(*stats.Run)
		metric        string
		says          []string
	}{
		{"failures from none", 100, 100, [2]time.Duration{1e6, 1e6}, [2]func(*stats.Run){nil, fail(12)}, "failed share", []string{"new (n/a %)", "worse: 0 % to 1.19 %"}},
		{"failures to none", 100, 100, [2]time.Duration{1e6, 1e6}, [2]func(*stats.Run){fail(12), nil}, "failed share", []string{"-100.0 %", "better: 1.19 % to 0 %"}},
		{"no failures", 100, 100, [2]time.Duration{1e6, 1e6}, [2]func(*stats.Run){}, "failed share", []string{"same: 0 % to 0 %"}},
		{"twice the latency", 100, 100, [2]time.Duration{1e7, 2e7}, [2]func(*stats.Run){}, "latency p99", []string{"+100.", "worse"}},
		{"twice the rate", 100, 200, [2]time.Duration{1e7, 1e7}, [2]func(*stats.Run){}, "throughput", []string{"+100.0 %", "better: 100 /s to 200 /s"}},
		{"a hair more", 1000, 1005, [2]time.Duration{1e7, 1e7}, [2]func(*stats.Run){}, "throughput", []string{"+0.5 %", "within noise"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			b := writeRun(t, dir, 1, c.before, c.median[0], c.change[0])
			a := writeRun(t, dir, 2, c.after, c.median[1], c.change[1])
			found := compared(t, b, a, compare.Options{})
			m := metric(found, c.metric)
			assert.Equal(t, compare.NoVerdict, m.Verdict)
			text := sentence(found, m)
			for _, words := range c.says {
				assert.Contains(t, strings.ReplaceAll(text, "/s", " /s"), words)
			}
		})
	}
}

func TestALatencyFromNothingIsNoWin(t *testing.T) {
	dir := t.TempDir()
	b := writeRun(t, dir, 1, 100, time.Millisecond, func(r *stats.Run) { r.Tally = stats.Tally{} })
	a := writeRun(t, dir, 2, 100, time.Millisecond, nil)
	found := compared(t, b, a, compare.Options{})
	text := sentence(found, metric(found, "latency p99"))
	assert.Contains(t, text, "NOT COMPARABLE")
	assert.Contains(t, text, "n/a to ")
	assert.NotContains(t, text, "better")
	assert.NotContains(t, text, "%")
}

func TestLoadRunsTakesWhatASeriesPrints(t *testing.T) {
	dir := t.TempDir()
	var all []byte
	for i := range 3 {
		document, err := os.ReadFile(writeRun(t, dir, i, 100, time.Millisecond, nil))
		require.NoError(t, err)
		all = append(all, document...)
	}
	lines := filepath.Join(dir, "lines")
	require.NoError(t, os.WriteFile(lines, all, 0o644))
	runs, err := LoadRuns([]string{lines, dir})
	require.NoError(t, err)
	assert.Len(t, runs, 6)
	assert.Equal(t, lines+" (2)", runs[1].Name)
	assert.Equal(t, filepath.Join(dir, "00.json"), runs[3].Name)

	require.NoError(t, os.WriteFile(lines, all[:len(all)-20], 0o644))
	_, err = LoadRuns([]string{lines})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.ErrorContains(t, err, lines)
}

func TestLoadRunsOfNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := LoadRuns([]string{dir})
	require.ErrorContains(t, err, "no *.json")
	_, err = LoadRuns([]string{filepath.Join(dir, "none.json")})
	require.ErrorIs(t, err, os.ErrNotExist)
	empty := filepath.Join(dir, "empty.json")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	_, err = LoadRuns([]string{empty})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// Files of every released schema, for ever.
func TestReleasedFilesStayComparable(t *testing.T) {
	files, err := filepath.Glob("testdata/released/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		old, err := LoadRuns([]string{file})
		require.NoError(t, err, file)
		assert.Positive(t, old[0].Succeeded, file)
		found := compare.Compare(old, old, compare.Options{Margin: compare.Margin})
		assert.Empty(t, found.Refused, file)
		assert.Equal(t, compare.Same, found.Metrics[0].Direction, file)

		now, err := LoadRuns([]string{writeRun(t, t.TempDir(), 1, 100, time.Millisecond, nil)})
		require.NoError(t, err)
		for _, reason := range compare.Compare(old, now, compare.Options{}).Refused {
			key, _, _ := strings.Cut(reason, ":")
			assert.Contains(t, []string{"clients", "duration", "requests", "keepalive", "workers"}, key, "what the file does not know of is no difference: %s", reason)
		}
	}
}

func TestDemosDifferInTheirPort(t *testing.T) {
	demo := func(port string) func(*stats.Run) {
		return func(r *stats.Run) {
			r.Plan.URL, r.Plan.RequestSHA256 = "http://127.0.0.1:"+port+"/", "sum of "+port
			r.Plan.Argv = []string{"horde", "demo", "--clients=4", "--"}
		}
	}
	dir := t.TempDir()
	b, a := writeRun(t, dir, 1, 100, 1e6, demo("4001")), writeRun(t, dir, 2, 100, 1e6, demo("4002"))
	assert.Empty(t, compared(t, b, a, compare.Options{}).Refused)
}

func TestOptionsOfTheCommandLineAreCompared(t *testing.T) {
	with := func(args ...string) func(*stats.Run) {
		return func(r *stats.Run) { r.Plan.Argv = append([]string{"horde"}, args...) }
	}
	dir := t.TempDir()
	b := writeRun(t, dir, 1, 100, 1e6, with("--coalesce=off", "--output=b.json"))
	a := writeRun(t, dir, 2, 100, 1e6, with("--output=a.json"))
	assert.Equal(t, []string{"--coalesce: off before, none after"}, compared(t, b, a, compare.Options{}).Refused)
}
