package http1

// content reads a body, or a chunk's data and the line end after it.
func (p *Parser) content(b []byte) int {
	switch p.step {
	case stepStream:
		p.count(b)
		return len(b)
	case stepFixed:
		return p.take(b, stepDone)
	case stepData:
		return p.take(b, stepDataCR)
	}
	return p.endData(b[0])
}

// take reads what b has of the bytes to come, and goes on to next after the last.
func (p *Parser) take(b []byte, next step) int {
	n := min(uint64(len(b)), p.left)
	p.count(b[:n])
	if p.left -= n; p.left == 0 {
		p.step = next
	}
	return int(n)
}

// count takes bytes of the body.
func (p *Parser) count(b []byte) {
	p.body += uint64(len(b))
	if p.sink != nil {
		_, _ = p.sink.Write(b)
	}
}

// endData reads the line end after a chunk's data.
func (p *Parser) endData(c byte) int {
	switch {
	case c == '\n':
		p.startChunk()
	case c == '\r' && p.step == stepDataCR:
		p.step = stepDataLF
	default:
		p.fail("no line end after a chunk")
	}
	return 1
}

func (p *Parser) startChunk() {
	p.left = 0
	p.line = MaxChunkLine
	p.step = stepSize
}

// chunkLine reads the line before a chunk (RFC 9112 section 7.1). It looks at
// no byte over the limit, so that the result does not depend on how the bytes
// are cut.
func (p *Parser) chunkLine(b []byte) int {
	within := b[:min(len(b), int(p.line))]
	for i, c := range within {
		if p.chunkByte(c); p.step > lastLine || p.step <= lastHead {
			return i + 1
		}
	}
	p.line -= int32(len(within))
	if len(within) < len(b) {
		p.fail("a chunk line longer than 8 KiB")
	}
	return len(within)
}

func (p *Parser) chunkByte(c byte) {
	digit, isDigit := hex(c)
	switch {
	case c == '\n' && p.step != stepSize:
		p.openChunk()
	case p.step == stepExtension: // even a quoted string ends with its line
	case p.step == stepSizeLF:
		p.fail("a CR without LF")
	case isDigit && p.step != stepSizeEnd:
		p.sizeDigit(digit)
	case p.step == stepSize:
		p.fail("a chunk size that is no number")
	case c == '\r':
		p.step = stepSizeLF
	case c == ';':
		p.step = stepExtension
	case c == ' ' || c == '\t':
		p.step = stepSizeEnd
	default:
		p.fail("a chunk size that is no number")
	}
}

func (p *Parser) sizeDigit(digit uint64) {
	p.step = stepDigits
	if p.left>>60 != 0 {
		p.fail("a chunk size over 64 bits")
		return
	}
	p.left = p.left<<4 | digit
}

// openChunk goes on after a chunk line: a chunk of size 0 is the last, and
// trailers or an empty line follow.
func (p *Parser) openChunk() {
	p.step = stepData
	if p.left == 0 {
		p.flags |= inTrailers
		p.step = stepLine
	}
}

func hex(c byte) (digit uint64, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0'), true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10, true
	}
	return 0, false
}
