package nullserver

import (
	"time"

	"golang.org/x/sys/unix"
)

// conn is one connection. Its request is read, then its answer sent, then the
// next request read; input that came too early waits in the kernel or in in.
type conn struct {
	fd      int
	alive   bool
	unread  bool // the socket may hold input: no EAGAIN or short read since the last event
	hungUp  bool // the client has shut its sending side, at least
	discard bool // input is read and dropped
	deaf    bool // input is not even read

	// The request at hand.
	in       []byte // read and not understood yet
	scanned  int    // of in, without finding the end of the head
	partial  bool   // in is known to need more
	inBody   bool
	request  request // its path is void
	reply    *reply
	answered uint64 // answers begun

	// Its answer.
	busy    bool   // to be ended, by then, once all is sent
	late    *reply // what goes out behind out, not loaded yet
	said    int
	then    ending
	out     []byte
	sent    int   // of out
	ends    []int // where in out an answer ends
	at      int   // in the block the body is cut from
	left    int64 // of the body
	tail    []byte
	whole   bool // an answer of the slow way that counts when it ends
	blocked bool // the socket's buffer was full once

	turn    uint32 // of its timer: any other is void
	waiting bool   // for its timer
	delayed bool   // has waited for late already
}

// begin makes c the conn of a fresh socket, keeping its buffers.
func (c *conn) begin(fd int) {
	*c = conn{fd: fd, alive: true, in: c.in[:0], out: c.out[:0], ends: c.ends[:0], turn: c.turn + 1}
}

// advance runs c until its socket or its timer holds it up, or it is closed.
func (l *loop) advance(c *conn) {
	for c.alive && l.send(c) && l.receive(c) {
	}
}

// receive reads once. It returns false if there is nothing more to read.
func (l *loop) receive(c *conn) bool {
	if len(c.in) > 0 && !c.partial && !c.discard {
		l.take(c, nil)
		return true
	}
	if !c.unread || c.deaf {
		return false
	}
	n, errno := recv(c.fd, l.in)
	if errno == unix.EAGAIN {
		c.unread = false
		return false
	}
	if errno != 0 || n == 0 {
		l.close(c)
		return false
	}
	l.counts.BytesRead += uint64(n)
	// A short read has emptied the socket, and more input is a new event;
	// but the event of an end that came before it may be spent.
	c.unread = n == len(l.in) || c.hungUp
	if !c.discard {
		l.take(c, l.in[:n])
	}
	return true
}

// take goes through input as far as requests in it can be answered at once.
func (l *loop) take(c *conn, data []byte) {
	if len(c.in) > 0 {
		c.in = append(c.in, data...)
		data = c.in
	}
	c.partial = false
	for len(data) > 0 && !c.busy && !c.partial && len(l.out) < maxOut {
		var n int
		if c.inBody {
			n = l.takeBody(c, data)
		} else {
			n = l.takeHead(c, data)
		}
		data = data[n:]
	}
	c.in = append(c.in[:0], data...) // may overlap; append moves
	if len(data) == 0 && cap(c.in) > readSize {
		c.in = nil
	}
}

