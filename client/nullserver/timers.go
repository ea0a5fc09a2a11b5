package nullserver

import "time"

// timer is one appointment. Nothing is ever taken out of the middle of the
// heap: an entry whose turn does not match its owner's any more is void.
type timer struct {
	at   time.Duration // since the loop began
	who  int32         // a connection's descriptor, or one of the loop's own appointments
	turn uint32
}

// timers is a binary heap, the earliest first.
type timers []timer

func (t *timers) push(x timer) {
	*t = append(*t, x)
	h := *t
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].at <= h[i].at {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (t *timers) pop() timer {
	h := *t
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*t = h
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].at < h[least].at {
				least = child
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
