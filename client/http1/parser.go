package http1

import (
	"bytes"
	"io"
)

// MaxHeader is the most bytes of header one answer may have: status lines,
// fields, the interim answers before it and the trailers after it, line ends
// included. An answer with more is Bad.
const MaxHeader = 256 << 10

// MaxChunkLine is the most bytes the line before a chunk may have: size,
// extensions and line end. An answer with a longer one is Bad.
const MaxChunkLine = 8 << 10

// maxBlank is how many empty lines may come before a status line. Some servers
// send one too many after a body (RFC 9112 section 2.2 has the mirror case).
const maxBlank = 4

// State is what the parser knows about the answer.
type State uint8

const (
	More  State = iota // not complete yet
	Done               // complete
	Bad                // not HTTP, framing that cannot be trusted, or a cut header: class proto_bad
	Empty              // the stream ended before any byte: class empty_reply, or stale_conn on a reused connection
	Short              // the stream ended within the body or its trailers: class body_short
)

var stateNames = [...]string{"more", "done", "bad", "empty", "short"}

func (s State) String() string { return stateNames[s] }

// Parser reads one answer at a time from the bytes of a connection, however
// these are cut. It stores no byte of them: its whole memory is the struct, but
// for the Memory it may share with others, and nothing is allocated. It lives in a
// worker, one for each client. Reset it before each request, the first included.
type Parser struct {
	left    uint64 // bytes to come of the body or chunk; in their lines the number as far as it is read
	length  uint64 // Content-Length
	body    uint64
	problem string
	sink    io.Writer
	memory  *Memory
	budget  int32 // header bytes still allowed
	line    int32 // bytes still allowed in this chunk line
	status  uint16
	interim uint16
	flags   flags
	minor   uint8 // of the version: HTTP/1.minor
	answer  Answer
	step    step
	field   field // the field being read, if it matters
	part    part  // within its value
	word    word  // the word that this element of the value may be
	pos     uint8 // bytes matched of a fixed text; before a status line, empty lines seen
}

type flags uint16

const (
	started    flags = 1 << iota // a byte came
	closing                      // Connection: close
	keeping                      // Connection: keep-alive
	hasLength                    // a Content-Length field, valid or not
	badLength                    // one that is malformed, or differs from another
	coded                        // a Transfer-Encoding with any coding
	chunked                      // its last coding is chunked
	badCoding                    // chunked twice, not last, or with parameters
	untilEnd                     // the body ends with the stream
	inTrailers                   // past the last chunk
)

// step is what the next byte belongs to. Up to lastHead the bytes are charged
// to the header limit, up to lastLine to that of a chunk line.
type step uint8

const (
	stepStart   step = iota // empty lines or the status line
	stepStartLF             // the LF of an empty line before it
	stepStatus              // the fixed part of the status line
	stepLine                // first byte of a header line
	stepName                // a name that may matter
	stepColon               // the name matched, the colon is still to come
	stepValue               // a value that matters
	stepOther               // any other line, no colon yet
	stepSkip                // the rest of a line
	stepHeadLF              // the LF of the empty line after the fields
	lastHead         = stepHeadLF

	stepSize      step = iota // first digit of a chunk size
	stepDigits                // its further digits
	stepSizeEnd               // spaces after it
	stepExtension             // chunk extensions
	stepSizeLF                // the LF of the chunk line
	lastLine           = stepSizeLF

	stepData   step = iota // a chunk's data
	stepDataCR             // the line end after it
	stepDataLF
	stepFixed  // a body of known length
	stepStream // a body that ends with the stream

	stepDone
	stepBad
)

// Reset makes the parser ready for the answer to the next request.
func (p *Parser) Reset(a Answer) {
	*p = Parser{answer: a, budget: MaxHeader, sink: p.sink, memory: p.memory}
	if a == Answer09 {
		p.step = stepStream
		p.flags = untilEnd
	}
}

// HandOn has the bytes of every body written to sink as they are read, chunk
// framing taken off. It stays across Reset; nil ends it. What sink returns is
// not looked at.
func (p *Parser) HandOn(sink io.Writer) { p.sink = sink }

