package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is printed: where, in which form, and nothing beside it.

func TestFixedLinesOfTheTextReport(t *testing.T) {
	t.Parallel()
	s := serve(t, 200, keepOpen(ok5))
	file := filepath.Join(t.TempDir(), "result")
	o := run(t, "-c", "2", "-t", "1", "-k", "-o", file, s.url())
	h := o.headline()
	assert.Equal(t, headline{succeeded: 200, unfinished: 2}, h.counts())
	r := resultFile(t, file)
	assert.InDelta(t, r.Throughput.PagesPerMin, h.pages, 1)
	assert.InDelta(t, r.Throughput.BytesPerSec, h.bytes, 1)
	assert.InDelta(t, 200*60, h.pages, 3000)
	for _, word := range []string{s.url(), "p99", "mean"} {
		assert.Contains(t, strings.ReplaceAll(o.stdout, "99 %", "p99"), word)
	}
	assert.Empty(t, o.stderr, "no progress without a terminal")
	assert.Zero(t, o.code)
}

func resultFile(t *testing.T, name string) *result {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	r := decode(t, string(text))
	assertConsistent(t, r)
	return r
}

func TestResultFileEqualsJSON(t *testing.T) {
	t.Parallel()
	s := serve(t, 50, keepOpen(ok5))
	file := filepath.Join(t.TempDir(), "result.json")
	o := run(t, "-c", "2", "-t", "1", "-k", "--json", "-o", file, s.url())
	o.counts(50, 0, 2)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, o.stdout, string(text))
}

func TestResultFileOfAnInterruptedRunIsWhole(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	file := filepath.Join(t.TempDir(), "result.json")
	p := launch{}.start(t, "-c", "2", "-t", "60", "-o", file, s.url())
	s.await(t, 20)
	p.signalGroup(2)
	p.wait()
	assert.True(t, resultFile(t, file).interrupted())
}

func TestResultHasEveryFieldOfTheContract(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, mixedAnswers)
	o := run(t, "-c", "2", "-t", "2", "-k", "-A", "user:secret", "--json", s.url()).json()
	var tree any
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &tree))
	names := fieldNames("", tree)
	for group, fields := range map[string]string{
		"":                         "schema tool plan window requests throughput bytes connections status status_class failures unfinished latency series workers host verdicts",
		".tool":                    "version commit go",
		".plan":                    "url address method http clients workers keepalive duration_ns requests rate_per_sec timeout_ns argv request_sha256",
		".window":                  "started_at measured_ns interrupted",
		".requests":                "begun succeeded failed unfinished lost",
		".throughput":              "pages_per_min requests_per_sec bytes_per_sec",
		".bytes":                   "read written body",
		".connections":             "opened failed reused_requests resent_requests",
		".failures[]":              "class phase side errno count client_time_ns first_at_ns last_at_ns",
		".unfinished":              "connecting sending waiting receiving oldest_ns",
		".latency":                 "total connect first_byte",
		".latency.total":           "count min_ns mean_ns stddev_ns max_ns percentiles_ns histogram",
		".latency.first_byte":      "count min_ns mean_ns stddev_ns max_ns percentiles_ns histogram",
		".latency.total.histogram": "unit buckets over",
		".series[]":                "at_ns succeeded failed unfinished bytes p50_ns p99_ns max_ns",
		".workers":                 "asked started lost pinned batch list",
		".workers.list[]":          "id host pid cpu clients succeeded failed cpu_ns run_delay_ns exit",
		".host":                    "begin end",
		".verdicts":                "valid generator_limited partial stationary reasons",
	} {
		for field := range strings.FieldsSeq(fields) {
			assert.Contains(t, names, group+"."+field)
		}
	}
	assert.Equal(t, s.addr, o.Plan.Address)
	assert.Equal(t, s.url(), o.Plan.URL)
	assert.Equal(t, "GET", o.Plan.Method)
	assert.Len(t, o.Plan.RequestSHA256, 64)
	assert.Equal(t, "ns", o.Latency.Total.Histogram.Unit)
	assert.NotContains(t, o.stdout, "secret", "credentials are struck out")
	assert.NotContains(t, o.stdout, "dXNlcjpzZWNyZXQ", "credentials are struck out, encoded too")
	assert.Regexp(t, `"started_at":\s*"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`, o.stdout)
	assert.WithinDuration(t, time.Now(), o.Window.StartedAt, time.Minute)
	assert.GreaterOrEqual(t, len(o.Series), 2, "one entry a second")
	assert.Positive(t, o.Bytes.Written)
	for _, f := range o.Failures {
		assert.Equal(t, "server", f.Side)
	}
}

