package client

import (
	"container/heap"
	"iter"
	"math"
	"os"
	"syscall"

	"horde/client/http1"
	"horde/stats"
)

// second is the length of one interval of the time line, in nanoseconds.
const second = 1e9

// loop runs the clients of one worker on one thread: what they share, the
// clock they go by and the ways to wait.
type loop struct {
	plan    Plan
	crypto  Crypto // nil = plain connections
	bare    bool   // a request is the first thing on a connection
	words   []byte // what comes before, under construction
	address address
	sources []address
	clock   Clock
	control int // readable or hung up = stop
	report  func(second int, t *stats.Tally) error

	clients []client
	buf     []byte // read buffer, shared: an answer is consumed before the next read
	raw     []byte // the same for what is to be decrypted: less, so that all of it fits into buf
	sum     []byte // of the body at hand
	tally   stats.Tally
	usual   [4]stats.StatusCount // where most tallies have room for their statuses, near to what changes with them
	warmup  stats.Tally          // of requests that were due before the window began

	now     int64 // when the events at hand were seen
	begin   int64 // when the clients may begin: with a warm-up, before 0
	tick    int64 // when the present second ends
	end     int64 // when the run ends
	left    uint64
	walk    walk
	heads   http1.Memory // of answers
	long    bool         // not every request is one segment
	flows   bool         // clients may go on without their coroutines (see goOn)
	next    uint64       // the next start of an open loop's schedule
	stopped bool
	broken  error // the report could not be sent

	poller  *poller  // nil = alone
	polled  []parked // what the poller need not watch: each round asks them in turn
	asked   []parked // the memory of those before these
	alarms  alarms
	turns   []*client // ready without a wait: they had their share of this round
	spare   []*client // the memory of the turns before these
	started int       // clients that have begun to live
	living  int

	kind uintptr // of the clients' sockets
	bell bell    // alone and one connection per request only

	coalesce coalescer
	ended    uint64 // requests that ended in the seconds before this one
	median   int64  // of the latency just seen
	lag      int64  // by how much the worst wait was over too late
}

// wake says why a wait is over.
type wake uint8

const (
	ready     wake = iota
	late           // the time given for the wait was over, while the run was not
	ended          // the run is over
	unwatched      // the kernel has no room to watch one more socket
	waiting        // it is not over
)

// coroutine is what a client needs to be one of many on a thread.
type coroutine struct {
	resume  func() (struct{}, bool)
	yield   func(struct{}) bool
	watched uint32 // what the poller watches its socket for
	inTurns bool   // it will be resumed in the next round, whatever happens
	alarm   int64  // when the loop next looks at until; never later than that
	place   int    // in the loop's alarms
}

// Ending is how a worker's run ended. Times are nanoseconds.
type Ending struct {
	Unfinished    stats.Unfinished
	WarmingUp     uint64          // requests of the warm-up that were still under way
	PerClient     stats.Histogram // how many requests of each client succeeded
	At            int64           // since the release
	Coalesced     int64           // slept to let answers collect, in all
	LongestMoment int64           // and at once
	Lag           int64           // by how much the clock was looked at too late, at worst

	clients []client
}

// Close closes the connections that the end found open: after the worker's last
// word, because closing many takes long, and that is waited for.
func (e *Ending) Close() {
	for i := range e.clients {
		e.clients[i].drop()
	}
}

// Run drives the clients of plan in this process until the run is over: its
// time is up, its requests are done, or control is readable or hung up. It
// waits until clock shows 0, or with a warm-up so much less. report gets what
// was counted in a second that is over, and at the end what was counted since;
// it must not keep the tally. Seconds below 0 are the warm-up's: the last of
// them is reported again when a request that was due in it ends later.
//
// crypto secures the connections if the plan has them secured.
//
// The calling goroutine must be locked to its thread, as the first is while
// packages are initialised. (Locking it here would start one more thread.)
func Run(plan *Plan, crypto Crypto, clock Clock, control int, report func(second int, t *stats.Tally) error) (Ending, error) {
	l := newLoop(plan, crypto, clock, control, report)
	if plan.Pace.Open() {
		sleepExactly()
	}
	l.awaitRelease()
	run := l.runPacked
	if len(l.clients) == 1 {
		run = l.runAlone
	}
	if err := run(); err != nil {
		return Ending{}, err
	}
	l.now = max(min(l.now, l.end), 0) // it may have been stopped before its release
	if l.broken == nil {
		l.broken = l.hand(true)
	}
	end := Ending{
		PerClient: l.perClient(), At: l.now,
		Coalesced: l.coalesce.slept, LongestMoment: l.coalesce.longest, Lag: l.lag, clients: l.clients,
	}
	end.Unfinished, end.WarmingUp = l.unfinished()
	if l.broken != nil {
		end.Close()
	}
	return end, l.broken
}

