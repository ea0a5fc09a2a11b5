package http1

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// nginxHead and nginxSmall are answers of nginx 1.22 as they came: a file, and
// a text of its configuration.
const (
	nginxFile = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 01 Dec 2025 10:44:17 GMT\r\n" +
		"Content-Type: text/html\r\nContent-Length: 12\r\nLast-Modified: Mon, 01 Dec 2025 10:44:16 GMT\r\n" +
		"Connection: keep-alive\r\nETag: \"6b0dd210-c\"\r\nAccept-Ranges: bytes\r\n\r\nhello horde\n"
	nginxText = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 01 Dec 2025 10:44:18 GMT\r\n" +
		"Content-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nhello horde\n"
	chunkedAnswer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" +
		"4;note=a\r\nabcd\r\n6\r\nefghij\r\n0\r\nX-Sum: 10\r\n\r\n"
)

func benchmarkAnswer(b *testing.B, answer string) { benchmarkParser(b, new(Parser), answer) }

func benchmarkParser(b *testing.B, p *Parser, answer string) {
	in := []byte(answer)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		p.Reset(AnswerNormal)
		if n, s := p.Feed(in); n != len(in) || s != Done || !p.KeepAlive() {
			b.Fatal(n, s, p.Problem())
		}
	}
}

func BenchmarkParse(b *testing.B)     { benchmarkAnswer(b, nginxFile) }
func BenchmarkParseText(b *testing.B) { benchmarkAnswer(b, nginxText) }
func BenchmarkParseKnown(b *testing.B) {
	var p Parser
	p.Remember(new(Memory))
	benchmarkParser(b, &p, nginxText)
}

func BenchmarkParseChunked(b *testing.B) { benchmarkAnswer(b, chunkedAnswer) }

// A body of known length costs the same for each Feed, however large.
func BenchmarkParseLargeBody(b *testing.B) {
	in := []byte("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20))
	benchmarkAnswer(b, string(in))
}

func TestAnswerAllocatesNothing(t *testing.T) {
	for _, answer := range []string{nginxFile, nginxText, chunkedAnswer} {
		var p Parser
		in := []byte(answer)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			p.Reset(AnswerNormal)
			for i := range in { // cut at every byte
				p.Feed(in[i : i+1])
			}
			p.Reset(AnswerNormal)
			p.Feed(in)
		}), answer)
	}
}

func TestParserIsSmall(t *testing.T) {
	assert.LessOrEqual(t, unsafe.Sizeof(Parser{}), uintptr(88), "there may be a million of them")
}
