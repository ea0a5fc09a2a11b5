package nullserver

import (
	"bytes"
	"errors"
)

// maxHead bounds a request head. Testers send paths of 100,000 bytes.
const maxHead = 1 << 20

// request is what of a request head decides about its answer.
type request struct {
	path   []byte // without query; points into the scanned bytes
	head   bool   // HEAD: the answer has no body
	simple bool   // HTTP/0.9: the answer has no head
	old    bool   // HTTP/1.0: that the connection stays open must be said
	keep   bool   // the client wants the connection to stay open
	expect bool   // it waits for a 100 before it sends the body
	body   body
}

var (
	errLine   = errors.New("malformed request line")
	errLength = errors.New("malformed Content-Length")
	errChunk  = errors.New("malformed chunk")
)

// scan reads the request head at the start of b and returns its length, 0
// while it is not whole. seen is how much of b an earlier call has looked at.
func scan(b []byte, seen int) (r request, n int, err error) {
	eol := bytes.IndexByte(b, '\n')
	if eol < 0 {
		return r, 0, nil
	}
	if err = r.line(trimCR(b[:eol])); err != nil || r.simple {
		return r, eol + 1, err
	}
	// The blank line may be cut anywhere, so the last two bytes seen count again.
	if n = headEnd(b, max(eol, seen-2)); n == 0 {
		return r, 0, nil
	}
	return r, n, r.fields(b[eol+1 : n])
}

// headEnd returns where the head in b ends whose blank line begins at or after
// the line end i, and 0 if there is none. Bare LF ends a line too (RFC 9112 §2.2).
func headEnd(b []byte, i int) int {
	for {
		eol := bytes.IndexByte(b[i:], '\n')
		if eol < 0 {
			return 0
		}
		i += eol + 1
		switch {
		case i < len(b) && b[i] == '\n':
			return i + 1
		case i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n':
			return i + 2
		}
	}
}

// line reads "METHOD target HTTP/1.x", or HTTP/0.9's "GET target".
func (r *request) line(b []byte) error {
	method, rest, ok := bytes.Cut(b, []byte(" "))
	if !ok || len(method) == 0 || len(rest) == 0 {
		return errLine
	}
	target, version, ok := cutLast(rest, ' ')
	switch {
	case !ok:
		r.simple = true
		if string(method) != "GET" {
			return errLine
		}
	case len(version) != len("HTTP/1.1") || string(version[:7]) != "HTTP/1.":
		return errLine
	default:
		r.old = version[7] == '0'
		r.keep = !r.old
	}
	r.head = string(method) == "HEAD"
	r.path = pathOf(target)
	return nil
}

// pathOf takes the path out of any form of request target (RFC 9112 §3.2).
func pathOf(target []byte) []byte {
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		target = target[:i]
	}
	if len(target) > 0 && target[0] == '/' {
		return target
	}
	_, rest, ok := bytes.Cut(target, []byte("://"))
	if i := bytes.IndexByte(rest, '/'); ok && i >= 0 {
		return rest[i:]
	}
	return nil
}

func (r *request) fields(b []byte) error {
	for len(b) > 0 {
		eol := bytes.IndexByte(b, '\n')
		line := trimCR(b[:eol])
		b = b[eol+1:]
		if len(line) == 0 {
			continue
		}
		switch line[0] | 0x20 { // the few names that matter begin so
		case 'c', 'e', 't':
			if err := r.field(line); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *request) field(line []byte) error {
	i := bytes.IndexByte(line, ':')
	if i < 0 {
		return nil
	}
	name, value := line[:i], bytes.TrimSpace(line[i+1:])
	switch {
	case equalFold(name, "connection"):
		r.connection(value)
	case equalFold(name, "expect"):
		r.expect = equalFold(value, "100-continue")
	case equalFold(name, "transfer-encoding"):
		r.body = body{state: chunkSize} // beats a length (RFC 9112 §6.3)
	case equalFold(name, "content-length") && !r.body.chunked():
		n, ok := parseLength(value)
		if !ok {
			return errLength
		}
		r.body = sized(n)
	}
	return nil
}

// connection reads a list of tokens; close beats keep-alive.
func (r *request) connection(value []byte) {
	closes := false
	for len(value) > 0 {
		token, rest, _ := bytes.Cut(value, []byte(","))
		token = bytes.TrimSpace(token)
		closes = closes || equalFold(token, "close")
		r.keep = r.keep || equalFold(token, "keep-alive")
		value = rest
	}
	r.keep = r.keep && !closes
}

func parseLength(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 { // 18 digits never overflow
		return 0, false
	}
	for _, ch := range b {
		if ch < '0' || ch > '9' {
			return 0, false
		}
		n = n*10 + int64(ch-'0')
	}
	return n, true
}

func trimCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}

func cutLast(b []byte, sep byte) (before, after []byte, ok bool) {
	if i := bytes.LastIndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// equalFold compares b with s, which is lower case ASCII.
func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, ch := range b {
		if 'A' <= ch && ch <= 'Z' {
			ch |= 0x20
		}
		if ch != s[i] {
			return false
		}
	}
	return true
}
