package compare

import (
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

func oneBoot(id string) func(int) string { return func(int) string { return id } }

func causesOf(before, after []string) *Comparison {
	b, a := runsOf(0, 1000, 1001), runsOf(10, 1000, 1001)
	return verdicts(in(b, oneBoot("x"), before...), in(a, oneBoot("y"), after...), Options{})
}

func TestTheStrongestKnownEffectStandsFirst(t *testing.T) {
	c := causesOf(
		[]string{"net/lo/mtu", "65536", "meminfo/MemTotal", "1 kB", "policy", "SCHED_OTHER", "vulnerabilities/mds", "Vulnerable", "net/eth0/rps_cpus", "0"},
		[]string{"net/lo/mtu", "1500", "meminfo/MemTotal", "2 kB", "policy", "SCHED_BATCH", "vulnerabilities/mds", "Mitigation: Clear", "net/eth0/rps_cpus", "3"})
	var facts []string
	for _, cause := range c.Causes {
		facts = append(facts, cause.Fact)
	}
	assert.Equal(t, []string{"vulnerabilities/mds", "net/eth0/rps_cpus", "policy", "net/lo/mtu", "meminfo/MemTotal"}, facts)
	assert.NotEmpty(t, c.Causes[0].Why)
	assert.Empty(t, c.Causes[4].Why)
}

func TestAFactThatIsGoneIsUnknown(t *testing.T) {
	c := causesOf([]string{"sched/wakeup_granularity_ns", "4000000"}, nil)
	require.Len(t, c.Causes, 1)
	assert.Equal(t, Cause{"sched/wakeup_granularity_ns", "4000000", "unknown", c.Causes[0].Why}, c.Causes[0])
}

func TestTheBootIsNoCause(t *testing.T) {
	assert.Empty(t, causesOf([]string{"nice", "0"}, []string{"nice", "0"}).Causes)
}

func TestRunsOfASideThatDiffer(t *testing.T) {
	b, a := in(runsOf(0, 1, 2), oneBoot("x"), "nice", "0"), in(runsOf(10, 1, 2), oneBoot("x"), "nice", "0")
	a[1].Host.Begin.Facts["nice"] = stats.Fact{Value: "5"}
	c := verdicts(b, a, Options{})
	require.NotEmpty(t, c.Causes)
}

func TestAChangeUnderBothEndsIsAttributedToNeither(t *testing.T) {
	kernels := func(before, after string) *Comparison {
		return causesOf([]string{"kernel.osrelease", before}, []string{"kernel.osrelease", after})
	}
	assert.Empty(t, kernels("6.1", "6.1").Attribution)
	assert.Contains(t, kernels("6.1", "6.12").Attribution, "cannot be put down to either")
	c := kernels("6.1", "6.12")
	each(c.Before, func(r *Run) { r.OnLoopback = false })
	assert.Contains(t, verdicts(c.Before, c.After, Options{}).Attribution, "the generator's own kernel changed")
}

func TestWithoutFactsThereAreNoCauses(t *testing.T) {
	c := verdicts(runsOf(0, 1, 2), in(runsOf(10, 1, 2), oneBoot("x")), Options{})
	assert.Empty(t, c.Causes)
	assert.False(t, c.HostsKnown())
}

// counting gives the runs an end at which these counters have grown.
func counting(runs []Run, source, row string, grown map[string]uint64) []Run {
	zero := map[string]uint64{}
	for column := range grown {
		zero[column] = 0
	}
	for i := range runs {
		h := &runs[i].Host
		h.Begin = &stats.HostState{Counters: stats.Counters{source: {row: zero}}}
		h.End = &stats.HostState{Counters: stats.Counters{source: {row: grown}}}
	}
	return runs
}

func TestWhatTheCountersSayIsAFact(t *testing.T) {
	for _, c := range []struct {
		fact, source, row string
		before, after     map[string]uint64
	}{
		{derivedConntrack, "nf_conntrack", "all", map[string]uint64{"count": 3}, map[string]uint64{"count": 9000}},
		{derivedNetRX, "softirqs", "NET_RX", map[string]uint64{"cpu0": 500, "cpu1": 400}, map[string]uint64{"cpu0": 900, "cpu1": 3}},
		{derivedSteal, "stat", "cpu",
			map[string]uint64{"user": 50, "nice": 0, "system": 50, "idle": 900, "iowait": 0, "irq": 0, "softirq": 0, "steal": 0},
			map[string]uint64{"user": 50, "nice": 0, "system": 50, "idle": 800, "iowait": 0, "irq": 0, "softirq": 0, "steal": 100}},
		{derivedThrottled, "cpu.stat", "/", map[string]uint64{"nr_throttled": 0}, map[string]uint64{"nr_throttled": 7}},
	} {
		b := counting(runsOf(0, 1000, 1001), c.source, c.row, c.before)
		a := counting(runsOf(10, 1000, 1001), c.source, c.row, c.after)
		found := verdicts(b, a, Options{}).Causes
		require.Len(t, found, 1, c.fact)
		assert.Equal(t, c.fact, found[0].Fact)
		assert.NotEmpty(t, found[0].Why)
		assert.Empty(t, verdicts(b, b, Options{}).Causes)
	}
}

func TestTheEffectsHaveReasonsAndPatternsThatParse(t *testing.T) {
	for _, e := range effects {
		_, err := path.Match(e.pattern, "x")
		require.NoError(t, err, e.pattern)
		assert.NotEmpty(t, e.why, e.pattern)
	}
}
