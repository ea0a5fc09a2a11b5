package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
	"horde/client/http1"
	"horde/client/target"
)

// given are options as typed, with the defaults of those that were not.
type given map[string][]string

func (g given) String(name string) string {
	if values := g[name]; len(values) > 0 {
		return values[len(values)-1]
	}
	return find(RunOptions, name).Default
}

func (g given) StringSlice(name string) []string { return g[name] }
func (g given) Bool(name string) bool            { return g.IsSet(name) }
func (g given) IsSet(name string) bool           { return g[name] != nil }

const url = "http://127.0.0.1:8080/x?y"

// read reads a command line; the URL is url unless there is another.
func read(t *testing.T, args ...string) (*Run, error) {
	t.Helper()
	line, err := Permute(args, RunOptions)
	require.NoError(t, err)
	g := given{}
	for _, arg := range line.Args {
		if arg == "--" {
			break
		}
		option, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		g[option] = append(g[option], value)
	}
	link := url
	if len(line.Operands) > 0 {
		link = line.Operands[0]
	}
	return Read(g, link, 4, "horde/test")
}

func mustRead(t *testing.T, args ...string) *Run {
	t.Helper()
	r, err := read(t, args...)
	require.NoError(t, err)
	return r
}

func TestReadWithoutOptions(t *testing.T) {
	r := mustRead(t)
	const request = "GET /x?y HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: horde/test\r\nAccept: */*\r\nConnection: close\r\n\r\n"
	p := r.Plan
	assert.Equal(t, request, string(p.Entries[0].Request))
	assert.Equal(t, 1, p.Clients)
	assert.Equal(t, 30*time.Second, p.Duration)
	assert.Equal(t, 10*time.Second, p.Timeout)
	assert.Equal(t, 3*time.Second, p.ConnectTimeout)
	assert.False(t, p.Limited || p.Reuse || p.Force || p.Classic || p.HalfSend)
	assert.True(t, p.Entries[0].Resend)
	assert.Equal(t, http1.AnswerNormal, p.Entries[0].Answer)
	for status, want := range map[int]bool{199: false, 200: true, 399: true, 400: false} {
		assert.Equal(t, want, p.Expect.Has(status))
	}
	assert.Equal(t, "127.0.0.1", r.Host)
	assert.EqualValues(t, 8080, r.Port)
	assert.Equal(t, target.Any, r.Family)
	assert.Equal(t, 1, r.Workers)
	assert.Equal(t, "auto", r.Pin)
	assert.Equal(t, "auto", r.Progress)
	assert.False(t, r.Classic)
	assert.Equal(t, Output{}, r.Output)
	assert.Nil(t, r.Limits.MaxFailed)
	assert.Nil(t, r.Limits.MaxP99)
	assert.Nil(t, r.Limits.MinRate)

	f := r.Facts
	sum := sha256.Sum256([]byte(request))
	assert.Equal(t, url, f.URL)
	assert.Equal(t, "GET", f.Method)
	assert.Equal(t, "1.1", f.HTTP)
	assert.Equal(t, 1, f.Clients)
	assert.Equal(t, PerClient, f.Workers)
	assert.Equal(t, 30*time.Second, f.Duration)
	assert.Equal(t, hex.EncodeToString(sum[:]), f.RequestSHA256)
}

