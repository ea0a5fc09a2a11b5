package stats

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bucketError is the promised relative error of a quantile.
const bucketError = 0.004

func recorded(values ...time.Duration) *Histogram {
	h := &Histogram{}
	for _, v := range values {
		h.Record(int64(v))
	}
	return h
}

func assertAbout(t *testing.T, want time.Duration, got int64, what string) {
	t.Helper()
	assert.InEpsilon(t, float64(want), float64(got), bucketError, what)
}

func TestBucketsFollowEachOtherWithoutGap(t *testing.T) {
	for i := range bucketCount {
		lower, next := lowerBound(i), lowerBound(i+1)
		require.Equal(t, i, bucketOf(lower))
		require.Equal(t, i, bucketOf(next-1))
		require.LessOrEqual(t, next-lower, max(1, lower/subCount), "bucket %d is too wide", i)
	}
	assert.Equal(t, int64(1)<<maxBits, lowerBound(bucketCount))
}

func TestPercentilesOf1To100ms(t *testing.T) {
	var h Histogram
	for _, i := range rand.Perm(100) {
		h.Record(int64(i+1) * 1e6)
	}
	for q, want := range map[float64]time.Duration{0.5: 50, 0.9: 90, 0.95: 95, 0.99: 99, 1: 100, 0.01: 1} {
		assertAbout(t, want*time.Millisecond, h.Quantile(q), "quantile")
	}
	assert.Equal(t, int64(100*time.Millisecond), h.Max())
	assert.Equal(t, int64(time.Millisecond), h.Min())
	assert.InDelta(t, 50.5e6, h.Mean(), 1)
	assert.InDelta(t, 28.866e6, h.StdDev(), 1e3)
}

func TestPercentilesOverWorkersComeFromTheSumOfBuckets(t *testing.T) {
	var a, b, all Histogram
	for range 990 {
		a.Record(1e6)
	}
	for range 10 {
		b.Record(1e9)
	}
	all.Add(&a)
	all.Add(&b)
	assertAbout(t, time.Millisecond, all.Quantile(0.5), "p50")
	assertAbout(t, time.Millisecond, all.Quantile(0.99), "p99")
	assertAbout(t, time.Second, all.Quantile(0.999), "p99.9")
	assert.Equal(t, int64(time.Second), all.Max())
}

// The scenario by which HdrHistogram shows what its raw counts say.
func TestOneLongPauseAmongTenThousandShortAnswers(t *testing.T) {
	var h Histogram
	for range 10000 {
		h.Record(int64(time.Millisecond))
	}
	h.Record(int64(100 * time.Second))
	assert.Equal(t, uint64(10001), h.Count())
	assertAbout(t, time.Millisecond, h.Quantile(0.5), "50 %")
	assertAbout(t, time.Millisecond, h.Quantile(0.9999), "99.99 %")
	assertAbout(t, 100*time.Second, h.Quantile(0.99999), "99.999 %")
	assert.Equal(t, int64(100*time.Second), h.Max())
}

func TestOneSampleIsEveryPercentile(t *testing.T) {
	h := recorded(1234567)
	for _, q := range []float64{1e-9, 0.5, 0.9999, 1} {
		assert.Equal(t, int64(1234567), h.Quantile(q))
	}
	assert.InDelta(t, 1234567, h.Mean(), 0)
	assert.Zero(t, h.StdDev())
}

func TestAnEmptyHistogramSaysZero(t *testing.T) {
	var h Histogram
	h.Add(&Histogram{})
	assert.Zero(t, h.Count())
	assert.Zero(t, h.Min())
	assert.Zero(t, h.Max())
	assert.Zero(t, h.Mean())
	assert.Zero(t, h.StdDev())
	assert.Zero(t, h.Quantile(0.5))
	assert.Empty(t, h.Buckets())
}

