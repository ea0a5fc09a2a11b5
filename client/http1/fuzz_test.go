package http1

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http/httputil"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomPieces cuts in at places that seed decides; some pieces are empty.
func randomPieces(in []byte, seed uint64) [][]byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	pieces := [][]byte{}
	for len(in) > 0 {
		n := min(len(in), rng.IntN(1+rng.IntN(40)))
		pieces = append(pieces, in[:n])
		in = in[n:]
	}
	return pieces
}

func FuzzParser(f *testing.F) {
	for _, in := range []string{
		nginxFile, chunkedAnswer, "\r\nHTTP/1.0 200\nConnection: Keep-Alive, x\nContent-Length : 5, 5\n\nhello",
		"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: x;a=\"b,\\\"\" , chunked\r\nContent-Length:\r\n 5\r\n\r\n1 ;a\r\nx\r\n0\r\nT: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: a/b\r\nCache-Control: no-store\r\n\r\nhello",
	} {
		for a := range uint8(3) {
			f.Add([]byte(in), a, uint64(a))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, a uint8, seed uint64) {
		var p Parser
		answer := Answer(a % 3)
		whole := parse(t, &p, answer, in)
		require.Equal(t, whole, parse(t, &p, answer, randomPieces(in, seed)...))
		require.Equal(t, whole, parse(t, &p, answer, bytesOf(in)...))
	})
}

// FuzzMemory requires that an answer is read in the same way whether or not those
// before it are remembered, however each of them is cut.
func FuzzMemory(f *testing.F) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	for _, second := range []string{ok + "hello", ok + "h", ok, ok[:20], "\n" + ok + "hello", "HTTP/1.1 100 Go\r\n\r\n" + ok + "hello", ok[:36] + "4\r\n\r\nhell"} {
		f.Add([]byte(ok+"hello"), []byte(second), uint8(0), uint64(1))
		f.Add([]byte(second), []byte(ok+"hello"), uint8(5), uint64(2))
	}
	f.Add([]byte("HTTP/1.1 2"), []byte("HTTP/1.1 20x"), uint8(1), uint64(3))
	f.Fuzz(func(t *testing.T, first, second []byte, answers uint8, seed uint64) {
		var memory Memory
		for i, in := range [][]byte{first, second, first, second} {
			var p, with Parser
			with.Remember(&memory)
			answer := Answer(answers >> (2 * i) % 3)
			want := parse(t, &p, answer, in)
			require.Equal(t, want, parse(t, &with, answer, in))
			require.Equal(t, want, parse(t, &with, answer, randomPieces(in, seed)...))
			require.Equal(t, want, parse(t, &with, answer, in))
		}
	})
}

// FuzzChunked cuts body into chunks with the given extension and trailer and
// requires the same length back; and it reads raw as chunks and requires what
// the standard library's reader makes of it, where that accepts it.
func FuzzChunked(f *testing.F) {
	f.Add([]byte("hello horde"), "note=a", "X-Sum", []byte("5\r\nhello\r\n0\r\n\r\n"), uint64(1))
	f.Add([]byte("\r\n0\r\n\r\n"), `a="b\"c"`, "", []byte("00A ;x=\"y\"\r\n0123456789\r\n0\r\nA: b\r\n\r\n"), uint64(2))
	f.Fuzz(func(t *testing.T, body []byte, extension, trailer string, raw []byte, seed uint64) {
		var p Parser
		checkRaw(t, &p, raw, seed)
		if strings.ContainsAny(extension, "\n") || len(extension) > MaxChunkLine/2 || !isToken(trailer) || len(trailer) > 1000 {
			return
		}
		in := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for _, chunk := range randomPieces(body, seed) {
			if len(chunk) == 0 {
				continue // would be the last
			}
			in = append(in, strconv.FormatInt(int64(len(chunk)), 16)+";"+extension+"\r\n"...)
			in = append(append(in, chunk...), "\r\n"...)
		}
		in = append(in, "0\r\n"+trailer+": x\r\n\r\n"...)
		want := done(200, uint64(len(body)), true)
		require.Equal(t, want, parse(t, &p, AnswerNormal, in))
		require.Equal(t, want, parse(t, &p, AnswerNormal, randomPieces(in, seed+1)...))
	})
}

