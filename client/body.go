package client

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"horde/stats"
)

// Check is what is expected of the bodies of answers whose status is expected.
type Check uint8

const (
	AnyBody    Check = iota
	BodyLength       // the length of the entry's Body
	BodySum          // the SHA-256 of the entry's Body
)

// Body is what a body is known by: bytes as they come off the framing, not
// decoded any further.
type Body struct {
	Length uint64
	Sum    []byte // SHA-256
}

// digestBody has the parser hand on what it reads of bodies.
func (c *client) digestBody() {
	c.digest = sha256.New()
	c.answer.HandOn(c.digest)
}

// judgeBody holds the body of a good answer against what is expected of it.
func (c *client) judgeBody() step {
	l, want := c.loop, &c.entry.Body
	switch l.plan.Check {
	case BodyLength:
		if c.answer.Body() == want.Length {
			return done
		}
	case BodySum:
		if l.sum = c.digest.Sum(l.sum[:0]); bytes.Equal(l.sum, want.Sum) {
			return done
		}
	default:
		return done
	}
	c.why = failure{class: stats.BodyMismatch}
	return failed
}

// Sample makes each request of plan once, as its clients will, and notes in its
// entry what body the answer had. It runs in the parent, before a run. The error
// says which request failed, and how.
func Sample(plan *Plan, crypto Crypto) error {
	one := *plan
	one.Clients, one.Order, one.First, one.Check, one.ByEntry = 1, InOrder, 0, AnyBody, false
	one.Pace, one.Warmup, one.Duration = Pace{}, 0, 0
	l := newLoop(&one, crypto, NewClock(Monotonic()), -1, func(int, *stats.Tally) error { return nil })
	c := &l.clients[0]
	c.tally = &l.tally
	defer c.drop()
	c.digestBody()
	for i := range plan.Entries {
		if c.request() != done {
			return fmt.Errorf("the first answer to request %d of %d is no good one: %s", i+1, len(plan.Entries), c.ended())
		}
		plan.Entries[i].Body = Body{c.answer.Body(), c.digest.Sum(nil)}
	}
	return nil
}

// ended says in words how the last request failed.
func (c *client) ended() string {
	if class := c.why.class; class != stats.ClassNone {
		return class.Text()
	}
	return "it did not end"
}