func (l *loop) takeHead(c *conn, data []byte) int {
	if data[0] == '\r' || data[0] == '\n' {
		return 1 // an empty line before a request (RFC 9112 §2.2)
	}
	q, n, err := scan(data, c.scanned)
	if err == nil && n == 0 && len(data) <= maxHead {
		c.partial, c.scanned = true, len(data)
		return 0
	}
	c.scanned = 0
	if err != nil || n == 0 {
		l.refuse(c, err)
		return len(data)
	}
	l.choose(c, &q)
	c.inBody = q.body.state != bodyDone
	if !c.inBody || c.reply.early {
		l.answer(c)
		return n
	}
	if q.expect && n == len(data) {
		l.out = append(l.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
	return n
}

func (l *loop) takeBody(c *conn, data []byte) int {
	n, err := c.request.body.skip(data)
	if err != nil {
		l.refuse(c, err)
		return len(data)
	}
	if c.request.body.state == bodyDone {
		c.inBody = false
		l.answer(c)
	}
	return n
}

// choose finds the reply while the path is still there.
func (l *loop) choose(c *conn, q *request) {
	r := l.replies.find(q.path).draw()
	c.request, c.reply = *q, r
	c.request.path = nil
	if r.fault != nil {
		l.counts.Faults++
	}
}

func (l *loop) refuse(c *conn, err error) {
	why := "the request head is too long"
	if err != nil {
		why = err.Error()
	}
	c.request, c.reply = request{}, newRefusal(why, drain)
	l.answer(c)
}

// answer begins the answer to c's request; a plain one is complete with that
// but for the sending.
func (l *loop) answer(c *conn) {
	if l.limited && !l.spend() {
		c.busy, c.then = true, hush
		return
	}
	r, q := c.reply, &c.request
	c.answered++
	c.then, c.said = r.finish(q, c.answered)
	if q.simple && c.then == next {
		c.then = shut
	}
	c.busy = c.then != next
	if !r.plain {
		if r.delay > 0 {
			l.out = append(l.out, r.before...)
		}
		c.busy, c.late, c.delayed = true, r, false
		return
	}
	l.out = r.appendHead(l.out, q, c.said)
	if !q.head {
		l.out = r.appendBody(l.out)
	}
	l.ends = append(l.ends, len(l.out))
}

func (l *loop) spend() bool {
	if l.budget == 0 {
		return false
	}
	l.budget--
	return true
}

// send pushes out what c owes. It returns true once c can take more input; if
// not, an event or the timer brings c back, or it is closed.
func (l *loop) send(c *conn) bool {
	if len(l.out) > 0 && !l.sendBatch(c) {
		return false
	}
	for !c.waiting {
		piece := c.owed()
		switch {
		case len(piece) > 0:
			if !l.sendPiece(c, piece) {
				return false
			}
		case c.late != nil:
			l.load(c)
		case c.busy:
			return l.end(c)
		default:
			return true
		}
	}
	return false
}

// sendBatch sends the answers collected in l.out, in one call if the socket
// takes them; else c keeps the rest.
func (l *loop) sendBatch(c *conn) bool {
	n, errno := send(c.fd, l.out)
	if errno != 0 && errno != unix.EAGAIN {
		l.out, l.ends = l.out[:0], l.ends[:0]
		l.close(c)
		return false
	}
	if errno == 0 {
		l.counts.BytesWritten += uint64(n)
	}
	if errno == 0 && n == len(l.out) {
		l.counts.Requests += uint64(len(l.ends))
		l.out, l.ends = l.out[:0], l.ends[:0]
		return true
	}
	// Nothing is left in c.out here: c took input because it owed nothing.
	c.out, l.out = l.out, c.out[:0]
	c.ends, l.ends = l.ends, c.ends[:0]
	if errno == 0 {
		l.progress(c, n)
	}
	return true // the next try says EAGAIN
}

// owed returns the next bytes to go out, nil if what is loaded is out.
func (c *conn) owed() []byte {
	if c.sent < len(c.out) {
		return c.out[c.sent:]
	}
	if c.left > 0 {
		block := c.reply.block
		return block[c.at:min(int64(len(block)), int64(c.at)+c.left)]
	}
	return c.tail
}

func (l *loop) sendPiece(c *conn, piece []byte) bool {
	slow := c.busy && c.late == nil && c.reply.piece > 0
	if slow {
		piece = piece[:min(len(piece), c.reply.piece)]
	}
	n, errno := send(c.fd, piece)
	if errno == unix.EAGAIN {
		l.block(c)
		return false
	}
	if errno != 0 {
		l.close(c)
		return false
	}
	l.counts.BytesWritten += uint64(n)
	l.progress(c, n)
	if slow && len(c.owed()) > 0 {
		l.pause(c, c.reply.every)
	}
	return true
}

// progress moves c past n bytes that are out.
func (l *loop) progress(c *conn, n int) {
	switch {
	case c.sent < len(c.out):
		c.sent += n
		for len(c.ends) > 0 && c.ends[0] <= c.sent {
			l.counts.Requests++
			c.ends = c.ends[1:]
		}
		if c.sent == len(c.out) {
			c.out, c.sent = c.out[:0], 0
		}
	case c.left > 0:
		c.left -= int64(n)
		c.at = (c.at + n) % len(c.reply.block)
	default:
		c.tail = c.tail[n:]
	}
}

// load makes the answer of the slow way ready to go out, after its delay.
func (l *loop) load(c *conn) {
	r, q := c.late, &c.request
	if r.delay > 0 && !c.delayed {
		c.delayed = true
		l.pause(c, r.delay)
		return
	}
	c.late = nil
	if r.strict && c.hungUp {
		c.then = shut
		return
	}
	c.whole = !r.broken
	c.out = c.out[:0]
	if r.delay == 0 {
		c.out = append(c.out, r.before...)
	}
	c.out = r.appendHead(c.out, q, c.said)
	switch {
	case q.head && !r.raw:
	case r.body <= inline:
		c.out = r.appendBody(c.out)
	default:
		c.left, c.at, c.tail = r.body, r.at, r.tail
	}
}

// end does what follows an answer. It returns true if c goes on to read.
func (l *loop) end(c *conn) bool {
	if c.whole {
		c.whole = false
		l.counts.Requests++
	}
	c.busy = false
	switch c.then {
	case shut:
		l.close(c)
		return false
	case reset:
		l.reset(c)
		return false
	case deaf:
		c.deaf = true
		if c.hungUp { // there will be no other event
			l.close(c)
		}
		return false
	case hush:
		c.discard = true
	case drain:
		c.discard = true
		_ = unix.Shutdown(c.fd, unix.SHUT_WR)
		l.appoint(c.fd, c.turn, l.now()+c.reply.linger)
	}
	return true
}

func (l *loop) pause(c *conn, d time.Duration) {
	c.waiting = true
	l.appoint(c.fd, c.turn, l.now()+d)
}

// ring is called when an appointment of a connection is due.
func (l *loop) ring(c *conn, turn uint32) {
	switch {
	case !c.alive || turn != c.turn:
	case c.waiting:
		c.waiting = false
		l.advance(c)
	default: // draining
		l.close(c)
	}
}

// block waits for room in the socket's buffer. Only connections that ever
// filled it are watched for that.
func (l *loop) block(c *conn) {
	if c.blocked {
		return
	}
	c.blocked = true
	_ = control(l.epoll, unix.EPOLL_CTL_MOD, c.fd, connEvents|unix.EPOLLOUT)
}

func (l *loop) close(c *conn) {
	closeSocket(c.fd)
	c.alive = false
	c.turn++
}

// reset closes with RST in place of FIN, and drops what was not sent yet.
func (l *loop) reset(c *conn) {
	_ = unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	l.close(c)
}
