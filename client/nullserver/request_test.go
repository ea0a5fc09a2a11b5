package nullserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScan(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		want request
		path string
	}{
		{"a plain request keeps the connection", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", request{keep: true}, "/a"},
		{"1.1 with close ends it", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", request{}, "/"},
		{"1.0 ends it", "GET / HTTP/1.0\r\n\r\n", request{old: true}, "/"},
		{"1.0 with keep-alive keeps it", "GET / HTTP/1.0\r\nconnection:Keep-Alive\r\n\r\n", request{old: true, keep: true}, "/"},
		{"close beats keep-alive in a list", "GET / HTTP/1.1\r\nConnection: keep-alive, CLOSE\r\n\r\n", request{}, "/"},
		{"the query is no part of the path", "GET /a?b=/c HTTP/1.1\r\n\r\n", request{keep: true}, "/a"},
		{"absolute form, as a proxy gets it", "GET http://h:1/a?b HTTP/1.1\r\n\r\n", request{keep: true}, "/a"},
		{"absolute form without a path", "GET http://h HTTP/1.1\r\n\r\n", request{keep: true}, ""},
		{"the asterisk form has no path", "OPTIONS * HTTP/1.1\r\n\r\n", request{keep: true}, ""},
		{"HEAD", "HEAD / HTTP/1.1\r\n\r\n", request{head: true, keep: true}, "/"},
		{"HTTP/0.9 ends with its line", "GET /x\r\n", request{simple: true}, "/x"},
		{"a length", "POST / HTTP/1.1\r\nContent-Length: 7\r\n\r\n", request{keep: true, body: body{left: 7, state: bodyLength}}, "/"},
		{"a length of none", "POST / HTTP/1.1\r\ncontent-length:0\r\n\r\n", request{keep: true}, "/"},
		{"chunked beats a length before it", "POST / HTTP/1.1\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n", request{keep: true, body: body{state: chunkSize}}, "/"},
		{"chunked beats a length behind it", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n", request{keep: true, body: body{state: chunkSize}}, "/"},
		{"expect", "POST / HTTP/1.1\r\nExpect: 100-Continue\r\n\r\n", request{keep: true, expect: true}, "/"},
		{"bare line feeds", "GET / HTTP/1.1\nConnection: close\n\n", request{}, "/"},
		{"fields without a colon are passed over", "GET / HTTP/1.1\r\nconnection\r\n\r\n", request{keep: true}, "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, n, err := scan([]byte(c.in), 0)
			require.NoError(t, err)
			assert.Equal(t, len(c.in), n)
			assert.Equal(t, c.path, string(got.path))
			got.path = nil
			assert.Equal(t, c.want, got)
		})
	}
}

func TestScanRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"an empty method":               " / HTTP/1.1\r\n\r\n",
		"one word":                      "GET\r\n\r\n",
		"another protocol":              "GET / HTTP/2.0\r\n\r\n",
		"0.9 with another method":       "POST /x\r\n",
		"a length with a sign":          "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
		"a length of 19 digits":         "GET / HTTP/1.1\r\nContent-Length: 1000000000000000000\r\n\r\n",
		"a length with nothing in it":   "GET / HTTP/1.1\r\nContent-Length:\r\n\r\n",
		"a length that is hexadecimal":  "GET / HTTP/1.1\r\nContent-Length: ff\r\n\r\n",
		"a version that is cut in half": "GET / HTTP/1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := scan([]byte(in), 0)
			assert.Error(t, err)
		})
	}
}

// FuzzScan cuts a head at every place the fuzzer likes: what was seen before
// must not change what is found.
func FuzzScan(f *testing.F) {
	f.Add("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n\r\n", 7)
	f.Add("GET /x\r\n", 3)
	f.Add("POST / HTTP/1.1\nContent-Length: 5\n\nabcde", 33)
	f.Add("\r\n\n\r\n", 1)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		whole, n, err := scan([]byte(in), 0)
		require.LessOrEqual(t, n, len(in))
		cut = max(0, min(cut, len(in)))
		_, before, errBefore := scan([]byte(in[:cut]), 0)
		if before > 0 || errBefore != nil {
			return // the head ended before the cut
		}
		again, m, errAgain := scan([]byte(in), cut)
		assert.Equal(t, n, m)
		assert.Equal(t, err, errAgain)
		assert.Equal(t, whole, again)
	})
}

const chunkedBody = "4;x=y\r\nabcd\r\n0A \r\n0123456789\r\n000\r\nX-Sum: 14\r\nY: z\r\n\r\n"

func TestBodySkipsChunksHoweverCut(t *testing.T) {
	in := chunkedBody + "GET"
	for cut := range len(chunkedBody) {
		d := body{state: chunkSize}
		n, err := d.skip([]byte(in[:cut]))
		require.NoError(t, err)
		require.Equal(t, cut, n)
		require.NotEqual(t, bodyDone, d.state, "cut at %d", cut)
		n, err = d.skip([]byte(in[cut:]))
		require.NoError(t, err)
		require.Equal(t, len(chunkedBody)-cut, n)
		require.Equal(t, bodyDone, d.state)
	}
}

func TestBodyRefusesBrokenChunks(t *testing.T) {
	for name, in := range map[string]string{
		"no digit":            "\r\n",
		"an extension alone":  ";a\r\n",
		"a letter":            "1z\r\n",
		"data behind a chunk": "1\r\nab\r\n",
		"a size over 64 bits": strings.Repeat("f", 17) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := body{state: chunkSize}
			_, err := d.skip([]byte(in))
			assert.ErrorIs(t, err, errChunk)
		})
	}
}

func FuzzBody(f *testing.F) {
	f.Add(chunkedBody, 5, false)
	f.Add("abcdefgh", 3, true)
	f.Fuzz(func(t *testing.T, in string, cut int, bySize bool) {
		fresh := body{state: chunkSize}
		if bySize {
			fresh = sized(int64(len(in)) / 2)
		}
		whole := fresh
		n, err := whole.skip([]byte(in))
		cut = max(0, min(cut, len(in)))
		parts := fresh
		a, errA := parts.skip([]byte(in[:cut]))
		b, errB := 0, errA
		if errA == nil {
			b, errB = parts.skip([]byte(in[a:]))
		}
		assert.Equal(t, n, a+b)
		assert.Equal(t, err, errB)
		assert.Equal(t, whole, parts)
	})
}
