package nullserver

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// loop is one serving process, or, in tests, one goroutine: everything it
// holds belongs to one OS thread.
type loop struct {
	stop     int // the control pipe: readable or hung up means stop
	listener int
	backlog  int
	epoll    int
	alarm    int // timerfd: unlike a timeout of epoll_pwait, exact to the microsecond

	replies *replies
	budget  uint64 // answers left, if limited
	limited bool
	closed  value // refuse: the span without a listener
	still   value // stall: the span of standing still
	counts  *Counts

	conns  []*conn // by descriptor; a slot keeps its conn, and the conn its buffers
	in     []byte
	out    []byte // answers of the conn at hand, not sent yet
	ends   []int  // where in out an answer ends
	events [512]unix.EpollEvent

	begun  time.Time
	timers timers
	armed  time.Duration // what alarm is set to; 0 = nothing
}

// The loop's own appointments stand among the connections' descriptors.
const (
	reopenAccept = -1 - iota
	beginClosed
	endClosed
	beginStill
)

const (
	readSize = 64 << 10
	maxOut   = 256 << 10 // collected for one connection before it is sent

	// A descriptor is in one event of a batch at most, and only timers, which
	// fire between batches, close a connection from outside. So an event never
	// meets a connection that took over its number, and needs no generation.
	connEvents = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
)

// newLoop takes a listening socket and the read end of the control pipe; the
// caller closes both after run. counts is written without locks.
func newLoop(listener, stop int, o Options, counts *Counts) (*loop, error) {
	l := &loop{
		stop: stop, listener: listener, backlog: o.Backlog, epoll: -1, alarm: -1,
		replies: newReplies(o.Fault, o.BodySize), budget: o.Budget, limited: o.Budget > 0, counts: counts,
		in: make([]byte, readSize), begun: time.Now(),
	}
	l.replies.plain = o.Plain
	if err := l.open(o.Fault.backlog() == 0); err != nil {
		l.release()
		return nil, err
	}
	if k := o.Fault.kind; k != nil && k.name == "refuse" {
		l.closed = o.Fault.value
		l.appoint(beginClosed, 0, l.closed.from)
		l.appoint(endClosed, 0, l.closed.to)
	} else if k != nil && k.name == "stall" {
		l.still = o.Fault.value
		l.appoint(beginStill, 0, l.still.from)
	}
	return l, nil
}

func (l *loop) open(accepting bool) (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if l.alarm, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	if err = unix.SetNonblock(l.listener, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	// Edge-triggered, the timerfd never needs to be read.
	watched := map[int]uint32{l.stop: unix.EPOLLIN, l.alarm: unix.EPOLLIN | unix.EPOLLET}
	if accepting {
		watched[l.listener] = unix.EPOLLIN
	}
	for fd, events := range watched {
		if errno := control(l.epoll, unix.EPOLL_CTL_ADD, fd, events); errno != 0 {
			return os.NewSyscallError("epoll_ctl", errno)
		}
	}
	return nil
}

// run serves until the control pipe stirs, then closes every connection.
func (l *loop) run() error {
	defer l.release()
	for {
		if len(l.timers) > 0 && !l.keepAppointments() {
			return nil
		}
		n, errno := wait(l.epoll, l.events[:])
		if errno != 0 && errno != unix.EINTR {
			return os.NewSyscallError("epoll_pwait", errno)
		}
		if errno != 0 {
			continue
		}
		for i := range n {
			switch e := &l.events[i]; int(e.Fd) {
			case l.stop:
				return nil
			case l.listener:
				l.accept(n)
			case l.alarm:
				l.armed = 0
			default:
				l.stir(l.conns[e.Fd], e.Events)
			}
		}
	}
}

func (l *loop) release() {
	for _, c := range l.conns {
		if c != nil && c.alive {
			l.close(c)
		}
	}
	if l.epoll >= 0 {
		unix.Close(l.epoll)
	}
	if l.alarm >= 0 {
		unix.Close(l.alarm)
	}
}

// accept takes at most n connections. n is the number of events the listener's
// came with: one accept per wait is cheapest, but among many busy connections
// new ones would wait for ever.
func (l *loop) accept(n int) {
	for range n {
		fd, errno := accept(l.listener)
		switch errno {
		case 0:
			l.counts.Connections++
			l.welcome(fd)
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			// The listener stays readable: look away for a while, or spin.
			_ = control(l.epoll, unix.EPOLL_CTL_MOD, l.listener, 0)
			l.appoint(reopenAccept, 0, l.now()+10*time.Millisecond)
			return
		case unix.EAGAIN:
			return
		default: // that connection is gone (accept(2))
		}
	}
}

// welcome gives an accepted socket its conn. Its first request is an event like
// any other: reading at once saves no time, as clients have rarely sent by then.
func (l *loop) welcome(fd int) {
	for fd >= len(l.conns) {
		l.conns = append(l.conns, nil)
	}
	if l.conns[fd] == nil {
		l.conns[fd] = new(conn)
	}
	c := l.conns[fd]
	c.begin(fd)
	if r := l.replies.accept; r != nil && r.draw() == r {
		l.counts.Faults++
		if r.then == reset {
			l.reset(c)
			return
		}
		c.deaf = true
	}
	if control(l.epoll, unix.EPOLL_CTL_ADD, fd, connEvents) != 0 {
		l.close(c) // max_user_watches
	}
}

// stir wakes a connection by what epoll says of it.
func (l *loop) stir(c *conn, events uint32) {
	c.unread = true
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.hungUp = true
	}
	// Whoever still owes an answer does not read and would not notice the end.
	gone := events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 && c.busy
	if gone || c.deaf && c.hungUp {
		l.close(c)
		return
	}
	l.advance(c)
}

