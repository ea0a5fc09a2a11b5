// Package http1 knows HTTP/0.9, 1.0 and 1.1 as bytes: it writes requests and
// reads answers as they come in. It does no I/O, reads no clock, starts nothing
// and does no work at program start, so that it costs a worker nothing but its
// text.
//
// A Request is turned into bytes once, in the parent. A Parser lives in a
// worker, one for each client, and is reset before every request:
//
//	Reset ─ Feed ─ Feed ─ … ─ Done          the answer is complete
//	              │         └ Bad           it is not HTTP (class proto_bad)
//	              └ end of stream ─ End ─ Done, Empty, Short or Bad
package http1

// Version is the version of HTTP a request is written in. The zero value is
// HTTP/1.1, the default of a run.
type Version uint8

const (
	HTTP11 Version = iota
	HTTP10
	HTTP09
)

var versionNames = [...]string{HTTP11: "HTTP/1.1", HTTP10: "HTTP/1.0", HTTP09: "HTTP/0.9"}

// String returns the version as it stands in a request line.
func (v Version) String() string { return versionNames[v] }

// Idempotent reports whether a request of this method may be sent a second time
// after a kept-alive connection was found closed (RFC 9110 section 9.2.2).
// Methods are case-sensitive; an unknown one is not idempotent.
func Idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// Answer says what kind of answer a request will get, as far as the request
// alone decides it.
type Answer uint8

const (
	AnswerNormal Answer = iota
	AnswerHead          // to HEAD: never a body, whatever its header says
	Answer09            // to HTTP/0.9: no status line, all bytes to the end of the stream are body
)

// AnswerTo returns the kind of answer to a request that was sent with this
// method in this version.
func AnswerTo(method string, v Version) Answer {
	switch {
	case v == HTTP09:
		return Answer09
	case method == "HEAD":
		return AnswerHead
	}
	return AnswerNormal
}