func TestReadLoad(t *testing.T) {
	r := mustRead(t, "-c", "100", "-t", "1.5", "--timeout", "2s", "--connect-timeout", "0.1", "-kq")
	assert.Equal(t, 100, r.Plan.Clients)
	assert.Equal(t, 1500*time.Millisecond, r.Plan.Duration)
	assert.Equal(t, 2*time.Second, r.Plan.Timeout)
	assert.Equal(t, 100*time.Millisecond, r.Plan.ConnectTimeout)
	assert.True(t, r.Plan.Reuse)
	assert.True(t, r.Facts.KeepAlive)
	assert.Equal(t, "none", r.Progress)

	r = mustRead(t, "-n", "1000", "-c", "10")
	assert.True(t, r.Plan.Limited)
	assert.EqualValues(t, 1000, r.Plan.Requests)
	assert.Zero(t, r.Plan.Duration, "requests alone have no limit of time")
	assert.EqualValues(t, 1000, r.Facts.Requests)

	r = mustRead(t, "-n", "1000", "-t", "5")
	assert.Equal(t, 5*time.Second, r.Plan.Duration, "whichever comes first")

	r = mustRead(t, "-n", "3", "-c", "10")
	assert.Equal(t, 10, r.Plan.Clients, "as asked, though some will have nothing to do")
	assert.Equal(t, 10, r.Workers)
}

func TestReadPace(t *testing.T) {
	r := mustRead(t, "-R", "0.5", "-c", "3")
	assert.Equal(t, client.Pace{Rate: 0.5}, r.Plan.Pace)
	assert.InDelta(t, 0.5, r.Facts.RatePerSec, 0)
	assert.False(t, r.Plan.Coalesce, "nothing may be late for it")
	assert.False(t, r.Plan.Batch, "nor for that")

	r = mustRead(t, "-R", "20000", "--ramp", "7", "--warmup", "3", "-t", "5")
	assert.Equal(t, client.Pace{Rate: 20000, Ramp: 7 * time.Second}, r.Plan.Pace, "the rate grows")
	assert.Zero(t, r.Plan.StartGap, "and the clients are all there")
	assert.Equal(t, 3*time.Second, r.Plan.Warmup)
	assert.Equal(t, 3*time.Second, r.Facts.Warmup)
	assert.Equal(t, 7*time.Second, r.Facts.Ramp)

	r = mustRead(t, "-c", "4", "--ramp", "2")
	assert.False(t, r.Plan.Pace.Open())
	assert.Equal(t, 500*time.Millisecond, r.Plan.StartGap)
	assert.True(t, r.Plan.Coalesce)
	assert.True(t, r.Plan.Batch)

	assert.False(t, mustRead(t, "--sched", "keep").Plan.Batch)
}

func TestReadWorkers(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		want int
	}{
		{"one for each client", []string{"-c", "100"}, 100},
		{"as told", []string{"-c", "100", "-w", "per-client"}, 100},
		{"one for each CPU", []string{"-c", "100", "-w", "auto"}, 4},
		{"no more than clients", []string{"-c", "3", "-w", "auto"}, 3},
		{"a number", []string{"-c", "100", "-w", "7"}, 7},
		{"a number above that of the clients", []string{"-c", "3", "-w", "7"}, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, mustRead(t, row.args...).Workers)
		})
	}
}

func TestReadTheRest(t *testing.T) {
	r := mustRead(t, "--max-failed", "1%", "--max-p99", "100ms", "--min-rate", "50", "-o", "f.json", "--json", "--pin", "0,1", "--progress", "plain", "-6", "-f", "--expect", "404", "http://[::1]/")
	assert.InDelta(t, 0.01, *r.Limits.MaxFailed, 1e-12)
	assert.Equal(t, 100*time.Millisecond, *r.Limits.MaxP99)
	assert.InDelta(t, 50, *r.Limits.MinRate, 0)
	assert.Equal(t, []File{{"output", "f.json"}}, r.Output.Files)
	assert.Equal(t, "json", r.Output.Stdout)
	assert.Equal(t, "0,1", r.Pin)
	assert.Equal(t, "plain", r.Progress)
	assert.Equal(t, target.IPv6, r.Family)
	assert.True(t, r.Plan.Force)
	assert.True(t, r.Facts.Force)
	assert.True(t, r.Plan.Expect.Has(404))
	assert.False(t, r.Plan.Expect.Has(200))
	assert.Equal(t, target.IPv4, mustRead(t, "-4").Family)
}

func TestReadRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(file, []byte("from a file"), 0o600))
	for _, row := range []struct {
		name   string
		args   []string
		want   []string // in the request
		not    []string
		resend bool
		answer http1.Answer
	}{
		{"GET", []string{"--get"}, []string{"GET /x?y HTTP/1.1\r\n"}, nil, true, http1.AnswerNormal},
		{"HEAD", []string{"--head"}, []string{"HEAD /x?y HTTP/1.1\r\n"}, nil, true, http1.AnswerHead},
		{"OPTIONS", []string{"--options"}, []string{"OPTIONS /x?y HTTP/1.1\r\n"}, nil, true, http1.AnswerNormal},
		{"TRACE", []string{"--trace"}, []string{"TRACE /x?y HTTP/1.1\r\n"}, nil, true, http1.AnswerNormal},
		{"any method", []string{"-m", "PATCH"}, []string{"PATCH /x?y HTTP/1.1\r\n"}, nil, false, http1.AnswerNormal},
		{"HTTP/1.0", []string{"-1"}, []string{"GET /x?y HTTP/1.0\r\n"}, []string{"Connection"}, true, http1.AnswerNormal},
		{"HTTP/1.0 with connections kept", []string{"-1k"}, []string{"Connection: keep-alive\r\n"}, nil, true, http1.AnswerNormal},
		{"HTTP/1.1", []string{"-2"}, []string{"GET /x?y HTTP/1.1\r\n"}, nil, true, http1.AnswerNormal},
		{"HTTP/0.9", []string{"-9"}, []string{"GET /x?y\r\n"}, []string{"Host"}, true, http1.Answer09},
		{"data is posted", []string{"--data", "a=1"}, []string{"POST ", "Content-Length: 3\r\n", "\r\n\r\na=1", "Content-Type: application/x-www-form-urlencoded"}, nil, false, http1.AnswerNormal},
		{"no data is posted too", []string{"--data", ""}, []string{"POST ", "Content-Length: 0\r\n"}, nil, false, http1.AnswerNormal},
		{"data of a type by another method", []string{"--data", "{}", "-T", "application/json", "-m", "PUT"},
			[]string{"PUT ", "Content-Type: application/json\r\n"}, []string{"urlencoded"}, true, http1.AnswerNormal},
		{"a file is posted", []string{"--body-file", file}, []string{"POST ", "\r\n\r\nfrom a file"}, nil, false, http1.AnswerNormal},
		{"own lines replace others", []string{"-H", "host: shop.test", "-H", "user-agent: probe", "-H", "X-A: 1", "-H", "X-A: 2", "-H", "X-Empty:"},
			[]string{"host: shop.test\r\n", "user-agent: probe\r\n", "X-A: 1\r\nX-A: 2\r\n", "X-Empty:\r\n"}, []string{"127.0.0.1", "horde/test"}, true, http1.AnswerNormal},
		{"a user agent", []string{"--user-agent", "x/1"}, []string{"User-Agent: x/1\r\n"}, []string{"horde/test"}, true, http1.AnswerNormal},
		{"no user agent", []string{"--user-agent", ""}, nil, []string{"User-Agent"}, true, http1.AnswerNormal},
		{"credentials", []string{"-A", "me:secret"}, []string{"Authorization: Basic bWU6c2VjcmV0\r\n"}, nil, true, http1.AnswerNormal},
		{"a cookie", []string{"--cookie", "a=1; b=2"}, []string{"Cookie: a=1; b=2\r\n"}, nil, true, http1.AnswerNormal},
		{"a reload", []string{"-r"}, []string{"Pragma: no-cache\r\n"}, nil, true, http1.AnswerNormal},
		{"a proxy", []string{"-p", "proxy.test:3128"}, []string{"GET http://127.0.0.1:8080/x?y HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"}, nil, true, http1.AnswerNormal},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := mustRead(t, row.args...)
			request := string(r.Plan.Entries[0].Request)
			for _, part := range row.want {
				assert.Contains(t, request, part)
			}
			for _, part := range row.not {
				assert.NotContains(t, request, part)
			}
			assert.Equal(t, row.resend, r.Plan.Entries[0].Resend)
			assert.Equal(t, row.answer, r.Plan.Entries[0].Answer)
			assert.Equal(t, strings.Fields(request)[0], r.Facts.Method)
		})
	}
}

