package http1

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The rows were compared with what webbench 1.5 itself sends.
func TestClassicIsWebbench(t *testing.T) {
	const url, agent = "http://127.0.0.1:18081/a?b=c", "|User-Agent: WebBench 1.5|"
	const host = "Host: 127.0.0.1|"
	for _, c := range []struct {
		name    string
		method  string
		version Version
		reload  bool
		proxied bool
		want    string
		speaks  Version
	}{
		{"1.0", "GET", HTTP10, false, false, "GET /a?b=c HTTP/1.0" + agent + host + "|", HTTP10},
		{"0.9", "GET", HTTP09, false, false, "GET /a?b=c|", HTTP09},
		{"1.1", "GET", HTTP11, false, false, "GET /a?b=c HTTP/1.1" + agent + host + "Connection: close||", HTTP11},
		{"reload without a proxy", "GET", HTTP10, true, false, "GET /a?b=c HTTP/1.0" + agent + host + "|", HTTP10},
		{"0.9, reload without a proxy", "GET", HTTP09, true, false, "GET /a?b=c|", HTTP09},
		{"proxy", "GET", HTTP10, false, true, "GET " + url + " HTTP/1.0" + agent + "|", HTTP10},
		{"0.9, proxy", "GET", HTTP09, false, true, "GET " + url + "|", HTTP09},
		{"1.1, proxy", "GET", HTTP11, false, true, "GET " + url + " HTTP/1.1" + agent + "Connection: close||", HTTP11},
		{"proxy, reload", "GET", HTTP10, true, true, "GET " + url + " HTTP/1.0" + agent + "Pragma: no-cache||", HTTP10},
		{"0.9, proxy, reload: 1.0", "GET", HTTP09, true, true, "GET " + url + " HTTP/1.0" + agent + "Pragma: no-cache||", HTTP10},
		{"1.1, proxy, reload", "GET", HTTP11, true, true, "GET " + url + " HTTP/1.1" + agent + "Pragma: no-cache|Connection: close||", HTTP11},
		{"HEAD", "HEAD", HTTP10, false, false, "HEAD /a?b=c HTTP/1.0" + agent + host + "|", HTTP10},
		{"0.9, HEAD: 1.0", "HEAD", HTTP09, false, false, "HEAD /a?b=c HTTP/1.0" + agent + host + "|", HTTP10},
		{"1.1, HEAD", "HEAD", HTTP11, false, false, "HEAD /a?b=c HTTP/1.1" + agent + host + "Connection: close||", HTTP11},
		{"0.9, OPTIONS: 1.1", "OPTIONS", HTTP09, false, false, "OPTIONS /a?b=c HTTP/1.1" + agent + host + "Connection: close||", HTTP11},
		{"1.0, OPTIONS: 1.1", "OPTIONS", HTTP10, false, false, "OPTIONS /a?b=c HTTP/1.1" + agent + host + "Connection: close||", HTTP11},
		{"0.9, TRACE, proxy, reload: 1.1", "TRACE", HTTP09, true, true, "TRACE " + url + " HTTP/1.1" + agent + "Pragma: no-cache|Connection: close||", HTTP11},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Request{Method: c.method, Version: c.version, Target: "/a?b=c", Host: "127.0.0.1:18081", Reload: c.reload}
			if c.proxied {
				r.Target = url
			}
			b, version, err := Classic(r, c.proxied)
			require.NoError(t, err)
			assert.Equal(t, lines(c.want), string(b))
			assert.Equal(t, c.speaks, version)
		})
	}
}

func TestClassicHostHasNoPort(t *testing.T) {
	for host, want := range map[string]string{
		"a.test": "a.test", "a.test:80": "a.test", "[::1]": "[::1]", "[::1]:8080": "[::1]",
	} {
		assert.Equal(t, want, withoutPort(host))
	}
}

func TestClassicRefuses(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Method: "POST", Target: "/"}, `webbench has no method "POST", only GET, HEAD, OPTIONS and TRACE`},
		{Request{Method: "GET", Target: "/\r\nX: y"}, `target "/\r\nX: y" contains a line break or a NUL`},
		{Request{Method: "GET", Target: "/", Host: "a\nb"}, `host "a\nb" contains a line break or a NUL`},
	} {
		_, _, err := Classic(c.r, false)
		assert.EqualError(t, err, c.want)
	}
}
