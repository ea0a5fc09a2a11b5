package report

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

func text(t *testing.T, r *stats.Run, v stats.Verdict) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Text(&out, r, v))
	return out.String()
}

func assertPlain(t *testing.T, s string) {
	t.Helper()
	for i := range len(s) {
		if s[i] != '\n' && (s[i] < ' ' || s[i] > '~') {
			t.Fatalf("byte %#x at %d", s[i], i)
		}
	}
}

func TestTextIsPlainAndFitsAScreen(t *testing.T) {
	for _, s := range scenes() {
		out := text(t, &s.run, s.verdict())
		assertPlain(t, out)
		for line := range strings.Lines(out) {
			assert.LessOrEqual(t, len(line), 100, "%s: %s", s.name, line)
			assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line, "no blanks at the end")
		}
		assert.NotContains(t, out, "NaN")
		assert.NotContains(t, out, "Inf")
		assert.NotContains(t, out, "%!")
	}
}

func TestWhatCameFromOutsideCannotPaintTheTerminal(t *testing.T) {
	r := newRun()
	evil := "\x1b[2J\r\nSpeed=9 \u00e9 \xff \"q\" \\"
	r.Tool.Version, r.Plan.URL, r.Plan.Address, r.Plan.Method, r.Plan.HTTP, r.Plan.Workers = evil, evil, evil, evil, evil, evil
	r.Reasons = []string{evil}
	out := text(t, &r, stats.Judge(&r, stats.Thresholds{}))
	assertPlain(t, out)
	assert.Contains(t, out, `\x1b[2J\r\nSpeed=9 \u00e9 \xff "q" \`)
	assert.Equal(t, 1, strings.Count(out, "\nSpeed="))
}

func TestDoubtsStandAboveTheNumbers(t *testing.T) {
	for _, s := range scenes() {
		out := text(t, &s.run, s.verdict())
		doubt, number := strings.Index(out, "\n!"), strings.Index(out, "\nSpeed=")
		switch {
		case len(s.verdict().Reasons) == 0:
			assert.Negative(t, doubt, s.name)
		case number >= 0:
			assert.Positive(t, doubt, s.name)
			assert.Less(t, doubt, number, s.name)
		}
	}
}

func TestTheLastLineIsTheVerdictAndItsExitCode(t *testing.T) {
	for _, s := range scenes() {
		out := text(t, &s.run, s.verdict())
		lines := strings.Split(strings.TrimSpace(out), "\n")
		assert.Regexp(t, fmt.Sprintf(`^Verdict      [A-Z].*; exit code %d$`, s.verdict().Exit), lines[len(lines)-1], s.name)
	}
}

func TestAnUnreachableTargetShowsNothingThatLooksMeasured(t *testing.T) {
	s := unreachable()
	out := text(t, &s.run, s.verdict())
	for _, word := range []string{"Speed=", "Requests:", "Latency", "Window", "Time line"} {
		assert.NotContains(t, out, word)
	}
	assert.Contains(t, out, "connection refused")
}

func TestLostIsNamedOnlyWhereThereIsSome(t *testing.T) {
	s := lostWorkers()
	assert.Contains(t, text(t, &s.run, s.verdict()), "\nRequests: 30000 succeeded, 0 failed, 1 unfinished, 37 lost.\n")
	s = clean()
	assert.Contains(t, text(t, &s.run, s.verdict()), "\nRequests: 40000 succeeded, 0 failed, 4 unfinished.\n")
}

func TestEveryDoubtIsInCapitalsAboveAndBelow(t *testing.T) {
	r := newRun()
	r.Interrupted = "SIGTERM"
	r.Workers.Lost = 1
	r.Tally.Begun = 1
	r.Tally.Fail(stats.LocalPorts, stats.Connecting, int(syscall.EADDRNOTAVAIL), 0, 0)
	v := stats.Judge(&r, stats.Thresholds{})
	want := "INVALID (these numbers say nothing about the target); INTERRUPTED; PARTIAL; BENCHMARK FAILED"
	assert.Equal(t, want, verdictWords(&r, v))
	v.Valid = true
	want = "INTERRUPTED; PARTIAL; GENERATOR-LIMITED; BENCHMARK FAILED"
	assert.Equal(t, want, verdictWords(&r, v))
	assert.Contains(t, text(t, &r, v), "!! "+want+"\n")
}

func TestWordsOfThePlan(t *testing.T) {
	r := newRun()
	r.Plan.Force, r.Plan.RatePerSec, r.Plan.Requests = true, 2.5, 1000
	r.Workers = stats.Workers{Asked: 1, Started: 1, Pinned: 0}
	out := text(t, &r, stats.Judge(&r, stats.Thresholds{}))
	assert.Contains(t, out, "replies not waited for")
	assert.Contains(t, out, "2.50 requests/s asked over all clients")
	assert.Contains(t, out, "10 s or 1,000 requests asked")
	assert.Contains(t, out, "4 in 1 process (-w per-client), not pinned to CPUs")
	r.Workers = stats.Workers{Asked: 4, Started: 4, Pinned: 3, Batch: 2}
	out = strings.Join(strings.Fields(text(t, &r, stats.Verdict{Valid: true})), " ")
	assert.Contains(t, out, "4 in 4 processes (-w per-client), 3 of them pinned to one CPU each, 2 of them in SCHED_BATCH")
}

func TestALongTableOfFailuresIsCutAndSaysSo(t *testing.T) {
	r := newRun()
	for errno := 1; errno <= mostFailures+2; errno++ {
		for range errno {
			r.Tally.Fail(stats.Other, stats.Connecting, errno, 0, 0)
		}
	}
	out := text(t, &r, stats.Verdict{})
	assert.Contains(t, out, "  and 2 more kinds, 3 requests in all\n")
	assert.Equal(t, 1, strings.Count(out, "other = "))
}

func TestErrnoName(t *testing.T) {
	assert.Empty(t, errnoName(0))
	assert.Equal(t, "EADDRNOTAVAIL", errnoName(int(syscall.EADDRNOTAVAIL)))
	assert.Equal(t, "errno 4000", errnoName(4000))
}

func TestTheTimeLineFitsAScreenWhateverTheWindow(t *testing.T) {
	for _, measured := range []time.Duration{
		time.Second, 1500 * time.Millisecond, 10*time.Second + 3*time.Millisecond, 12 * time.Second, 13 * time.Second,
		time.Minute, time.Minute + time.Millisecond, 90 * time.Second, 30 * time.Minute, 12 * time.Hour, 72 * time.Hour,
	} {
		t.Run(measured.String(), func(t *testing.T) {
			var series []stats.Second
			for at := time.Duration(0); at < measured; at += time.Second {
				series = append(series, stats.Second{At: at, Succeeded: 3, Failed: 1, Unfinished: uint64(at / time.Second), P50: int64(at)})
			}
			spans := merge(series, measured)
			assert.LessOrEqual(t, len(spans), timelineRows+1)
			var succeeded, failed uint64
			at := time.Duration(0)
			for _, s := range spans {
				assert.Equal(t, at, s.from, "no gap")
				assert.Less(t, s.from, s.to)
				succeeded += s.succeeded
				failed += s.failed
				at = s.to
			}
			assert.Equal(t, measured, at)
			assert.Equal(t, uint64(3*len(series)), succeeded, "no second is left out")
			assert.Equal(t, uint64(len(series)), failed)
			last := series[len(series)-1]
			assert.Equal(t, last.Unfinished, spans[len(spans)-1].unfinished)
			assert.Equal(t, last.P50, spans[len(spans)-1].p50, "the worst second")
		})
	}
	assert.Empty(t, merge(nil, time.Minute))
}

func TestASecondAfterTheWindowHasNoRate(t *testing.T) {
	spans := merge([]stats.Second{{At: 2 * time.Second, Succeeded: 1}}, time.Second)
	require.Len(t, spans, 1)
	assert.Equal(t, "n/a", spans[0].rate(1))
}
