package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A series of runs, and the comparison of two.

func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
	require.NoError(t, err)
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

func TestASeriesWritesAFileForEachRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-k", "-c", "2", "-t", "0.2", "--repeat", "3", "--pause", "0.1", "-o", filepath.Join(dir, "r.json"), s.url())
	assert.Zero(t, o.code, o.stderr)
	assert.Equal(t, []string{"r-01.json", "r-02.json", "r-03.json"}, files(t, dir))
	assert.Equal(t, 3, strings.Count(o.stdout, "pages/min, "))
	assert.Contains(t, o.stdout, "Series       run 2 of 3, ")
	assert.Contains(t, o.stdout, "Series       3 of 3 runs, ")
	for i, name := range files(t, dir) {
		var document struct {
			Plan struct {
				Repeat struct {
					Index, Of int
					PausedNS  int64 `json:"paused_ns"`
				}
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &document))
		r := document.Plan.Repeat
		assert.Equal(t, [2]int{i + 1, 3}, [2]int{r.Index, r.Of})
		assert.Equal(t, i > 0, r.PausedNS >= int64(100*time.Millisecond))
	}
}

func TestASeriesOnStdoutIsADocumentALine(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-k", "-t", "0.2", "--repeat", "2", "--pause", "0", "--json", s.url())
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	require.Len(t, lines, 2)
	for _, line := range lines {
		assert.True(t, json.Valid([]byte(line)))
	}
	saved := filepath.Join(t.TempDir(), "lines")
	require.NoError(t, os.WriteFile(saved, []byte(o.stdout), 0o644))
	assert.Contains(t, run(t, "compare", saved, "--", saved).stdout, "2 vs 2 runs")
}

func TestASignalEndsASeries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, unlimited, keepOpen(ok5))
	p := launch{}.start(t, "-k", "-t", "0.3", "--repeat", "50", "--pause", "60", "-o", filepath.Join(dir, "r.json"), s.url())
	require.Eventually(t, func() bool { return len(files(t, dir)) == 1 }, 20*time.Second, 10*time.Millisecond)
	p.signal(syscall.SIGINT)
	o := p.wait()
	assert.Equal(t, 130, o.code)
	assert.Equal(t, []string{"r-01.json"}, files(t, dir))
	assert.Contains(t, o.stdout, "1 of 50 runs")
}

func TestTheExitCodeOfASeriesIsTheWorst(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-k", "-t", "0.2", "--repeat", "2", "--pause", "0", "--min-rate", "1000000000", "-q", s.url())
	assert.Equal(t, 4, o.code)
}

// saved writes the result files of two sides of five runs each.
func saved(t *testing.T, more ...string) (before, after string) {
	t.Helper()
	dir := t.TempDir()
	s := serve(t, unlimited, keepOpen(ok5))
	for _, side := range []string{"before", "after"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, side), 0o755))
		args := []string{"-k", "-c", "2", "-t", "0.2", "--repeat", "5", "--pause", "0", "-q", "-o", filepath.Join(dir, side, "r.json")}
		if side == "after" {
			args = append(args, more...)
		}
		require.Zero(t, run(t, append(args, s.url())...).code)
	}
	return filepath.Join(dir, "before"), filepath.Join(dir, "after")
}

func TestCompare(t *testing.T) {
	t.Parallel()
	before, after := saved(t)
	o := run(t, "compare", before, "--", after)
	assert.Zero(t, o.code, o.stdout)
	assert.Regexp(t, `(?m)^throughput     (CHANGED|NO CHANGE BEYOND|INCONCLUSIVE)`, o.stdout)
	assert.Contains(t, o.stdout, "5 vs 5 runs in one boot, sessions")
	var document struct {
		Schema  string
		Metrics []struct{ Name, Verdict string }
	}
	require.NoError(t, json.Unmarshal([]byte(run(t, "compare", "--json", before, "--", after).stdout), &document))
	assert.Equal(t, "horde.compare/1", document.Schema)
	assert.Equal(t, "throughput", document.Metrics[0].Name)

	first := filepath.Join(before, "r-01.json")
	two := run(t, "compare", first, "--", filepath.Join(after, "r-01.json"), "--margin", "5")
	assert.Zero(t, two.code)
	assert.Regexp(t, `(?m)^throughput     NO VERDICT  `, two.stdout)
}

func TestCompareRefusesOtherPlans(t *testing.T) {
	t.Parallel()
	before, after := saved(t, "-c", "3")
	o := run(t, "compare", before, "--", after)
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stdout, "clients: 2 before, 3 after")
	assert.Regexp(t, `(?m)^throughput     NOT COMPARABLE  `, o.stdout)
	anyway := run(t, "compare", "--anyway", before, "--", after)
	assert.Zero(t, anyway.code)
	assert.Contains(t, anyway.stdout, "clients: 2 before, 3 after")
}

func TestCompareFailsOnAChangeForTheWorse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, unlimited, keepOpen(ok5))
	slow := serve(t, unlimited, func(c *conn) {
		for c.request() && c.take() {
			c.pause(20 * time.Millisecond)
			c.answer(ok5)
		}
	})
	for side, url := range map[string]string{"fast": s.url(), "slow": slow.url()} {
		require.Zero(t, run(t, "-k", "-c", "2", "-t", "0.2", "--repeat", "5", "--pause", "0", "-q",
			"-o", filepath.Join(dir, side+".json"), url).code)
	}
	sides := func(first, second string) []string {
		all := []string{"compare", "--anyway", "--fail-on-change"}
		for i := range 5 {
			all = append(all, filepath.Join(dir, first+"-0"+string(rune('1'+i))+".json"))
		}
		all = append(all, "--")
		for i := range 5 {
			all = append(all, filepath.Join(dir, second+"-0"+string(rune('1'+i))+".json"))
		}
		return all
	}
	worse := run(t, sides("fast", "slow")...)
	assert.Equal(t, 4, worse.code, worse.stdout)
	assert.Contains(t, worse.stdout, "worse: ")
	better := run(t, sides("slow", "fast")...)
	assert.Zero(t, better.code, better.stdout)
}

func TestCompareOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, unlimited, keepOpen(ok5))
	whole := filepath.Join(dir, "whole.json")
	require.Zero(t, run(t, "-k", "-t", "0.2", "-q", "-o", whole, s.url()).code)
	text, err := os.ReadFile(whole)
	require.NoError(t, err)
	cut, other, empty := filepath.Join(dir, "cut.json"), filepath.Join(dir, "other.json"), filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(cut, text[:len(text)/2], 0o644))
	require.NoError(t, os.WriteFile(other, []byte(`{"schema": "something/1"}`), 0o644))
	require.NoError(t, os.Mkdir(empty, 0o755))
	for _, args := range [][]string{
		{cut, "--", whole}, {whole, "--", cut}, {whole, "--", other}, {whole, "--", empty}, {whole, "--", filepath.Join(dir, "none")},
		{whole, whole}, {whole, "--"}, {"--", whole}, {}, {whole, "--", whole, "--margin", "x"}, {whole, "--", whole, "--no-such"},
	} {
		o := run(t, append([]string{"compare"}, args...)...)
		assert.Equal(t, 2, o.code, args)
		assert.Empty(t, o.stdout, args)
		assert.NotEmpty(t, o.stderr, args)
	}
}
