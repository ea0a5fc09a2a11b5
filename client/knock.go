package client

import "horde/stats"

// Knock makes one connection of plan as its clients will, with all that comes
// before a request, and closes it. It runs in the parent, before a run. The
// class is ClassNone if the connection was made within plan.ConnectTimeout;
// reason is what a proxy or a TLS session said of its failure.
func Knock(plan *Plan, crypto Crypto) (class stats.Class, reason error) {
	one := *plan
	one.Clients, one.Timeout = 1, plan.ConnectTimeout
	l := newLoop(&one, crypto, NewClock(Monotonic()), -1, func(int, *stats.Tally) error { return nil })
	c := &l.clients[0]
	c.begun, c.entry = l.readClock(), &l.plan.Entries[0]
	c.connect()
	c.drop()
	switch {
	case c.why.class == stats.ProxyRefused:
		reason = errRefused(c.answer.Status())
	case c.secured != nil:
		reason = c.secured.err
	}
	return c.why.class, reason
}
