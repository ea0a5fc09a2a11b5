package nullserver

import (
	"math"
	"strconv"
	"strings"
)

// kinds is every fault there is. Help, README and parser read this table.
var kinds = [...]kind{
	{"refuse", "FROM-TO", "refuse:2s-4s", "the listener is closed for that span of the server's life", onlyProcess, parseSpan, nil},
	{"stall", "FROM-TO", "stall:3s-7s", "the server stands still for that span of its life", onlyProcess, parseSpan, nil},
	{"backlog", "N", "backlog:1", "accepts nothing; once N connections queue up, connects hang", onlyProcess, parseCount, nil},
	{"reset", "accept", "reset:accept", "resets a connection as it is accepted", onlyAccept, nil, (*reply).resetAtOnce},
	{"noread", "", "noread", "accepts but never reads; by path: reads no further than the head", anyAccept, nil, (*reply).stopReading},

	{"empty", "", "empty", "closes without a byte of an answer", anywhere, nil, (*reply).sendNothing},
	{"reset", "wait", "reset:wait", "resets after the request was read", anywhere, nil, (*reply).resetAtOnce},
	{"silence", "", "silence", "reads the request and never answers", anywhere, nil, (*reply).fallSilent},
	{"delay", "TIME", "delay:50ms", "the answer comes that much later", anywhere, parseTime, (*reply).comeLate},
	{"half", "TIME", "half:50ms", "as delay, but closes without an answer if the client has shut its sending side by then", anywhere, parseTime, (*reply).insistOnHalf},
	{"early", "CODE[/TIME]", "early:413/500ms", "answers behind the head and closes; with a time reads the body on for so long", anywhere, parseEarly, (*reply).answerEarly},

	{"status", "CODE", "status:503", "answers with that status", anywhere, parseStatus, (*reply).setStatus},
	{"bare", "", "bare", "a status line without a reason", anywhere, nil, (*reply).dropReason},
	{"lower", "", "lower", "header names in lower case", anywhere, nil, (*reply).lowerNames},
	{"header", "[BYTES]", "header:20000", "a header field with a value of so many bytes", anywhere, parseWidth, (*reply).addHeader},
	{"endless", "", "endless", "header lines for ever", anywhere, nil, (*reply).neverEndHead},
	{"interim", "[TIME]", "interim:20ms", "a 103 first, the answer proper that much later", anywhere, parseMaybeTime, (*reply).hintFirst},
	{"bad", "", "bad", "something that is not HTTP, then closes", anywhere, nil, (*reply).talkOtherwise},
	{"bad", "chunk", "bad:chunk", "a chunk whose size is no number", anywhere, nil, (*reply).breakChunk},
	{"bad", "length", "bad:length", "a Content-Length that is no number", anywhere, nil, (*reply).breakLength},

	{"chunked", "", "chunked", "a chunked body with an extension and a trailer", anywhere, nil, (*reply).chunk},
	{"eof", "", "eof", "a body without a length that ends with the connection", anywhere, nil, (*reply).endWithClose},
	{"eof", "reset", "eof:reset", "the same, but the connection ends with a reset", anywhere, nil, (*reply).endWithReset},
	{"drip", "BYTES/TIME", "drip:10/20ms", "the answer in pieces of so many bytes, so far apart", anywhere, parseDrip, (*reply).drip},
	{"short", "", "short", "half the body, then an orderly close", anywhere, nil, (*reply).cutShort},
	{"reset", "body", "reset:body", "half the body, then a reset", anywhere, nil, (*reply).resetWithin},
	{"silence", "body", "silence:body", "half the body, then nothing", anywhere, nil, (*reply).fallSilentWithin},

	{"close", "N", "close:3", "announces and closes with the Nth answer of a connection", anywhere, parseCount, (*reply).closeAfter},
	{"stale", "N", "stale:3", "closes right behind the Nth answer of a connection without a word", anywhere, parseCount, (*reply).closeUnsaid},
	{"open", "", "open", "never closes and says nothing about it, whatever the client asked", anywhere, nil, (*reply).stayOpen},
	{"old", "", "old", "answers as HTTP/1.0 with a length, and never closes", anywhere, nil, (*reply).stayOpenOld},
}

