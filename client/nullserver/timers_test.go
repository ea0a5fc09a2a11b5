package nullserver

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTimersComeInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h timers
	var want, got []time.Duration
	for range 1000 {
		at := time.Duration(random.IntN(300))
		h.push(timer{at: at})
		want = append(want, at)
	}
	slices.Sort(want)
	for len(h) > 0 {
		got = append(got, h.pop().at)
	}
	assert.Equal(t, want, got)
}
