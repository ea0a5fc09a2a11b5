package http1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outcome is all that a caller can learn about one answer.
type outcome struct {
	State     State
	AtEnd     bool // only the end of the stream decided it
	Status    int
	Body      uint64
	KeepAlive bool
	Interim   int
	Left      int // bytes left over, after Done
	Problem   string
}

// parse feeds the pieces and then the end of the stream.
func parse(t *testing.T, p *Parser, a Answer, pieces ...[]byte) outcome {
	t.Helper()
	p.Reset(a)
	s, taken, given, total := More, 0, 0, 0
	for _, piece := range pieces {
		total += len(piece)
	}
	for _, piece := range pieces {
		n, now := p.Feed(piece)
		s, taken, given = now, taken+n, given+len(piece)
		if n < 0 || n > len(piece) || p.Body() > uint64(taken) || p.Started() != (given > 0) || s > Bad {
			require.FailNow(t, "Feed broke its word", "took %d of %d: %v, body %d of %d", n, len(piece), s, p.Body(), taken)
		}
		if s != More {
			break
		}
		if n != len(piece) || p.KeepAlive() {
			require.FailNow(t, "More took less than all, or keeps the connection")
		}
	}
	o := outcome{State: s, AtEnd: s == More}
	if s == More {
		o.State = p.End()
		require.NotEqual(t, More, o.State)
	}
	if o.State == Done || o.State == Bad {
		require.Equal(t, o.State, p.End(), "the end of the stream changes nothing any more")
		n, again := p.Feed([]byte("x"))
		require.Equal(t, o.State, again)
		require.Zero(t, n)
	}
	if o.State == Done {
		o.Left = total - taken
	}
	require.Equal(t, o.State == Bad, p.Problem() != "")
	o.Status, o.Body, o.KeepAlive, o.Interim, o.Problem = p.Status(), p.Body(), p.KeepAlive(), p.Interim(), p.Problem()
	return o
}

// bytesOf cuts in at every byte.
func bytesOf(in []byte) [][]byte {
	var pieces [][]byte
	for i := range in {
		pieces = append(pieces, in[i:i+1])
	}
	return pieces
}

// parseAllWays parses in as a whole, in two pieces cut at each place, and a
// byte at a time, and requires one outcome. Long inputs are cut near their
// ends and at few places between.
func parseAllWays(t *testing.T, a Answer, in string) outcome {
	t.Helper()
	var p Parser
	b := []byte(in)
	whole := parse(t, &p, a, b)
	for cut := 0; cut <= len(b); cut++ {
		if len(b) > 1000 && cut > 80 && cut < len(b)-20 && cut%5000 != 0 {
			continue
		}
		require.Equal(t, whole, parse(t, &p, a, b[:cut], b[cut:]), "cut at %d", cut)
	}
	require.Equal(t, whole, parse(t, &p, a, bytesOf(b)...), "a byte at a time")
	return whole
}

type sample struct {
	name string
	in   string
	want outcome
}

func checkSamples(t *testing.T, a Answer, samples []sample) {
	t.Helper()
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			got := parseAllWays(t, a, s.in)
			if s.want.Problem == "" {
				s.want.Problem = got.Problem
			}
			if s.want.State == Bad {
				s.want.Status, s.want.Interim, s.want.Body = got.Status, got.Interim, got.Body
			}
			assert.Equal(t, s.want, got)
		})
	}
}

func done(status int, body uint64, keep bool) outcome {
	return outcome{State: Done, Status: status, Body: body, KeepAlive: keep}
}

func doneAtEnd(status int, body uint64) outcome {
	return outcome{State: Done, AtEnd: true, Status: status, Body: body}
}

func short(status int, body uint64) outcome {
	return outcome{State: Short, AtEnd: true, Status: status, Body: body}
}

func bad(problem string) outcome { return outcome{State: Bad, Problem: problem} }

func badAtEnd() outcome {
	return outcome{State: Bad, AtEnd: true, Problem: "the stream ended within the header"}
}

