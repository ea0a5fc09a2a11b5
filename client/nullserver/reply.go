package nullserver

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// ending is what becomes of a connection behind an answer.
type ending uint8

const (
	next  ending = iota // it carries the next request
	shut                // closed: FIN, or a reset by the kernel if input is unread
	reset               // closed with a reset
	hush                // kept open; input is read and dropped
	deaf                // kept open; input is left unread
	drain               // FIN at once, input dropped for a while, then closed
)

// The Connection headers a head may carry.
const (
	unsaid = iota
	closing
	staying
	heads
)

// inline is the longest body that is copied behind its head, so that an answer
// is one send and several pipelined ones are too.
const inline = 4096

// reply is an answer ready to be sent, shared by all requests that get it. It
// lives in the serving process.
type reply struct {
	// Set by the fault's shape, put together by render.
	start, fields, length string // lines with their ends
	lower                 bool
	raw                   bool // start is all there is of the head

	before []byte        // sent at once
	delay  time.Duration // until the rest follows
	strict bool          // and only to a client that can still send
	head   [heads][]byte
	lead   []byte // chunk framing before the body
	block  []byte // what the body is cut from, again and again
	at     int    // where in block it begins
	body   int64
	tail   []byte        // chunk framing behind the body
	piece  int           // bytes sent at a time, 0 = no limit
	every  time.Duration // between the pieces

	then     ending
	linger   time.Duration // of drain
	last     uint64        // the answer of a connection with which it closes, 0 = none
	announce bool          // an end of the connection is announced
	open     bool          // the connection never ends
	early    bool          // the request's body is not waited for
	broken   bool          // never a complete answer
	plain    bool          // needs none of the slow ways: before, delay, streaming, pieces

	fault  *Fault // nil: the normal answer
	shares uint32 // collected since the fault struck last
	normal *reply // for the requests which it spares
}

func newReply(block []byte, size int64) *reply {
	return &reply{
		start:  "HTTP/1.1 200 OK\r\n",
		fields: "Server: horde\r\nContent-Type: text/plain\r\n",
		length: lengthField(size),
		block:  block,
		body:   size,
	}
}

// newFault returns the reply which plays f on an answer of the given size.
func newFault(f Fault, block []byte, size int64) *reply {
	normal := newReply(block, size).render()
	if f.kind == nil || f.kind.shape == nil {
		return normal
	}
	r := newReply(block, size)
	r.fault, r.normal = &f, normal
	f.kind.shape(r, f.value)
	return r.render()
}

// newRefusal is the answer to a request that makes no sense. Broken framing
// ends the connection, and lets the client read why.
func newRefusal(why string, then ending) *reply {
	r := newReply([]byte(why+"\n"), int64(len(why)+1))
	r.start, r.then, r.linger = statusLine(400), then, time.Second
	r.announce = then != next
	return r.render()
}

func (r *reply) render() *reply {
	for i, connection := range [heads]string{"", "Connection: close\r\n", "Connection: keep-alive\r\n"} {
		lines := r.fields + r.length + connection
		if r.lower {
			lines = strings.ToLower(lines)
		}
		if r.head[i] = []byte(r.start + lines + "\r\n"); r.raw {
			r.head[i] = []byte(r.start)
		}
	}
	r.plain = r.before == nil && r.delay == 0 && r.piece == 0 && r.body <= inline && !r.broken
	return r
}

// draw decides by even spreading, not by chance, whether the fault strikes.
func (r *reply) draw() *reply {
	if r.fault == nil {
		return r
	}
	if r.shares += r.fault.share; r.shares < allShares {
		return r.normal
	}
	r.shares -= allShares
	return r
}

// finish says what becomes of a connection with its nth answer, and what of
// that the head tells the client.
func (r *reply) finish(q *request, n uint64) (then ending, said int) {
	switch {
	case r.open:
		return next, unsaid
	case r.then != next:
		then = r.then
	case !q.keep || r.last > 0 && n >= r.last:
		then = shut
	}
	switch {
	case !q.keep || then != next && r.announce:
		said = closing
	case q.old:
		said = staying
	}
	return then, said
}

