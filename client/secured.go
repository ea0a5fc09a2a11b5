package client

import (
	"errors"
	"io"
	"syscall"

	"horde/stats"
)

// TLS is how connections are secured, as plain data. The parent makes it; it
// crosses the control pipe. Certificates and keys are PEM.
type TLS struct {
	ServerName  string   // told to the server (RFC 6066 section 3), "" = none is
	Host        string   // name or address that its certificate must be for
	Insecure    bool     // take any certificate
	Resume      bool     // take up earlier sessions; else each handshake is a full one
	Roots       []byte   // authorities to trust, empty = those of the host
	Certificate []byte   // our own, empty = none
	Key         []byte   // of our own
	Verified    [][]byte // a chain found good before the run, in DER: it is not verified again
}

// Crypto makes TLS sessions: package client/secure in a worker for https, which
// alone links crypto/tls. This package must not, see procs/worker.go.
type Crypto interface {
	// Open begins the client's end of a session. What it writes to the
	// connection is never refused; a read may fail with ErrAgain once the
	// handshake is over, and can then be made again.
	Open(connection io.ReadWriter) Session
	// Class says what an error of a session means, TLSClosed if it came from the
	// connection.
	Class(error) stats.Class
}

// Session is TLS over one connection.
type Session interface {
	io.ReadWriter
	Handshake() (resumed bool, err error)
	CloseWrite() error // tells the peer that nothing follows
}

// ErrAgain says that a session cannot go on before its socket is readable. It
// is a net.Error, and a temporary one: crypto/tls then lets the read be repeated.
var ErrAgain error = notYet{}

type notYet struct{}

func (notYet) Error() string   { return "nothing to read yet" }
func (notYet) Timeout() bool   { return false }
func (notYet) Temporary() bool { return true }

// errStopped ends a handshake whose wait did not end well.
var errStopped = errors.New("the wait was ended")

// secured is the TLS end of a client's connection. The session reads and writes
// through it: it waits for the socket only while the handshake goes on, which is
// one call that has to come back when all is done. After that the client waits
// as it does on a plain connection. It lives in a worker.
type secured struct {
	client  *client
	session Session

	until   int64         // of the handshake, never = it is over
	wait    wake          // how a wait of the handshake ended
	cut     bool          // the stream has ended: without a word, if the session has not ended before
	errno   syscall.Errno // with which the socket failed
	class   stats.Class   // what the session failed of
	err     error         // what the handshake failed of; or met after bytes that were read, for the next read
	raw     []byte        // received, for the session to read
	pending []byte        // written by the session, not sent
	owed    int           // bytes of the request in it
}

// secure makes the TLS handshake on a new connection.
func (c *client) secure(until int64) step {
	c.phase = stats.Handshaking
	began := c.loop.now
	s := &secured{client: c, until: until}
	s.session, c.secured = c.loop.crypto.Open(s), s
	resumed, err := s.session.Handshake()
	s.keep()
	c.loop.readClock()
	if err != nil {
		return s.failed(err)
	}
	tally := c.tally
	tally.Handshake.Record(c.loop.now - began)
	if resumed {
		tally.Resumed++
	}
	s.until = never
	c.ready |= readable // the session may have read on
	return done
}

// failed judges a handshake that failed.
func (s *secured) failed(err error) step {
	c := s.client
	s.err = err
	if s.wait != ready {
		return c.giveUp(s.wait)
	}
	switch class := c.loop.crypto.Class(err); {
	case class != stats.TLSClosed:
		s.flush() // the alert that says why
		return c.fail(class, 0)
	case s.errno == 0 || broke(s.errno):
		return c.fail(stats.TLSClosed, s.errno)
	}
	return c.fail(connectClass(s.errno), s.errno)
}

// Read gives the session what the socket has.
func (s *secured) Read(b []byte) (int, error) {
	c := s.client
	if len(s.raw) > 0 {
		return s.take(b), nil
	}
	for {
		if err := s.awaitReadable(); err != nil {
			return 0, err
		}
		n, errno := c.recvRaw()
		switch {
		case errno == 0 && n == 0:
			s.cut = true
			return 0, io.EOF
		case errno == 0:
			if n < len(c.loop.raw) && !c.hungUp {
				c.ready &^= readable
			}
			s.raw = c.loop.raw[:n]
			return s.take(b), nil
		case !again(errno):
			s.errno = errno
			return 0, errno
		}
		c.ready &^= readable
	}
}

