package client

import (
	"cmp"
	"hash"
	"math"
	"syscall"

	"horde/client/http1"
	"horde/stats"
)

// client is one simulated user. It has at most one connection and one request
// under way. Its life is straight-line code; where its socket would block it
// waits, and the loop decides what waiting means. It lives in a worker.
type client struct {
	loop *loop

	fd         int      // -1 = no connection
	served     int      // a connection that has served and is about to be closed, -1 = none
	source     *address // nil = the kernel chooses
	slot       uint32   // its place in the loop's clients
	generation uint32   // of its connection
	hungUp     bool     // the peer has closed its side: what is readable now is the last
	ready      uint32   // what the socket reported and no call has refuted since
	want       uint32   // what it waits for; 0 = only for time to pass
	waited     bool     // since its last request began

	tally     *stats.Tally // where its request counts: the window's or the warm-up's
	phase     stats.Phase
	due       int64 // when the request under way was to begin; in a closed loop it is when it began
	begun     int64 // when it began
	connected int64 // when it had its connection
	first     int64 // when the first byte of its answer came, unset before
	until     int64 // when the present wait is over, ready or not
	pause     int64 // length of the last pause after a failed connect
	sent      int   // bytes of the request
	turn      int   // the entry of the plan under way, or the last one
	entry     *Entry
	got       uint64 // bytes of its answer
	why       failure
	answer    http1.Parser
	reused    bool      // it goes over a connection that has served before
	digest    hash.Hash // of the body of the answer, nil = not asked for

	succeeded int64 // requests of the window

	held      bool // what the wait itself received, for the next read
	heldBytes int
	heldErrno syscall.Errno

	secured *secured // nil = plain

	answering bool // it waits in receive, and may flow
	flowed    bool // it did, as far as it could:
	result    step // what its coroutine is to go on from

	coroutine
}

// failure is the first cause of a failed request.
type failure struct {
	class stats.Class
	errno syscall.Errno
}

// step says how a part of a request ended.
type step uint8

const (
	pending step = iota // not ended
	done
	failed  // why holds the cause
	overdue // failed, because its time was up before the run's
	stale   // a reused connection had been closed: no byte of an answer came
	over    // the run has ended; the request stays in its phase
)

// fail notes the cause and gives up the connection.
func (c *client) fail(class stats.Class, errno syscall.Errno) step {
	c.why = failure{class, errno}
	c.drop()
	return failed
}

// live makes one request after another until the run is over.
func (c *client) live() {
	for c.claim() {
		result := c.request()
		if result == over || c.loop.expired() && result != overdue {
			break
		}
		c.count(result)
		if c.settle() == over {
			break
		}
	}
	if !c.loop.expired() {
		c.drop()
	}
}

// request makes one request: on the open connection if there is one, and once
// more on a new one if that had been closed meanwhile (RFC 9112 section 9.3.1).
func (c *client) request() step {
	c.ask()
	for {
		if c.fd < 0 {
			c.reused = false
			if s := c.connect(); s != done {
				return s
			}
		}
		if s := c.exchange(); s != stale {
			return s
		}
		if !c.entry.Resend {
			return c.fail(stats.StaleConn, c.why.errno)
		}
		c.drop()
		c.why = failure{}
		c.tally.Resent++
	}
}

// ask begins a request.
func (c *client) ask() {
	c.tally.Begun++
	c.begin()
	c.turn, c.got = c.loop.walk.take(), 0
	c.entry = &c.loop.plan.Entries[c.turn]
	c.answer.Reset(c.entry.Answer)
	if c.digest != nil {
		c.digest.Reset()
	}
	if c.reused = c.fd >= 0; c.reused {
		c.connected, c.sent = c.begun, 0
		c.tally.Reused++
	}
}