// fieldNames returns the path of every name in a document.
func fieldNames(path string, node any) []string {
	var names []string
	switch node := node.(type) {
	case map[string]any:
		for name, v := range node {
			names = append(append(names, path+"."+name), fieldNames(path+"."+name, v)...)
		}
	case []any:
		for _, v := range node {
			names = append(names, fieldNames(path+"[]", v)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestJSONIsAloneOnStdout(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, c := range []struct {
		name   string
		launch launch
	}{
		{"as it is", launch{}},
		{"stdout and stderr in one file", launch{merged: true}},
		{"a locale with a decimal comma", launch{env: []string{"LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8"}}},
		{"a locale without UTF-8", launch{env: []string{"LC_ALL=C", "LANG=C"}}},
		{"no environment worth the name", launch{env: []string{"HOME=", "TERM="}}},
	} {
		s := serve(t, 100, keepOpen(ok5))
		o := c.launch.run(t, "-c", "1", "-t", "1", "-k", "--json", s.url())
		o.counts(100, 0, 1) // run has decoded stdout, whole, as one document
		if !c.launch.merged {
			assert.Empty(t, o.stderr, c.name)
		}
		var tree map[string]any
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &tree))
		delete(tree, "host") // facts differ from one run to the next
		names := fieldNames("", tree)
		if fields == nil {
			fields = names
		}
		assert.Equal(t, fields, names, c.name)
	}
}

func TestTextReportInAnyLocale(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"C", "de_DE.UTF-8"} {
		t.Run(locale, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 100, keepOpen(ok5))
			o := launch{env: []string{"LC_ALL=" + locale}}.run(t, "-c", "1", "-t", "1", "-k", s.url())
			assert.Equal(t, 100, o.headline().succeeded)
			if locale == "C" {
				for i := range len(o.stdout) {
					require.Less(t, o.stdout[i], byte(0x80), "not ASCII: %q", o.stdout)
				}
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		s := serve(t, unlimited, healthy)
		o := run(t, "-c", "2", "-t", "3", "--progress", "plain", s.url())
		assert.GreaterOrEqual(t, strings.Count(o.stderr, "\n"), 2, "a line a second")
		assert.NotContains(t, o.stderr, "\x1b")
		assert.NotContains(t, o.stderr, "\r")
		o.headline()
	})
	t.Run("on a terminal by itself", func(t *testing.T) {
		t.Parallel()
		s := serve(t, unlimited, healthy)
		shown := onTerminal(t, "-c", "2", "-t", "3", s.url())
		assert.Regexp(t, `[0-9]`, shown)
	})
	for _, option := range []string{"-q", "--progress=none"} {
		t.Run("not with "+option, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, healthy)
			assert.Empty(t, onTerminal(t, "-c", "2", "-t", "2", option, s.url()))
		})
	}
}

// onTerminal runs horde with stderr on a terminal and returns what it showed there.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	terminal, screen := openTerminal(t)
	o := launch{stderr: terminal}.run(t, args...)
	assert.Positive(t, o.headline().succeeded)
	assert.Zero(t, o.code)
	terminal.Close()
	return screen()
}

func TestReportThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	shell := []string{"sh", "-c", `exec "$0" "$@" >/dev/full`}
	for _, form := range []string{"--json", "--quiet"} {
		o := launch{wrap: shell}.run(t, "-c", "2", "-t", "1", form, s.url())
		assert.NotZero(t, o.code, "a lost report is worth an exit code")
		assert.Contains(t, o.stderr, "no space left")
	}
}

