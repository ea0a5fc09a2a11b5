package http1

import "bytes"

// What nearly every answer looks like is read here at a glance. These functions
// only shorten the way: what they do not know they leave to the steps, which
// read the same shapes to the same end, a byte at a time where they must.

// commonStatus reads the fixed part of a status line and the space after it.
func (p *Parser) commonStatus(b []byte) bool {
	const common = "HTTP/1.1 "
	if len(b) <= len(statusShape) || string(b[:len(common)]) != common || b[len(statusShape)] != ' ' {
		return false
	}
	d := b[statusAt:len(statusShape)]
	if d[0]-'1' > 8 || d[1]-'0' > 9 || d[2]-'0' > 9 {
		return false
	}
	p.minor = 1
	p.status = uint16(d[0]-'0')*100 + uint16(d[1]-'0')*10 + uint16(d[2]-'0')
	p.step = stepSkip
	return true
}

// commonLines reads whole header lines and stops before the first that is cut,
// folded, or of another shape, at the latest before the empty line.
func (p *Parser) commonLines(b []byte) int {
	n := 0
	for {
		rest := b[n:]
		lf := bytes.IndexByte(rest, '\n')
		if lf < 1 || lf+1 == len(rest) {
			return n
		}
		if next := rest[lf+1]; next == ' ' || next == '\t' {
			return n
		}
		if !p.commonLine(rest[:lf]) {
			return n
		}
		n += lf + 1
	}
}

// commonLine reads one line, without its LF.
func (p *Parser) commonLine(line []byte) bool {
	switch c := line[0]; {
	case c <= ' ' || c == ':':
		return false
	case p.flags&inTrailers != 0:
	case c|0x20 == 'c' && len(line) > 8 && line[1]|0x20 == 'o':
		if string(line[:8]) != "Content-" || line[8]|0x20 == 'l' {
			return p.commonValue(line)
		}
	case c|0x20 == 't' || c|0x20 == 'c' && len(line) <= 8:
		return p.commonValue(line)
	}
	return bytes.IndexByte(line, ':') >= 0
}

func (p *Parser) commonValue(line []byte) bool {
	switch string(line) {
	case "Connection: keep-alive\r":
		p.flags |= keeping
		return true
	case "Connection: close\r":
		p.flags |= closing
		return true
	case "Transfer-Encoding: chunked\r":
		fresh := p.flags&coded == 0
		if fresh {
			p.flags |= coded | chunked
		}
		return fresh
	}
	return p.commonLength(line)
}

// commonLength reads a length of at most 18 digits, which cannot overflow.
func (p *Parser) commonLength(line []byte) bool {
	const name = "Content-Length: "
	last := len(line) - 1
	if last <= len(name) || last > len(name)+18 || string(line[:len(name)]) != name || line[last] != '\r' {
		return false
	}
	v := uint64(0)
	for _, c := range line[len(name):last] {
		if c-'0' > 9 {
			return false
		}
		v = v*10 + uint64(c-'0')
	}
	p.left = v
	p.part = partWord
	p.endNumber()
	return true
}
