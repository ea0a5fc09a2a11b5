package stats

// Class says how a failed request failed. Exactly one class belongs to each
// failed request: that of the first cause seen. The identifiers (String) are
// part of the result file's schema; new ones are appended only.
type Class uint8

const (
	ClassNone Class = iota

	HTTP1xx // a complete answer whose status was not expected
	HTTP2xx
	HTTP3xx
	HTTP4xx
	HTTP5xx

	BodyShort  // the stream ended before Content-Length or the last chunk
	ProtoBad   // not HTTP, bad framing, or a header block over the limit
	EmptyReply // orderly end without one byte on a fresh connection
	StaleConn  // end or reset without one byte on a reused connection, not resent

	ResetConnect
	ResetWait
	ResetBody
	Refused

	TimeoutConnect
	TimeoutTTFB
	TimeoutBody
	TimeoutTotal
	KernelETimedout // the kernel's own ETIMEDOUT, not our timer

	Unreachable

	LocalPorts
	LocalFDs
	LocalMem

	Other // an errno with no class of its own

	TLSVerify  // the server's certificate is not one to trust
	TLSAlert   // the peer ended the session with an alert
	TLSBad     // what came is not TLS, or not a version or choice we know
	TLSClosed  // the connection ended within the handshake
	TLSTimeout // the time was up within the handshake

	ProxyRefused // the proxy opened no tunnel to the target
	BodyMismatch // a good answer whose body is not the one expected

	classCount
)

// Side tells whose fault a class points at.
type Side uint8

const (
	SideServer Side = iota
	SideNet
	SideClient // this host's own limits: the run says nothing about the target
	SideRace   // both ends acted in good faith (a kept-alive connection closed as it was reused)
)

var sideNames = [...]string{"server", "net", "client", "race"}

func (s Side) String() string { return sideNames[s] }

var classes = [classCount]struct {
	id   string
	side Side
	text string // for people, where the report has room
}{
	ClassNone:       {"none", SideServer, ""},
	HTTP1xx:         {"http_1xx", SideServer, "status 1xx as the final answer"},
	HTTP2xx:         {"http_2xx", SideServer, "status 2xx was not expected"},
	HTTP3xx:         {"http_3xx", SideServer, "status 3xx was not expected"},
	HTTP4xx:         {"http_4xx", SideServer, "status 4xx"},
	HTTP5xx:         {"http_5xx", SideServer, "status 5xx"},
	BodyShort:       {"body_short", SideServer, "the body ended early"},
	ProtoBad:        {"proto_bad", SideServer, "not a valid HTTP answer"},
	EmptyReply:      {"empty_reply", SideServer, "connection closed without an answer"},
	StaleConn:       {"stale_conn", SideRace, "a reused connection had been closed"},
	ResetConnect:    {"reset_connect", SideServer, "connection reset while connecting"},
	ResetWait:       {"reset_wait", SideServer, "connection reset before an answer"},
	ResetBody:       {"reset_body", SideServer, "connection reset within an answer"},
	Refused:         {"refused", SideServer, "connection refused"},
	TimeoutConnect:  {"timeout_connect", SideServer, "connect timeout"},
	TimeoutTTFB:     {"timeout_ttfb", SideServer, "timeout, no byte of an answer came"},
	TimeoutBody:     {"timeout_body", SideServer, "timeout within an answer"},
	TimeoutTotal:    {"timeout_total", SideServer, "timeout while sending the request"},
	KernelETimedout: {"kernel_etimedout", SideNet, "the kernel gave the connection up"},
	Unreachable:     {"unreachable", SideNet, "no route, or a firewall refused"},
	LocalPorts:      {"local_ports", SideClient, "local ports used up"},
	LocalFDs:        {"local_fds", SideClient, "local file descriptors used up"},
	LocalMem:        {"local_mem", SideClient, "local memory or buffers used up"},
	Other:           {"other", SideServer, "an error without a class of its own"},
	TLSVerify:       {"tls_verify", SideServer, "certificate not accepted"},
	TLSAlert:        {"tls_alert", SideServer, "TLS ended by an alert"},
	TLSBad:          {"tls_bad", SideServer, "not valid TLS, or no version in common"},
	TLSClosed:       {"tls_closed", SideServer, "connection closed within the TLS handshake"},
	TLSTimeout:      {"tls_timeout", SideServer, "timeout within the TLS handshake"},
	ProxyRefused:    {"proxy_refused", SideServer, "the proxy opened no tunnel"},
	BodyMismatch:    {"body_mismatch", SideServer, "the body is not the one expected"},
}

// String returns the identifier used in result files.
func (c Class) String() string { return classes[c].id }

// Text returns a few words for people.
func (c Class) Text() string { return classes[c].text }

// Side returns whose fault the class points at.
func (c Class) Side() Side { return classes[c].side }

// Valid reports whether c is a class this version knows.
func (c Class) Valid() bool { return c > ClassNone && c < classCount }

// ClassOf is the reverse of Class.String; ok is false for a word of no class.
func ClassOf(id string) (c Class, ok bool) {
	for c := range classCount {
		if c.Valid() && c.String() == id {
			return c, true
		}
	}
	return ClassNone, false
}

// StatusClass returns the class of a complete answer with an unexpected
// status. A status outside 100–599 is treated as 5xx (RFC 9110 section 15).
func StatusClass(status int) Class {
	if status < 100 || status > 599 {
		return HTTP5xx
	}
	return HTTP1xx + Class(status/100-1)
}

// Phase is how far a request had come.
type Phase uint8

const (
	Idle Phase = iota // no request begun
	Connecting
	Handshaking // TLS
	Sending
	Waiting   // sent whole, no byte of the answer yet
	Receiving // within the answer

	PhaseCount
)

var phaseNames = [PhaseCount]string{"idle", "connecting", "handshaking", "sending", "waiting", "receiving"}

func (p Phase) String() string { return phaseNames[p] }

// PhaseOf is the reverse of Phase.String; ok is false for a word of no phase.
func PhaseOf(name string) (p Phase, ok bool) {
	for p := range PhaseCount {
		if p.String() == name {
			return p, true
		}
	}
	return Idle, false
}
