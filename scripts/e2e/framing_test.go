package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What an answer's bytes mean: where it ends, what counts as one, what is too
// short, too long or not HTTP at all.

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" +
	"4;note=a\r\nabcd\r\n6\r\nefghij\r\n0\r\nX-Sum: 10\r\n\r\n"

func TestChunkedAnswerWithExtensionAndTrailer(t *testing.T) {
	t.Parallel()
	s := serve(t, 20, keepOpen(chunked))
	o := run(t, "-c", "1", "-t", "2", "--keepalive", "--json", s.url())
	o.onTime(2 * time.Second)
	o.counts(20, 0, 1)
	assert.EqualValues(t, 1, o.Requests.Unfinished)
	assert.EqualValues(t, 20*106, o.Bytes.Read)
	assert.EqualValues(t, 20*10, o.Bytes.Body)
	assert.Equal(t, 1, s.carried())
	assert.EqualValues(t, 1, o.Connections.Opened)
	assert.EqualValues(t, 20, o.Connections.ReusedRequests)
	assert.Zero(t, o.code)
}

// An answer with a trailer ends with the blank line after it, not with the
// last chunk: a request that comes earlier was sent into the middle of it.
func TestNextRequestWaitsForTheEndOfTheTrailer(t *testing.T) {
	t.Parallel()
	cut := len(chunked) - len("X-Sum: 10\r\n\r\n")
	s := serve(t, 8, func(c *conn) {
		for c.request() && c.take() {
			for _, part := range []string{chunked[:cut], "X-Sum: 10\r\n", "\r"} {
				c.send(part)
				if c.watch(pieceGap) != quiet {
					c.server.note("early")
				}
			}
			c.answer("\n")
		}
	})
	o := run(t, "-c", "1", "-t", "2", "--keepalive", "--json", s.url())
	o.counts(8, 0, 1)
	assert.EqualValues(t, 8*106, o.Bytes.Read)
	assert.Equal(t, 1, s.carried())
	assert.Zero(t, s.noted("early"))
}

func TestChunkedAnswerCutAnywhere(t *testing.T) {
	t.Parallel()
	s := serve(t, len(chunked)-1, func(c *conn) {
		for c.request() && c.take() {
			cut := 1 + c.nthInAll()
			c.send(chunked[:cut])
			c.pause(4 * time.Millisecond)
			c.answer(chunked[cut:])
		}
	})
	o := run(t, "-c", "1", "-t", "3", "--keepalive", "--json", s.url())
	o.counts(uint64(len(chunked)-1), 0, 1)
	assert.EqualValues(t, (len(chunked)-1)*len(chunked), o.Bytes.Read)
	assert.Equal(t, 1, s.carried())
}

func TestHeaderNamesInAnyCase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"content-length", "CONTENT-LENGTH", "cOnTeNt-LeNgTh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 20, keepOpen("HTTP/1.1 200 OK\r\n"+name+": 5\r\n\r\nhello"))
			o := run(t, "-c", "1", "-t", "1", "--keepalive", "--json", s.url())
			o.counts(20, 0, 1)
			assert.EqualValues(t, 860, o.Bytes.Read)
			assert.Equal(t, 1, s.carried())
		})
	}
}

// Without keep-alive the length ends the answer, not the server's close: a
// client that waits for the close hangs.
func TestPlainModeClosesByItselfAfterACompleteAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, 30, func(c *conn) {
		if c.request() && c.take() && c.answer(ok5) && c.watch(time.Second) == closed {
			c.server.note("closed by the client")
		}
	})
	o := run(t, "-c", "3", "-t", "2", "--json", s.url())
	o.onTime(2 * time.Second)
	o.counts(30, 0, 3)
	assert.EqualValues(t, 1290, o.Bytes.Read)
	assert.EqualValues(t, 30, s.noted("closed by the client"))
	assert.Equal(t, 30, s.carried())
	for _, r := range s.seen() {
		asked := strings.EqualFold(field(r.head, "connection"), "close") || strings.Contains(r.head, " HTTP/1.0\r\n")
		assert.True(t, asked, "the request does not ask for a close: %q", r.head)
	}
}

func TestBodyThatEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	const http10 = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nabcdefghij"
	const http11 = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcdefghij"
	const empty = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	for _, c := range []struct{ name, answer string }{
		{"of HTTP/1.0", http10},
		{"of HTTP/1.1 that announces the close", http11},
		{"and is empty", empty},
	} {
		for _, mode := range []string{"--keepalive", "--http11"} {
			t.Run(c.name+" "+mode, func(t *testing.T) {
				t.Parallel()
				s := serve(t, 25, thenClose(c.answer))
				o := run(t, "-c", "1", "-t", "1", mode, "--json", s.url())
				o.counts(25, 0, 1)
				assert.EqualValues(t, 25*len(c.answer), o.Bytes.Read)
				assert.Equal(t, 25, s.carried())
			})
		}
	}
}

