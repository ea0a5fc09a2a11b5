package stats

import (
	"slices"
	"time"
)

// mostStalls bounds how many times without an answer are remembered: the longest.
const mostStalls = 16

// silence finds the times in which no answer came to any worker, from the first
// and the last time in each second at which one did. One of more than a second
// has a second's end in it, so none is missed.
type silence struct {
	heard  []hearing // of the seconds that are not settled
	begin  int       // number of the first of them
	last   int64     // when an answer came last, in the seconds before
	spoken bool      // there was one
	gaps   []Stall
}

type hearing struct{ first, last int64 }

// hear notes the first and the last answer of a second, counted from the first
// of the series.
func (s *silence) hear(second int, first, last int64) {
	second = max(second, s.begin) // a late report still ends a silence
	for s.begin+len(s.heard) <= second {
		s.heard = append(s.heard, hearing{})
	}
	h := &s.heard[second-s.begin]
	if h.last == 0 || first < h.first {
		h.first = first
	}
	if h.last == 0 || last > h.last {
		h.last = last
	}
	for len(s.heard) > settled {
		s.settle()
	}
}

func (s *silence) settle() {
	h := s.heard[0]
	s.heard = s.heard[:copy(s.heard, s.heard[1:])]
	s.begin++
	if h.last == 0 {
		return
	}
	if s.spoken {
		s.gap(s.last, h.first)
	} else {
		s.gap(0, h.first)
	}
	s.last, s.spoken = max(s.last, h.last), true
}

// gap remembers the longest.
func (s *silence) gap(from, to int64) {
	if to-from < int64(time.Second) {
		return
	}
	s.gaps = append(s.gaps, Stall{time.Duration(from), time.Duration(to)})
	if len(s.gaps) > mostStalls {
		shortest := slices.Index(s.gaps, slices.MinFunc(s.gaps, shorter))
		s.gaps = slices.Delete(s.gaps, shortest, shortest+1)
	}
}

func shorter(a, b Stall) int { return int((a.To - a.From) - (b.To - b.From)) }

// until returns the gaps up to the end of the run; none if nothing ever came.
func (s *silence) until(end time.Duration) []Stall {
	for len(s.heard) > 0 {
		s.settle()
	}
	if s.spoken {
		s.gap(s.last, int64(end))
	}
	return s.gaps
}