func newLoop(plan *Plan, crypto Crypto, clock Clock, control int, report func(second int, t *stats.Tally) error) *loop {
	l := &loop{
		plan: *plan, crypto: crypto, bare: plan.bare(), address: newAddress(plan.Address), clock: clock, control: control, report: report,
		clients: make([]client, plan.Clients), buf: make([]byte, 64<<10), kind: nonBlocking,
		begin: -int64(plan.Warmup), end: never, left: plan.Requests, next: plan.Pace.First,
		walk: newWalk(plan), long: plan.long(),
	}
	l.flows = l.mayFlow()
	l.tally.Statuses = l.usual[:0]
	if crypto != nil {
		l.raw = make([]byte, len(l.buf)/2)
	}
	l.tick = tickAfter(l.begin)
	if plan.Duration > 0 {
		l.end = int64(plan.Duration)
	}
	for _, s := range plan.Sources {
		l.sources = append(l.sources, newAddress(s))
	}
	for i := range l.clients {
		l.clients[i] = client{loop: l, tally: &l.tally, slot: uint32(i), fd: -1, served: -1, begun: unset}
		l.clients[i].answer.Remember(&l.heads)
		if n := len(plan.Sources); n > 0 {
			l.clients[i].source = &l.sources[i%n]
		}
		if plan.Check == BodySum {
			l.clients[i].digestBody()
		}
	}
	return l
}

func (l *loop) awaitRelease() {
	for l.readClock() < l.begin && !l.stopped {
		_, l.stopped = pollTwo(-1, 0, l.control, l.begin-l.now)
	}
	l.now = max(l.now, l.begin)
}

func (l *loop) readClock() int64 {
	if l.poller == nil {
		l.now = l.clock.Ask()
	} else {
		l.now = l.clock.Now()
	}
	return l.now
}

// claim takes one request from the worker's share and waits until it is due.
// That moment decides where it counts: in the warm-up or in the window.
func (c *client) claim() bool {
	l := c.loop
	c.due = l.nextDue()
	c.tally = &l.tally
	switch {
	case l.expired():
		return false
	case c.due < 0:
		c.tally = &l.warmup
	case !l.take():
		return false
	}
	if c.due > l.now {
		return c.awaitDue()
	}
	if l.plan.Pace.Open() && c.begun != unset {
		c.tally.Queued++
	}
	return true
}

// peerCloses is how long a server that means to close gets to do so first.
const peerCloses = 1e6

// awaitDue waits for the client's time. The connection it has been served on is
// closed in the meantime, but not at once (see closeServed).
func (c *client) awaitDue() bool {
	l := c.loop
	if c.served >= 0 && c.park(0, min(c.due, l.now+peerCloses)) == ended {
		return false
	}
	if c.due > l.now && c.await(0, c.due) == ended {
		return false
	}
	return !l.expired()
}

// nextDue returns when the next request is due: now, or by the schedule. A client
// alone has just looked at the clock if it has waited for its last answer.
func (l *loop) nextDue() int64 {
	if l.poller != nil || !l.clients[0].waited {
		l.readClock()
	}
	if !l.plan.Pace.Open() {
		return l.now
	}
	due := l.begin + l.plan.Pace.At(l.next)
	l.next += l.plan.Pace.Step
	return due
}

// take takes one request off those that are left to the worker.
func (l *loop) take() bool {
	if !l.plan.Limited {
		return true
	}
	if l.left == 0 {
		return false
	}
	l.left--
	return true
}

// expired reports whether the run is over: nothing is counted from here on.
func (l *loop) expired() bool { return l.stopped || l.now >= l.end }

// wake notes the time and sends off what was counted in the second that is over.
func (l *loop) wake(stop bool) {
	l.readClock()
	l.stopped = l.stopped || stop
	if l.now < l.tick || l.now >= l.end {
		return
	}
	if err := l.hand(false); err != nil {
		l.broken, l.stopped = err, true
	}
	if l.tick <= 0 && l.now >= 0 { // the window begins: what the warm-up cost is none of its
		l.lag, l.coalesce.slept, l.coalesce.longest = 0, 0, 0
	}
	l.tick = tickAfter(l.now)
}