func TestValuesTooLongForAnyBucketAreCounted(t *testing.T) {
	h := recorded(1<<maxBits-1, 1<<maxBits, math.MaxInt64)
	assert.Equal(t, uint64(3), h.Count())
	assert.Equal(t, uint64(2), h.Over())
	assert.Equal(t, []Bucket{{lowerBound(bucketCount - 1), 1}}, h.Buckets())
	assert.Equal(t, int64(math.MaxInt64), h.Quantile(0.6))

	var sum, onlyOver Histogram
	onlyOver.Record(1 << maxBits)
	sum.Add(&onlyOver)
	sum.Add(h)
	assert.Equal(t, uint64(3), sum.Over())
	assert.Equal(t, uint64(4), sum.Count())
}

func TestValuesAreAllThatWasRecorded(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		var h Histogram
		for range n {
			h.Record(rng.Int64() >> rng.IntN(63))
		}
		var count uint64
		last := int64(-1)
		for value, n := range h.Values() {
			assert.Less(t, last, value+1)
			last, count = value, count+n
		}
		assert.Equal(t, h.Count(), count)
		if n > 0 {
			assert.Equal(t, h.Max(), last)
		}
	}
}

func TestANegativeDurationCountsAsZero(t *testing.T) {
	h := recorded(-5, 10)
	assert.Equal(t, uint64(2), h.Count())
	assert.Zero(t, h.Min())
	assert.Zero(t, h.Quantile(0.5))
}

func TestResetForgetsAllAndKeepsItsMemory(t *testing.T) {
	h := recorded(1, 1e6, 1e9, 1<<maxBits)
	for range fewValues {
		h.Record(5)
	}
	h.Reset()
	assert.Zero(t, h.Count())
	assert.Zero(t, h.Over())
	assert.Empty(t, h.Buckets())
	assert.NotNil(t, h.buckets)
	h.Record(7)
	assert.Equal(t, []Bucket{{7, 1}}, h.Buckets())
	assert.Equal(t, int64(7), h.Min())
}

// A histogram turns to its buckets after a few values; nobody may notice when.
func TestFewValuesCountAsManyDo(t *testing.T) {
	for n := range 3 * fewValues {
		var h, added Histogram
		counts := map[int64]uint64{}
		for range n {
			bucket := rand.IntN(20) * 100
			counts[lowerBound(bucket)]++
			h.Record(lowerBound(bucket))
			var one Histogram
			one.Record(lowerBound(bucket))
			added.Add(&one)
		}
		got := map[int64]uint64{}
		for _, b := range h.Buckets() {
			got[b.Lower] = b.Count
		}
		require.Equal(t, counts, got, "%d values", n)
		require.Equal(t, h.Buckets(), added.Buckets(), "%d values", n)
		require.Equal(t, h.Summary(), added.Summary(), "%d values", n)
		require.True(t, slices.IsSortedFunc(h.Buckets(), func(a, b Bucket) int { return int(a.Lower - b.Lower) }))
		require.Equal(t, n <= fewValues, h.buckets == nil)
		for q := 0.1; n > 0 && q <= 1; q += 0.1 {
			require.Equal(t, added.Quantile(q), h.Quantile(q))
		}
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := recorded(1)
	assert.Zero(t, testing.AllocsPerRun(100, func() { h.Record(12345678) }))
}

func TestStdDevIsWithinAMillionthOfTheMean(t *testing.T) {
	var h Histogram
	for i := range int64(1_000_000) {
		h.Record(10e9 + i%2*20e3)
	}
	assert.InDelta(t, 10e3, h.StdDev(), h.Mean()*1e-6)
}

func TestQuantilesAreWithinTheBucketError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h Histogram
		values := make([]int64, 1+rng.IntN(300))
		for i := range values {
			values[i] = int64(math.Exp2(rng.Float64() * maxBits))
			h.Record(values[i])
		}
		slices.Sort(values)
		for _, q := range []float64{0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
			exact := values[max(0, int(math.Ceil(q*float64(len(values)))-1))]
			assert.InDelta(t, exact, h.Quantile(q), float64(exact)*bucketError)
		}
		assert.LessOrEqual(t, h.Min(), h.Quantile(0.5))
		assert.LessOrEqual(t, h.Quantile(0.5), h.Quantile(0.9))
		assert.LessOrEqual(t, h.Quantile(0.9), h.Quantile(0.99))
		assert.LessOrEqual(t, h.Quantile(0.99), h.Max())
		assert.LessOrEqual(t, float64(h.Min()), h.Mean())
		assert.LessOrEqual(t, h.Mean(), float64(h.Max()))
	}
}

