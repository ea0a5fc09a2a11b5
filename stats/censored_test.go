package stats

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func times(h *Histogram, n int, d time.Duration) {
	for range n {
		h.Record(int64(d))
	}
}

func TestAHungServerHasNoExcellentPercentiles(t *testing.T) {
	var done, ages Histogram
	times(&done, 100, time.Millisecond)
	times(&ages, 50, 57*time.Second)
	c := NewCensored(&done, &ages)
	assert.Equal(t, uint64(150), c.Count())
	assert.True(t, c.Matters(0.5, 0.99))
	assert.False(t, c.Matters(0.5))

	assert.True(t, c.Exact(0.5))
	assertAbout(t, time.Millisecond, c.AtLeast(0.5), "50 %")
	assert.False(t, c.Exact(0.75))
	assertAbout(t, 57*time.Second, c.AtLeast(0.75), "75 %")
	_, known := c.AtMost(0.75)
	assert.False(t, known)
}

// Requests that have only just begun say nothing of how long they will take.
func TestYoungRequestsChangeNothing(t *testing.T) {
	var done, ages Histogram
	times(&done, 39000, time.Millisecond)
	times(&done, 1000, 2*time.Millisecond)
	times(&ages, 4, 100*time.Microsecond)
	c := NewCensored(&done, &ages)
	assert.False(t, c.Matters(0.5, 0.9, 0.99, 0.999, 0.9999))
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		assert.True(t, c.Exact(q), "%v", q)
	}
}

func TestAQuantileBetweenItsBounds(t *testing.T) {
	var done, ages Histogram
	for i := range 90 {
		done.Record(int64(i+1) * 1e6)
	}
	times(&ages, 10, 20*time.Millisecond)
	c := NewCensored(&done, &ages)
	most, known := c.AtMost(0.5)
	assert.True(t, known)
	assertAbout(t, 50*time.Millisecond, most, "as if they never ended")
	assertAbout(t, 40*time.Millisecond, c.AtLeast(0.5), "as if they had ended")
	assert.False(t, c.Exact(0.5))
}

func TestWithoutASuccessThereAreAgesOnly(t *testing.T) {
	var done, ages Histogram
	assert.False(t, NewCensored(&done, &ages).Matters(0.5))
	times(&ages, 4, 10*time.Second)
	c := NewCensored(&done, &ages)
	assert.True(t, c.Matters(0.5))
	assert.False(t, c.Exact(0.5))
	assertAbout(t, 10*time.Second, c.AtLeast(0.5), "50 %")
}
