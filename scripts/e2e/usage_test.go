package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Bad usage: one sentence that names the option as typed, perhaps a hint, exit
// 2, no connection, nothing on stdout.

func TestBadUsage(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		name  string
		args  []string // URL stands for the server's
		names string   // what the sentence must name
	}{
		{"no clients", []string{"-c", "0", "URL"}, "-c"},
		{"fewer than no clients", []string{"-c", "-1", "URL"}, "-c"},
		{"clients beyond 64 bits", []string{"-c", "99999999999999999999", "URL"}, "-c"},
		{"clients by their long name", []string{"--clients", "many", "URL"}, "--clients"},
		{"clients after the URL", []string{"URL", "-c", "1.5"}, "-c"},
		{"no time", []string{"-t", "0", "URL"}, "-t"},
		{"a negative time", []string{"-t", "-1", "URL"}, "-t"},
		{"a time without end", []string{"-t", "1e99", "URL"}, "-t"},
		{"a time that is not a number", []string{"-t", "NaN", "URL"}, "-t"},
		{"an infinite time", []string{"-t", "Inf", "URL"}, "-t"},
		{"a time that is a word", []string{"--time", "soon", "URL"}, "--time"},
		{"no requests", []string{"-n", "0", "URL"}, "-n"},
		{"requests that are a word", []string{"--requests", "all", "URL"}, "--requests"},
		{"no rate", []string{"--rate", "0", "URL"}, "--rate"},
		{"a negative rate", []string{"-R", "-1", "URL"}, "-R"},
		{"a rate that is a word", []string{"-R", "abc", "URL"}, "-R"},
		{"a rate for webbench", []string{"--classic", "-R", "5", "URL"}, "-R"},
		{"a warm-up that is a word", []string{"--warmup", "x", "URL"}, "--warmup"},
		{"no workers", []string{"-w", "0", "URL"}, "-w"},
		{"workers that are a word", []string{"-w", "some", "URL"}, "-w"},
		{"a timeout of nothing", []string{"--timeout", "0", "URL"}, "--timeout"},
		{"a connect timeout that is a word", []string{"--connect-timeout", "x", "URL"}, "--connect-timeout"},
		{"statuses that are none", []string{"--expect", "abc", "URL"}, "--expect"},
		{"statuses out of range", []string{"--expect", "200-2000", "URL"}, "--expect"},
		{"a header without a colon", []string{"-H", "nocolon", "URL"}, "-H"},
		{"a header without a name", []string{"-H", ": x", "URL"}, "-H"},
		{"a header name with a space", []string{"-H", "X A: x", "URL"}, "-H"},
		{"two headers in one", []string{"-H", "X-A: 1\r\nX-B: 2", "URL"}, "-H"},
		{"a line feed in a header", []string{"--header", "X-A: 1\nX-B: 2", "URL"}, "--header"},
		{"a length that contradicts the body", []string{"-m", "POST", "--data", "hello", "-H", "Content-Length: 3", "URL"}, "-H"},
		{"a line feed in the cookie", []string{"--cookie", "a\r\nX-B: 2", "URL"}, "--cookie"},
		{"a line feed in the agent", []string{"--user-agent", "a\nb", "URL"}, "--user-agent"},
		{"a line feed in the content type", []string{"-m", "POST", "--data", "x", "-T", "a\r\nb", "URL"}, "-T"},
		{"a method that is none", []string{"-m", "GE T", "URL"}, "-m"},
		{"a method with a line feed", []string{"--method", "GET\r\nX", "URL"}, "--method"},
		{"a body file that is missing", []string{"-m", "POST", "--body-file", missing, "URL"}, "--body-file"},
		{"two bodies", []string{"-m", "POST", "--data", "x", "--body-file", "/dev/null", "URL"}, "--body-file"},
		{"two versions of IP", []string{"-4", "-6", "URL"}, "-6"},
		{"an IPv4 address under -6", []string{"-6", "URL"}, "-6"},
		{"a proxy without a port that is one", []string{"-p", "a:b", "URL"}, "-p"},
		{"a proxy without a host", []string{"--proxy", ":80", "URL"}, "--proxy"},
		{"CPUs that are none", []string{"--pin", "x", "URL"}, "--pin"},
		{"CPUs that are not allowed", []string{"--pin", "4095", "URL"}, "--pin"},
		{"a progress that is none", []string{"--progress", "loud", "URL"}, "--progress"},
		{"a threshold that is a word", []string{"--max-failed", "few", "URL"}, "--max-failed"},
		{"a negative threshold", []string{"--min-rate", "-1", "URL"}, "--min-rate"},
		{"a percentile threshold that is a word", []string{"--max-p99", "x", "URL"}, "--max-p99"},
		{"an output that cannot be written", []string{"-o", missing + "/result", "URL"}, "-o"},
		{"an unknown option", []string{"--frobnicate", "URL"}, "--frobnicate"},
		{"an unknown short option among known ones", []string{"-kZq", "URL"}, "Z"},
		{"an option whose value is missing", []string{"URL", "-c"}, "-c"},
		{"an option of webbench that takes no value given one", []string{"--force=2", "URL"}, "--force"},
		{"no URL", nil, "URL"},
		{"two URLs", []string{"URL", "URL"}, "URL"},
		{"an empty URL", []string{""}, "URL"},
		{"a URL of another scheme", []string{"ftp://127.0.0.1/"}, "ftp"},
		{"a URL without a host", []string{"http:///path"}, "http:///path"},
		{"an IPv6 address without brackets", []string{"http://::1:PORT/"}, "::1"},
		{"a port that is none", []string{"http://127.0.0.1:x/"}, "127.0.0.1:x"},
		{"port 0", []string{"http://127.0.0.1:0/"}, "127.0.0.1:0"},
		{"a port beyond 65535", []string{"http://127.0.0.1:65536/"}, "65536"},
		{"CR LF in the path", []string{"URLa\r\nX-B: 2"}, "URL"},
		{"a line feed in the path", []string{"URLa\nb"}, "URL"},
		{"a tab in the path", []string{"URLa\tb"}, "URL"},
		{"CR LF in the host", []string{"http://127.0.0.1\r\nX:1/"}, "URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var args []string
			for _, a := range c.args {
				a = strings.Replace(a, "URL", s.url(), 1)
				args = append(args, strings.Replace(a, "PORT", s.port(), 1))
			}
			o := run(t, args...)
			assert.Equal(t, 2, o.code)
			assert.Empty(t, o.stdout)
			lines := strings.Split(strings.TrimRight(o.stderr, "\n"), "\n")
			require.NotEmpty(t, lines)
			assert.LessOrEqual(t, len(lines), 2, "one sentence and one hint at most")
			if len(lines) > 1 {
				assert.Regexp(t, `^(horde: )?hint: `, lines[1])
			}
			assert.Contains(t, lines[0], c.names)
		})
	}
	t.Cleanup(func() { assert.Zero(t, s.connected(), "a connection was opened") })
}

