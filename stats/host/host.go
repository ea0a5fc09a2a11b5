package host

import "horde/stats"

// State reads the facts and then the counters of a host: what it costs comes
// before the moment it tells of.
func (t Tree) State() *stats.HostState {
	return &stats.HostState{Facts: t.facts(), Counters: t.counters()}
}

// StateAfter reads the counters first, and then the facts.
func (t Tree) StateAfter() *stats.HostState {
	c := t.counters()
	return &stats.HostState{Facts: t.facts(), Counters: c}
}