func TestBodyThatEndsWithTheConnectionCutByAReset(t *testing.T) {
	t.Parallel()
	s := serve(t, 25, func(c *conn) {
		if c.request() && c.take() {
			c.answer("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nabcdefghij")
			c.reset()
		}
	})
	o := run(t, "-c", "1", "-t", "2", "--json", s.url())
	o.counts(0, 25, 1)
	assert.Equal(t, map[string]uint64{"reset_body": 25}, o.classes())
	assert.Equal(t, 1, o.code)
}

func TestBodyShorterThanAnnounced(t *testing.T) {
	t.Parallel()
	short := "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 60)
	for _, mode := range []string{"--keepalive", "--http11"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 10, thenClose(short))
			o := run(t, "-c", "1", "-t", "2", mode, "--json", s.url())
			o.counts(0, 10, 1)
			assert.Equal(t, map[string]uint64{"body_short": 10}, o.classes())
			assert.EqualValues(t, 1000, o.Bytes.Read)
			assert.Zero(t, o.Connections.ResentRequests, "an answer had begun: no second try")
			assert.Equal(t, 1, o.code)
		})
	}
}

func TestChunkedBodyThatEndsEarly(t *testing.T) {
	t.Parallel()
	s := serve(t, 10, thenClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"))
	o := run(t, "-c", "1", "-t", "1", "--json", s.url())
	o.counts(0, 10, 1)
	assert.Equal(t, map[string]uint64{"body_short": 10}, o.classes())
}

func TestAnswersWithoutABodyWhateverTheirHeadersSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		options      []string
	}{
		{"HEAD with a length", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", []string{"-m", "HEAD"}},
		{"HEAD by its own option", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", []string{"--head"}},
		{"HEAD with chunked framing", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", []string{"--head"}},
		{"204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", nil},
		{"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 20, keepOpen(c.answer))
			o := run(t, append(c.options, "-c", "1", "-t", "1", "--keepalive", "--json", s.url())...)
			o.onTime(time.Second)
			o.counts(20, 0, 1)
			assert.EqualValues(t, 20*len(c.answer), o.Bytes.Read)
			assert.Equal(t, 1, s.carried())
		})
	}
}

// Bytes after a complete answer would be read as the begin of the next one.
func TestBytesLeftOverAfterAnAnswerAreNotTheNextAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, 10, keepOpen(ok5+"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"))
	o := run(t, "-c", "1", "-t", "1", "--keepalive", "--json", s.url()).json()
	assert.Zero(t, o.StatusClass["5xx"], "an answer nobody asked for was counted")
	assert.EqualValues(t, s.complete(), o.Requests.Succeeded+o.Requests.Failed)
	assert.Equal(t, s.complete(), s.carried(), "the connection was used again")
}

func TestInterimAnswersAreNotTheAnswer(t *testing.T) {
	t.Parallel()
	const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
	const ok2 = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, c := range []struct {
		name   string
		pieces []string
	}{
		{"one, apart from the final one", []string{hints, ok2}},
		{"two in a row", []string{hints, hints, ok2}},
		{"a bare 100", []string{"HTTP/1.1 100 Continue\r\n\r\n", ok2}},
		{"glued to the final one", []string{hints + ok2}},
		{"two glued, the final one cut", []string{hints + hints + ok2[:20], ok2[20:]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 15, func(nc *conn) {
				for nc.request() && nc.take() {
					if len(c.pieces) > 1 && (!nc.send(c.pieces[0]) || nc.watch(pieceGap) != quiet) {
						nc.server.note("early")
					}
					nc.answer(c.pieces[min(1, len(c.pieces)-1):]...)
				}
			})
			o := run(t, "-c", "1", "-t", "2", "--keepalive", "--json", s.url())
			o.counts(15, 0, 1)
			assert.Equal(t, map[string]uint64{"200": 15}, o.Status)
			assert.EqualValues(t, 15, o.StatusClass["2xx"])
			assert.Zero(t, o.StatusClass["1xx"])
			assert.EqualValues(t, 15*len(strings.Join(c.pieces, "")), o.Bytes.Read)
			assert.Equal(t, 1, s.carried())
			assert.Zero(t, s.noted("early"), "a request before the final answer")
			gaps := time.Duration(len(c.pieces) - 1)
			assert.GreaterOrEqual(t, o.percentile("50"), gaps*pieceGap*99/100, "latency up to the final answer")
		})
	}
}

func TestUnusualStatusLinesAndLargeHeaderBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		size         int
	}{
		{"no reason phrase", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 37},
		{"an empty reason phrase", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok", 38},
		{"a field of 20,000 bytes", "HTTP/1.1 200 OK\r\nX-Pad: " + strings.Repeat("p", 20000) +
			"\r\nContent-Length: 2\r\n\r\nok", 20049},
		{"no space after the colon", "HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\nok", 39},
		{"a header block just under 64 KiB", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" +
			strings.Repeat("X-Pad: "+strings.Repeat("p", 1000)+"\r\n", 64) + "\r\nok", 64616},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 10, keepOpen(c.answer))
			o := run(t, "-c", "1", "-t", "1", "--keepalive", "--json", s.url())
			o.counts(10, 0, 1)
			assert.EqualValues(t, 10*c.size, o.Bytes.Read)
			assert.Equal(t, 1, s.carried())
		})
	}
}

