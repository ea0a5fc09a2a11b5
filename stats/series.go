package stats

import (
	"slices"
	"time"
)

// settled is how many entries a worker's report may be late and still count in
// the percentiles of its own.
const settled = 3

// mostEntries bounds a time line, however long the run: 3,600 entries are kept.
// When there are more, every two become one of twice the length.
const mostEntries = 3600

// Series builds the time line from the reports of all workers. It lives in the
// parent. The zero value is empty and ready to use.
type Series struct {
	Warmup time.Duration // that came before second 0

	entries []tallied
	double  int // how often entries were merged: one is 1<<double seconds long
	open    int // index of the first entry whose latencies are still collected
	silence silence
}

type tallied struct {
	Second
	change  int64 // requests begun less requests ended
	latency *Histogram
}

// SecondOf returns the number of the second that a time is in, below 0 for
// times before the window.
func SecondOf(t time.Duration) int {
	second := t / time.Second
	if t%time.Second < 0 {
		second--
	}
	return int(second)
}

// Add counts what one worker counted in one second, which is not before the
// warm-up's first.
func (s *Series) Add(second int, t *Tally) {
	i := s.at(second)
	at := &s.entries[i]
	at.Succeeded += t.Succeeded
	at.Failed += t.Failed
	for _, f := range t.Failures {
		at.fail(f.Class, f.Count)
	}
	at.Bytes += t.BytesRead
	at.change += int64(t.Begun - t.Succeeded - t.Failed)
	at.Max = max(at.Max, t.Total.Max())
	if t.LastHeard != 0 {
		s.silence.hear(second-s.first(), t.FirstHeard, t.LastHeard)
	}
	if i < s.open || t.Total.Count() == 0 {
		return
	}
	if at.latency == nil {
		at.latency = new(Histogram)
	}
	at.latency.Add(&t.Total)
}

func (s *Second) fail(class Class, n uint64) {
	for i := range s.Classes {
		if s.Classes[i].Class == class {
			s.Classes[i].Count += n
			return
		}
	}
	s.Classes = append(s.Classes, ClassCount{class, n})
}

// Lose takes n requests whose worker died in a second from those under way.
func (s *Series) Lose(second int, n uint64) { s.entries[s.at(second)].change -= int64(n) }

// first is the number of the first second.
func (s *Series) first() int { return SecondOf(-s.Warmup) }

// at returns the index of the entry that a second is in.
func (s *Series) at(second int) int {
	for s.index(second) >= len(s.entries) {
		if len(s.entries) == mostEntries {
			s.merge()
			continue
		}
		s.settle(len(s.entries) - settled)
		at := s.first() + len(s.entries)<<s.double
		s.entries = append(s.entries, tallied{Second: Second{At: time.Duration(at) * time.Second, Length: time.Second << s.double}})
	}
	return s.index(second)
}

func (s *Series) index(second int) int { return (second - s.first()) >> s.double }

// merge makes one entry of every two.
func (s *Series) merge() {
	s.settle(len(s.entries))
	for i := range len(s.entries) / 2 {
		one, other := s.entries[2*i], &s.entries[2*i+1]
		one.add(&other.Second)
		one.change += other.change
		s.entries[i] = one
	}
	clear(s.entries[len(s.entries)/2:])
	s.entries = s.entries[:len(s.entries)/2]
	s.double++
	s.open = len(s.entries)
}

// add puts the entry that follows into one. Percentiles do not add up: the worse
// stay.
func (s *Second) add(o *Second) {
	s.Length += o.Length
	s.Succeeded += o.Succeeded
	s.Failed += o.Failed
	s.Bytes += o.Bytes
	for _, c := range o.Classes {
		s.fail(c.Class, c.Count)
	}
	s.P50, s.P99, s.Max = max(s.P50, o.P50), max(s.P99, o.P99), max(s.Max, o.Max)
}

// settle turns the latencies of the entries before limit into their percentiles.
func (s *Series) settle(limit int) {
	for ; s.open < limit; s.open++ {
		at := &s.entries[s.open]
		if at.latency == nil {
			continue
		}
		at.P50, at.P99 = max(at.P50, at.latency.Quantile(0.50)), max(at.P99, at.latency.Quantile(0.99))
		at.latency = nil
	}
}

// Seconds returns the time line up to the end of the run: seconds in which
// nothing was reported are there too.
func (s *Series) Seconds(end time.Duration) []Second {
	if end > 0 {
		s.at(int((end - 1) / time.Second))
	}
	s.settle(len(s.entries))
	out := make([]Second, len(s.entries))
	var underWay int64
	for i := range s.entries {
		underWay += s.entries[i].change
		out[i] = s.entries[i].Second
		out[i].Unfinished = uint64(max(underWay, 0))
	}
	return out
}

// Stalls returns the times in which no byte of an answer came to any client,
// the longest ones in the order of time: of more than a second, and five times
// the mean time between the n answers there were.
func (s *Series) Stalls(end time.Duration, n uint64) []Stall {
	least := max(time.Second, 5*end/time.Duration(max(n, 1)))
	var stalls []Stall
	for _, gap := range s.silence.until(end) {
		gap.From = max(gap.From, 0)
		if gap.To-gap.From >= least {
			stalls = append(stalls, gap)
		}
	}
	slices.SortFunc(stalls, func(a, b Stall) int { return int(a.From - b.From) })
	return stalls
}
