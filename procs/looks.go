package procs

import "time"

// looks has the caller look at the host while the requests are counted, and
// notes what this process itself uses of it meanwhile.
type looks struct {
	look func() // nil = not wanted
	next time.Duration
	used time.Duration // CPU of this process; until the end, what it had used at the release
	over bool
}

func (l *looks) begin(look func()) {
	l.look, l.next, l.used = look, time.Second, cpuTime()
	if look != nil {
		look()
	}
}

// again looks once a second, and for the last time as soon as the run is over:
// what workers do to end is not part of it.
func (l *looks) again(elapsed time.Duration, over bool) {
	if l.over || !over && elapsed < l.next {
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