// begin notes when the request begins. An open loop's may be late.
func (c *client) begin() {
	if c.loop.plan.Pace.Open() {
		c.tally.SendLag.Record(c.loop.readClock() - c.due)
	}
	c.begun, c.first, c.waited, c.why = c.loop.now, unset, false, failure{}
}

// unset is a time that has not been noted.
const unset = math.MinInt64

// count enters the request into the ledger: the one place where it ends.
func (c *client) count(result step) {
	tally, now := c.tally, min(c.loop.now, c.loop.end)
	if result != done {
		if c.phase == stats.Connecting {
			tally.NoConn++
		}
		tally.Fail(c.why.class, c.phase, int(c.why.errno), now, now-c.begun)
		if c.loop.plan.ByEntry {
			tally.Entries.At(c.turn).Fail(c.got, now-c.begun)
		}
		return
	}
	if tally == &c.loop.tally {
		c.succeeded++
	}
	tally.Succeeded++
	tally.Total.Record(now - c.due)
	tally.Processing.Record(now - c.connected)
	if c.first != unset {
		tally.FirstByte.Record(c.first - c.due)
		tally.Waiting.Record(c.first - c.connected)
	}
	if c.loop.plan.Pace.Open() {
		tally.Service.Record(now - c.begun)
	}
	if c.loop.plan.ByEntry {
		tally.Entries.At(c.turn).Succeed(c.got, now-c.due)
	}
}

// The pauses after a failed connect, in nanoseconds: doubling from the first
// to the last, so that a dead target or an exhausted host is not asked
// thousands of times a second. An open loop asks as often as it was told to.
const (
	shortestPause = 1e6
	longestPause  = 100e6
)

// settle readies the client for its next request and lets others have their
// turn if the last one never had to wait.
func (c *client) settle() step {
	connectFailed := c.phase == stats.Connecting || c.phase == stats.Handshaking
	c.phase = stats.Idle
	switch {
	case connectFailed && !c.loop.plan.Classic && !c.loop.plan.Pace.Open():
		c.pause = min(max(2*c.pause, shortestPause), longestPause)
		c.tally.Paused += uint64(c.pause)
	case c.waited:
		c.pause = 0
		return done
	default:
		c.pause = 0
	}
	if c.await(0, c.loop.now+c.pause) == ended {
		return over
	}
	return done
}

// connect opens a connection and, where nothing comes before it, sends the first
// bytes of the request on it.
func (c *client) connect() step {
	c.phase, c.secured = stats.Connecting, nil
	tally, began := c.tally, c.loop.now
	until := min(began+int64(c.loop.plan.ConnectTimeout), c.deadline())
	c.loop.ringBy(until)
	fd, errno := dial(&c.loop.address, c.source, c.loop.kind)
	for errno == syscall.EAGAIN { // the queue of a unix socket is full, and no event will tell when it is not
		w := c.await(0, min(c.loop.now+shortestPause, until))
		if w == ended || c.loop.now >= until {
			return c.giveUp(w)
		}
		fd, errno = dial(&c.loop.address, c.source, c.loop.kind)
	}
	if errno != 0 {
		c.loop.readClock()
		return c.fail(connectClass(errno), errno)
	}
	c.fd, c.watched, c.hungUp, c.ready, c.held = fd, 0, false, writable, false
	c.generation++
	if c.loop.long {
		sendAtOnce(fd)
	}
	if s := c.establish(until); s != done {
		return s
	}
	if !c.loop.bare {
		if s := c.open(until); s != done {
			return s
		}
	}
	c.connected = c.loop.now
	tally.Opened++
	tally.Connect.Record(c.connected - began)
	if c.loop.crypto != nil {
		s := c.secure(until)
		c.connected = c.loop.now
		return s
	}
	return done
}

