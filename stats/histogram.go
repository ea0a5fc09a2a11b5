package stats

import (
	"iter"
	"math"
	"math/bits"
)

// The histogram is log-linear: 128 linear sub-buckets to each power of two, so
// a bucket is at most 1/128 (0.78 %) as wide as the values in it. Values below
// 128 are exact. Values of 2^44 ns (4.9 h) and above go to the over bucket:
// counted, never dropped.
const (
	subBits  = 7
	subCount = 1 << subBits
	maxBits  = 44

	bucketCount = (maxBits-subBits)*subCount + subCount
)

// fewValues is how many values a histogram keeps one by one before it enters
// them into its buckets, all at once. A worker that shares its CPU with a hundred
// others finds the memory of the buckets cold whenever it comes to run: that is
// waited for once in so many values. And most of thousands of workers see fewer in
// a second, and never need that memory.
const fewValues = 64

// Histogram counts durations in nanoseconds. The zero value is empty and ready
// to use. Adding two histograms adds their buckets: nothing is lost and the
// order does not matter to any count. In a worker it holds the counts since
// the last report; in the parent the sum over workers.
type Histogram struct {
	over    uint64
	count   uint64
	min     int64
	max     int64
	sum     float64
	sumSq   float64
	kept    int               // in few
	few     [fewValues]uint16 // the buckets of the last values, not entered yet
	buckets []uint64          // nil until they are used
	lo, hi  int               // the buckets touched are lo … hi-1
}

func bucketOf(v int64) int {
	if v < subCount {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - subBits - 1
	return shift*subCount + int(v>>shift)
}

// lowerBound is the smallest value of bucket i; the next bucket's is its end.
func lowerBound(i int) int64 {
	if i < 2*subCount {
		return int64(i)
	}
	shift := i/subCount - 1
	return int64(i-shift*subCount) << shift
}

// Record counts one duration. A negative one (a clock that went back) counts as 0.
func (h *Histogram) Record(ns int64) {
	if ns < 0 {
		ns = 0
	}
	if h.count == 0 || ns < h.min {
		h.min = ns
	}
	if ns > h.max {
		h.max = ns
	}
	h.count++
	f := float64(ns)
	h.sum += f
	h.sumSq += f * f
	if ns >= 1<<maxBits {
		h.over++
		return
	}
	h.keep(uint16(bucketOf(ns)))
}

// keep puts a value among the few.
func (h *Histogram) keep(bucket uint16) {
	if h.kept == fewValues {
		for _, b := range h.few {
			h.touch(int(b), 1)
		}
		h.kept = 0
	}
	h.few[h.kept] = bucket
	h.kept++
}

// touch adds to a bucket.
func (h *Histogram) touch(i int, n uint64) {
	if h.buckets == nil {
		h.buckets = make([]uint64, bucketCount)
	}
	if h.lo == h.hi {
		h.lo, h.hi = i, i+1
	} else if i < h.lo {
		h.lo = i
	} else if i >= h.hi {
		h.hi = i + 1
	}
	h.buckets[i] += n
}

// Add adds all that o counted.
func (h *Histogram) Add(o *Histogram) {
	if o.count == 0 {
		return
	}
	if h.count == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.count += o.count
	h.over += o.over
	h.sum += o.sum
	h.sumSq += o.sumSq
	for i, n := range o.Filled() {
		h.touch(i, n)
	}
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	if h.lo < h.hi {
		clear(h.buckets[h.lo:h.hi])
	}
	*h = Histogram{buckets: h.buckets}
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() uint64 { return h.count }

// Min and Max are exact; both are 0 while Count is 0.
func (h *Histogram) Min() int64 { return h.min }

// Max returns the longest duration recorded, exactly.
func (h *Histogram) Max() int64 { return h.max }

// Mean returns the arithmetic mean in nanoseconds, 0 while Count is 0.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return min(max(h.sum/float64(h.count), float64(h.min)), float64(h.max))
}

// StdDev returns the standard deviation of the population in nanoseconds,
// within a millionth of the mean (it comes from a sum of squares, which adds up
// in any order), 0 while Count is 0.
func (h *Histogram) StdDev() float64 {
	if h.count == 0 || h.min == h.max {
		return 0
	}
	mean := h.sum / float64(h.count)
	return math.Sqrt(max(0, h.sumSq/float64(h.count)-mean*mean))
}

// Quantile returns the nearest-rank quantile q in (0,1]: the smallest recorded
// duration that at least q of all are not above, as the middle of its bucket,
// within 0.4 % and never outside Min … Max.
func (h *Histogram) Quantile(q float64) int64 {
	return h.atRank(h.rank(q))
}

// rank is the place of quantile q among all values, from 1.
func (h *Histogram) rank(q float64) uint64 {
	rank := uint64(math.Ceil(q * float64(h.count) * (1 - 1e-12)))
	return min(max(rank, 1), h.count)
}

func (h *Histogram) atRank(rank uint64) int64 {
	if rank >= h.count {
		return h.max
	}
	var seen uint64
	for i, n := range h.Filled() {
		if seen += n; seen >= rank {
			return h.middle(i)
		}
	}
	return h.max
}

// Bucket is one non-empty bucket: values of at least Lower, below the next.
type Bucket struct {
	Lower int64
	Count uint64
}

// Buckets returns the non-empty buckets in rising order, without the over bucket.
func (h *Histogram) Buckets() []Bucket {
	var out []Bucket
	for i, n := range h.Filled() {
		out = append(out, Bucket{lowerBound(i), n})
	}
	return out
}

// Values yields in rising order each value as Quantile tells it, and how many
// there are of it. The greatest is exact; for it stand those too long for any
// bucket, too.
func (h *Histogram) Values() iter.Seq2[int64, uint64] {
	return func(yield func(int64, uint64) bool) {
		greatest := max(h.over, min(h.count, 1))
		left := h.count - greatest
		for i, n := range h.Filled() {
			n = min(n, left)
			left -= n
			if n > 0 && !yield(h.middle(i), n) {
				return
			}
		}
		if greatest > 0 {
			yield(h.max, greatest)
		}
	}
}

// middle stands for all values of a bucket.
func (h *Histogram) middle(i int) int64 {
	return min(max((lowerBound(i)+lowerBound(i+1)-1)/2, h.min), h.max)
}

// Over returns how many values were too long for any bucket.
func (h *Histogram) Over() uint64 { return h.over }