func TestClassicPrintsOnlyItsTwoLines(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "webbench")
	require.NoError(t, os.Symlink(horde, link))
	for _, c := range []struct {
		name   string
		launch launch
		option []string
	}{
		{"by its option", launch{}, []string{"--classic"}},
		{"called as webbench", launch{program: link}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 20, func(nc *conn) {
				if !nc.request() || !nc.take() {
					return
				}
				nc.answer([]string{ok5, "HTTP/1.1 500 Oops\r\nX: yyyyyyy\r\n\r\n1234567890"}[nc.nthInAll()%2])
			})
			o := c.launch.run(t, append(c.option, "-c", "1", "-t", "2", s.url())...)
			o.onTime(2 * time.Second)
			// 20 answers ended in order within the 2 s asked, divided in single
			// precision; a status means nothing to it.
			want := "Speed=599 pages/min, 430 bytes/sec.\nRequests: 20 susceed, 0 failed.\n"
			assert.Equal(t, want, strings.TrimLeft(o.stdout, "\n"))
			assert.Equal(t, "GET / HTTP/1.0\r\nUser-Agent: WebBench 1.5\r\nHost: 127.0.0.1\r\n\r\n", s.firstRequest(t).head)
		})
	}
}

func TestClassicCountsFailuresAsSpeed(t *testing.T) {
	t.Parallel()
	s := serve(t, 20, func(c *conn) {
		if !c.request() || !c.take() {
			return
		}
		if c.nthInAll()%2 == 0 {
			c.reset()
			return
		}
		c.answer(ok5)
	})
	o := run(t, "--classic", "-c", "1", "-t", "2", s.url())
	// The request that the deadline cuts counts as failed, and is taken back.
	assert.Equal(t, "Speed=599 pages/min, 215 bytes/sec.\nRequests: 10 susceed, 10 failed.\n",
		strings.TrimLeft(o.stdout, "\n"))
}

func TestClassicRequestBytes(t *testing.T) {
	t.Parallel()
	const agent = "User-Agent: WebBench 1.5\r\n"
	const host = "Host: 127.0.0.1\r\n"
	for _, c := range []struct{ options, want string }{
		{"", "GET /a?b=c HTTP/1.0\r\n" + agent + host + "\r\n"},
		{"-1", "GET /a?b=c HTTP/1.0\r\n" + agent + host + "\r\n"},
		{"-2", "GET /a?b=c HTTP/1.1\r\n" + agent + host + "Connection: close\r\n\r\n"},
		{"-9", "GET /a?b=c\r\n"},
		{"-r", "GET /a?b=c HTTP/1.0\r\n" + agent + host + "\r\n"},
		{"--head", "HEAD /a?b=c HTTP/1.0\r\n" + agent + host + "\r\n"},
		{"-9 --head", "HEAD /a?b=c HTTP/1.0\r\n" + agent + host + "\r\n"},
		{"--options", "OPTIONS /a?b=c HTTP/1.1\r\n" + agent + host + "Connection: close\r\n\r\n"},
		{"-1 --trace", "TRACE /a?b=c HTTP/1.1\r\n" + agent + host + "Connection: close\r\n\r\n"},
		{"-p ADDR", "GET http://ADDR/a?b=c HTTP/1.0\r\n" + agent + "\r\n"},
		{"-2 -p ADDR", "GET http://ADDR/a?b=c HTTP/1.1\r\n" + agent + "Connection: close\r\n\r\n"},
		{"-r -p ADDR", "GET http://ADDR/a?b=c HTTP/1.0\r\n" + agent + "Pragma: no-cache\r\n\r\n"},
	} {
		t.Run("options "+c.options, func(t *testing.T) {
			t.Parallel()
			read := serve(t, 3, func(nc *conn) {
				if c.options == "-9" && nc.line() || c.options != "-9" && nc.head() {
					if nc.watch(20*time.Millisecond) == talks {
						nc.server.note("more than the request")
					}
					if nc.take() {
						nc.answer(ok5)
					} else {
						nc.ignore() // its half-close, which -9 makes, is no reason to answer
					}
				}
			})
			options := strings.Fields(strings.ReplaceAll(c.options, "ADDR", read.addr))
			o := run(t, append(options, "--classic", "-t", "1", read.url()+"a?b=c")...)
			assert.Regexp(t, `Requests: 3 susceed, 0 failed\.`, o.stdout)
			assert.Equal(t, strings.ReplaceAll(c.want, "ADDR", read.addr), read.firstRequest(t).head)
			assert.Zero(t, read.noted("more than the request"))
		})
	}
}
