package report

import "horde/stats"

// Host holds what this host said of itself before and after the run, null where
// it was not asked.
type Host struct {
	Begin *HostState `json:"begin"`
	End   *HostState `json:"end"`
}

// HostState is one moment of a host. A fact is text in the kernel's words, under
// the name of its sysctl (net.core.somaxconn) or the tail of its path
// (clocksource/current_clocksource), and null where the host does not have it or
// does not tell. A counter is Counters[source][row][column]; what the kernel does
// not count is missing, and a source that it does not have is null.
type HostState struct {
	Facts    map[string]*string                      `json:"facts"`
	Counters map[string]map[string]map[string]uint64 `json:"counters"`
}

func newHostState(s *stats.HostState) *HostState {
	if s == nil {
		return nil
	}
	out := &HostState{Facts: make(map[string]*string, len(s.Facts)), Counters: s.Counters}
	for name, f := range s.Facts {
		out.Facts[name] = nil
		if f.Known() {
			out.Facts[name] = &f.Value
		}
	}
	return out
}

// Stats is the host as the run had it. Why a fact is unknown is not in a file.
func (h Host) Stats() stats.Host {
	return stats.Host{Begin: h.Begin.stats(), End: h.End.stats()}
}

func (s *HostState) stats() *stats.HostState {
	if s == nil {
		return nil
	}
	out := &stats.HostState{Facts: make(map[string]stats.Fact, len(s.Facts)), Counters: s.Counters}
	for name, value := range s.Facts {
		if value == nil {
			out.Facts[name] = stats.Lack("the result file does not say")
		} else {
			out.Facts[name] = stats.Have(*value)
		}
	}
	return out
}