func TestEndlessHeaderBlockIsCutOff(t *testing.T) {
	t.Parallel()
	line := "X-Pad: " + strings.Repeat("p", 1000) + "\r\n"
	s := serve(t, 10, func(c *conn) {
		if c.request() && c.take() && c.send("HTTP/1.1 200 OK\r\n") {
			for c.send(line) {
			}
			c.server.note("cut off")
		}
	})
	p := launch{}.start(t, "-c", "1", "-t", "2", "--json", s.url())
	s.await(t, 11)
	assert.Less(t, peakMemory(p.pid()), int64(64<<20))
	o := p.wait()
	o.onTime(2 * time.Second)
	o.counts(0, 10, 1)
	assert.Equal(t, map[string]uint64{"proto_bad": 10}, o.classes())
	assert.Equal(t, 10, s.noted("cut off"))
	assert.GreaterOrEqual(t, o.Bytes.Read, uint64(10*64<<10), "the limit is at least 64 KiB")
}

func TestAnswersThatAreNotHTTPFail(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"another protocol":                    "SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"a status that is not a number":       "HTTP/1.1 abc OK\r\n\r\n",
		"a length that is not a number":       "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
		"a negative length":                   "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
		"a length beyond 64 bits":             "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
		"two lengths that differ":             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"a chunk size that is not hex":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"a chunk longer than its size":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
		"a chunk size beyond 64 bits":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
		"binary garbage and no line end ever": strings.Repeat("\x00\xff\x80", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 5, func(c *conn) {
				if c.request() && c.take() {
					c.answer(answer)
					c.fin()
					c.hold()
				}
			})
			o := run(t, "-c", "1", "-t", "1", "--json", s.url())
			o.counts(0, 5, 1)
			assert.Equal(t, map[string]uint64{"proto_bad": 5}, o.classes())
			assert.Equal(t, 1, o.code)
		})
	}
}

// Pages of different length are no failures, and fast error pages must not
// make the service look fast.
func TestErrorPagesFailAndChangingLengthsDoNot(t *testing.T) {
	t.Parallel()
	s := serve(t, 40, mixedAnswers)
	o := run(t, "-c", "1", "-t", "3", "--keepalive", "--json", s.url())
	o.counts(20, 20, 1)
	assert.Equal(t, map[string]uint64{"200": 20, "404": 10, "503": 10}, o.Status)
	assert.Equal(t, map[string]uint64{"http_4xx": 10, "http_5xx": 10}, o.classes())
	assert.EqualValues(t, 20, o.StatusClass["2xx"])
	assert.EqualValues(t, 10, o.StatusClass["4xx"])
	assert.EqualValues(t, 10, o.StatusClass["5xx"])
	assert.GreaterOrEqual(t, o.percentile("50"), 20*time.Millisecond, "latency of successes alone")
	assert.Zero(t, o.code, "failed requests alone do not change the exit code")

	text := run(t, "-c", "1", "-t", "2", "--keepalive", serve(t, 40, mixedAnswers).url())
	assert.Equal(t, headline{succeeded: 20, failed: 20, unfinished: 1}, text.headline().counts())
	assert.Regexp(t, `(?m)404.*\b10\b|\b10\b.*404`, text.stdout, "statuses are in the text")
	assert.Regexp(t, `(?m)503.*\b10\b|\b10\b.*503`, text.stdout, "statuses are in the text")
}

func mixedAnswers(c *conn) {
	for c.request() && c.take() {
		switch c.nthInAll() % 4 {
		case 0:
			c.pause(20 * time.Millisecond)
			c.answer(ok5)
		case 1:
			c.pause(20 * time.Millisecond)
			c.answer("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nhello!!")
		case 2:
			c.pause(time.Millisecond)
			c.answer("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
		case 3:
			c.pause(time.Millisecond)
			c.answer("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno")
		}
	}
}

func TestOnlyErrorPagesDoNotLookClean(t *testing.T) {
	t.Parallel()
	s := serve(t, 40, keepOpen("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno"))
	o := run(t, "-c", "1", "-t", "1", "--keepalive", s.url())
	assert.Equal(t, headline{failed: 40, unfinished: 1}, o.headline().counts())
	assert.Zero(t, o.headline().pages)
	assert.Equal(t, 1, o.code)
}

func TestExpectSaysWhatCountsAsSuccess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expect            string
		succeeded, failed uint64
	}{
		{"200-299", 20, 20},
		{"404,503", 20, 20},
		{"200,400-499", 30, 10},
		{"503", 10, 30},
	} {
		t.Run(c.expect, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 40, mixedAnswers)
			o := run(t, "-c", "1", "-t", "2", "-k", "--expect", c.expect, "--json", s.url())
			o.counts(c.succeeded, c.failed, 1)
			assert.EqualValues(t, 40, sum(o.Status), "every complete answer has its status counted")
		})
	}
}