func TestReadURL(t *testing.T) {
	long := "/" + strings.Repeat("a", 100_000)
	for link, line := range map[string]string{
		"http://LOCALHOST:8080":           "GET / HTTP/1.1\r\nHost: localhost:8080\r\n",
		"http://[fe80::1%25lo]:8080/":     "GET / HTTP/1.1\r\nHost: [fe80::1]:8080\r\n",
		"http://h/%0d%0aX:%201":           "GET /%0d%0aX:%201 HTTP/1.1\r\nHost: h\r\n",
		"http://h" + long:                 "GET " + long + " HTTP/1.1\r\nHost: h\r\n",
		"127.0.0.1:80?q#f":                "GET /?q HTTP/1.1\r\nHost: 127.0.0.1\r\n",
		"http://127.0.0.1:8080/a%2Fb?x&z": "GET /a%2Fb?x&z HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n",
	} {
		assert.True(t, strings.HasPrefix(string(mustRead(t, link).Plan.Entries[0].Request), line), "%.60q", link)
	}
}

func TestAProxyIsWhatIsConnectedTo(t *testing.T) {
	r := mustRead(t, "-p", "proxy.test:3128", "http://LOCALHOST/a?b")
	assert.Equal(t, "proxy.test", r.Host)
	assert.EqualValues(t, 3128, r.Port)
	assert.Contains(t, string(r.Plan.Entries[0].Request), "GET http://LOCALHOST/a?b HTTP/1.1\r\nHost: localhost\r\n")
	r = mustRead(t, "-p", "proxy.test", "http://h?b")
	assert.EqualValues(t, 80, r.Port)
	assert.Contains(t, string(r.Plan.Entries[0].Request), "GET http://h/?b HTTP/1.1\r\n")
}

func TestReuseFollowsTheLinesThatAreSent(t *testing.T) {
	assert.True(t, mustRead(t, "-k").Plan.Reuse)
	assert.False(t, mustRead(t, "-k", "-H", "Connection: close").Plan.Reuse)
	assert.False(t, mustRead(t, "-k", "-H", "Connection: close").Facts.KeepAlive)
	assert.False(t, mustRead(t, "-H", "Connection: keep-alive").Plan.Reuse, "it was not asked for")
}

func TestClassicIsWebbench(t *testing.T) {
	for _, row := range []struct {
		name     string
		args     []string
		want     string
		http     string
		halfSend bool
	}{
		{"as it is", nil, "GET /x?y HTTP/1.0\r\nUser-Agent: WebBench 1.5\r\nHost: 127.0.0.1\r\n\r\n", "1.0", false},
		{"HTTP/0.9", []string{"-9"}, "GET /x?y\r\n", "0.9", true},
		{"HTTP/0.9 cannot ask for a head", []string{"-9", "--head"}, "HEAD /x?y HTTP/1.0\r\nUser-Agent: WebBench 1.5\r\nHost: 127.0.0.1\r\n\r\n", "1.0", false},
		{"HTTP/1.1", []string{"-2"}, "GET /x?y HTTP/1.1\r\nUser-Agent: WebBench 1.5\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", "1.1", false},
		{"a proxy and a reload", []string{"-r", "-p", "proxy.test:1"}, "GET http://127.0.0.1:8080/x?y HTTP/1.0\r\nUser-Agent: WebBench 1.5\r\nPragma: no-cache\r\n\r\n", "1.0", false},
		{"no waiting", []string{"-f"}, "GET /x?y HTTP/1.0\r\nUser-Agent: WebBench 1.5\r\nHost: 127.0.0.1\r\n\r\n", "1.0", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := mustRead(t, append(row.args, "--classic", "-c", "2")...)
			assert.Equal(t, row.want, string(r.Plan.Entries[0].Request))
			assert.Equal(t, row.http, r.Facts.HTTP)
			assert.Equal(t, row.halfSend, r.Plan.HalfSend)
			assert.True(t, r.Classic)
			assert.True(t, r.Plan.Classic)
			assert.False(t, r.Plan.Reuse)
			assert.Equal(t, http1.Answer09, r.Plan.Entries[0].Answer)
			assert.Equal(t, longestTime, r.Plan.Timeout)
			assert.Equal(t, longestTime, r.Plan.ConnectTimeout)
		})
	}
}

