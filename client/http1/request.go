package http1

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Request is one request in plain words. It lives in the parent, which turns it
// into bytes once; workers get the bytes.
type Request struct {
	Method  string // sent as given, e.g. "GET"
	Target  string // as typed, without spaces: origin-form, absolute-form or "*"
	Host    string // value of the Host line, with port and brackets where they belong
	Version Version

	KeepAlive bool // ask to keep the connection open
	Reload    bool // ask caches for a fresh copy (Pragma: no-cache)

	Headers []Header // the user's own, in order; each replaces built-in lines of its name

	Body        []byte
	HasBody     bool   // send Body even where it is empty
	Continue    bool   // ask for leave before a body is sent (Expect: 100-continue)
	ContentType string // of the body; "" means application/x-www-form-urlencoded

	UserAgent string // "" sends no such line
	Auth      string // USER:PASSWORD for the target; "" sends none
	ProxyAuth string // USER:PASSWORD for the proxy; "" sends none
	Cookie    string // "" sends none
}

// Header is one header line. Value has no whitespace around it and may be empty.
type Header struct{ Name, Value string }

// ParseHeader reads a header line as typed: NAME ":" VALUE. Whitespace around
// the value is dropped, an empty value stays: it is sent as such.
func ParseHeader(s string) (Header, error) {
	name, value, found := strings.Cut(s, ":")
	if !found {
		return Header{}, fmt.Errorf("header %q has no colon", s)
	}
	h := Header{Name: name, Value: strings.Trim(value, " \t")}
	return h, h.check()
}

func (h Header) check() error {
	if !isToken(h.Name) {
		return fmt.Errorf("header name %q is not a token (letters, digits and !#$%%&'*+-.^_`|~)", h.Name)
	}
	return checkValue("header value", h.Value)
}

func (h Header) is(name string) bool { return strings.EqualFold(h.Name, name) }

// Bytes returns the request as it goes over the wire, or one sentence that
// says which value cannot be sent. Nothing in a Request can add a line, end the
// header or move the end of the body.
func (r Request) Bytes() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Version == HTTP09 {
		return []byte("GET " + r.Target + "\r\n"), nil
	}
	b := make([]byte, 0, 512+len(r.Target)+len(r.Body))
	b = append(b, r.Method+" "+r.Target+" "+r.Version.String()+"\r\n"...)
	for _, h := range r.lines() {
		b = appendLine(b, h)
	}
	b = append(b, "\r\n"...)
	if r.hasBody() {
		b = append(b, r.Body...)
	}
	return b, nil
}

func appendLine(b []byte, h Header) []byte {
	b = append(b, h.Name...)
	b = append(b, ':')
	if h.Value != "" {
		b = append(b, ' ')
		b = append(b, h.Value...)
	}
	return append(b, "\r\n"...)
}

// lines returns all header lines in order. Host comes first even where it is
// the user's own (RFC 9110 section 7.2).
func (r Request) lines() []Header {
	host := Header{"Host", r.Host}
	var own []Header
	for _, h := range r.Headers {
		if h.is("Host") {
			host = h
			continue
		}
		own = append(own, h)
	}
	lines := []Header{host}
	for _, h := range r.builtin() {
		if h.Value != "" && !r.has(h.Name) {
			lines = append(lines, h)
		}
	}
	return append(lines, own...)
}

// builtin returns the lines a request has without the user's own, in order; one
// with an empty value is not sent.
func (r Request) builtin() []Header {
	var contentType, contentLength, pragma, expect string
	if r.Continue && len(r.Body) > 0 {
		expect = leave
	}
	if r.hasBody() {
		contentType = r.ContentType
		if contentType == "" {
			contentType = "application/x-www-form-urlencoded"
		}
	}
	if r.hasBody() || wantsBody(r.Method) {
		contentLength = strconv.Itoa(len(r.Body))
	}
	if r.Reload {
		pragma = "no-cache"
	}
	return []Header{
		{"User-Agent", r.UserAgent},
		{"Accept", "*/*"},
		{"Authorization", basic(r.Auth)},
		{"Proxy-Authorization", basic(r.ProxyAuth)},
		{"Cookie", r.Cookie},
		{"Pragma", pragma},
		{"Connection", r.connection()},
		{"Content-Type", contentType},
		{"Content-Length", contentLength},
		{"Expect", expect},
	}
}

// connection returns what has to be said where it is not what the version does
// anyway (RFC 9112 section 9.3).
func (r Request) connection() string {
	switch {
	case r.KeepAlive && r.Version == HTTP10:
		return "keep-alive"
	case !r.KeepAlive && r.Version == HTTP11:
		return "close"
	}
	return ""
}

// leave is what Expect says to be told whether a body is wanted.
const leave = "100-continue"