// take gives out what was received and is left.
func (s *secured) take(b []byte) int {
	n := copy(b, s.raw)
	s.raw = s.raw[n:]
	return n
}

// keep saves what was received and is left from the next client, which
// receives into the same memory.
func (s *secured) keep() {
	if len(s.raw) > 0 {
		s.raw = append([]byte(nil), s.raw...)
	}
}

// recvRaw receives into the loop's memory for what is not decrypted.
func (c *client) recvRaw() (int, syscall.Errno) {
	if c.held {
		c.held = false
		return c.heldBytes, c.heldErrno
	}
	return recv(c.fd, c.loop.raw)
}

// awaitReadable waits in a handshake until the socket is readable. What the
// handshake has said goes out first: so its last words travel with the request.
func (s *secured) awaitReadable() error {
	c := s.client
	if s.until == never {
		if c.ready&readable == 0 {
			return ErrAgain
		}
		return nil
	}
	for len(s.pending) > 0 {
		if errno := s.flush(); errno != 0 && !again(errno) {
			s.errno, s.pending = errno, nil // what came before it is still readable
		} else if errno != 0 {
			c.ready &^= writable
			if s.wait = c.await(writable, s.until); s.wait != ready {
				return errStopped
			}
		}
	}
	if c.ready&readable == 0 {
		if s.wait = c.await(readable, s.until); s.wait != ready {
			return errStopped
		}
	}
	return nil
}

// Write takes what the session has to say; flush sends it.
func (s *secured) Write(b []byte) (int, error) {
	s.pending = append(s.pending, b...)
	return len(b), nil
}

func (s *secured) flush() syscall.Errno {
	for sent := s.pending; len(sent) > 0; {
		n, errno := send(s.client.fd, sent)
		if errno != 0 {
			s.pending = s.pending[:copy(s.pending, sent)]
			return errno
		}
		sent = sent[n:]
	}
	s.pending = s.pending[:0]
	return 0
}

// largestPiece is how much of a request is encrypted before it is sent: the
// payload of one record (RFC 8446 section 5.1).
const largestPiece = 16 << 10

// send takes the place of the system call. It reports bytes as sent when all
// that they became is, so the caller offers the same bytes again until then.
func (s *secured) send(b []byte) (int, syscall.Errno) {
	if s.owed == 0 {
		b = b[:min(len(b), largestPiece)]
		if _, err := s.session.Write(b); err != nil {
			return 0, s.fault(err)
		}
		s.owed = len(b)
	}
	if errno := s.flush(); errno != 0 {
		return 0, errno
	}
	n := s.owed
	s.owed = 0
	return n, 0
}

// recv takes the place of the system call: all that has come is decrypted, so
// that a short count has emptied the socket here, too.
func (s *secured) recv(b []byte) (n int, errno syscall.Errno) {
	for n < len(b) && s.err == nil {
		var m int
		m, s.err = s.session.Read(b[n:])
		n += m
	}
	s.keep()
	err := s.err
	switch {
	case err == ErrAgain && n == 0:
		s.err = nil
		return 0, syscall.EAGAIN
	case err == ErrAgain:
		s.err = nil
	case n > 0: // there is more, decrypted or an end, that no event will tell of
		s.client.ready |= readable
		s.client.hungUp = s.client.hungUp || err != nil
	case err == io.EOF || err == io.ErrUnexpectedEOF:
	default:
		return 0, s.fault(err)
	}
	return n, 0
}

// fault is the errno for what broke a session: EPROTO for what was no errno.
func (s *secured) fault(err error) syscall.Errno {
	if s.errno != 0 {
		return s.errno
	}
	s.class = s.client.loop.crypto.Class(err)
	return syscall.EPROTO
}

// leave says goodbye, as far as there is room for it.
func (s *secured) leave() {
	if s.until == never && s.session.CloseWrite() == nil {
		s.flush()
	}
}