func TestReadRefuses(t *testing.T) {
	big := filepath.Join(t.TempDir(), "big")
	require.NoError(t, os.WriteFile(big, nil, 0o600))
	require.NoError(t, os.Truncate(big, mostInput+1))
	for _, row := range []struct {
		name         string
		args         []string
		option, says string
	}{
		{"no client", []string{"-c", "0"}, "clients", `"0" must be a whole number above 0`},
		{"less than a client", []string{"-c", "-1"}, "clients", `"-1" must be`},
		{"more clients than any number", []string{"-c", "99999999999999999999"}, "clients", "is above 10000000"},
		{"no time", []string{"-t", "0"}, "time", "must be above 0"},
		{"more time than there is", []string{"-t", "1e99"}, "time", "longer than ten years"},
		{"no requests", []string{"-n", "0"}, "requests", "whole number above 0"},
		{"no timeout", []string{"--timeout", "0"}, "timeout", "must be above 0"},
		{"no time to connect", []string{"--connect-timeout", "x"}, "connect-timeout", "neither seconds"},
		{"no workers", []string{"-w", "0"}, "workers", "neither per-client nor auto"},
		{"workers of another word", []string{"-w", "many"}, "workers", `"many" is neither`},
		{"no statuses", []string{"--expect", "ok"}, "expect", "list of statuses"},
		{"a body of another word", []string{"--expect-body", "same"}, "expect-body", "none of length:N"},
		{"a length that is none", []string{"--expect-body", "length:x"}, "expect-body", "number of bytes"},
		{"a sum cut short", []string{"--expect-body", "sha256:00"}, "expect-body", "64 hexadecimal digits"},
		{"a body that is not waited for", []string{"-f", "--expect-body", "first-length"}, "expect-body", "cannot be used together with --force"},
		{"leave without a body", []string{"--expect-continue"}, "expect-continue", "there is none"},
		{"leave without a body, as a header", []string{"-H", "Expect: 100-continue"}, "header", "there is none"},
		{"leave in HTTP/1.0", []string{"-1", "--data", "x", "--expect-continue"}, "expect-continue", "--http10"},
		{"too large a share", []string{"--max-failed", "101"}, "max-failed", "percentage"},
		{"no latency", []string{"--max-p99", "0"}, "max-p99", "above 0"},
		{"no rate", []string{"--min-rate", "0"}, "min-rate", "above 0"},
		{"no requests per second", []string{"--rate", "0"}, "rate", `"0" must be a number of requests per second above 0`},
		{"a rate below nothing", []string{"-R", "-1"}, "rate", `"-1" must be`},
		{"a rate that is no number", []string{"-R", "abc"}, "rate", `"abc" must be`},
		{"a rate without an end", []string{"-R", "inf"}, "rate", `"inf" must be`},
		{"a rate so low that nothing is due", []string{"-R", "0.1", "--warmup", "1", "-t", "2"}, "rate", "none is due within the run"},
		{"webbench with a rate", []string{"--classic", "-R", "5"}, "rate", "webbench has no such option"},
		{"webbench with a warm-up", []string{"--classic", "--warmup", "5"}, "warmup", "webbench has no such option"},
		{"a ramp longer than warm-up and run", []string{"--ramp", "4", "--warmup", "1", "-t", "2"}, "ramp", "4s is longer than the run of 3s"},
		{"a warm-up of no length", []string{"--warmup", "x"}, "warmup", "neither seconds"},
		{"progress of another word", []string{"--progress", "loud"}, "progress", "none of auto, plain, none"},
		{"credentials without a colon", []string{"-A", "me"}, "auth", "no colon"},
		{"a header without a colon", []string{"-H", "X-A"}, "header", "no colon"},
		{"a header that is two", []string{"-H", "X-A: 1\r\nX-B: 2"}, "header", "line break"},
		{"a header without a name", []string{"-H", ": 1"}, "header", "not a token"},
		{"a proxy without a port after the colon", []string{"-p", "proxy:"}, "proxy", `"proxy:": it is not HOST:PORT`},
		{"a proxy with a path", []string{"-p", "proxy:80/"}, "proxy", "HOST:PORT"},
		{"a file that is not there", []string{"--body-file", "/no/such/file"}, "body-file", "no such file"},
		{"a file that is a directory", []string{"--body-file", "/"}, "body-file", "is a directory"},
		{"a file that is too large", []string{"--body-file", big}, "body-file", "is larger than"},
		{"two protocols", []string{"-1", "-2"}, "http11", "cannot be used together with --http10"},
		{"two methods", []string{"--head", "-m", "PUT"}, "method", "cannot be used together with --head"},
		{"two bodies", []string{"--data", "x", "--body-file", "y"}, "body-file", "cannot be used together with --data"},
		{"two families", []string{"-4", "-6"}, "6", "cannot be used together with --4"},
		{"no waiting on connections that are kept", []string{"-f", "-k"}, "keepalive", "cannot be used together with --force"},
		{"HTTP/0.9 on connections that are kept", []string{"-9", "-k"}, "keepalive", "cannot be used together with --http09"},
		{"a ceiling in webbench's words", []string{"--classic", "--calibrate"}, "calibrate", "cannot be used together with --classic"},
		{"a ceiling of https", []string{"--calibrate", "https://h/"}, "calibrate", "does not speak TLS"},
		{"webbench in JSON", []string{"--classic", "--json"}, "json", "cannot be used together with --classic"},
		{"webbench with connections kept", []string{"--classic", "-k"}, "keepalive", "webbench has no such option"},
		{"webbench with a header", []string{"--classic", "-H", "A: 1"}, "header", "webbench has no such option"},
		{"a method that is two words", []string{"-m", "GE T"}, "method", "not a token"},
		{"HTTP/0.9 with another method", []string{"-9", "-m", "PUT"}, "", "HTTP/0.9 has no method"},
		{"HTTP/0.9 with a header", []string{"-9", "-H", "A: 1"}, "header", "cannot be used together with --http09"},
		{"a length that contradicts the body", []string{"-H", "Content-Length: 3", "--data", "four"}, "header", "contradicts the body"},
		{"a user agent of two lines", []string{"--user-agent", "a\r\nb: c"}, "user-agent", "line break"},
		{"a cookie of two lines", []string{"--cookie", "a\nb: c"}, "cookie", "line break"},
		{"credentials of two lines", []string{"-A", "a:\r\nb: c"}, "auth", "line break"},
		{"a content type of two lines", []string{"--data", "x", "-T", "a\r\nb: c"}, "content-type", "line break"},
		{"an IPv4 address where IPv6 is asked for", []string{"-6"}, "6", "127.0.0.1 is an address of the other family"},
		{"an IPv6 address where IPv4 is asked for", []string{"-4", "http://[::1]/"}, "4", "::1 is an address of the other family"},
		{"a proxy of the other family", []string{"-6", "-p", "127.0.0.1:1", "http://[::1]/"}, "6", "127.0.0.1 is"},
		{"no URL", []string{""}, "", "the URL is empty"},
		{"a URL with a space", []string{"http://h/a b"}, "", "space or control"},
		{"a URL with a line break", []string{"http://h/\r\nX: 1"}, "", "space or control"},
		{"a scheme of its own", []string{"ftp://h/"}, "", "not supported"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := read(t, row.args...)
			var usage *Usage
			require.ErrorAs(t, err, &usage)
			assert.Equal(t, row.option, usage.Option)
			assert.Contains(t, usage.Error(), row.says)
			assert.NotContains(t, usage.Error(), "\n")
		})
	}
}

