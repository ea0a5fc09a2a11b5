package client

// Polling: instead of having the kernel tell of each answer, a loop asks its
// connections in turn. The coalescer decides when that pays (see coalesce.go).

// parked is a connection whose client waits for an answer on it.
type parked struct {
	client     *client
	generation uint32
}

// mostPolled bounds how long a round of asking takes, and changing from one way
// to the other.
const mostPolled = 2048

// mayPoll reports whether the plan allows it: a polled connection does not tell
// that the peer has hung up, so a request must be one that may be sent again.
func (l *loop) mayPoll() bool {
	if len(l.clients) > mostPolled {
		return false
	}
	for i := range l.plan.Entries {
		if !l.plan.Entries[i].Resend {
			return false
		}
	}
	return true
}

// waits reports whether the client still waits on that connection.
func (p parked) waits() bool {
	c := p.client
	return c.generation == p.generation && c.fd >= 0 && c.want == readable && !c.inTurns
}

// askPolled asks each polled connection once, and lets its client run on if
// there is an answer.
func (l *loop) askPolled() {
	l.polled, l.asked = l.asked[:0], l.polled
	missed := false
	for _, p := range l.asked {
		switch c := p.client; {
		case !p.waits():
		case c.hold(recv(c.fd, c.input())):
			if missed { // asking took time since the clock was read
				l.readClock()
			}
			missed = false
			l.goOn(c)
		default:
			missed = true
			l.polled = append(l.polled, p)
		}
	}
}

// unwatchAll has the connections on which an answer is awaited polled from now on.
func (l *loop) unwatchAll() {
	for i := range l.clients {
		c := &l.clients[i]
		if p := (parked{c, c.generation}); c.watched != 0 && p.waits() {
			l.poller.remove(c.fd)
			c.watched = 0
			l.polled = append(l.polled, p)
		}
	}
}

// watchPolled has the poller watch the polled connections again.
func (l *loop) watchPolled() {
	for _, p := range l.polled {
		if p.waits() && !l.watch(p.client) {
			l.turn(p.client) // it will ask once more, and fail
			p.client.ready |= readable
		}
	}
	l.polled = l.polled[:0]
}
