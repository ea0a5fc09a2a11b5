package stats

import (
	"iter"
	"slices"
)

// Summary is what a histogram keeps beside its buckets.
type Summary struct {
	Count, Over uint64
	Min, Max    int64
	Sum, SumSq  float64
}

// Summary and Filled together are a histogram's whole state: what crosses a
// pipe. Load and LoadBucket put it together again at the other end.
func (h *Histogram) Summary() Summary {
	return Summary{h.count, h.over, h.min, h.max, h.sum, h.sumSq}
}

// Filled yields index and count of the non-empty buckets in rising order. Like
// all that look at the buckets it first sorts the values kept one by one: they are
// for one goroutine at a time.
func (h *Histogram) Filled() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		few := h.few[:h.kept]
		slices.Sort(few)
		for at := h.lo; at < h.hi || len(few) > 0; {
			i := at
			if at >= h.hi || len(few) > 0 && int(few[0]) < at {
				i = int(few[0])
			}
			var n uint64
			if h.lo <= i && i < h.hi {
				n = h.buckets[i]
			}
			for ; len(few) > 0 && int(few[0]) == i; few = few[1:] {
				n++
			}
			at = max(at, i+1)
			if n > 0 && !yield(i, n) {
				return
			}
		}
	}
}

// Load sets all but the buckets of an empty histogram.
func (h *Histogram) Load(s Summary) {
	h.count, h.over, h.min, h.max, h.sum, h.sumSq = s.Count, s.Over, s.Min, s.Max, s.Sum, s.SumSq
}

// LoadBucket sets one bucket; it reports whether there is such a bucket.
func (h *Histogram) LoadBucket(i int, n uint64) bool {
	if i < 0 || i >= bucketCount {
		return false
	}
	if h.lo == h.hi && n <= uint64(fewValues-h.kept) { // thousands of last words stay in memory
		for range n {
			h.keep(uint16(i))
		}
		return true
	}
	h.touch(i, n)
	return true
}

// LoadValue adds n to the bucket of a value; it reports whether there is one.
func (h *Histogram) LoadValue(ns int64, n uint64) bool {
	return ns >= 0 && ns < 1<<maxBits && h.LoadBucket(bucketOf(ns), n)
}
