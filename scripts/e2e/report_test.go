package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A saved result, rendered again.

func TestASavedResultIsReportedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, copied := filepath.Join(dir, "result.json"), filepath.Join(dir, "copy.json")
	first := run(t, "demo", "-c", "2", "-t", "1", "-o", file, "/fault/status:503@10%")

	again := run(t, "report", "-o", copied, file)
	assert.Zero(t, again.code)
	assert.Equal(t, first.stdout, again.stdout)
	assert.Empty(t, again.stderr)
	saved, err := os.ReadFile(file)
	require.NoError(t, err)
	document, err := os.ReadFile(copied)
	require.NoError(t, err)
	assert.Equal(t, string(saved), string(document))
	assert.Equal(t, string(saved), run(t, "report", "--json", file).stdout)
}

func TestTheResultOfAFailedRunIsReportedWithExitCodeZero(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "result.json")
	first := run(t, "-t", "1", "-o", file, "http://127.0.0.1:1/")
	require.Equal(t, 1, first.code)
	again := run(t, "report", file)
	assert.Zero(t, again.code)
	assert.Contains(t, again.stdout, "TARGET NOT REACHED; see ! above; exit code 1")
}

func TestWhatIsNoResultFileIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, cut := filepath.Join(dir, "other.json"), filepath.Join(dir, "cut.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"a":1}`), 0o600))
	require.NoError(t, os.WriteFile(cut, []byte(`{"schema":"horde.result/1"`), 0o600))
	for _, name := range []string{filepath.Join(dir, "absent"), dir, other, cut} {
		o := run(t, "report", "-o", filepath.Join(dir, "out"), name)
		assert.Equal(t, 2, o.code, name)
		assert.Contains(t, o.stderr, name)
		assert.Empty(t, o.stdout, name)
	}
	assert.NoFileExists(t, filepath.Join(dir, "out"))
	for _, operands := range [][]string{{}, {other, cut}} {
		assert.Equal(t, 2, run(t, append([]string{"report"}, operands...)...).code, "%d files", len(operands))
	}
}

func TestExportsOfARunAndOfItsFileAreTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(file string) string { return filepath.Join(dir, file) }
	run(t, "demo", "-c", "2", "-t", "1", "-o", name("r.json"), "--csv", name("r.csv"), "--gnuplot", name("r.tsv"),
		"--hdr", name("r.hgrm"), "--hdr", name("r.hlog"))
	for option, file := range map[string]string{"--csv": "r.csv", "--gnuplot": "r.tsv", "--hdr": "r.hgrm"} {
		written, err := os.ReadFile(name(file))
		require.NoError(t, err)
		again := run(t, "report", name("r.json"), option, "-")
		assert.Zero(t, again.code)
		assert.Equal(t, string(written), again.stdout, option)
	}
	log, err := os.ReadFile(name("r.hlog"))
	require.NoError(t, err)
	assert.Contains(t, string(log), "\n0.000000,1.00", "one interval without a tag")
}

func TestAnExportThatCannotBeWrittenStopsARunBeforeItBegins(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, silent)
	for _, option := range []string{"--csv", "--gnuplot", "--hdr", "-o"} {
		good := filepath.Join(t.TempDir(), "good")
		o := run(t, "-t", "1", "--csv", good, option, "/nonexistent/file", s.url())
		assert.Equal(t, 2, o.code, option)
		assert.Contains(t, o.stderr, option+": create /nonexistent/file")
		assert.NoFileExists(t, good, option)
	}
	for _, args := range [][]string{{"--csv", "-", "--json"}, {"--csv", "-", "--gnuplot", "-"}, {"--classic", "--hdr", "-"}, {"--csv", ""}, {"-o", "-"}} {
		assert.Equal(t, 2, run(t, append(args, s.url())...).code, "%v", args)
	}
	assert.Zero(t, s.connected())
}
