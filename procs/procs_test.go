package procs

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
)

func TestSharesAddUpAndDifferByOneAtMost(t *testing.T) {
	for range 2000 {
		total, n := rand.Uint64()>>rand.IntN(64), 1+rand.IntN(6000)
		var sum uint64
		least, most := uint64(math.MaxUint64), uint64(0)
		for i := range n {
			part := share(total, n, i)
			sum += part
			least, most = min(least, part), max(most, part)
		}
		require.Equal(t, total, sum, "%d in %d parts", total, n)
		require.LessOrEqual(t, most-least, uint64(1), "%d in %d parts", total, n)
	}
}

func TestClientsAndCPUsAreSharedOutEvenly(t *testing.T) {
	for range 200 {
		o := Options{Workers: 1 + rand.IntN(300), Plan: client.Plan{Clients: rand.IntN(5000)}}
		for cpu := range rand.IntN(5) {
			o.CPUs = append(o.CPUs, 2*cpu+1)
		}
		children := layOut(o)
		require.Len(t, children, o.Workers)
		clients, onCPU := 0, map[int]int{}
		for i, c := range children {
			require.Equal(t, i, c.id)
			require.Equal(t, workerArgs(i, false), c.args)
			clients += c.clients
			onCPU[c.cpu]++
		}
		require.Equal(t, o.Plan.Clients, clients)
		require.LessOrEqual(t, children[0].clients-children[o.Workers-1].clients, 1)
		if len(o.CPUs) == 0 {
			require.Equal(t, map[int]int{-1: o.Workers}, onCPU)
			continue
		}
		require.Len(t, onCPU, min(len(o.CPUs), o.Workers))
		for _, cpu := range o.CPUs[:len(onCPU)] {
			require.InDelta(t, float64(o.Workers)/float64(len(o.CPUs)), onCPU[cpu], 1)
		}
	}
}

func TestThereIsTimeToReadTheReleaseBeforeItComes(t *testing.T) {
	assert.Greater(t, leadTime(1), leadTime(0))
	assert.Less(t, leadTime(5000), readyLimit)
}

func TestLimitedWalksJoinIntoOne(t *testing.T) {
	for range 200 {
		workers, entries, requests := 1+rand.IntN(40), 1+rand.IntN(50), rand.Uint64N(500)
		r := &run{children: make([]*child, workers)}
		r.options.Plan = client.Plan{Limited: true, Requests: requests, Entries: make([]client.Entry, entries)}
		next := uint64(0)
		for i := range r.children {
			require.Equal(t, next, r.firstTurn(&child{id: i}))
			next += share(requests, workers, i)
		}
		require.Equal(t, requests, next)
	}
}

func TestUnlimitedWalksBeginAllOverTheList(t *testing.T) {
	r := &run{children: make([]*child, 4)}
	r.options.Plan.Entries = make([]client.Entry, 100)
	for i, want := range []uint64{0, 25, 50, 75} {
		assert.Equal(t, want, r.firstTurn(&child{id: i}))
	}
	r.options.Plan.Order = client.AtRandom
	assert.EqualValues(t, 3, r.firstTurn(&child{id: 3}), "each a stream of its own")
}