// Feed reads on in b and returns how many bytes of it belong to the answer. It
// returns More with n = len(b); Done with n < len(b) where bytes are left over,
// which no answer to one request may have, so that the connection is not to be
// used again; or Bad, where n means nothing. After Done and Bad it takes
// nothing until the next Reset.
func (p *Parser) Feed(b []byte) (n int, s State) {
	if len(b) > 0 {
		p.flags |= started
	}
	for n < len(b) && p.step < stepDone {
		switch {
		case p.step <= lastHead:
			n += p.head(b[n:])
		case p.step <= lastLine:
			n += p.chunkLine(b[n:])
		default:
			n += p.content(b[n:])
		}
	}
	return n, p.state()
}

func (p *Parser) state() State {
	switch p.step {
	case stepDone:
		return Done
	case stepBad:
		return Bad
	}
	return More
}

// End tells the parser that the stream ended in an orderly way, and returns
// what that makes of the answer; never More. A header that is cut, or a stream
// that ends after interim answers, is Bad: there is no answer whose body could
// be short.
func (p *Parser) End() State {
	switch {
	case p.step >= stepDone:
		return p.state()
	case p.flags&started == 0:
		return Empty
	case p.step == stepStream:
		p.step = stepDone
		return Done
	case p.step <= lastHead && p.flags&inTrailers == 0:
		p.fail("the stream ended within the header")
		return Bad
	}
	return Short
}

// Status returns the status of the final answer once its status line is read;
// 0 before, and always for HTTP/0.9.
func (p *Parser) Status() int { return int(p.status) }

// Interim returns how many 1xx answers came before the final one.
func (p *Parser) Interim() int { return int(p.interim) }

// Body returns how many bytes of body came so far, chunk framing taken off.
func (p *Parser) Body() uint64 { return p.body }

// Started reports whether any byte came since Reset.
func (p *Parser) Started() bool { return p.flags&started != 0 }

// Problem returns a few words for what makes the answer Bad; "" if it is not.
func (p *Parser) Problem() string { return p.problem }

// KeepAlive reports whether the answer is complete and leaves its connection
// open for another request (RFC 9112 section 9.3). False after anything that
// makes the framing doubtful: Transfer-Encoding together with Content-Length
// (section 6.3) or in an HTTP/1.0 answer (section 6.1), which is read as it
// says, but whose connection is closed.
func (p *Parser) KeepAlive() bool {
	switch {
	case p.step != stepDone || p.status == 101:
		return false
	case p.flags&(closing|untilEnd|badLength|badCoding) != 0:
		return false
	case p.flags&coded != 0 && (p.minor == 0 || p.flags&hasLength != 0):
		return false
	}
	return p.minor > 0 || p.flags&keeping != 0
}

func (p *Parser) fail(problem string) {
	p.step = stepBad
	p.problem = problem
}

// head reads status line, fields and trailers. It looks at no byte over the
// limit, so that the result does not depend on how the bytes are cut.
func (p *Parser) head(b []byte) int {
	if p.memory == nil || !p.untouched() {
		return p.readHead(b)
	}
	n := p.memory.recall(p, b)
	if n == 0 {
		n = p.readHead(b)
		p.memory.keep(p, b[:n])
	}
	return n
}

func (p *Parser) readHead(b []byte) int {
	within := b[:min(len(b), int(p.budget))]
	n := 0
	for n < len(within) && p.step <= lastHead {
		n += p.headStep(within[n:])
	}
	p.budget -= int32(n)
	if n < len(b) && p.step <= lastHead {
		p.fail("the header is larger than 256 KiB")
	}
	return n
}

// headStep reads within one line. It returns how many bytes it took: 0 only
// where it has gone on to another step.
func (p *Parser) headStep(b []byte) int {
	switch p.step {
	case stepStart:
		return p.start(b)
	case stepStatus:
		return p.statusLine(b)
	case stepSkip:
		return p.skip(b)
	case stepLine:
		return p.startLine(b)
	case stepHeadLF, stepStartLF:
		return p.blankLF(b[0])
	}
	return p.fieldStep(b)
}