// Later returns how many bytes at the end of the request are not to be sent
// before the answer to the rest gives leave, or makes them needless, or does
// not come for a while (RFC 9110 section 10.1.1).
func (r Request) Later() int {
	for _, h := range r.lines() {
		if r.Version == HTTP11 && h.is("Expect") && strings.EqualFold(h.Value, leave) {
			return len(r.Body)
		}
	}
	return 0
}

// wantsBody reports whether a request of this method says so when it has no
// body (RFC 9110 section 8.6).
func wantsBody(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

func (r Request) hasBody() bool { return r.HasBody || len(r.Body) > 0 }

func basic(userPassword string) string {
	if userPassword == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(userPassword))
}

func (r Request) has(name string) bool { return r.count(name) > 0 }

func (r Request) count(name string) int {
	n := 0
	for _, h := range r.Headers {
		if h.is(name) {
			n++
		}
	}
	return n
}

// Reuse reports whether the connection stays open after the answer as far as
// the request decides it: KeepAlive was asked for, and no line that is really
// sent takes it back.
func (r Request) Reuse() bool {
	if !r.KeepAlive || r.Version == HTTP09 {
		return false
	}
	keep := r.Version == HTTP11 || !r.has("Connection")
	for _, h := range r.Headers {
		if !h.is("Connection") {
			continue
		}
		for token := range strings.SplitSeq(h.Value, ",") {
			token = strings.Trim(token, " \t")
			if strings.EqualFold(token, "close") {
				return false
			}
			keep = keep || strings.EqualFold(token, "keep-alive")
		}
	}
	return keep
}

func (r Request) check() error {
	if !isToken(r.Method) {
		return fmt.Errorf("method %q is not a token (letters, digits and !#$%%&'*+-.^_`|~)", r.Method)
	}
	if err := checkWord("target", r.Target); err != nil {
		return err
	}
	if r.Target == "" {
		return errors.New("the target is empty")
	}
	if err := checkWord("host", r.Host); err != nil {
		return err
	}
	if r.Version == HTTP09 {
		return r.check09()
	}
	if err := r.checkValues(); err != nil {
		return err
	}
	return r.checkHeaders()
}

// check09 refuses what a request of one line cannot say.
func (r Request) check09() error {
	switch {
	case r.Method != "GET":
		return fmt.Errorf("HTTP/0.9 has no method %q, only GET", r.Method)
	case r.hasBody():
		return errors.New("HTTP/0.9 requests have no body")
	case len(r.Headers) > 0:
		return fmt.Errorf("HTTP/0.9 requests have no header, %q cannot be sent", r.Headers[0].Name)
	case r.Auth != "" || r.ProxyAuth != "" || r.Cookie != "" || r.Reload:
		return errors.New("HTTP/0.9 requests have no header for credentials, a cookie or a reload")
	}
	return nil
}

func (r Request) checkValues() error {
	return cmp.Or(
		checkValue("user agent", r.UserAgent),
		checkValue("cookie", r.Cookie),
		checkValue("content type", r.ContentType),
		checkAuth("auth", r.Auth),
		checkAuth("proxy auth", r.ProxyAuth),
	)
}

func (r Request) checkHeaders() error {
	for _, h := range r.Headers {
		if err := h.check(); err != nil {
			return err
		}
		switch {
		case h.is("Transfer-Encoding"):
			return fmt.Errorf("header %q cannot be sent: bodies are framed by their length", h.Name+": "+h.Value)
		case h.is("Expect") && strings.EqualFold(h.Value, leave) && len(r.Body) == 0:
			return fmt.Errorf("header %q asks for leave to send a body, and there is none", h.Name+": "+h.Value)
		case h.is("Content-Length") && h.Value != strconv.Itoa(len(r.Body)):
			return fmt.Errorf("header %q contradicts the body of %d bytes", h.Name+": "+h.Value, len(r.Body))
		}
	}
	for _, name := range []string{"Host", "Content-Length"} {
		if r.count(name) > 1 {
			return fmt.Errorf("header %q is given more than once", name)
		}
	}
	return nil
}

// isToken reports whether s is a token (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// checkValue refuses what would end the line, or end the text in a server
// written in C. Every other byte is the user's own business.
func checkValue(what, s string) error {
	if strings.ContainsAny(s, "\r\n\x00") {
		return fmt.Errorf("%s %q contains a line break or a NUL", what, s)
	}
	return nil
}

// checkWord refuses what would end a word of the request line as well.
func checkWord(what, s string) error {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return fmt.Errorf("%s %q contains a space or a control character", what, s)
		}
	}
	return nil
}

func checkAuth(what, s string) error {
	if s != "" && !strings.Contains(s, ":") {
		return fmt.Errorf("%s %q has no colon between user and password", what, s)
	}
	return checkValue(what, s)
}
