package stats

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMergingEntriesInAnyOrderEqualsCountingAll(t *testing.T) {
	const entries, parts = 40, 5
	rng := rand.New(rand.NewPCG(9, 10))
	var all, sum Tally
	workers := make([]Tally, parts)
	for range 300 {
		for i := range workers {
			for range rng.IntN(6) {
				n, read, spent := rng.IntN(entries), rng.Uint64N(1<<30), rng.Int64N(1e9)
				for _, tally := range []*Tally{&all, &workers[i]} {
					e := tally.Entries.At(n)
					e.Status([]int{200, 404}[read%2])
					if read%2 == 0 {
						e.Succeed(read, spent)
					} else {
						e.Fail(read, spent)
					}
				}
			}
		}
		for _, i := range rng.Perm(parts) {
			sum.Add(&workers[i])
			workers[i].Reset()
			assert.Empty(t, workers[i].Entries.All())
		}
	}
	require.Len(t, sum.Entries.All(), entries)
	for n := range entries {
		want, got := all.Entries.Find(n), sum.Entries.Find(n)
		require.NotNil(t, got)
		assertSame(t, &want.Total, &got.Total)
		slices.SortFunc(want.Statuses, func(a, b StatusCount) int { return a.Status - b.Status })
		slices.SortFunc(got.Statuses, func(a, b StatusCount) int { return a.Status - b.Status })
		assert.Equal(t, want.Statuses, got.Statuses)
		assert.Equal(t, [4]uint64{want.Succeeded, want.Failed, want.BytesRead, uint64(want.ClientTime)},
			[4]uint64{got.Succeeded, got.Failed, got.BytesRead, uint64(got.ClientTime)})
	}
}

func TestAnEntryThatWasNotSentHasNoTally(t *testing.T) {
	var tally Tally
	assert.Nil(t, tally.Entries.Find(0))
	tally.Entries.At(7).Fail(1, 2)
	tally.Entries.At(3).Fail(1, 2)
	assert.Nil(t, tally.Entries.Find(0), "its place is that of another")
	assert.Nil(t, tally.Entries.Find(8))
	tally.Reset()
	assert.Nil(t, tally.Entries.Find(7))
	tally.Entries.At(3).Status(204)
	assert.Nil(t, tally.Entries.Find(7), "its place is taken")
	assert.Equal(t, EntryTally{Number: 3, Statuses: []StatusCount{{204, 1}}}, *tally.Entries.Find(3), "nothing is left from before")
}

// What a second needed is kept for the next.
func TestCountingEntriesDoesNotAllocateInTheNextSecond(t *testing.T) {
	var tally Tally
	count := func() {
		for n := range 50 {
			e := tally.Entries.At(n)
			e.Status(200)
			for range 2 * fewValues {
				e.Succeed(1, 1000)
			}
		}
		tally.Reset()
	}
	count()
	assert.Zero(t, testing.AllocsPerRun(20, count))
}
