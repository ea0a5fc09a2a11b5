package client

import "math/rand/v2"

// walk is a worker's way through the list of requests, on which its clients
// take their turns.
type walk struct {
	length int
	next   int
	random *rand.Rand // nil = in order
}

func newWalk(p *Plan) walk {
	w := walk{length: len(p.Entries)}
	switch {
	case w.length == 1:
	case p.Order == AtRandom:
		w.random = rand.New(rand.NewPCG(p.Seed, p.First))
	default:
		w.next = int(p.First % uint64(w.length))
	}
	return w
}

// take returns the number of the entry whose turn it is.
func (w *walk) take() int {
	if w.length == 1 {
		return 0
	}
	if w.random != nil {
		return w.random.IntN(w.length)
	}
	n := w.next
	if w.next++; w.next == w.length {
		w.next = 0
	}
	return n
}