func TestHints(t *testing.T) {
	for link, hint := range map[string]string{
		"":               "give the URL to test, such as http://127.0.0.1:8080/",
		"-http://h:x/":   "give the URL to test, such as http://127.0.0.1:8080/",
		"http://h:0/":    "",
		"ftp://h/":       "",
		"http://me@h/":   "",
		"http://::1:80/": "",
	} {
		_, err := Read(given{}, link, 1, "")
		var usage *Usage
		require.ErrorAs(t, err, &usage, link)
		assert.Equal(t, hint, usage.Hint, link)
	}
}

func TestReadExpectedBody(t *testing.T) {
	sum := strings.Repeat("0f", sha256.Size)
	raw, err := hex.DecodeString(sum)
	require.NoError(t, err)
	for what, want := range map[string]expected{
		"length:5":      {check: client.BodyLength, body: client.Body{Length: 5}},
		"sha256:" + sum: {check: client.BodySum, body: client.Body{Sum: raw}},
		"first-length":  {check: client.BodyLength, learn: true},
		"first-sha256":  {check: client.BodySum, learn: true},
	} {
		r := mustRead(t, "--expect-body", what)
		assert.Equal(t, want, expected{r.Plan.Check, r.Learn, r.Plan.Entries[0].Body}, what)
	}
	assert.Zero(t, mustRead(t).Plan.Check)
}

