package http1

import (
	"bytes"
	"math"
)

// field is a header field that decides how an answer ends. All others are
// skipped unread.
type field uint8

const (
	fieldNone field = iota
	fieldConnection
	fieldLength
	fieldCoding
)

var fieldNames = [...]string{
	fieldConnection: "connection",
	fieldLength:     "content-length",
	fieldCoding:     "transfer-encoding",
}

// part is where in a value the parser is.
type part uint8

const (
	partStart  part = iota // before an element
	partWord               // within its word, or number
	partAfter              // spaces after that
	partParam              // parameters of a transfer coding
	partQuote              // a quoted string in these
	partEscape             // after a backslash in that
)

// word is an element of a list that matters.
type word uint8

const (
	wordOther word = iota
	wordClose
	wordKeepAlive
	wordChunked
)

var words = [...]string{
	wordOther:     "",
	wordClose:     "close",
	wordKeepAlive: "keep-alive",
	wordChunked:   "chunked",
}

// startLine looks at the first byte of a header line. A line that begins with
// whitespace goes on with the value of the line before (obs-fold, RFC 9112
// section 5.2); only when it does not is that field complete. Such a line right
// after the status line is passed over (section 2.2).
func (p *Parser) startLine(b []byte) int {
	c := b[0]
	if c == ' ' || c == '\t' {
		p.step = stepSkip
		if p.field != fieldNone {
			p.step = stepValue
		}
		return 0
	}
	if p.field != fieldNone {
		p.endField()
	}
	switch c {
	case '\r':
		p.step = stepHeadLF
		return 1
	case '\n':
		p.endHead()
		return 1
	}
	if n := p.commonLines(b); n > 0 {
		return n
	}
	p.startField(c)
	return 0
}

// startField tells by the first letter of a name whether the field can matter.
// No trailer does (RFC 9110 section 6.5.1).
func (p *Parser) startField(c byte) {
	p.pos = 0
	p.step = stepName
	switch {
	case p.flags&inTrailers != 0:
		p.step = stepOther
	case c|0x20 == 'c':
		p.field = fieldConnection
	case c|0x20 == 't':
		p.field = fieldCoding
	case c == ':':
		p.fail("a header line without a name")
	default:
		p.step = stepOther
	}
}

// matchName reads a name as long as it may be one that matters.
func (p *Parser) matchName(b []byte) int {
	name := fieldNames[p.field]
	for i, c := range b {
		c = lower(c)
		if c == 't' && p.pos == 3 && p.field == fieldConnection {
			p.field = fieldLength // con|nection, con|tent-length
			name = fieldNames[fieldLength]
		}
		if c != name[p.pos] {
			p.field = fieldNone
			p.step = stepOther
			return i
		}
		if p.pos++; int(p.pos) == len(name) {
			p.step = stepColon
			return i + 1
		}
	}
	return len(b)
}

// colon reads what follows a name that matters. Whitespace before the colon is
// dropped (RFC 9112 section 5.1).
func (p *Parser) colon(c byte) int {
	switch c {
	case ' ', '\t':
		return 1
	case ':':
		p.step = stepValue
		p.part = partStart
		p.left = 0
		return 1
	}
	p.field = fieldNone
	p.step = stepOther
	return 0
}

// other reads a line of no interest up to its colon, and past its end where the
// end is in sight.
func (p *Parser) other(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	line := b
	if lf >= 0 {
		line = b[:lf]
	}
	switch colon := bytes.IndexByte(line, ':') >= 0; {
	case lf < 0 && colon:
		p.step = stepSkip
	case lf >= 0 && colon:
		p.step = stepLine
		return lf + 1
	case lf >= 0:
		p.fail("a header line without a colon")
	}
	return len(line)
}

// endField takes the field's last element.
func (p *Parser) endField() {
	if p.field == fieldLength {
		p.endNumber()
	} else {
		p.endWord()
	}
	p.field = fieldNone
}

// number reads a value of Content-Length: a decimal number, or the same one
// several times in a list. What is wrong with it counts only once it is known
// that it decides how the body ends.
func (p *Parser) number(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\n':
			p.step = stepLine
			return i + 1
		case '0' <= c && c <= '9' && p.part != partAfter:
			p.part = partWord
			if p.left > (math.MaxUint64-uint64(c-'0'))/10 {
				p.flags |= badLength
			}
			p.left = p.left*10 + uint64(c-'0')
		case c == ',':
			p.endNumber()
		case isSpace(c) && p.part != partWord:
		case isSpace(c):
			p.part = partAfter
		default:
			p.flags |= badLength
		}
	}
	return len(b)
}

func (p *Parser) endNumber() {
	if p.part == partStart || p.flags&hasLength != 0 && p.length != p.left {
		p.flags |= badLength
	}
	p.flags |= hasLength
	p.length = p.left
	p.left = 0
	p.part = partStart
}

// list reads a value of Connection or Transfer-Encoding.
func (p *Parser) list(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\n':
			p.step = stepLine
			return i + 1
		case p.part == partWord && int(p.pos) < len(words[p.word]) && lower(c) == words[p.word][p.pos]:
			p.pos++
		default:
			p.element(c)
		}
	}
	return len(b)
}

// element reads a byte of a list that is not the expected next one of a word.
func (p *Parser) element(c byte) {
	switch {
	case p.part >= partParam:
		p.param(c)
	case c == ',':
		p.endWord()
	case isSpace(c) && p.part != partWord:
	case isSpace(c):
		p.part = partAfter
	case c == ';' && p.field == fieldCoding:
		if p.is(wordChunked) { // which has no parameters: RFC 9112 section 7.1
			p.flags |= badCoding
		}
		p.word = wordOther
		p.part = partParam
	case p.part == partStart:
		p.startWord(c)
	default:
		p.word = wordOther
	}
}

// startWord tells by its first letter which word an element may be.
func (p *Parser) startWord(c byte) {
	p.part = partWord
	p.pos = 1
	switch c = lower(c); {
	case p.field == fieldCoding && c == 'c':
		p.word = wordChunked
	case p.field == fieldConnection && c == 'c':
		p.word = wordClose
	case p.field == fieldConnection && c == 'k':
		p.word = wordKeepAlive
	default:
		p.word = wordOther
	}
}

// param reads parameters of a transfer coding; a comma in quotes ends nothing.
func (p *Parser) param(c byte) {
	switch {
	case p.part == partEscape:
		p.part = partQuote
	case p.part == partQuote && c == '\\':
		p.part = partEscape
	case p.part == partQuote && c == '"':
		p.part = partParam
	case p.part == partParam && c == '"':
		p.part = partQuote
	case p.part == partParam && c == ',':
		p.endWord()
	}
}

func (p *Parser) is(w word) bool { return p.word == w && int(p.pos) == len(words[w]) }

// endWord takes an element of a list. Empty ones mean nothing (RFC 9110
// section 5.6.1.2).
func (p *Parser) endWord() {
	if p.part == partStart {
		return
	}
	p.part = partStart
	if p.field == fieldCoding {
		p.endCoding()
		return
	}
	switch {
	case p.is(wordClose):
		p.flags |= closing
	case p.is(wordKeepAlive):
		p.flags |= keeping
	}
}

func (p *Parser) endCoding() {
	if p.flags&chunked != 0 {
		p.flags |= badCoding
	}
	p.flags |= coded
	if p.is(wordChunked) {
		p.flags |= chunked
	}
}

// isSpace reports whether c is whitespace in a value. A CR before the LF is
// just that, and one anywhere else is to be read as a space (RFC 9112 section 2.2).
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}