func (l *loop) now() time.Duration { return time.Since(l.begun) }

func (l *loop) appoint(who int, turn uint32, at time.Duration) {
	l.timers.push(timer{at, int32(who), turn})
	l.setAlarm()
}

// setAlarm sets the timerfd to the earliest appointment.
func (l *loop) setAlarm() {
	if len(l.timers) == 0 || l.armed == l.timers[0].at {
		return
	}
	l.armed = l.timers[0].at
	left := max(l.armed-l.now(), 1) // 0 would disarm it
	_ = unix.TimerfdSettime(l.alarm, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
}

// keepAppointments fires what is due. It returns false if the loop has to end.
func (l *loop) keepAppointments() bool {
	for now := l.now(); len(l.timers) > 0 && l.timers[0].at <= now; {
		t := l.timers.pop()
		switch t.who {
		case reopenAccept:
			_ = control(l.epoll, unix.EPOLL_CTL_MOD, l.listener, unix.EPOLLIN)
		case beginClosed:
			l.stopListening()
		case endClosed:
			_ = unix.Listen(l.listener, l.backlog)
			_ = control(l.epoll, unix.EPOLL_CTL_ADD, l.listener, unix.EPOLLIN)
		case beginStill:
			if !l.standStill(l.still.to) {
				return false
			}
		default:
			l.ring(l.conns[t.who], t.turn)
		}
	}
	l.setAlarm()
	return true
}

// stopListening makes connects be refused until the socket listens again.
func (l *loop) stopListening() {
	_ = control(l.epoll, unix.EPOLL_CTL_DEL, l.listener, 0)
	name, err := unix.Getsockname(l.listener)
	_ = unix.Shutdown(l.listener, unix.SHUT_RD)
	if err == nil {
		// Shut down, the socket keeps a port it was bound to, but not one
		// that the kernel chose. If it kept it, this fails and is not needed.
		_ = unix.Bind(l.listener, name)
	}
}

// standStill does nothing until then but watch the control pipe.
func (l *loop) standStill(until time.Duration) bool {
	for left := until - l.now(); left > 0; left = until - l.now() {
		fds := []unix.PollFd{{Fd: int32(l.stop), Events: unix.POLLIN}}
		timeout := unix.NsecToTimespec(int64(left))
		if n, _ := unix.Ppoll(fds, &timeout, nil); n > 0 {
			return false
		}
	}
	return true
}