// establish tries to send until the connection is there. On loopback it is when
// connect returns, so the first try tells and nothing is asked twice. Where the
// request cannot go first, an empty one tells the same.
func (c *client) establish(until int64) step {
	first := c.entry.Request[:len(c.entry.Request)-c.entry.Later]
	if !c.loop.bare {
		first = nil
	}
	for {
		n, errno := send(c.fd, first)
		c.loop.readClock()
		switch {
		case errno == 0:
			c.sent = n
			c.tally.BytesWritten += uint64(n)
			return done
		case broke(errno):
			// Only an established connection can be reset: a reset that
			// answers a SYN is ECONNREFUSED. What came before it is still readable.
			c.sent, c.why.errno = 0, errno
			return done
		case !again(errno):
			return c.fail(connectClass(errno), errno)
		}
		c.ready &^= writable
		if w := c.await(writable, until); w != ready {
			return c.giveUp(w)
		}
	}
}

// exchange sends the request, as far as it is not sent, and receives the answer.
func (c *client) exchange() step {
	for {
		c.phase = stats.Sending
		if s := c.sendRest(); s != pending {
			return s
		}
		if c.loop.plan.HalfSend {
			finishSending(c.fd)
		}
		whole := c.sent == len(c.entry.Request)
		switch {
		case c.loop.plan.Force && !whole:
			return c.fail(stats.ResetWait, c.why.errno)
		case c.loop.plan.Force:
			c.drop()
			return done
		case whole && (!c.answer.Started() || c.answer.Interim() > 0 && c.answer.Status() == 0):
			c.phase = stats.Waiting
		}
		if s := c.receive(); s != pending {
			return s
		}
	}
}

// sendRest sends what is left of the request. An answer may come while it
// still goes out, and a peer that no longer reads may have answered before: so
// a broken connection ends the sending, not the request.
func (c *client) sendRest() step {
	if c.entry.Later > 0 {
		if s := c.askLeave(); s != pending || c.answered() {
			return s
		}
	}
	return c.sendAll(c.entry.Request)
}

// sendAll sends what is left of a part of the request.
func (c *client) sendAll(request []byte) step {
	for c.sent < len(request) {
		n, errno := c.send(request[c.sent:])
		switch {
		case errno == 0:
			c.sent += n
			c.tally.BytesWritten += uint64(n)
			continue
		case broke(errno):
			c.why.errno = cmp.Or(c.why.errno, errno)
			return pending
		case !again(errno):
			return c.broken(errno)
		}
		c.ready &^= writable
		if w := c.await(readable|writable, c.deadline()); w != ready {
			return c.giveUp(w)
		}
		if s := c.read(); s != pending {
			return s
		}
	}
	return pending
}

// leaveLimit is how long leave to send a body is waited for, in nanoseconds.
const leaveLimit = 1e9

// askLeave sends the request up to its body and waits until any answer comes:
// an interim one gives leave, a final one makes the body needless. A target that
// knows no such thing says nothing, and gets the body all the same.
func (c *client) askLeave() step {
	head := c.entry.Request[:len(c.entry.Request)-c.entry.Later]
	if s := c.sendAll(head); s != pending {
		return s
	}
	c.phase = stats.Waiting
	for until := c.loop.readClock() + leaveLimit; c.answer.Interim() == 0 && !c.answered(); {
		w := c.await(readable, min(until, c.deadline()))
		if w == late && until < c.deadline() {
			break
		}
		if w != ready {
			return c.giveUp(w)
		}
		if s := c.read(); s != pending {
			return s
		}
	}
	if !c.answered() {
		c.phase = stats.Sending
	}
	return pending
}

// answered reports whether a final answer has begun.
func (c *client) answered() bool { return c.answer.Status() >= 200 }

// receive waits for the answer until it is whole. If the loop has meanwhile
// begun the next request, it returns what became of that (see flow), pending if
// it is not sent to its end.
func (c *client) receive() step {
	for {
		c.answering = c.loop.flows
		w := c.await(readable, c.deadline())
		c.answering = false
		switch {
		case c.flowed:
			c.flowed = false
			return c.result
		case w != ready:
			return c.giveUp(w)
		}
		if s := c.read(); s != pending {
			return s
		}
	}
}