// hand reports what was counted in the second that is over, or what is left at
// the last.
func (l *loop) hand(last bool) error {
	at := int(l.tick/second) - 1
	if l.plan.Warmup > 0 {
		if err := l.report(min(at, -1), &l.warmup); err != nil {
			return err
		}
	}
	l.ended += l.warmup.Succeeded + l.warmup.Failed
	l.warmup.Reset()
	if at < 0 && !last { // the window's first second is not over
		return nil
	}
	l.ended += l.tally.Succeeded + l.tally.Failed
	err := l.report(max(at, 0), &l.tally)
	l.tally.Reset()
	return err
}

// tickAfter is when the second ends that a time is in.
func tickAfter(now int64) int64 {
	seconds := now / second
	if now%second < 0 {
		seconds--
	}
	return (seconds + 1) * second
}

// unfinished looks at what is under way at the end, in the window and of the warm-up.
func (l *loop) unfinished() (u stats.Unfinished, warmingUp uint64) {
	for i := range l.clients {
		c := &l.clients[i]
		switch {
		case c.phase == stats.Idle:
		case c.tally == &l.warmup:
			warmingUp++
		default:
			u.Count[c.phase]++
			u.Ages.Record(l.now - c.due)
			u.ClientTime += l.now - c.begun
		}
	}
	u.Oldest = u.Ages.Max()
	return u, warmingUp
}

func (l *loop) perClient() (h stats.Histogram) {
	for i := range l.clients {
		h.Record(l.clients[i].succeeded)
	}
	return h
}

// await parks the client until its socket reports something of want, the time
// until has come, or the run is over.
func (c *client) await(want uint32, until int64) wake {
	c.closeServed()
	return c.park(want, until)
}

func (c *client) park(want uint32, until int64) wake {
	c.want, c.until, c.waited = want, until, true
	if c.loop.poller == nil {
		return c.loop.waitAlone(c)
	}
	return c.loop.waitPacked(c)
}

// outcome judges a wait that may be over. A limit that has passed comes first:
// in a worker that got no CPU for a while the answer may be there all the same,
// and the end of the run too, but it came to light too late.
func (c *client) outcome() wake {
	l := c.loop
	switch {
	case c.until <= min(l.now, l.end):
		if c.ready&c.want != 0 {
			c.tally.Overslept++
		}
		return late
	case l.expired():
		return ended
	case c.ready&c.want != 0:
		return ready
	}
	return waiting
}

// due notes how late the loop is to look at the clock.
func (l *loop) due(at int64) { l.lag = max(l.lag, l.now-at) }

// runAlone is the shape of one client in its own process: waiting blocks.
func (l *loop) runAlone() error {
	if l.mayBlock() {
		// Without a bell it polls: a matter of speed, not of results.
		if l.bell.hang(l.control) == nil {
			defer l.bell.takeDown()
			l.kind = 0
		}
	}
	c := &l.clients[0]
	if c.await(0, l.begin+int64(l.plan.FirstStart)) != ended {
		c.live()
	}
	return nil
}

// mayBlock reports whether a bell can end every call in which a lone client would
// wait: not the handshake's, and no connect to a unix socket, which would then
// have to be made again.
func (l *loop) mayBlock() bool {
	return !l.plan.Reuse && l.crypto == nil && l.address.raw.Addr.Family != syscall.AF_UNIX
}

func (l *loop) waitAlone(c *client) wake {
	for {
		at := min(c.until, l.tick, l.end)
		if c.want == readable && l.bell.hung {
			at = l.ringBy(c.until)
			l.wake(c.waitReceiving())
		} else {
			if c.want == 0 && l.plan.Pace.Open() {
				at = l.now + sharp(at-l.now)
			}
			if l.now >= l.bell.next { // or it would go on ringing
				l.ringBy(never)
			}
			events, stop := pollTwo(c.fd, c.want, l.control, at-l.now)
			l.wake(stop)
			c.report(events)
		}
		l.due(at)
		if w := c.outcome(); w != waiting {
			return w
		}
	}
}

// tickGrace is how long after its end a second is reported by a client that
// nothing else wakes: of thousands each does little more in a second than report.
const tickGrace = 2 * second

// ringBy has the bell, if there is one, end a blocking call when the time until
// has come, or a second is to be reported, or the run is over. It returns when.
func (l *loop) ringBy(until int64) int64 {
	at := min(until, l.tick+tickGrace, l.end)
	if l.bell.hung {
		l.bell.set(at, l.now)
	}
	return at
}

