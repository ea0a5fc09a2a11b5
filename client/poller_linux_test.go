package client

import (
	"container/heap"

	"golang.org/x/sys/unix"
)

// await waits until the poller has something to tell; a signal is nothing.
func await(p *poller) []unix.EpollEvent {
	for {
		if events := p.wait(10_000); len(events) > 0 {
			return events
		}
	}
}

// fix puts all alarms in order.
func (a *alarms) fix() { heap.Init(a) }