// flow takes what has come for a client that waits for its answer and, if that is
// whole, sends the next request. It reports whether the client waits for an answer
// again: if not, its coroutine is to go on from the result.
func (c *client) flow() bool {
	c.result = c.read()
	if c.result == done && c.fd >= 0 {
		c.count(done)
		c.settle()
		if !c.claim() {
			c.result, c.flowed = over, true
			return false
		}
		c.ask()
		c.result, c.phase = pending, stats.Sending
		switch n, errno := send(c.fd, c.entry.Request); {
		case errno == 0:
			c.sent = n
			c.tally.BytesWritten += uint64(n)
		case broke(errno):
			c.why.errno = errno
		}
		if c.sent == len(c.entry.Request) {
			c.phase = stats.Waiting
		}
	}
	c.flowed = c.result != pending || c.sent < len(c.entry.Request)
	return !c.flowed
}

// fullReads is how many full buffers one client may read before others get
// their turn.
const fullReads = 16

// read takes what has come. A short read has emptied the socket, and the next
// edge tells of more; unless the peer has hung up, which is told only once.
func (c *client) read() step {
	for i := 0; i < fullReads && c.ready&readable != 0; i++ {
		n, errno := c.recv()
		switch {
		case errno != 0 && again(errno):
			c.ready &^= readable
			return pending
		case errno != 0:
			return c.broken(errno)
		case n == 0:
			return c.end()
		case n < len(c.loop.buf) && !c.hungUp:
			c.ready &^= readable
		}
		if s := c.feed(c.loop.buf[:n]); s != pending {
			return s
		}
	}
	return pending
}

// input is where to receive for the client.
func (c *client) input() []byte {
	if c.secured != nil {
		return c.loop.raw
	}
	return c.loop.buf
}

func (c *client) recv() (int, syscall.Errno) {
	switch {
	case c.secured != nil:
		return c.secured.recv(c.loop.buf)
	case c.held:
		c.held = false
		return c.heldBytes, c.heldErrno
	}
	return recv(c.fd, c.loop.buf)
}

func (c *client) send(b []byte) (int, syscall.Errno) {
	if c.secured != nil {
		return c.secured.send(b)
	}
	return send(c.fd, b)
}

func (c *client) feed(b []byte) step {
	tally := c.tally
	if c.first == unset {
		c.first = c.loop.now
	}
	c.phase = stats.Receiving
	tally.BytesRead += uint64(len(b))
	c.got += uint64(len(b))
	tally.Heard(c.loop.now)
	body := c.answer.Body()
	n, state := c.answer.Feed(b)
	tally.BytesBody += c.answer.Body() - body
	switch state {
	case http1.Done:
		return c.complete(n == len(b) && c.answer.KeepAlive())
	case http1.Bad:
		return c.fail(stats.ProtoBad, 0)
	}
	return pending
}

// complete judges a whole answer. The connection stays only if both ends mean
// it to: bytes after the answer, or a request not sent to its end, forbid it.
func (c *client) complete(reusable bool) step {
	plan := &c.loop.plan
	if !reusable || !plan.Reuse || c.entry.Close || c.hungUp || c.sent < len(c.entry.Request) {
		c.leave()
		c.served, c.fd = c.fd, -1
	}
	status := c.answer.Status()
	if status != 0 { // HTTP/0.9 has none
		c.tally.Status(status)
		if plan.ByEntry {
			c.tally.Entries.At(c.turn).Status(status)
		}
		if !plan.Expect.Has(status) {
			c.why = failure{class: stats.StatusClass(status)}
			return failed
		}
	}
	if plan.Check != AnyBody {
		return c.judgeBody()
	}
	return done
}