func TestTheFirstMistakeIsTheOneToldOf(t *testing.T) {
	_, err := read(t, "-c", "0", "-t", "0")
	assert.ErrorContains(t, err, "--clients")
}

func TestABodyWithoutASizeIsBounded(t *testing.T) {
	_, err := readFile("/dev/zero", 1<<20)
	assert.ErrorContains(t, err, "is larger than")
	file := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(file, []byte("12345"), 0o600))
	body, err := readFile(file, 5)
	require.NoError(t, err)
	assert.Equal(t, "12345", string(body))
	_, err = readFile(file, 4)
	assert.Error(t, err)
}

func TestRedact(t *testing.T) {
	args := []string{
		"--auth=me:secret", "--cookie=secret=1", "--header=Authorization: Bearer secret", "--header=proxy-authorization:secret",
		"--header=COOKIE: secret", "--header=X-A: 1", "--header=no colon", "--clients=5", "--quiet",
		"--proxy=me:se@cret@proxy:1", "--proxy=proxy:1", "--", "http://h/",
	}
	before := strings.Join(args, " ")
	assert.Equal(t, []string{
		"--auth=***", "--cookie=***", "--header=Authorization: ***", "--header=proxy-authorization: ***",
		"--header=COOKIE: ***", "--header=X-A: 1", "--header=no colon", "--clients=5", "--quiet",
		"--proxy=***@proxy:1", "--proxy=proxy:1", "--", "http://h/",
	}, Redact(args))
	assert.Equal(t, before, strings.Join(args, " "))
}

func TestWhateverIsReadCanBeRedacted(t *testing.T) {
	for _, header := range []string{" Authorization: x", "Authorization : x", "\tCookie: x"} {
		_, err := read(t, "-H", header)
		assert.Error(t, err, "%q is not struck out, so it must not be sent", header)
	}
}
