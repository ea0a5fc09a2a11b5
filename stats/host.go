package stats

// Host is what this host said of itself right before a run and right after it;
// nil where it was not asked. It lives in the parent.
type Host struct{ Begin, End *HostState }

// HostState is one moment of a host.
type HostState struct {
	Facts    map[string]Fact // settings and traits, by the kernel's names
	Counters Counters
}

// Fact is one setting or trait of a host in the words of its kernel, without
// the white space around them.
type Fact struct {
	Value   string
	Unknown string // why there is no value: the file is missing, or unreadable; "" if there is one
}

// Have is a fact with a value, and Lack one without.
func Have(value string) Fact { return Fact{Value: value} }
func Lack(why string) Fact   { return Fact{Unknown: why} }

// Known reports whether there is a value.
func (f Fact) Known() bool { return f.Unknown == "" }

// Fact returns the fact of that name; one that nobody looked at is not known.
func (s *HostState) Fact(name string) Fact {
	f, found := s.Facts[name]
	if !found {
		return Lack("not looked at")
	}
	return f
}

// Counters are what the kernel counts: source, row and column, as it names
// them: Counters["netstat"]["TcpExt"]["ListenOverflows"]. What a kernel does not
// count has no entry, which is not 0; a source that could not be read is nil.
type Counters map[string]map[string]map[string]uint64

// Get returns one counter, and whether this kernel has it.
func (c Counters) Get(source, row, column string) (n uint64, known bool) {
	n, known = c[source][row][column]
	return n, known
}

// Grown is by how much a counter grew over the run. It is not known if one end
// lacks it, or if it fell: a counter of 32 bits has started again.
func (h *Host) Grown(source, row, column string) (n uint64, known bool) {
	if h.Begin == nil || h.End == nil {
		return 0, false
	}
	begin, known1 := h.Begin.Counters.Get(source, row, column)
	end, known2 := h.End.Counters.Get(source, row, column)
	if !known1 || !known2 || end < begin {
		return 0, false
	}
	return end - begin, true
}

// GrownSum is Grown over all rows of a source, such as the CPUs. It is known if
// it is for one of them.
func (h *Host) GrownSum(source, column string) (n uint64, known bool) {
	if h.End == nil {
		return 0, false
	}
	for row := range h.End.Counters[source] {
		if grown, ok := h.Grown(source, row, column); ok {
			n, known = n+grown, true
		}
	}
	return n, known
}