// appendHead adds what goes before the body to b.
func (r *reply) appendHead(b []byte, q *request, said int) []byte {
	if !q.simple || r.raw {
		b = append(b, r.head[said]...)
	}
	if q.head {
		return b
	}
	return append(b, r.lead...)
}

// appendBody adds an inline body to b.
func (r *reply) appendBody(b []byte) []byte {
	b = append(b, r.block[r.at:r.at+int(r.body)]...)
	return append(b, r.tail...)
}

// replies finds the answer to a path. What a path asks for is worked out once.
type replies struct {
	block    []byte
	size     int64
	plain    bool   // no path is special
	fault    Fault  // for every path but /fault/
	accept   *reply // what Options.Fault does as a connection is accepted; nil = nothing
	fallback *reply
	special  map[string]*reply // by path; bounded, and dropped as a whole when full
}

const (
	maxSpecial     = 256
	maxSpecialPath = 256 // bytes
)

func newReplies(f Fault, size int64) *replies {
	text := []byte("hello horde\n")
	s := &replies{block: bytes.Repeat(text, 16<<10), size: size, special: make(map[string]*reply)}
	switch {
	case f.kind == nil || f.kind.where == onlyProcess:
	case f.kind.where == anywhere:
		s.fault = f
	default:
		s.accept = newFault(f, s.block, size)
	}
	s.fallback = newFault(s.fault, s.block, size)
	return s
}

func (s *replies) find(path []byte) *reply {
	if s.plain || !bytes.HasPrefix(path, []byte("/fault/")) && !bytes.HasPrefix(path, []byte("/size/")) {
		return s.fallback
	}
	if r := s.special[string(path)]; r != nil {
		return r
	}
	if len(path) > maxSpecialPath {
		return newRefusal("the path is too long to be a fault or a size", next)
	}
	if len(s.special) >= maxSpecial {
		clear(s.special)
	}
	r := s.make(string(path))
	s.special[string(path)] = r
	return r
}

func (s *replies) make(path string) *reply {
	if text, ok := strings.CutPrefix(path, "/size/"); ok {
		size, err := strconv.ParseInt(text, 10, 64)
		if err != nil || size < 0 {
			return newRefusal("size "+strconv.Quote(text)+" is not a number of bytes", next)
		}
		return newFault(s.fault, s.block, size)
	}
	// The percent sign of a share may come escaped, as it should in a URL.
	spec := strings.ReplaceAll(strings.TrimPrefix(path, "/fault/"), "%25", "%")
	f, err := ParseFault(spec)
	if err != nil {
		return newRefusal(err.Error(), next)
	}
	if f.kind != nil && f.kind.where >= onlyAccept {
		return newRefusal("fault "+strconv.Quote(spec)+" is only for a whole server, not for a path", next)
	}
	return newFault(f, s.block, s.size)
}

func lengthField(n int64) string { return "Content-Length: " + strconv.FormatInt(n, 10) + "\r\n" }

func statusLine(code int) string {
	return "HTTP/1.1 " + strconv.Itoa(code) + " " + reason(code) + "\r\n"
}

// reason knows those that people look at. Any other status goes without one,
// which is legal (RFC 9112 §4).
func reason(code int) string {
	switch code {
	case 200:
		return "OK"
	case 204:
		return "No Content"
	case 301:
		return "Moved Permanently"
	case 302:
		return "Found"
	case 304:
		return "Not Modified"
	case 400:
		return "Bad Request"
	case 403:
		return "Forbidden"
	case 404:
		return "Not Found"
	case 413:
		return "Content Too Large"
	case 429:
		return "Too Many Requests"
	case 500:
		return "Internal Server Error"
	case 502:
		return "Bad Gateway"
	case 503:
		return "Service Unavailable"
	case 504:
		return "Gateway Timeout"
	}
	return ""
}
