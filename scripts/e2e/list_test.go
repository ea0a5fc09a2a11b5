package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listFile is a file of requests.
func listFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

// hundred is a list of 100 lines, each with a page of its own.
func hundred() string {
	var list strings.Builder
	for i := range 100 {
		fmt.Fprintf(&list, "GET /page/%d\n", i)
	}
	return list.String()
}

// Each entry is sent equally often, however many processes share the list out.
func TestAListIsSharedOut(t *testing.T) {
	t.Parallel()
	for _, workers := range []string{"per-client", "3"} {
		t.Run(workers, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, keepOpen(ok5))
			o := run(t, "-c", "7", "-n", "200", "-w", workers, "--json", "--requests-file", listFile(t, hundred()), s.url()).json()
			o.counts(200, 0, 0)
			seen := map[string]int{}
			for _, r := range s.seen() {
				seen[requestLine(r.head)]++
			}
			require.Len(t, o.Entries, 100)
			for i, e := range o.Entries {
				assert.Equal(t, fmt.Sprintf("line %d", i+1), e.Where)
				assert.Equal(t, fmt.Sprintf("/page/%d", i), e.URL)
				assert.EqualValues(t, 2, e.Succeeded, "entry %d", i)
				assert.EqualValues(t, 2, e.Latency.Count)
				assert.Equal(t, map[string]uint64{"200": 2}, e.Status)
				assert.Equal(t, 2, seen["GET "+e.URL+" HTTP/1.1"], "entry %d as the server saw it", i)
			}
		})
	}
}

func TestAListAtRandomIsDecidedByItsSeed(t *testing.T) {
	t.Parallel()
	list := listFile(t, hundred())
	sent := func(seed string) (lines []string) {
		s := serve(t, unlimited, keepOpen(ok5))
		o := run(t, "-n", "50", "--json", "--requests-file", list, "--requests-order", "random", "--seed", seed, s.url())
		o.counts(50, 0, 0)
		for _, r := range s.seen() {
			lines = append(lines, requestLine(r.head))
		}
		return lines
	}
	assert.Equal(t, sent("1"), sent("1"))
	assert.NotEqual(t, sent("1"), sent("2"))
}

// What failed is told of each entry, and stands first in the report.
func TestAListTellsWhichEntryFails(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		for c.request() && c.take() {
			if requestLine(c.server.seen()[c.index].head) == "GET /page/7 HTTP/1.1" {
				c.answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
			} else {
				c.answer(ok5)
			}
		}
	})
	file := filepath.Join(t.TempDir(), "result.json")
	o := run(t, "-c", "2", "-n", "200", "-k", "-o", file, "--requests-file", listFile(t, hundred()), s.url())
	assert.Zero(t, o.code)
	_, table, found := strings.Cut(o.stdout, "Entries (")
	require.True(t, found, o.stdout)
	lines := strings.Split(table, "\n")
	assert.Contains(t, lines[2], "404     GET /page/7")
	assert.Contains(t, o.stdout, "and 90 more entries: 180 requests succeeded, 0 failed")
	r := resultFile(t, file)
	require.Len(t, r.Entries, 100)
	for i, e := range r.Entries {
		want := [2]uint64{2, 0}
		if i == 7 {
			want = [2]uint64{0, 2}
		}
		assert.Equal(t, want, [2]uint64{e.Succeeded, e.Failed}, "entry %d", i)
	}
}

func TestListsAndBodiesFromStandardInput(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	o := launch{stdin: "# a comment\nPUT /a\n" + `{"url": "/b", "body": "12345", "headers": {"X-A": "1"}}` + "\n"}.run(
		t, "-n", "2", "-k", "--json", "--requests-file", "-", s.url())
	o.counts(2, 0, 0)
	o = launch{stdin: "from afar"}.run(t, "-c", "2", "-n", "2", "--json", "--body-file", "-", s.url()+"c")
	o.counts(2, 0, 0)
	seen := s.seen()
	require.Len(t, seen, 4)
	assert.Equal(t, "PUT /a HTTP/1.1", requestLine(seen[0].head))
	assert.Equal(t, "POST /b HTTP/1.1", requestLine(seen[1].head))
	assert.Equal(t, []string{"1"}, fields(seen[1].head, "x-a"))
	assert.Equal(t, []int{0, 5, 9, 9}, []int{seen[0].body, seen[1].body, seen[2].body, seen[3].body})
}

// Standard input is read once, though demo reads its options twice.
func TestDemoReadsStandardInputOnce(t *testing.T) {
	t.Parallel()
	o := launch{stdin: "12345"}.run(t, "demo", "-n", "3", "--json", "--body-file", "-")
	o.json().counts(3, 0, 0)
	assert.Greater(t, o.Bytes.Written, uint64(3*len("POST / HTTP/1.1\r\n\r\n12345")))
}

func TestAListOfAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-n", "1", "--requests-file", listFile(t, "GET /\nGET http://shop.test/\n"), s.url())
	assert.Equal(t, 2, o.code)
	assert.Contains(t, o.stderr, `line 2: "http://shop.test/" is not on the target`)
	assert.Zero(t, s.connected())
}