func (r *reply) comeLate(v value) { r.delay = v.from }

func (r *reply) insistOnHalf(v value) { r.delay, r.strict = v.from, true }

func (r *reply) drip(v value) { r.piece, r.every = int(v.n), v.from }

func (r *reply) dropReason(value) { r.start = "HTTP/1.1 200\r\n" }

func (r *reply) lowerNames(value) { r.lower = true }

func (r *reply) addHeader(v value) { r.fields += "X-Pad: " + strings.Repeat("p", int(v.n)) + "\r\n" }

func (r *reply) closeAfter(v value) { r.last, r.announce = uint64(v.n), true }

func (r *reply) closeUnsaid(v value) { r.last = uint64(v.n) }

func (r *reply) stayOpen(value) { r.open = true }

func (r *reply) stayOpenOld(value) { r.open, r.start = true, "HTTP/1.0 200 OK\r\n" }

func (r *reply) setStatus(v value) {
	r.start = statusLine(int(v.n))
	if v.n < 200 || v.n == 204 || v.n == 304 { // no body, RFC 9110 §6.4.1
		r.length, r.body = "", 0
	}
}

func (r *reply) answerEarly(v value) {
	r.setStatus(v)
	r.early, r.announce, r.then = true, true, shut
	if v.from > 0 {
		r.then, r.linger = drain, v.from
	}
}

func (r *reply) hintFirst(v value) {
	r.before = []byte("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
	r.delay = v.from
}

// chunk cuts the body in two where it is long enough.
func (r *reply) chunk(value) {
	size := r.body
	r.length = "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n"
	if first := int64(4); size > first {
		r.lead = []byte("4;note=horde\r\n" + string(r.block[:first]) + "\r\n")
		r.at, r.body = int(first), size-first
	}
	if r.body > 0 {
		r.lead = append(r.lead, strconv.FormatInt(r.body, 16)+"\r\n"...)
		r.tail = []byte("\r\n")
	}
	r.tail = append(r.tail, "0\r\nX-Sum: "+strconv.FormatInt(size, 10)+"\r\n\r\n"...)
}

func (r *reply) endWithClose(value) { r.length, r.announce, r.then = "", true, shut }

func (r *reply) endWithReset(v value) {
	r.endWithClose(v)
	r.breakOff(reset)
}

func (r *reply) cutShort(value) { r.halve(shut) }

func (r *reply) resetWithin(value) { r.halve(reset) }

func (r *reply) fallSilentWithin(value) { r.halve(hush) }

func (r *reply) sendNothing(value) { r.sendRaw("", shut) }

func (r *reply) resetAtOnce(value) { r.sendRaw("", reset) }

func (r *reply) fallSilent(value) { r.sendRaw("", hush) }

func (r *reply) stopReading(value) {
	r.early = true
	r.sendRaw("", deaf)
}

func (r *reply) talkOtherwise(value) {
	r.sendRaw("220 this is not the protocol you are looking for\r\n", shut)
}

func (r *reply) breakChunk(value) {
	r.length, r.lead = "Transfer-Encoding: chunked\r\n", []byte("zz\r\n")
	r.breakOff(shut)
}

func (r *reply) breakLength(value) {
	r.length = "Content-Length: twelve\r\n"
	r.breakOff(shut)
}

func (r *reply) neverEndHead(value) {
	r.sendRaw(r.start, shut)
	line := "X-Endless: " + strings.Repeat("e", 51) + "\r\n"
	r.block, r.body = []byte(strings.Repeat(line, 1024)), math.MaxInt64
}

// halve announces the whole body and sends half of it.
func (r *reply) halve(then ending) {
	size := max(r.body, 2)
	r.length, r.body = lengthField(size), size/2
	r.breakOff(then)
}

// sendRaw puts bytes in the place of head and body.
func (r *reply) sendRaw(bytes string, then ending) {
	r.raw, r.start, r.body = true, bytes, 0
	r.breakOff(then)
}

// breakOff makes the answer one that is never complete.
func (r *reply) breakOff(then ending) { r.broken, r.then = true, then }