// fieldStep reads within a field. It is apart from the steps that most answers
// are read in: eight and more are looked up in a table, far from the code.
func (p *Parser) fieldStep(b []byte) int {
	switch p.step {
	case stepName:
		return p.matchName(b)
	case stepColon:
		return p.colon(b[0])
	case stepValue:
		if p.field == fieldLength {
			return p.number(b)
		}
		return p.list(b)
	}
	return p.other(b)
}

// skip reads to the end of the line.
func (p *Parser) skip(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return len(b)
	}
	p.step = stepLine
	return lf + 1
}

// start reads the first byte of an answer.
func (p *Parser) start(b []byte) int {
	switch b[0] {
	case '\r':
		p.step = stepStartLF
		return 1
	case '\n':
		p.blank()
		return 1
	}
	p.pos = 0
	p.step = stepStatus
	return 0
}

func (p *Parser) blank() {
	p.step = stepStart
	if p.pos++; p.pos > maxBlank {
		p.fail("too many empty lines before the status line")
	}
}

// statusShape is the fixed part of a status line; d stands for a digit.
const statusShape = "HTTP/1.d ddd"

const (
	minorAt  = len("HTTP/1.")
	statusAt = len("HTTP/1.d ")
)

// statusLine reads the status line up to the byte after the status. The reason
// may be missing, with its space or without.
func (p *Parser) statusLine(b []byte) int {
	if p.pos == 0 && p.commonStatus(b) {
		return len(statusShape) + 1
	}
	for i, c := range b {
		at := int(p.pos)
		switch {
		case at == len(statusShape):
			return i + p.endStatus(c)
		case statusShape[at] == 'd' && '0' <= c && c <= '9':
			p.digit(at, c)
		case statusShape[at] != c || c == 'd':
			p.fail("no HTTP/1.x status line")
			return i
		}
		p.pos++
	}
	return len(b)
}

func (p *Parser) digit(at int, c byte) {
	if at == minorAt {
		p.minor = c - '0'
		return
	}
	p.status = p.status*10 + uint16(c-'0')
}

func (p *Parser) endStatus(c byte) int {
	switch {
	case p.status < 100:
		p.fail("a status below 100")
	case c == ' ' || c == '\r':
		p.step = stepSkip
	case c == '\n':
		p.step = stepLine
	default:
		p.fail("no HTTP/1.x status line")
	}
	return 1
}

// blankLF reads the LF of an empty line whose CR was read.
func (p *Parser) blankLF(c byte) int {
	switch {
	case c != '\n':
		p.fail("a CR without LF")
	case p.step == stepStartLF:
		p.blank()
	default:
		p.endHead()
	}
	return 1
}

// endHead goes on after the empty line. An interim answer is followed by
// another answer (RFC 9110 section 15.2); 101 is the last one in HTTP.
func (p *Parser) endHead() {
	switch {
	case p.flags&inTrailers != 0:
		p.step = stepDone
	case p.status < 200 && p.status != 101:
		*p = Parser{answer: p.answer, budget: p.budget, flags: started, interim: p.interim + 1, sink: p.sink, memory: p.memory}
	default:
		p.frame()
	}
}

// frame finds out how the body ends (RFC 9112 section 6.3).
func (p *Parser) frame() {
	switch f := p.flags; {
	case p.answer == AnswerHead, p.status == 101, p.status == 204, p.status == 304:
		p.step = stepDone
	case f&badCoding != 0:
		p.fail("chunked is not the last transfer coding")
	case f&chunked != 0:
		p.startChunk()
	case f&coded != 0:
		p.stream()
	case f&badLength != 0:
		p.fail("a Content-Length that is no number, or two that differ")
	case f&hasLength == 0:
		p.stream()
	case p.length == 0:
		p.step = stepDone
	default:
		p.left = p.length
		p.step = stepFixed
	}
}

func (p *Parser) stream() {
	p.flags |= untilEnd
	p.step = stepStream
}
