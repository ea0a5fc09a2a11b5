package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJain(t *testing.T) {
	for _, row := range []struct {
		shares []int64
		index  float64
		zeros  uint64
	}{
		{[]int64{5, 5, 5, 5}, 1, 0},
		{[]int64{8, 0, 0, 0}, 0.25, 3},
		{[]int64{1, 3}, 0.8, 0},
		{[]int64{7}, 1, 0},
	} {
		var h Histogram
		for _, n := range row.shares {
			h.Record(n)
		}
		index, known := Jain(&h)
		assert.True(t, known)
		assert.InDelta(t, row.index, index, 1e-12, "%v", row.shares)
		assert.Equal(t, row.zeros, h.Zeros(), "%v", row.shares)
	}
	var nobody Histogram
	_, known := Jain(&nobody)
	assert.False(t, known)
	nobody.Record(0)
	_, known = Jain(&nobody)
	assert.False(t, known)
}
