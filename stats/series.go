package stats

import "time"

// settled is how many seconds a worker's report may be late and still count in
// the percentiles of its second.
const settled = 3

// Series builds the time line from the reports of all workers. It lives in the
// parent. The zero value is empty and ready to use.
type Series struct {
	Warmup time.Duration // that came before second 0

	seconds []tallied
	open    int // index of the first second whose latencies are still collected
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
	at := s.at(second)
	at.Succeeded += t.Succeeded
	at.Failed += t.Failed
	at.Bytes += t.BytesRead
	at.change += int64(t.Begun - t.Succeeded - t.Failed)
	at.Max = max(at.Max, t.Total.Max())
	if second-s.first() < s.open || t.Total.Count() == 0 {
		return
	}
	if at.latency == nil {
		at.latency = new(Histogram)
	}
	at.latency.Add(&t.Total)
}

// Lose takes n requests whose worker died in a second from those under way.
func (s *Series) Lose(second int, n uint64) { s.at(second).change -= int64(n) }

// first is the number of the first second.
func (s *Series) first() int { return SecondOf(-s.Warmup) }

func (s *Series) at(second int) *tallied {
	for s.first()+len(s.seconds) <= second {
		at := time.Duration(s.first()+len(s.seconds)) * time.Second
		s.settle(len(s.seconds) - settled)
		s.seconds = append(s.seconds, tallied{Second: Second{At: at}})
	}
	return &s.seconds[second-s.first()]
}

// settle turns the latencies of the seconds before limit into their percentiles.
func (s *Series) settle(limit int) {
	for ; s.open < limit; s.open++ {
		at := &s.seconds[s.open]
		if at.latency == nil {
			continue
		}
		at.P50, at.P99 = at.latency.Quantile(0.50), at.latency.Quantile(0.99)
		at.latency = nil
	}
}

// Seconds returns the time line up to the end of the run: seconds in which
// nothing was reported are there too.
func (s *Series) Seconds(end time.Duration) []Second {
	if end > 0 {
		s.at(int((end - 1) / time.Second))
	}
	s.settle(len(s.seconds))
	out := make([]Second, len(s.seconds))
	var underWay int64
	for i := range s.seconds {
		underWay += s.seconds[i].change
		out[i] = s.seconds[i].Second
		out[i].Unfinished = uint64(max(underWay, 0))
	}
	return out
}
