package stats_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"horde/stats"
)

func TestGrownIsKnownOnlyWhereBothEndsCounted(t *testing.T) {
	state := func(cpu0, cpu1 map[string]uint64) *stats.HostState {
		return &stats.HostState{Counters: stats.Counters{"softnet_stat": {"cpu0": cpu0, "cpu1": cpu1}}}
	}
	begin := state(map[string]uint64{"dropped": 5, "wrapped": 1 << 31}, map[string]uint64{"dropped": 1})
	end := state(map[string]uint64{"dropped": 7, "wrapped": 3, "new": 1}, map[string]uint64{"dropped": 4})
	h := stats.Host{Begin: begin, End: end}
	for _, c := range []struct {
		host        stats.Host
		row, column string
		want        uint64
		known       bool
	}{
		{h, "cpu0", "dropped", 2, true},
		{h, "cpu0", "wrapped", 0, false},
		{h, "cpu0", "new", 0, false},
		{h, "cpu0", "none", 0, false},
		{h, "cpu9", "dropped", 0, false},
		{stats.Host{Begin: begin}, "cpu0", "dropped", 0, false},
		{stats.Host{End: end}, "cpu0", "dropped", 0, false},
	} {
		got, known := c.host.Grown("softnet_stat", c.row, c.column)
		assert.Equal(t, c.want, got, "%s of %s", c.column, c.row)
		assert.Equal(t, c.known, known, "%s of %s", c.column, c.row)
	}
	sum, known := h.GrownSum("softnet_stat", "dropped")
	assert.True(t, known)
	assert.Equal(t, uint64(5), sum)
	_, known = h.GrownSum("softnet_stat", "none")
	assert.False(t, known)
	_, known = new(stats.Host).GrownSum("softnet_stat", "dropped")
	assert.False(t, known)
}

func TestAFactThatNobodyLookedAtIsNotKnown(t *testing.T) {
	s := stats.HostState{Facts: map[string]stats.Fact{"cpu/isolated": stats.Have(""), "sched/latency_ns": stats.Lack("this kernel has none")}}
	assert.True(t, s.Fact("cpu/isolated").Known(), "empty is a value")
	assert.False(t, s.Fact("sched/latency_ns").Known())
	assert.False(t, s.Fact("no such name").Known())
	assert.False(t, new(stats.HostState).Fact("").Known())
}