func checkRaw(t *testing.T, p *Parser, raw []byte, seed uint64) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	in := append([]byte(head), raw...)
	got := parse(t, p, AnswerNormal, in)
	require.Equal(t, got, parse(t, p, AnswerNormal, randomPieces(in, seed)...))
	theirs, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw)))
	if err != nil {
		return
	}
	require.EqualValues(t, len(theirs), got.Body, "%v %s", got.State, got.Problem)
}

// FuzzRequest requires that whatever the words of a request are, it is refused
// or its bytes read back as exactly these lines and this body.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/a%0d%0a", "127.0.0.1:8080", "X-A: 1", "Host:shop.test", "horde/1", "a:b", "a=b", "", []byte(nil), uint8(0))
	f.Add("POST", "http://a/b", "[::1]", "Content-Length: 3", "connection: close", "", "", "", "text/plain", []byte("abc"), uint8(5))
	f.Add("PUT", "*", "", "X-Empty:", "user-agent: \tx\r\nY: z", "", "", "", "", []byte("\r\n\r\n"), uint8(9))
	f.Add("GET", "/", "", "X", "Y", "", "", "", "", []byte(nil), uint8(2))
	f.Fuzz(func(t *testing.T, method, target, host, own1, own2, agent, auth, cookie, contentType string, body []byte, bits uint8) {
		r := Request{
			Method: method, Target: target, Host: host, Version: Version(bits % 3), KeepAlive: bits&4 != 0, HasBody: bits&8 != 0,
			Reload: bits&16 != 0, Body: body, UserAgent: agent, Auth: auth, ProxyAuth: auth, Cookie: cookie, ContentType: contentType,
		}
		for _, s := range []string{own1, own2} {
			h, err := ParseHeader(s)
			if err != nil {
				assert.NotContains(t, err.Error(), "\n", "one line whatever was typed")
				h = Header{s, s} // Bytes must not trust its caller
			}
			if bits&32 != 0 {
				r.Headers = append(r.Headers, h)
			}
		}
		b, err := r.Bytes()
		if err != nil {
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		checkRequest(t, r, string(b))
	})
}

func checkRequest(t *testing.T, r Request, b string) {
	if r.Version == HTTP09 {
		require.Equal(t, "GET "+r.Target+"\r\n", b)
		return
	}
	head, body, _ := strings.Cut(b, "\r\n\r\n")
	require.Equal(t, string(r.Body), body)
	got := strings.Split(head, "\r\n")
	require.Equal(t, []string{r.Method, r.Target, r.Version.String()}, strings.Split(got[0], " "))
	require.Len(t, got[1:], len(r.lines()))
	count := map[string]int{}
	var rest []string
	for _, line := range got[1:] {
		require.NotContains(t, line, "\r")
		require.NotContains(t, line, "\n")
		name, _, _ := strings.Cut(line, ":")
		count[strings.ToLower(name)]++
		rest = append(rest, line)
	}
	require.True(t, strings.EqualFold(got[1][:5], "Host:"))
	require.Equal(t, 1, count["host"])
	require.LessOrEqual(t, count["content-length"], 1)
	require.Zero(t, count["transfer-encoding"])
	if len(body) > 0 {
		require.Equal(t, 1, count["content-length"])
	}
	for _, h := range r.Headers { // all there, in order
		want := h.Name + ": " + h.Value
		if h.Value == "" {
			want = h.Name + ":"
		}
		if h.is("Host") {
			require.Equal(t, want, got[1])
			continue
		}
		at := 0
		for at < len(rest) && rest[at] != want {
			at++
		}
		require.Less(t, at, len(rest), "%q in order", want)
		rest = rest[at+1:]
	}
}
