package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
	"horde/client/http1"
	"horde/stats"
)

// listFile is a file of requests.
func listFile(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600))
	return name
}

const host = "http://127.0.0.1:8080"

func TestReadList(t *testing.T) {
	file := listFile(t, "GET /a?b", "HEAD http://127.0.0.1:8080/c#d", "",
		`{"url": "/e", "body": "x=1", "headers": {"Connection": "close", "X-A": "1"}}`)
	r := mustRead(t, "-k", "--requests-file", file, "--auth", "me:secret", host)
	entries := r.Plan.Entries
	require.Len(t, entries, 3)
	const common = " HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: horde/test\r\nAccept: */*\r\nAuthorization: Basic bWU6c2VjcmV0\r\n"
	assert.Equal(t, "GET /a?b"+common+"\r\n", string(entries[0].Request))
	assert.Equal(t, "HEAD /c"+common+"\r\n", string(entries[1].Request))
	assert.Equal(t, "POST /e"+common+"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\nConnection: close\r\nX-A: 1\r\n\r\nx=1",
		string(entries[2].Request))
	for i, want := range []client.Entry{{Resend: true}, {Resend: true, Answer: http1.AnswerHead}, {Close: true}} {
		want.Request = entries[i].Request
		assert.Equal(t, want, entries[i])
	}
	assert.True(t, r.Plan.Reuse && r.Plan.ByEntry && r.Facts.KeepAlive)
	assert.Equal(t, client.InOrder, r.Plan.Order)
	assert.Equal(t, "GET, HEAD, POST", r.Facts.Method)
	assert.Equal(t, &stats.ListFacts{File: file, Order: "sequential", Entries: []stats.EntryFacts{
		{Where: "line 1", Method: "GET", URL: "/a?b"},
		{Where: "line 2", Method: "HEAD", URL: "http://127.0.0.1:8080/c#d"},
		{Where: "line 4", Method: "POST", URL: "/e"},
	}}, r.Facts.List)
}

func TestReadListAtRandom(t *testing.T) {
	file := listFile(t, "GET /")
	p := mustRead(t, "--requests-file", file, "--requests-order", "random", host).Plan
	assert.Equal(t, client.AtRandom, p.Order)
	assert.EqualValues(t, 1, p.Seed)
	assert.EqualValues(t, 7, mustRead(t, "--requests-file", file, "--requests-order", "random", "--seed", "7", host).Plan.Seed)
}

// What stands on the command line holds for every request of the list.
func TestOptionsReplaceHeadersOfTheList(t *testing.T) {
	file := listFile(t, `{"url": "/", "body": "", "headers": {"authorization": "old", "cookie": "old", "user-agent": "old", "content-type": "old", "pragma": "old", "x-a": "old", "x-b": "kept"}}`)
	r := mustRead(t, "--requests-file", file, "-A", "a:b", "--cookie", "new", "--user-agent", "new", "-T", "new", "-r", "-H", "X-A: new", host)
	request := string(r.Plan.Entries[0].Request)
	assert.NotContains(t, request, "old")
	assert.Equal(t, 4, strings.Count(request, "new"))
	assert.Contains(t, request, "x-b: kept\r\n")

	request = string(mustRead(t, "--requests-file", file, host).Plan.Entries[0].Request)
	assert.Equal(t, 6, strings.Count(request, "old"))
	assert.NotContains(t, request, "horde/test")
}

func TestListThroughAProxy(t *testing.T) {
	r := mustRead(t, "-p", "proxy.test:3128", "--requests-file", listFile(t, "GET /a"), "http://LOCALHOST")
	assert.Contains(t, string(r.Plan.Entries[0].Request), "GET http://LOCALHOST/a HTTP/1.1\r\nHost: localhost\r\n")
}

func TestListsThatCannotBeSentAreRefused(t *testing.T) {
	for _, row := range []struct{ name, line, want string }{
		{"another host", "GET http://shop.test:8080/", `line 2: "http://shop.test:8080/" is not on the target of this run, 127.0.0.1:8080`},
		{"another port", "GET http://127.0.0.1/", "line 2: \"http://127.0.0.1/\" is not on the target"},
		{"a relative URL", "GET index.html", `line 2: "index.html" is neither a path`},
		{"no URL", "{}", `line 2: "" is neither a path`},
		{"CONNECT", "CONNECT /", "line 2: CONNECT"},
		{"a method that is none", "GE(T /", "line 2: method"},
		{"a line break in a header", `{"url": "/", "headers": {"X-A": "1\r\nX-B: 2"}}`, "line 2: header value"},
		{"a length that is not the body's", `{"url": "/", "body": "x", "headers": {"Content-Length": "3"}}`, "line 2: header \"Content-Length: 3\" contradicts"},
		{"three words", "GET / HTTP/1.1", "line 2: "},
	} {
		_, err := read(t, "--requests-file", listFile(t, "GET /", row.line), host)
		var usage *Usage
		require.ErrorAs(t, err, &usage, row.name)
		assert.Equal(t, "requests-file", usage.Option, row.name)
		assert.Contains(t, usage.Text, row.want, row.name)
	}
	good := listFile(t, "GET /")
	for _, row := range []struct {
		args         []string
		option, want string
	}{
		{[]string{"--requests-file", "/no/such/file", host}, "requests-file", "cannot be read: no such file"},
		{[]string{"--requests-file", good, host + "/path"}, "requests-file", "the URL has one too"},
		{[]string{"--requests-file", good, "--data", "x", host}, "requests-file", "--data"},
		{[]string{"--requests-file", good, "--head", host}, "requests-file", "--head"},
		{[]string{"--requests-file", good, "-9", host}, "requests-file", "--http09"},
		{[]string{"--requests-file", good, "--classic", host}, "requests-file", "webbench"},
		{[]string{"--requests-file", good, "--requests-order", "shuffled", host}, "requests-order", "neither sequential nor random"},
		{[]string{"--requests-file", good, "--requests-order", "random", "--seed", "x", host}, "seed", "whole number"},
		{[]string{"--requests-order", "random"}, "requests-order", "there is none"},
		{[]string{"--seed", "1"}, "seed", "there is none"},
	} {
		_, err := read(t, row.args...)
		var usage *Usage
		require.ErrorAs(t, err, &usage, "%v", row.args)
		assert.Equal(t, row.option, usage.Option, "%v", row.args)
		assert.Contains(t, usage.Error(), row.want, "%v", row.args)
	}
}