func left(o outcome, n int) outcome { o.Left = n; return o }

func interim(o outcome, n int) outcome { o.Interim = n; return o }

const (
	noStatusLine = "no HTTP/1.x status line"
	noColon      = "a header line without a colon"
	loneCR       = "a CR without LF"
	badLengths   = "a Content-Length that is no number, or two that differ"
	badCodings   = "chunked is not the last transfer coding"
	badSize      = "a chunk size that is no number"
	noChunkEnd   = "no line end after a chunk"
	largeHeader  = "the header is larger than 256 KiB"
	longChunk    = "a chunk line longer than 8 KiB"
)

func TestStatusLine(t *testing.T) {
	const rest = "Content-Length: 2\r\n\r\nok"
	checkSamples(t, AnswerNormal, []sample{
		{"a reason", "HTTP/1.1 200 OK\r\n" + rest, done(200, 2, true)},
		{"no reason and no space", "HTTP/1.1 200\r\n" + rest, done(200, 2, true)},
		{"no reason but its space", "HTTP/1.1 200 \r\n" + rest, done(200, 2, true)},
		{"a reason of bytes over 127", "HTTP/1.1 404 nicht gef\xfcnden \xff\r\n" + rest, done(404, 2, true)},
		{"a bare LF", "HTTP/1.1 200 OK\n" + rest, done(200, 2, true)},
		{"a bare LF right after the status", "HTTP/1.1 200\n" + rest, done(200, 2, true)},
		{"bare LFs everywhere", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", done(200, 2, true)},
		{"a later minor version", "HTTP/1.7 200 OK\r\n" + rest, done(200, 2, true)},
		{"a status of no known class", "HTTP/1.1 999 OK\r\n" + rest, done(999, 2, true)},
		{"empty lines before it", "\r\n\n\r\n\nHTTP/1.1 200 OK\r\n" + rest, done(200, 2, true)},
		{"too many empty lines before it", strings.Repeat("\r\n", 5) + "HTTP/1.1 200 OK\r\n" + rest, bad("")},
		{"a lone CR before it", "\rHTTP/1.1 200 OK\r\n" + rest, bad(loneCR)},
		{"two digits", "HTTP/1.1 20 OK\r\n" + rest, bad(noStatusLine)},
		{"four digits", "HTTP/1.1 2000 OK\r\n" + rest, bad(noStatusLine)},
		{"a status that cannot be", "HTTP/1.1 099 OK\r\n" + rest, bad("")},
		{"no status", "HTTP/1.1\r\n" + rest, bad(noStatusLine)},
		{"the letter that stands for a digit", "HTTP/1.d ddd OK\r\n" + rest, bad(noStatusLine)},
		{"two spaces", "HTTP/1.1  200 OK\r\n" + rest, bad(noStatusLine)},
		{"HTTP/2.0", "HTTP/2.0 200 OK\r\n" + rest, bad(noStatusLine)},
		{"small letters", "http/1.1 200 OK\r\n" + rest, bad(noStatusLine)},
		{"another protocol", "SSH-2.0-OpenSSH_9.2p1\r\n", bad(noStatusLine)},
		{"a TLS alert", "\x15\x03\x01\x00\x02\x02\x0a", bad(noStatusLine)},
		{"a page without a header", "<html>hello</html>", bad(noStatusLine)},
	})
}

func TestFieldShapes(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	checkSamples(t, AnswerNormal, []sample{
		{"small letters", ok + "content-length: 5\r\n\r\nhello", done(200, 5, true)},
		{"a capital letter only at the start", ok + "X: y\r\nContent-length: 5\r\nX: y\r\n\r\nhello", done(200, 5, true)},
		{"capital letters", ok + "CONTENT-LENGTH: 5\r\nCONNECTION: CLOSE\r\n\r\nhello", done(200, 5, false)},
		{"no space after the colon", ok + "Content-Length:5\r\n\r\nhello", done(200, 5, true)},
		{"much space around the value", ok + "Content-Length: \t 5 \t \r\n\r\nhello", done(200, 5, true)},
		{"space before the colon", ok + "Content-Length \t: 5\r\nTransfer-Encodin : x\r\n\r\nhello", done(200, 5, true)},
		{"a folded length", ok + "Content-Length:\r\n 5\r\n\r\nhello", done(200, 5, true)},
		{"a fold that adds to a number", ok + "Content-Length: 5\r\n 0\r\n\r\nhello", bad(badLengths)},
		{"a fold of nothing", ok + "Content-Length: 5\r\n \t\r\n\r\nhello", done(200, 5, true)},
		{"a folded list", ok + "Content-Length: 5\r\nConnection: a,\r\n\tclose\r\n\r\nhello", done(200, 5, false)},
		{"a token cut by a fold is two", ok + "Content-Length: 5\r\nConnection: clo\r\n se\r\n\r\nhello", done(200, 5, true)},
		{"a folded coding", ok + "Transfer-Encoding: gzip,\n chunked\n\n2\r\nok\r\n0\r\n\r\n", done(200, 2, true)},
		{"a folded line of no interest", ok + "X-A: b\r\n Content-Length: 9\r\nContent-Length: 5\r\n\r\nhello", done(200, 5, true)},
		{"whitespace before the first field", ok + " Content-Length: 9\r\nContent-Length: 5\r\n\r\nhello", done(200, 5, true)},
		{"names that only begin alike", ok + "Content-Lengths: 9\r\nConnections: close\r\nContent: x\r\nConten-Length: 8\r\n" +
			"Transfer-Encoding2: chunked\r\nTrailer: x\r\nC: 1\r\nT: 1\r\nCat: 1\r\nCookie: 2\r\nContent-Length: 5\r\n\r\nhello", done(200, 5, true)},
		{"an empty value", ok + "X:\r\nContent-Length: 0\r\n\r\n", done(200, 0, true)},
		{"bytes over 127 in a value", ok + "X: \xe4\xf6\xfc\x00\r\nContent-Length: 0\r\n\r\n", done(200, 0, true)},
		{"a CR within a value is a space", ok + "Content-Length: 5\r \r\n\r\nhello", done(200, 5, true)},
		{"a line without a colon", ok + "hello\r\nContent-Length: 5\r\n\r\nhello", bad(noColon)},
		{"a name of interest without a colon", ok + "Content-Length\r\n\r\n", bad(noColon)},
		{"half a name without a colon", ok + "Conten\r\n\r\n", bad(noColon)},
		{"a line without a name", ok + ": 5\r\n\r\n", bad("a header line without a name")},
		{"a CR in place of the empty line", ok + "X: y\r\n\rhello", bad(loneCR)},
	})
}

func TestContentLength(t *testing.T) {
	for _, value := range []string{"5", "5, 5", "5,5 ,\t5", "05", "0000000000000000000000000000005", "5\r\nX: y\r\nContent-Length: 5"} {
		t.Run("accepted "+value, func(t *testing.T) {
			got := parseAllWays(t, AnswerNormal, "HTTP/1.1 200 OK\r\nContent-Length: "+value+"\r\n\r\nhello")
			assert.Equal(t, done(200, 5, true), got)
		})
	}
	for _, value := range []string{
		"", " ", ",", "5,", ",5", "5,,5", "-5", "+5", "0x5", "5h", "5 5", "5.0", "5;q=1", "\"5\"", "5, 6", "6, 5", "٥",
		"5\r\nContent-Length: 6", "5\r\nContent-Length:", "18446744073709551616", "99999999999999999999999999",
		"5, 18446744073709551621", // 2^64 + 5
	} {
		t.Run("refused "+value, func(t *testing.T) {
			got := parseAllWays(t, AnswerNormal, "HTTP/1.1 200 OK\r\nContent-Length: "+value+"\r\n\r\nhello")
			assert.Equal(t, badLengths, got.Problem)
		})
	}
}

func TestLargestContentLength(t *testing.T) {
	in := "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhello"
	assert.Equal(t, short(200, 5), parseAllWays(t, AnswerNormal, in))
}

func TestBodyBeyond32Bits(t *testing.T) {
	const size = 1<<32 + 10
	var p Parser
	p.Reset(AnswerNormal)
	_, s := p.Feed(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", uint64(size)))
	piece := make([]byte, 1<<20)
	for sent := 0; sent+len(piece) < size; sent += len(piece) {
		require.Equal(t, More, s)
		_, s = p.Feed(piece)
	}
	require.Equal(t, More, s)
	n, s := p.Feed(piece)
	assert.Equal(t, Done, s)
	assert.Equal(t, 10, n)
	assert.EqualValues(t, size, p.Body())
}

func TestEndOfBody(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	checkSamples(t, AnswerNormal, []sample{
		{"nothing at all", "", outcome{State: Empty, AtEnd: true}},
		{"a length, whole", ok + "Content-Length: 5\r\n\r\nhello", done(200, 5, true)},
		{"a length of 0", ok + "Content-Length: 0\r\n\r\n", done(200, 0, true)},
		{"a length, short", ok + "Content-Length: 100\r\n\r\n" + strings.Repeat("x", 60), short(200, 60)},
		{"a length, no body", ok + "Content-Length: 100\r\n\r\n", short(200, 0)},
		{"a length, too long", ok + "Content-Length: 5\r\n\r\nhello!!", left(done(200, 5, true), 2)},
		{"the end of the stream, 1.0", "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nabcdefghij", doneAtEnd(200, 10)},
		{"the end of the stream, 1.1", ok + "Connection: close\r\n\r\nabcdefghij", doneAtEnd(200, 10)},
		{"the end of the stream, empty body", "HTTP/1.0 200 OK\r\n\r\n", doneAtEnd(200, 0)},
		{"204", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", done(204, 0, true)},
		{"204 with a body all the same", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", left(done(204, 0, true), 5)},
		{"304", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", done(304, 0, true)},
		{"304 without a length", "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n", done(304, 0, false)},
		{"204 with a length that is none", "HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n", done(204, 0, false)},
		{"205 has a body like any other", "HTTP/1.1 205 Reset\r\nContent-Length: 1\r\n\r\nx", done(205, 1, true)},
		{"a status line that is cut", "HTTP/1.1 2", badAtEnd()},
		{"a header that is cut within a line", ok + "Content-Len", badAtEnd()},
		{"a header that is cut after a line", ok + "Content-Length: 5\r\n", badAtEnd()},
		{"a header that is cut within its empty line", ok + "Content-Length: 5\r\n\r", badAtEnd()},
		{"an empty line only", "\r\n", badAtEnd()},
	})
}

func TestInterimAnswers(t *testing.T) {
	const (
		hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
		ok    = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	)
	checkSamples(t, AnswerNormal, []sample{
		{"one", hints + ok, interim(done(200, 2, true), 1)},
		{"three in a row", hints + "HTTP/1.1 100\r\n\r\n" + hints + ok, interim(done(200, 2, true), 3)},
		{"whose header says nothing about the final one", "HTTP/1.1 102 Wait\r\nConnection: close\r\nContent-Length: 7\r\nContent-Length: 8\r\n" +
			"Transfer-Encoding: chunked, x\r\n\r\n" + ok, interim(done(200, 2, true), 1)},
		{"an empty line after it", hints + "\r\n" + ok, interim(done(200, 2, true), 1)},
		{"and then the end", hints, badAtEnd()},
		{"101 is the last", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello", left(done(101, 0, false), 5)},
		{"an endless row", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", MaxHeader/25+1), bad(largeHeader)},
	})
	var p Parser
	got := parse(t, &p, AnswerHead, []byte(hints), []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"))
	assert.Equal(t, interim(done(200, 0, true), 1), got, "before the answer to HEAD")
}

func TestAnswerToHead(t *testing.T) {
	checkSamples(t, AnswerHead, []sample{
		{"a length", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", done(200, 0, true)},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", done(200, 0, true)},
		{"neither", "HTTP/1.1 200 OK\r\n\r\n", done(200, 0, true)},
		{"framing that is wrong", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, x\r\n\r\n", done(200, 0, false)},
		{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1234\r\n\r\n", done(200, 0, false)},
		{"1.0 kept alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n", done(200, 0, true)},
		{"a body all the same", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", left(done(200, 0, true), 5)},
		{"nothing", "", outcome{State: Empty, AtEnd: true}},
	})
}

func TestAnswerTo09(t *testing.T) {
	checkSamples(t, Answer09, []sample{
		{"a page", "<html>hello</html>\r\n", doneAtEnd(0, 20)},
		{"a page that looks like a header", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", doneAtEnd(0, 38)},
		{"nothing", "", outcome{State: Empty, AtEnd: true}},
	})
}

func TestReuse(t *testing.T) {
	const body = "Content-Length: 5\r\n\r\nhello"
	checkSamples(t, AnswerNormal, []sample{
		{"1.1", "HTTP/1.1 200 OK\r\n" + body, done(200, 5, true)},
		{"1.1 close", "HTTP/1.1 200 OK\r\nConnection: close\r\n" + body, done(200, 5, false)},
		{"1.1 Close", "HTTP/1.1 200 OK\r\nconnection:Close\r\n" + body, done(200, 5, false)},
		{"1.1 keep-alive", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n" + body, done(200, 5, true)},
		{"1.1 close in a list", "HTTP/1.1 200 OK\r\nConnection: a ,, close\t\r\n" + body, done(200, 5, false)},
		{"1.1 close in a second line", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\n" + body, done(200, 5, false)},
		{"1.1 close wins", "HTTP/1.1 200 OK\r\nConnection: close, keep-alive\r\n" + body, done(200, 5, false)},
		{"1.1 words that only look alike", "HTTP/1.1 200 OK\r\nConnection: closed, clos, xclose, close x, c, \"close\", k;close\r\n" + body, done(200, 5, true)},
		{"1.0", "HTTP/1.0 200 OK\r\n" + body, done(200, 5, false)},
		{"1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + body, done(200, 5, true)},
		{"1.0 Keep-Alive in a list", "HTTP/1.0 200 OK\r\nConnection: x, Keep-Alive\r\n" + body, done(200, 5, true)},
		{"1.0 keep-alive without a length", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello", doneAtEnd(200, 5)},
		{"1.0 keep-alive and close", "HTTP/1.0 200 OK\r\nConnection: keep-alive, close\r\n" + body, done(200, 5, false)},
		{"1.0 words that only look alike", "HTTP/1.0 200 OK\r\nConnection: keep-alive x\r\nConnection: keep-alived\r\n" + body, done(200, 5, false)},
	})
}

func TestTransferEncoding(t *testing.T) {
	const (
		ok     = "HTTP/1.1 200 OK\r\n"
		chunks = "5\r\nhello\r\n0\r\n\r\n"
	)
	with := func(value string) string { return ok + "Transfer-Encoding: " + value + "\r\n\r\n" + chunks }
	checkSamples(t, AnswerNormal, []sample{
		{"chunked", with("chunked"), done(200, 5, true)},
		{"Chunked", with("Chunked"), done(200, 5, true)},
		{"empty elements", with(", ,chunked, "), done(200, 5, true)},
		{"another coding before it", with("gzip, chunked"), done(200, 5, true)},
		{"one with parameters before it", with(`x;a="b, \" chunked" ;c=d, chunked`), done(200, 5, true)},
		{"in two lines", with("gzip\r\nTransfer-Encoding: chunked"), done(200, 5, true)},
		{"another coding only", with("gzip"), doneAtEnd(200, 15)},
		{"a quote that never ends", with(`gzip;a="b, chunked`), doneAtEnd(200, 15)},
		{"identity", with("identity"), doneAtEnd(200, 15)},
		{"words that only look alike", with("chunke, chunkedd, x chunked"), doneAtEnd(200, 15)},
		{"another coding with a length", ok + "Content-Length: 3\r\nTransfer-Encoding: gzip\r\n\r\nhello", doneAtEnd(200, 5)},
		{"no coding", ok + "Transfer-Encoding:\r\nContent-Length: 5\r\n\r\nhello", done(200, 5, true)},
		{"twice", with("chunked, chunked"), bad(badCodings)},
		{"twice in two lines", with("chunked\r\nTransfer-Encoding: chunked"), bad(badCodings)},
		{"not last", with("chunked, gzip"), bad(badCodings)},
		{"not last in two lines", with("chunked\r\nTransfer-Encoding: gzip"), bad(badCodings)},
		{"with a parameter", with("chunked;a=b"), bad(badCodings)},
		{"and a length: not used again", ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, done(200, 5, false)},
		{"and a length that is none", ok + "Transfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n" + chunks, done(200, 5, false)},
		{"in 1.0: not used again", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, done(200, 5, false)},
	})
}

func TestChunks(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	checkSamples(t, AnswerNormal, []sample{
		{"extension and trailer", chunkedAnswer, done(200, 10, true)},
		{"none but the last", head + "0\r\n\r\n", done(200, 0, true)},
		{"large and small digits, leading zeros", head + "00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n", done(200, 20, true)},
		{"spaces after the size", head + "2 \t\r\nok\r\n0 ;x\r\n\r\n", done(200, 2, true)},
		{"extensions", head + "2;a;b=c;d=\"e;\\\"\r f\" \r\nok\r\n0;x=y\r\n\r\n", done(200, 2, true)},
		{"bare LFs", head + "2\nok\n0;a\nX: y\n\n", done(200, 2, true)},
		{"data of line ends", head + "4\r\n\r\n\r\n\r\n0\r\n\r\n", done(200, 4, true)},
		{"trailers that look like fields of interest", head + "0\r\nContent-Length: 5\r\nConnection: close\r\nTransfer-Encoding: x\r\nT: x\r\n folded\r\n\r\n", done(200, 0, true)},
		{"bytes left over", head + "0\r\n\r\nHTTP/1.1 200 OK\r\n", left(done(200, 0, true), 17)},
		{"no size", head + "\r\nok\r\n0\r\n\r\n", bad(badSize)},
		{"no size before a bare LF", head + "\nok\r\n0\r\n\r\n", bad(badSize)},
		{"a size that is no number", head + "xyz\r\n", bad(badSize)},
		{"a sign", head + "-2\r\nok\r\n", bad(badSize)},
		{"0x", head + "0x2\r\nok\r\n", bad(badSize)},
		{"a space before the size", head + " 2\r\nok\r\n", bad(badSize)},
		{"two sizes", head + "2 2\r\nok\r\n", bad(badSize)},
		{"a size over 64 bits", head + "10000000000000000\r\n", bad("a chunk size over 64 bits")},
		{"a lone CR after the size", head + "2\rok", bad(loneCR)},
		{"data longer than the size", head + "2\r\nokay\r\n0\r\n\r\n", bad(noChunkEnd)},
		{"a lone CR after the data", head + "2\r\nok\r0\r\n\r\n", bad(noChunkEnd)},
		{"a trailer without a colon", head + "0\r\nX-Sum\r\n\r\n", bad(noColon)},
		{"the end within a size", head + "2", short(200, 0)},
		{"the end within data", head + "ffffffffffffffff\r\nok", short(200, 2)},
		{"the end after data", head + "2\r\nok", short(200, 2)},
		{"the end after a chunk", head + "2\r\nok\r\n", short(200, 2)},
		{"the end within trailers", head + "2\r\nok\r\n0\r\nX: y\r\n", short(200, 2)},
		{"the end before the last line end", head + "2\r\nok\r\n0\r\n\r", short(200, 2)},
	})
}

func TestLimits(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const length = "Content-Length: 2\r\n\r\n"
	const chunks = "Transfer-Encoding: chunked\r\n\r\n"
	pad := func(before string, n int) string { return strings.Repeat("p", n-len(before)-len("X: ")) }
	field := func(before string, total int) string { return "X: " + pad(before+length+"\r\n", total) + "\r\n" }
	ext := func(total int) string { return "2;" + strings.Repeat("e", total-len("2;\r\n")) + "\r\n" }
	checkSamples(t, AnswerNormal, []sample{
		{"a field of 20,000 bytes", ok + "X-Pad: " + strings.Repeat("p", 20000) + "\r\n" + length + "ok", done(200, 2, true)},
		{"a header that just fits", ok + field(ok, MaxHeader) + length + "ok", done(200, 2, true)},
		{"a header one byte over", ok + field(ok, MaxHeader+1) + length + "ok", bad(largeHeader)},
		{"a reason without an end", "HTTP/1.1 200 " + strings.Repeat("O", MaxHeader), bad(largeHeader)},
		{"a name without an end", ok + strings.Repeat("x", MaxHeader), bad(largeHeader)},
		{"a list without an end", ok + "Connection: " + strings.Repeat("a,", MaxHeader/2), bad(largeHeader)},
		{"many fields", ok + strings.Repeat("X-A: b\r\n", MaxHeader/8), bad(largeHeader)},
		{"folds without an end", ok + "Content-Length: 2\r\n" + strings.Repeat(" \r\n", MaxHeader/3), bad(largeHeader)},
		{"a long list", ok + "Connection: " + strings.Repeat("a,", 20000) + "close\r\n" + length + "ok", done(200, 2, false)},
		{"trailers without an end", ok + chunks + "0\r\n" + strings.Repeat("X-A: b\r\n", MaxHeader/8), bad(largeHeader)},
		{"a chunk line that just fits", ok + chunks + ext(MaxChunkLine) + "ok\r\n0\r\n\r\n", done(200, 2, true)},
		{"a chunk line one byte over", ok + chunks + ext(MaxChunkLine+1) + "ok\r\n0\r\n\r\n", bad(longChunk)},
		{"an extension without an end", ok + chunks + "2;" + strings.Repeat("e", 2*MaxChunkLine), bad(longChunk)},
		{"zeros without an end", ok + chunks + strings.Repeat("0", 2*MaxChunkLine), bad(longChunk)},
	})
}

// A parser that was left in any place starts afresh.
func TestResetForgets(t *testing.T) {
	var p, fresh Parser
	fresh.Reset(AnswerNormal)
	for _, in := range []string{nginxFile, chunkedAnswer, "nonsense", "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Length: 5, 6"} {
		p.Reset(AnswerHead)
		p.Feed([]byte(in))
		p.Reset(AnswerNormal)
		assert.Equal(t, fresh, p)
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, "more done bad empty short", fmt.Sprint(More, Done, Bad, Empty, Short))
	assert.Equal(t, "HTTP/1.1 HTTP/1.0 HTTP/0.9", fmt.Sprint(HTTP11, HTTP10, HTTP09))
	assert.Equal(t, AnswerHead, AnswerTo("HEAD", HTTP10))
	assert.Equal(t, Answer09, AnswerTo("GET", HTTP09))
	assert.Equal(t, AnswerNormal, AnswerTo("head", HTTP11), "methods are case-sensitive")
}

func TestIdempotent(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"} {
		assert.True(t, Idempotent(method), method)
	}
	for _, method := range []string{"POST", "PATCH", "CONNECT", "get", ""} {
		assert.False(t, Idempotent(method), method)
	}
}
