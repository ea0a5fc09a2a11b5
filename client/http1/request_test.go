package http1

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func get() Request {
	return Request{Method: "GET", Target: "/a?b=c", Host: "127.0.0.1:8080", UserAgent: "horde/1"}
}

// with returns get() changed.
func with(change func(*Request)) Request {
	r := get()
	change(&r)
	return r
}

func own(lines ...string) func(*Request) {
	return func(r *Request) {
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ":")
			r.Headers = append(r.Headers, Header{name, strings.TrimSpace(value)})
		}
	}
}

// lines spells a request with | for each line end.
func lines(s string) string { return strings.ReplaceAll(s, "|", "\r\n") }

func TestRequestBytes(t *testing.T) {
	const line11, line10 = "GET /a?b=c HTTP/1.1|Host: 127.0.0.1:8080|", "GET /a?b=c HTTP/1.0|Host: 127.0.0.1:8080|"
	const agent = "User-Agent: horde/1|Accept: */*|"
	for _, c := range []struct {
		name string
		r    Request
		want string
	}{
		{"1.1", get(), line11 + agent + "Connection: close||"},
		{"1.1 kept alive", with(func(r *Request) { r.KeepAlive = true }), line11 + agent + "|"},
		{"1.0", with(func(r *Request) { r.Version = HTTP10 }), line10 + agent + "|"},
		{"1.0 kept alive", with(func(r *Request) { r.Version, r.KeepAlive = HTTP10, true }), line10 + agent + "Connection: keep-alive||"},
		{"0.9", with(func(r *Request) { r.Version, r.KeepAlive = HTTP09, true }), "GET /a?b=c|"},
		{"reload", with(func(r *Request) { r.Reload = true }), line11 + agent + "Pragma: no-cache|Connection: close||"},
		{"no user agent", with(func(r *Request) { r.UserAgent = "" }), line11 + "Accept: */*|Connection: close||"},
		{"no host", with(func(r *Request) { r.Host = "" }), "GET /a?b=c HTTP/1.1|Host:|" + agent + "Connection: close||"},
		{"an IPv6 host", with(func(r *Request) { r.Host = "[::1]:8080" }), "GET /a?b=c HTTP/1.1|Host: [::1]:8080|" + agent + "Connection: close||"},
		{"absolute-form", with(func(r *Request) { r.Target = "http://127.0.0.1:8080/a" }),
			"GET http://127.0.0.1:8080/a HTTP/1.1|Host: 127.0.0.1:8080|" + agent + "Connection: close||"},
		{"a target as typed", with(func(r *Request) { r.Target = "/a%2Fb%0d%0a?x=%20y&z#\xc3\xa4" }),
			"GET /a%2Fb%0d%0a?x=%20y&z#\xc3\xa4 HTTP/1.1|Host: 127.0.0.1:8080|" + agent + "Connection: close||"},
		{"OPTIONS *", with(func(r *Request) { r.Method, r.Target = "OPTIONS", "*" }),
			"OPTIONS * HTTP/1.1|Host: 127.0.0.1:8080|" + agent + "Connection: close||"},
		{"credentials and cookie", with(func(r *Request) { r.Auth, r.ProxyAuth, r.Cookie = "Aladdin:open sesame", "p:", "a=b; c=d" }),
			line11 + agent + "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==|Proxy-Authorization: Basic cDo=|Cookie: a=b; c=d|Connection: close||"},
		{"a body", with(func(r *Request) { r.Method, r.Body, r.HasBody = "POST", []byte("x=1\r\n"), true }),
			"POST /a?b=c HTTP/1.1|Host: 127.0.0.1:8080|" + agent +
				"Connection: close|Content-Type: application/x-www-form-urlencoded|Content-Length: 5||x=1\r\n"},
		{"an empty body", with(func(r *Request) { r.Method, r.HasBody, r.ContentType = "DELETE", true, "a/b" }),
			"DELETE /a?b=c HTTP/1.1|Host: 127.0.0.1:8080|" + agent + "Connection: close|Content-Type: a/b|Content-Length: 0||"},
		{"PUT without a body", with(func(r *Request) { r.Method, r.ContentType = "PUT", "a/b" }),
			"PUT /a?b=c HTTP/1.1|Host: 127.0.0.1:8080|" + agent + "Connection: close|Content-Length: 0||"},
		{"own headers replace built-in ones", with(own("Host: shop.test", "user-agent: probe", "X-A: 1", "X-A: 2", "X-Empty:")),
			"GET /a?b=c HTTP/1.1|Host: shop.test|Accept: */*|Connection: close|user-agent: probe|X-A: 1|X-A: 2|X-Empty:||"},
		{"an own host comes first as spelt", with(own("X: y", "hOST: shop.test")),
			"GET /a?b=c HTTP/1.1|hOST: shop.test|" + agent + "Connection: close|X: y||"},
		{"own lines with a body", with(func(r *Request) {
			r.Method, r.Body = "POST", []byte("abc")
			own("content-type: text/plain", "content-length: 3", "CONNECTION: x", "Expect: 100-continue")(r)
		}), "POST /a?b=c HTTP/1.1|Host: 127.0.0.1:8080|" + agent +
			"content-type: text/plain|content-length: 3|CONNECTION: x|Expect: 100-continue||abc"},
		{"own lines in place of options", with(func(r *Request) {
			r.Auth, r.ProxyAuth, r.Cookie, r.Reload = "a:b", "a:b", "a=b", true
			own("authorization: x", "Proxy-authorization: y", "cookie:", "pragma: z", "accept: q")(r)
		}), line11 + "User-Agent: horde/1|Connection: close|authorization: x|Proxy-authorization: y|cookie:|pragma: z|accept: q||"},
		{"a length of 0 without a body", with(own("Content-Length: 0")), line11 + agent + "Connection: close|Content-Length: 0||"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := c.r.Bytes()
			require.NoError(t, err)
			assert.Equal(t, lines(c.want), string(b))
		})
	}
}