// end judges an orderly end of the stream.
func (c *client) end() step {
	switch c.answer.End() {
	case http1.Done:
		if c.secured != nil && c.secured.cut {
			return c.fail(stats.BodyShort, 0) // anybody can end a TCP stream (RFC 8446 section 6.1)
		}
		return c.complete(false)
	case http1.Empty:
		return c.empty()
	case http1.Short:
		if c.why.errno != 0 {
			return c.fail(stats.ResetBody, c.why.errno)
		}
		return c.fail(stats.BodyShort, 0)
	}
	return c.fail(stats.ProtoBad, 0)
}

// empty judges a stream that ended without a byte. A reset that a send met is
// reported once; the stream looks orderly after it.
func (c *client) empty() step {
	switch {
	case c.reused:
		return stale
	case c.why.errno != 0:
		return c.fail(stats.ResetWait, c.why.errno)
	case c.loop.plan.Classic: // webbench calls it a page
		return c.complete(false)
	}
	return c.fail(stats.EmptyReply, 0)
}

// broken judges a connection that a system call found broken.
func (c *client) broken(errno syscall.Errno) step {
	c.why.errno = errno
	reset := broke(errno)
	switch {
	case c.secured != nil && c.secured.class != stats.ClassNone:
		return c.fail(c.secured.class, 0)
	case reset && c.answer.Started():
		return c.fail(stats.ResetBody, errno)
	case reset && c.reused:
		return stale
	case reset:
		return c.fail(stats.ResetWait, errno)
	}
	return c.fail(connectClass(errno), errno)
}

// deadline is when the whole request must be over.
func (c *client) deadline() int64 { return c.begun + int64(c.loop.plan.Timeout) }

// closeServed closes a connection whose answer is complete. That is done once
// the next request is on its way, or there is anything to wait for: a server that
// means to close has mostly done so by then, and the end that closes first keeps
// the connection's port for a minute (TIME_WAIT, RFC 9293 section 3.6).
func (c *client) closeServed() {
	if c.served >= 0 {
		closeSocket(c.served)
		c.served = -1
	}
}

// drop gives up the connection.
func (c *client) drop() {
	c.closeServed()
	if c.fd >= 0 {
		c.leave()
		closeSocket(c.fd)
		c.fd = -1
	}
}

// leave tells the peer that nothing follows, where TCP alone does not tell.
func (c *client) leave() {
	if c.secured != nil {
		c.secured.leave()
	}
}

// giveUp ends a wait that did not end well.
func (c *client) giveUp(w wake) step {
	switch w {
	case ended:
		return over
	case unwatched:
		return c.fail(stats.LocalMem, syscall.ENOSPC)
	}
	c.fail(lateClass(c.phase), 0)
	return overdue
}

func lateClass(phase stats.Phase) stats.Class {
	switch phase {
	case stats.Connecting:
		return stats.TimeoutConnect
	case stats.Handshaking:
		return stats.TLSTimeout
	case stats.Waiting:
		return stats.TimeoutTTFB
	case stats.Receiving:
		return stats.TimeoutBody
	}
	return stats.TimeoutTotal
}

// broke reports whether the peer has broken the connection.
func broke(errno syscall.Errno) bool { return errno == syscall.ECONNRESET || errno == syscall.EPIPE }

// connectClass names what an errno means for a connection.
func connectClass(errno syscall.Errno) stats.Class {
	switch errno {
	case syscall.ECONNREFUSED:
		return stats.Refused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED: // connect(2) says the last where the reset has been told
		return stats.ResetConnect
	case syscall.ETIMEDOUT:
		return stats.KernelETimedout
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, syscall.EACCES, syscall.EPERM:
		return stats.Unreachable
	case syscall.EADDRNOTAVAIL, syscall.EADDRINUSE:
		return stats.LocalPorts
	case syscall.EMFILE, syscall.ENFILE:
		return stats.LocalFDs
	case syscall.ENOBUFS, syscall.ENOMEM:
		return stats.LocalMem
	}
	return stats.Other
}
