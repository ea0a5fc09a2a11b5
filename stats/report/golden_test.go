package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func TestGoldenText(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, Text(&out, &s.run, s.verdict()))
			golden(t, s.name+".txt", out.Bytes())
		})
	}
}

func TestGoldenJSON(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			var out, indented bytes.Buffer
			require.NoError(t, JSON(&out, &s.run, s.verdict()))
			assert.Equal(t, 1, strings.Count(out.String(), "\n"), "one document and a newline")
			doc := foldBuckets(t, out.Bytes())
			require.NoError(t, json.Indent(&indented, doc, "", "  "))
			golden(t, s.name+".json", indented.Bytes())
		})
	}
}

// foldBuckets replaces long lists of buckets, which no one would read in a golden file.
func foldBuckets(t *testing.T, doc []byte) []byte {
	t.Helper()
	text := string(doc)
	for from := 0; ; {
		i := strings.Index(text[from:], `"buckets":[[`)
		if i < 0 {
			return []byte(text)
		}
		i += from + len(`"buckets":[`)
		end := strings.Index(text[i:], "]]")
		require.Positive(t, end)
		if end > 200 {
			text = text[:i] + `"…"` + text[i+end+1:]
		}
		from = i
	}
}