func TestMergingInAnyOrderEqualsRecordingAll(t *testing.T) {
	const merges = 10000
	rng := rand.New(rand.NewPCG(3, 4))
	parts := make([][]int64, merges)
	var all, sum, part Histogram
	for i := range parts {
		for range rng.IntN(20) {
			v := int64(math.Exp2(rng.Float64() * (maxBits + 1)))
			parts[i] = append(parts[i], v)
			all.Record(v)
		}
	}
	rng.Shuffle(merges, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for _, values := range parts {
		part.Reset()
		for _, v := range values {
			part.Record(v)
		}
		sum.Add(&part)
	}
	assertSame(t, &all, &sum)
}

// assertSame compares all that was counted exactly, and the two sums of
// floating point numbers, which depend on the order in the last digits, nearly.
func assertSame(t *testing.T, want, got *Histogram) {
	t.Helper()
	assert.Equal(t, want.Buckets(), got.Buckets())
	assert.Equal(t, want.Count(), got.Count())
	assert.Equal(t, want.Over(), got.Over())
	assert.Equal(t, want.Min(), got.Min())
	assert.Equal(t, want.Max(), got.Max())
	assert.InDelta(t, want.Mean(), got.Mean(), want.Mean()*1e-9)
	assert.InDelta(t, want.StdDev(), got.StdDev(), want.Mean()*1e-6)
}

func FuzzRecordAndQuantile(f *testing.F) {
	f.Add([]byte{}, 0.5)
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<maxBits), 1.0)
	f.Add(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), 127), 0.99)
	f.Fuzz(func(t *testing.T, data []byte, q float64) {
		var h, half, sum Histogram
		n := uint64(0)
		for ; len(data) >= 8; data = data[8:] {
			v := int64(binary.LittleEndian.Uint64(data))
			h.Record(v)
			half.Record(v)
			if n++; n%3 == 0 {
				sum.Add(&half)
				half.Reset()
			}
		}
		sum.Add(&half)
		assert.Equal(t, n, h.Count())
		assert.Equal(t, h.Buckets(), sum.Buckets())
		assert.Equal(t, h.Quantile(q), sum.Quantile(q))
		assert.GreaterOrEqual(t, h.Quantile(q), h.Min())
		assert.LessOrEqual(t, h.Quantile(q), h.Max())
		assert.LessOrEqual(t, float64(h.Min()), h.Mean())
		assert.LessOrEqual(t, h.Mean(), float64(h.Max()))
		assert.False(t, math.IsNaN(h.StdDev()))
		inBuckets := h.Over()
		for _, b := range h.Buckets() {
			inBuckets += b.Count
		}
		assert.Equal(t, n, inBuckets)
	})
}

func TestAHistogramPutTogetherFromItsPartsIsTheSame(t *testing.T) {
	h := recorded(3, 3, 1e6, 1e9, 1<<maxBits)
	var copied Histogram
	copied.Load(h.Summary())
	for i, n := range h.Filled() {
		require.True(t, copied.LoadBucket(i, n))
	}
	assert.Equal(t, h.Summary(), copied.Summary())
	assert.Equal(t, h.Buckets(), copied.Buckets())
	assert.False(t, copied.LoadBucket(-1, 1))
	assert.False(t, copied.LoadBucket(bucketCount, 1))
}
