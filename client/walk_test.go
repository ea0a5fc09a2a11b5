package client

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client/http1"
	"horde/stats"
)

// turns are the next n entries of a walk through length entries.
func turns(p Plan, length, n int) []int {
	p.Entries = make([]Entry, length)
	w := newWalk(&p)
	taken := make([]int, n)
	for i := range taken {
		taken[i] = w.take()
	}
	return taken
}

func TestAWalkInOrderBeginsWhereItIsTold(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2, 0, 1}, turns(Plan{}, 3, 5))
	assert.Equal(t, []int{2, 0, 1, 2, 0}, turns(Plan{First: 2}, 3, 5))
	assert.Equal(t, []int{1, 2, 0}, turns(Plan{First: 1 + 3*1e6}, 3, 3))
	assert.Equal(t, []int{0, 0}, turns(Plan{First: 7}, 1, 2))
}

func TestAWalkAtRandomIsDecidedByItsSeed(t *testing.T) {
	const n = 30_000
	of := func(seed, first uint64) []int { return turns(Plan{Order: AtRandom, Seed: seed, First: first}, 3, n) }
	assert.Equal(t, of(1, 0), of(1, 0))
	assert.NotEqual(t, of(1, 0), of(2, 0))
	assert.NotEqual(t, of(1, 0), of(1, 1), "the worker has a walk of its own")
	var counts [3]int
	for _, entry := range of(1, 0) {
		counts[entry]++
	}
	for entry, count := range counts {
		assert.InDelta(t, n/3, count, n/50, "entry %d", entry)
	}
}

// Each request is answered as its entry says, and a connection ends where an
// entry asks for its end.
func TestClientsTakeTurnsOnTheList(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		var mu sync.Mutex
		seen := map[string]uint64{}
		s := serve(t, func(p *peer) {
			for head := p.request(); head != ""; head = p.request() {
				line, _, _ := strings.Cut(head, " HTTP")
				mu.Lock()
				seen[line]++
				mu.Unlock()
				if strings.HasPrefix(line, "HEAD") {
					p.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
				} else {
					p.say(hello)
				}
			}
		})
		plan := planOf(s.address(), clients, 30)
		plan.Reuse = true
		for i, method := range []string{"GET", "HEAD", "GET"} {
			plan.Entries = append(plan.Entries[:i], Entry{
				Request: fmt.Appendf(nil, "%s /%d HTTP/1.1\r\nHost: test\r\n\r\n", method, i), Answer: http1.AnswerTo(method, http1.HTTP11),
			})
		}
		plan.Entries[2].Close, plan.ByEntry = true, true
		o := drive(t, plan)
		s.close()
		require.EqualValues(t, 30, o.Succeeded, o.endings())
		assert.Equal(t, map[string]uint64{"GET /0": 10, "HEAD /1": 10, "GET /2": 10}, seen)
		assert.EqualValues(t, 20*5, o.BytesBody)
		for n, length := range []uint64{43, 38, 43} {
			e := o.Entries.Find(n)
			require.NotNil(t, e)
			assert.Equal(t, [2]uint64{10, 0}, [2]uint64{e.Succeeded, e.Failed})
			assert.Equal(t, 10*length, e.BytesRead)
			assert.Equal(t, []stats.StatusCount{{Status: 200, Count: 10}}, e.Statuses)
		}
		assert.GreaterOrEqual(t, o.Opened, uint64(10), "each third request ends its connection")
		assert.LessOrEqual(t, o.Opened, uint64(10+clients))
	})
}
