package nullserver

type bodyState uint8

const (
	bodyDone bodyState = iota
	bodyLength
	chunkSize // within the digits of a chunk's size
	chunkRest // behind them: an extension, up to the line end
	chunkData
	chunkEnd // the line end behind the data
	trailerBegin
	trailerLine
)

// body reads a request body off a connection, however it is cut, and drops it.
// Its zero value is a body that is over.
type body struct {
	left   int64 // bytes still to come, of the body or of the chunk at hand
	state  bodyState
	digits bool // the chunk size has at least one
}

func sized(n int64) body {
	if n == 0 {
		return body{}
	}
	return body{left: n, state: bodyLength}
}

func (d *body) chunked() bool { return d.state >= chunkSize }

// skip takes the part of b that belongs to the body and returns its length.
func (d *body) skip(b []byte) (n int, err error) {
	for n < len(b) && d.state != bodyDone && err == nil {
		if d.state == bodyLength || d.state == chunkData {
			n += d.data(len(b) - n)
			continue
		}
		err = d.frame(b[n])
		n++
	}
	return n, err
}

// data drops up to n bytes of content.
func (d *body) data(n int) int {
	taken := min(int64(n), d.left)
	d.left -= taken
	switch {
	case d.left > 0:
	case d.state == bodyLength:
		d.state = bodyDone
	default:
		d.state = chunkEnd
	}
	return int(taken)
}

// frame takes one byte of chunk framing (RFC 9112 §7.1).
func (d *body) frame(ch byte) error {
	switch d.state {
	case chunkSize:
		return d.size(ch)
	case chunkRest:
		if ch == '\n' {
			d.startChunk()
		}
	case chunkEnd:
		switch ch {
		case '\r':
		case '\n':
			*d = body{state: chunkSize}
		default:
			return errChunk
		}
	case trailerBegin:
		switch ch {
		case '\r':
		case '\n':
			d.state = bodyDone
		default:
			d.state = trailerLine
		}
	case trailerLine:
		if ch == '\n' {
			d.state = trailerBegin
		}
	}
	return nil
}

func (d *body) size(ch byte) error {
	v, ok := hexValue(ch)
	switch {
	case ok && d.left < 1<<58:
		d.left = d.left<<4 | int64(v)
		d.digits = true
	case ok || !d.digits:
		return errChunk
	case ch == '\n':
		d.startChunk()
	case ch == '\r' || ch == ';' || ch == ' ' || ch == '\t':
		d.state = chunkRest
	default:
		return errChunk
	}
	return nil
}

func (d *body) startChunk() {
	d.state = chunkData
	if d.left == 0 {
		d.state = trailerBegin
	}
}

func hexValue(ch byte) (v byte, ok bool) {
	switch {
	case '0' <= ch && ch <= '9':
		return ch - '0', true
	case 'a' <= ch|0x20 && ch|0x20 <= 'f':
		return ch | 0x20 - 'a' + 10, true
	}
	return 0, false
}