func TestLongTargetIsSentWhole(t *testing.T) {
	r := with(func(r *Request) { r.Target = "/" + strings.Repeat("a", 100_000) })
	b, err := r.Bytes()
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(b), "GET "+r.Target+" HTTP/1.1\r\n"))
}

func TestRefusedRequests(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Request
		want string
	}{
		{"no method", with(func(r *Request) { r.Method = "" }), `method "" is not a token (letters, digits and !#$%&'*+-.^_` + "`|~)"},
		{"a method of two words", with(func(r *Request) { r.Method = "GET /x" }), `method "GET /x" is not a token (letters, digits and !#$%&'*+-.^_` + "`|~)"},
		{"no target", with(func(r *Request) { r.Target = "" }), "the target is empty"},
		{"a target with a line break", with(func(r *Request) { r.Target = "/\r\nX: y" }), `target "/\r\nX: y" contains a space or a control character`},
		{"a target with a NUL", with(func(r *Request) { r.Target = "/\x00" }), `target "/\x00" contains a space or a control character`},
		{"a target with a space", with(func(r *Request) { r.Target = "/a b" }), `target "/a b" contains a space or a control character`},
		{"a host with a line break", with(func(r *Request) { r.Host = "a\nb" }), `host "a\nb" contains a space or a control character`},
		{"a user agent with a line break", with(func(r *Request) { r.UserAgent = "a\rb" }), `user agent "a\rb" contains a line break or a NUL`},
		{"a cookie with a line break", with(func(r *Request) { r.Cookie = "a\nb" }), `cookie "a\nb" contains a line break or a NUL`},
		{"a content type with a NUL", with(func(r *Request) { r.ContentType = "a\x00" }), `content type "a\x00" contains a line break or a NUL`},
		{"credentials with a line break", with(func(r *Request) { r.Auth = "a:\n" }), `auth "a:\n" contains a line break or a NUL`},
		{"credentials without a colon", with(func(r *Request) { r.ProxyAuth = "ab" }), `proxy auth "ab" has no colon between user and password`},
		{"a header value with a line break", with(func(r *Request) { r.Headers = []Header{{"X-A", "1\r\nX-B: 2"}} }), `header value "1\r\nX-B: 2" contains a line break or a NUL`},
		{"a header name with a colon", with(func(r *Request) { r.Headers = []Header{{"X:", "1"}} }), `header name "X:" is not a token (letters, digits and !#$%&'*+-.^_` + "`|~)"},
		{"a length without a body", with(own("Content-Length: 3")), `header "Content-Length: 3" contradicts the body of 0 bytes`},
		{"a length that contradicts the body", with(func(r *Request) { r.Body = []byte("ab"); own("content-length: 3")(r) }), `header "content-length: 3" contradicts the body of 2 bytes`},
		{"a length spelt otherwise", with(func(r *Request) { r.Body = []byte("ab"); own("Content-Length: +2")(r) }), `header "Content-Length: +2" contradicts the body of 2 bytes`},
		{"two lengths", with(own("Content-Length: 0", "content-length: 0")), `header "Content-Length" is given more than once`},
		{"two hosts", with(own("Host: a", "host: b")), `header "Host" is given more than once`},
		{"a transfer coding", with(own("transfer-encoding: chunked")), `header "transfer-encoding: chunked" cannot be sent: bodies are framed by their length`},
		{"0.9 and a method", with(func(r *Request) { r.Version, r.Method = HTTP09, "HEAD" }), `HTTP/0.9 has no method "HEAD", only GET`},
		{"0.9 and a body", with(func(r *Request) { r.Version, r.HasBody = HTTP09, true }), "HTTP/0.9 requests have no body"},
		{"0.9 and a header", with(func(r *Request) { r.Version = HTTP09; own("X-A: b")(r) }), `HTTP/0.9 requests have no header, "X-A" cannot be sent`},
		{"0.9 and a cookie", with(func(r *Request) { r.Version, r.Cookie = HTTP09, "a" }), "HTTP/0.9 requests have no header for credentials, a cookie or a reload"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := c.r.Bytes()
			assert.EqualError(t, err, c.want)
			assert.Nil(t, b)
		})
	}
}

