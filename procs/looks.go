package procs

import "time"

// looks has the caller look at the host while the requests are counted, and
// notes what this process itself uses of it meanwhile.
type looks struct {
	look func()        // nil = not wanted
	next time.Duration // 0 = not begun
	used time.Duration // CPU of this process; until the end, what it had used at the release
	over bool
}

func (l *looks) begin() {
	l.next, l.used = time.Second, cpuTime()
	if l.look != nil {
		l.look()
	}
}

// again looks when the window begins, if a warm-up came before it, then once a
// second, and for the last time as soon as the run is over: what workers do to
// end is not part of it.
func (l *looks) again(elapsed time.Duration, over bool) {
	if l.over || !over && elapsed < l.next {
		return
	}
	if l.next == 0 {
		l.begin()
		return
	}
	l.over, l.next = over, elapsed+time.Second
	if over {
		l.used = cpuTime() - l.used
	}
	if l.look != nil {
		l.look()
	}
}