// waitReceiving waits in the very call that receives, and holds what it brought
// for the next read. It reports whether the run is to stop.
func (c *client) waitReceiving() (stop bool) {
	l := c.loop
	n, errno := recvWaiting(c.fd, l.buf)
	if errno == syscall.EINTR {
		n, errno = recv(c.fd, l.buf)
	}
	if l.bell.heard() {
		_, stop = pollTwo(-1, 0, l.control, 0)
	}
	c.hold(n, errno)
	return stop
}

// hold keeps what a call received for the next read. It reports false if that
// is nothing.
func (c *client) hold(n int, errno syscall.Errno) bool {
	if again(errno) {
		return false
	}
	c.held, c.heldBytes, c.heldErrno = true, n, errno
	c.ready |= readable
	return true
}

// report notes what the socket says of itself. A connection that hung up or
// broke is readable and writable: the next call on it tells the rest.
func (c *client) report(events uint32) {
	if events&hangup != 0 {
		c.hungUp = true
		events |= readable | writable
	}
	c.ready |= events
}

// runPacked is the shape of many clients in one process: each is a coroutine,
// and waiting lets the others run.
func (l *loop) runPacked() error {
	p, err := openPoller()
	if err != nil {
		return err
	}
	defer p.close()
	l.poller = p
	if errno := p.add(l.control, readable, controlSlot, 0); errno != 0 {
		return os.NewSyscallError("epoll_ctl", errno)
	}
	l.alarms = make(alarms, len(l.clients))
	for i := range l.clients {
		c := &l.clients[i]
		l.alarms[i], c.place, c.alarm, c.until = c, i, never, never
	}
	if l.plan.Coalesce && l.plan.Reuse && len(l.clients) >= coalesceClients {
		l.coalesce = newCoalescer(l.mayPoll())
		sleepExactly()
	}
	for l.started < len(l.clients) || l.living > 0 {
		for i := 0; i < startsPerRound && l.startDue(); i++ {
			l.start(&l.clients[l.started])
		}
		l.round()
	}
	return nil
}

// startDue reports whether another client is to start now. Those that the end of
// the run finds waiting for their start do so too, and see it.
func (l *loop) startDue() bool {
	return l.started < len(l.clients) && (l.now >= l.nextStart() || l.expired())
}

func (l *loop) nextStart() int64 {
	if l.started == len(l.clients) {
		return never
	}
	return l.begin + int64(l.plan.FirstStart) + int64(l.started)*int64(l.plan.StartGap)
}

// startsPerRound bounds how long the answers to the first clients lie unread
// while the later ones connect.
const startsPerRound = 256

const controlSlot = math.MaxUint32

func (l *loop) start(c *client) {
	l.started++
	l.living++
	c.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		c.live()
		c.until = never
		l.living--
	})
	c.resume()
}

// round waits for events and lets the clients they concern run on.
func (l *loop) round() {
	if l.coalesce.moment > 0 && !l.hurried() {
		nap(l.coalesce.sleep())
	}
	patience := l.patience()
	at := l.now + int64(patience)*1e6
	if l.plan.Pace.Open() && patience > 0 {
		at, patience = l.dwell(), 0
	}
	events := l.poller.wait(patience)
	l.wake(false)
	l.due(at)
	turns := l.turns
	l.turns, l.spare = l.spare[:0], turns
	for i := range events {
		slot, generation := uint32(events[i].Fd), uint32(events[i].Pad)
		if slot == controlSlot {
			l.stopped = true
		} else {
			l.deliver(&l.clients[slot], generation, events[i].Events)
		}
	}
	if l.expired() {
		l.stop()
		return
	}
	for _, c := range turns {
		c.inTurns = false
		c.resume()
	}
	l.askPolled()
	l.ring()
	if l.coalesce.able && l.now >= l.coalesce.next {
		l.decide()
	}
}

// decide gives the coalescer the figures it goes by.
func (l *loop) decide() {
	const enough = 64 // latencies for a median
	ended := l.ended
	for _, t := range [...]*stats.Tally{&l.warmup, &l.tally} {
		ended += t.Succeeded + t.Failed
		if t.Total.Count() >= enough {
			l.median = t.Total.Quantile(0.5)
		}
	}
	before := l.coalesce.way
	l.coalesce.decide(l.now, ended, l.median, threadTime())
	switch {
	case l.coalesce.way == polling && before != polling:
		l.unwatchAll()
	case l.coalesce.way != polling && before == polling:
		l.watchPolled()
	}
}

// turn lets the client run on in the next round.
func (l *loop) turn(c *client) {
	l.turns = append(l.turns, c)
	c.inTurns = true
}