func TestParseHeader(t *testing.T) {
	for in, want := range map[string]Header{
		"X-A: 1":                   {"X-A", "1"},
		"x-a:1":                    {"x-a", "1"},
		"X-Empty:":                 {"X-Empty", ""},
		"X-Empty: \t ":             {"X-Empty", ""},
		"X:\t a: b, \"c\" \xff ":   {"X", "a: b, \"c\" \xff"},
		"!#$%&'*+-.^_`|~09azAZ: x": {"!#$%&'*+-.^_`|~09azAZ", "x"},
	} {
		h, err := ParseHeader(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, h)
	}
	for in, want := range map[string]string{
		"":               `header "" has no colon`,
		"X-A 1":          `header "X-A 1" has no colon`,
		": 1":            `header name "" is not a token`,
		"X-A : 1":        `header name "X-A " is not a token`,
		" X-A: 1":        `header name " X-A" is not a token`,
		"X\r\nY: 1":      `header name "X\r\nY" is not a token`,
		"Ä: 1":           `header name "Ä" is not a token`,
		"X(: 1":          `header name "X(" is not a token`,
		"X-A: 1\r\nX: 2": `header value "1\r\nX: 2" contains a line break or a NUL`,
		"X-A: 1\n":       `header value "1\n" contains a line break or a NUL`,
		"X-A: \x00":      `header value "\x00" contains a line break or a NUL`,
	} {
		_, err := ParseHeader(in)
		assert.ErrorContains(t, err, want)
	}
}

func TestRequestReuse(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Request
		want bool
	}{
		{"1.1", Request{KeepAlive: true}, true},
		{"1.0", Request{KeepAlive: true, Version: HTTP10}, true},
		{"0.9", Request{KeepAlive: true, Version: HTTP09}, false},
		{"not asked for", Request{}, false},
		{"not asked for, in spite of an own line", Request{Headers: []Header{{"Connection", "keep-alive"}}}, false},
		{"an own close", Request{KeepAlive: true, Headers: []Header{{"connection", "Close"}}}, false},
		{"an own close in a list", Request{KeepAlive: true, Headers: []Header{{"Connection", "keep-alive , close"}}}, false},
		{"an own close in a second line", Request{KeepAlive: true, Headers: []Header{{"Connection", "keep-alive"}, {"Connection", "close"}}}, false},
		{"another own line, 1.1", Request{KeepAlive: true, Headers: []Header{{"Connection", "upgrade"}}}, true},
		{"another own line, 1.0", Request{KeepAlive: true, Version: HTTP10, Headers: []Header{{"X", "keep-alive"}, {"Connection", "upgrade"}}}, false},
		{"an own keep-alive, 1.0", Request{KeepAlive: true, Version: HTTP10, Headers: []Header{{"Connection", "x,Keep-Alive"}}}, true},
	} {
		assert.Equal(t, c.want, c.r.Reuse(), c.name)
	}
}

func TestABodyWaitsForLeaveWhereItIsAskedFor(t *testing.T) {
	post := Request{Method: "POST", Target: "/", Host: "h", Body: []byte("12345")}
	assert.Zero(t, post.Later())
	asked := post
	asked.Continue = true
	assert.Equal(t, 5, asked.Later())
	b, err := asked.Bytes()
	require.NoError(t, err)
	assert.Contains(t, string(b), "\r\nExpect: 100-continue\r\n")
	asked.Version = HTTP10
	assert.Zero(t, asked.Later(), "HTTP/1.0 does not know it")
	own := post
	own.Headers = []Header{{"expect", "100-Continue"}}
	assert.Equal(t, 5, own.Later())
	own.Body = nil
	_, err = own.Bytes()
	assert.ErrorContains(t, err, "there is none")
	none := Request{Method: "GET", Target: "/", Host: "h", Continue: true}
	b, err = none.Bytes()
	require.NoError(t, err)
	assert.NotContains(t, string(b), "Expect")
}
