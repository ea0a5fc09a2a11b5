package stats

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// happen counts one random request in each of the tallies.
func happen(rng *rand.Rand, tallies ...*Tally) {
	status := []int{200, 200, 304, 404, 503}[rng.IntN(5)]
	class, phase := Class(1+rng.IntN(int(classCount)-1)), Phase(1+rng.IntN(int(PhaseCount)-1))
	errno, at, spent, bytes := rng.IntN(3), rng.Int64N(60e9), rng.Int64N(1e9), rng.Uint64N(1<<40)
	succeeds := rng.IntN(3) > 0
	for _, t := range tallies {
		t.Begun++
		t.Opened++
		t.Reused += bytes % 2
		t.Resent += bytes % 3
		t.NoConn += bytes % 5
		t.Overslept += bytes % 3
		t.BytesRead += bytes
		t.BytesWritten += bytes / 2
		t.BytesBody += bytes / 3
		t.Connect.Record(spent / 9)
		if !succeeds {
			t.Fail(class, phase, errno, at, spent)
			continue
		}
		t.Succeeded++
		t.Status(status)
		t.Total.Record(spent)
		t.FirstByte.Record(spent / 2)
		t.Processing.Record(spent * 8 / 9)
		t.Waiting.Record(spent / 3)
		t.addHeard(&Tally{FirstHeard: at, LastHeard: at})
	}
}

func sorted(t Tally) Tally {
	slices.SortFunc(t.Statuses, func(a, b StatusCount) int { return a.Status - b.Status })
	slices.SortFunc(t.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Errno, b.Errno))
	})
	return t
}

// counts strips the histograms, whose floating point sums depend on the order.
func counts(t Tally) Tally {
	for _, h := range t.Histograms() {
		*h = Histogram{}
	}
	return t
}

func TestMergingTalliesInAnyOrderEqualsCountingAll(t *testing.T) {
	const merges, kept = 10000, 10
	rng := rand.New(rand.NewPCG(5, 6))
	var all, sum Tally
	parts := make([]Tally, kept)
	for range merges / kept {
		for i := range parts {
			for range rng.IntN(4) {
				happen(rng, &all, &parts[i])
			}
		}
		for _, i := range rng.Perm(kept) {
			sum.Add(&parts[i])
			parts[i].Reset()
		}
	}
	all, sum = sorted(all), sorted(sum)
	assert.Equal(t, counts(all), counts(sum))
	for i, h := range all.Histograms() {
		assertSame(t, h, sum.Histograms()[i])
	}
	assert.Equal(t, sum.Begun, sum.Succeeded+sum.Failed)
}

func TestFailuresOfOneKindShareALine(t *testing.T) {
	var tally Tally
	tally.Fail(Refused, Connecting, 111, 50, 7)
	tally.Fail(Refused, Connecting, 111, 20, 5)
	tally.Fail(Refused, Connecting, 0, 90, 1)
	assert.Equal(t, uint64(3), tally.Failed)
	assert.Equal(t, []Failure{
		{Class: Refused, Phase: Connecting, Errno: 111, Count: 2, ClientTime: 12, FirstAt: 20, LastAt: 50},
		{Class: Refused, Phase: Connecting, Count: 1, ClientTime: 1, FirstAt: 90, LastAt: 90},
	}, tally.Failures)
}

func TestAResetTallyIsEmpty(t *testing.T) {
	var tally Tally
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		happen(rng, &tally)
	}
	tally.Reset()
	assert.Empty(t, tally.Statuses)
	assert.Empty(t, tally.Failures)
	for _, h := range tally.Histograms() {
		assert.Zero(t, h.Count())
	}
	tally.Statuses, tally.Failures = nil, nil
	assert.Equal(t, Tally{}, counts(tally))
}

func TestCountingDoesNotAllocateOnceAKindIsKnown(t *testing.T) {
	var tally Tally
	count := func() {
		tally.Status(200)
		tally.Fail(Refused, Connecting, 111, 50, 7)
		tally.Total.Record(1000)
	}
	count()
	assert.Zero(t, testing.AllocsPerRun(100, count))
}

func TestHeardIsTheFirstAndTheLastTime(t *testing.T) {
	var a, b, none Tally
	for _, at := range []int64{5, 7, 9} {
		a.Heard(at)
	}
	b.Heard(3)
	a.Add(&none)
	assert.Equal(t, []int64{5, 9}, []int64{a.FirstHeard, a.LastHeard})
	none.Add(&a)
	assert.Equal(t, []int64{5, 9}, []int64{none.FirstHeard, none.LastHeard})
	a.Add(&b)
	assert.Equal(t, []int64{3, 9}, []int64{a.FirstHeard, a.LastHeard})
}

func TestUnfinishedAddsCountsAndKeepsTheOldest(t *testing.T) {
	a := Unfinished{Count: [PhaseCount]uint64{Connecting: 1, Waiting: 2}, Oldest: 5}
	a.Add(&Unfinished{Count: [PhaseCount]uint64{Waiting: 4, Receiving: 8}, Oldest: 3})
	assert.Equal(t, Unfinished{Count: [PhaseCount]uint64{Connecting: 1, Waiting: 6, Receiving: 8}, Oldest: 5}, a)
	assert.Equal(t, uint64(15), a.Sum())
}