// hurried reports whether there is something to do that no event tells of.
func (l *loop) hurried() bool { return len(l.turns) > 0 || l.startDue() || l.expired() }

// patience is how many milliseconds the loop may wait for events, rounded up:
// the clock decides, not the wait.
func (l *loop) patience() int {
	if l.hurried() || len(l.polled) > 0 {
		return 0
	}
	return int((max(l.nextTime()-l.now, 0) + 1e6 - 1) / 1e6)
}

// nextTime is when there is something to do, whatever events may come.
func (l *loop) nextTime() int64 { return min(l.tick, l.end, l.alarms[0].alarm, l.nextStart()) }

// dwell waits for events as exactly as the kernel can: epoll_wait(2) counts in
// milliseconds. It returns until when.
func (l *loop) dwell() int64 {
	rest := sharp(l.nextTime() - l.readClock())
	at := l.now + rest
	pollTwo(l.poller.fd, readable, -1, rest)
	return at
}

func (l *loop) deliver(c *client, generation, events uint32) {
	if c.generation != generation || c.fd < 0 {
		return
	}
	c.report(events)
	if c.ready&c.want != 0 && !c.inTurns {
		l.goOn(c)
	}
}

// mayFlow reports whether nothing but the answer is ever waited for between a
// request and the next on the same connection.
func (l *loop) mayFlow() bool {
	p := &l.plan
	return p.Reuse && !p.Pace.Open() && !p.Force && !p.HalfSend && l.crypto == nil && !l.long
}

// goOn lets a client run on that has what it waits for. One that waits for an
// answer needs its coroutine only if there is more to do than to send the next
// request: to change to it and back costs as much as the rest of the work.
func (l *loop) goOn(c *client) {
	if c.answering && c.until > l.now && !l.expired() && c.flow() {
		c.want, c.until, c.waited = readable, c.deadline(), true
		if l.arrange(c) {
			return
		}
		c.result, c.flowed = c.giveUp(unwatched), true
	}
	c.resume()
}

// stop lets every client see that the run is over.
func (l *loop) stop() {
	l.turns = nil
	l.stopped = true
	for i := range l.clients {
		if c := &l.clients[i]; c.resume != nil {
			c.resume() // nothing happens to one that has ended
		}
	}
}

func (l *loop) waitPacked(c *client) wake {
	if l.stopped {
		return ended
	}
	if !l.arrange(c) {
		return unwatched
	}
	c.yield(struct{}{})
	w := ready
	if !c.flowed {
		w = c.outcome()
	}
	c.want = 0
	return w
}

// arrange sees to it that the client goes on when what it waits for is there. It
// reports false if the kernel has no room for that.
func (l *loop) arrange(c *client) bool {
	switch {
	case c.want == readable && c.watched == 0 && l.coalesce.way == polling:
		l.polled = append(l.polled, parked{c, c.generation})
	case !l.watch(c):
		return false
	}
	switch {
	case c.want&c.ready != 0 || c.until <= l.now:
		l.turn(c)
	case c.until < c.alarm:
		c.alarm = c.until
		heap.Fix(&l.alarms, c.place)
	}
	return true
}

// watch makes sure that the poller watches for what the client waits for.
// Writability is watched for only once a send has met a full socket or a
// connect that takes its time: it would cost every connection an event.
func (l *loop) watch(c *client) bool {
	if c.want&^c.watched == 0 {
		return true
	}
	watch := l.poller.add
	if c.watched != 0 {
		watch = l.poller.change
	}
	c.watched |= c.want | readable
	return watch(c.fd, c.watched, c.slot, c.generation) == 0
}

// ring wakes the clients whose time is up. An alarm may be earlier than what
// its client waits for now; then it is only set anew, once in a timeout's
// length and not once a request.
func (l *loop) ring() {
	for l.alarms[0].alarm <= l.now {
		c := l.alarms[0]
		due := c.until <= l.now && !c.inTurns
		c.alarm = never
		if c.until > l.now {
			c.alarm = c.until
		}
		heap.Fix(&l.alarms, c.place)
		if due {
			c.resume()
		}
	}
}

// never is a time that does not come.
const never = math.MaxInt64

// alarms is a heap of all clients of a loop, the next to look at first.
type alarms []*client

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].alarm < a[j].alarm }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}
func (a *alarms) Push(any) { panic("client: internal error: alarms never grow") }
func (a *alarms) Pop() any { panic("client: internal error: alarms never shrink") }
