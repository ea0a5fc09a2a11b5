package client

import (
	"errors"
	"strconv"

	"horde/client/http1"
	"horde/stats"
)

// bare reports whether a request is the first thing that a connection carries.
func (p *Plan) bare() bool { return p.TLS == nil && p.ProxyProtocol == 0 && len(p.Connect) == 0 }

// open makes a connection that is there one to the target: what a load balancer
// is to be told comes first, then the tunnel through a proxy.
func (c *client) open(until int64) step {
	plan := &c.loop.plan
	if plan.ProxyProtocol != 0 {
		sendAtOnce(c.fd) // the next words would wait for these to be acknowledged
		c.loop.words = appendProxyHeader(c.loop.words[:0], plan.ProxyProtocol, &c.loop.address, c.fd)
		if s := c.say(c.loop.words, until); s != done {
			return s
		}
	}
	if len(plan.Connect) > 0 {
		return c.tunnel(until)
	}
	return done
}

// say sends words that come before a request.
func (c *client) say(words []byte, until int64) step {
	for len(words) > 0 {
		n, errno := send(c.fd, words)
		switch {
		case errno == 0:
			words = words[n:]
			continue
		case !again(errno):
			return c.fail(connectClass(errno), errno)
		}
		c.ready &^= writable
		if w := c.await(writable, until); w != ready {
			return c.giveUp(w)
		}
	}
	return done
}

// tunnel asks a proxy for a connection to the target (RFC 9110 section 9.3.6).
func (c *client) tunnel(until int64) step {
	if s := c.say(c.loop.plan.Connect, until); s != done {
		return s
	}
	c.answer.Reset(http1.AnswerHead) // to CONNECT: no body, where it is the answer hoped for
	for {
		if w := c.await(readable, until); w != ready {
			return c.giveUp(w)
		}
		n, errno := c.recv()
		switch {
		case errno != 0 && again(errno):
			c.ready &^= readable
			continue
		case errno != 0:
			return c.fail(connectClass(errno), errno)
		case n == 0:
			return c.fail(stats.ProxyRefused, 0)
		}
		if s := c.tunnelled(c.loop.buf[:n]); s != pending {
			return s
		}
	}
}

// tunnelled judges what a proxy answers. Nothing may follow a good answer: in
// TLS the client speaks first.
func (c *client) tunnelled(b []byte) step {
	n, state := c.answer.Feed(b)
	switch {
	case state == http1.Done && c.answer.Status()/100 == 2 && n == len(b):
		c.answer.Reset(c.entry.Answer)
		return done
	case state == http1.Done || state == http1.Bad:
		return c.fail(stats.ProxyRefused, 0)
	}
	return pending
}

// errRefused says what a proxy answered, if it was an answer.
func errRefused(status int) error {
	if status == 0 {
		return errors.New("the proxy opened no tunnel")
	}
	return errors.New("the proxy answered " + strconv.Itoa(status) + " to CONNECT")
}