// The bare form HOST:PORT/ is a URL to curl and ab. Refused or taken as http,
// but never half of each.
func TestURLWithoutAScheme(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	o := run(t, "-n", "1", s.addr+"/x")
	if o.code == 2 {
		assert.Zero(t, s.connected())
		return
	}
	assert.Zero(t, o.code)
	assert.Equal(t, "GET /x HTTP/1.1", requestLine(s.firstRequest(t).head))
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-h", "--help", "-?"} {
		o := run(t, option)
		assert.Zero(t, o.code, option)
		for _, word := range []string{"--clients", "--time", "--keepalive", "--classic", "demo", "serve"} {
			assert.Contains(t, o.stdout, word, option)
		}
	}
	for _, option := range []string{"-V", "--version"} {
		o := run(t, option)
		assert.Zero(t, o.code, option)
		assert.Contains(t, o.stdout, "horde")
	}
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	halfFail := func(c *conn) {
		for c.request() {
			c.pause(30 * time.Millisecond)
			if c.nthInAll()%2 == 0 {
				c.answer(ok5)
			} else {
				c.answer("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
			}
		}
	}
	for _, c := range []struct {
		options string
		script  func(*conn)
		code    int
	}{
		{"--max-failed 0.1", halfFail, 4},
		{"--max-failed 0.1", healthy, 0},
		{"--max-failed 60", halfFail, 0},
		{"--max-p99 5ms", halfFail, 4},
		{"--max-p99 20s", halfFail, 0},
		{"--min-rate 1000000", healthy, 4},
		{"--min-rate 1", healthy, 0},
		{"--min-rate 1 --max-p99 20s --max-failed 0.1", halfFail, 4},
		{"--min-rate 1000000", silent, 1}, // no success at all is told before a threshold
	} {
		name := c.options + map[int]string{0: " is kept", 4: " is crossed", 1: " and no success"}[c.code]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, c.script)
			o := run(t, append(strings.Fields(c.options), "-c", "2", "-t", "1", "-k", s.url())...)
			assert.Equal(t, c.code, o.code)
			o.headline()
			if c.code == 4 {
				assert.Regexp(t, `--(max-failed|max-p99|min-rate)`, o.everything(), "the threshold that was crossed has a name")
			}
		})
	}
}
