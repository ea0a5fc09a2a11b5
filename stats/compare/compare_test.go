package compare

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

// runsOf are sound runs of these rates, a minute apart from begin on.
func runsOf(begin int, rates ...float64) []Run {
	runs := make([]Run, len(rates))
	for i, rate := range rates {
		runs[i] = Run{
			Name: fmt.Sprintf("%d.json", begin+i), Tool: "0.1.0", Valid: true, Clients: 10, OnLoopback: true,
			StartedAt: time.Date(2026, 12, 1, 10, begin+i, 0, 0, time.UTC),
			Measured:  10 * time.Second, Succeeded: uint64(10 * rate), Opened: uint64(10 * rate),
			Latency: map[string]float64{"50": 1e9 / rate, "99": 4e9 / rate, "max": 20e9 / rate},
			Plan:    map[string]string{"url": "http://127.0.0.1/", "clients": "10", "duration_ns": "10000000000"},
		}
	}
	return runs
}

func verdicts(before, after []Run, o Options) *Comparison {
	if o.Margin == 0 {
		o.Margin = Margin
	}
	return Compare(before, after, o)
}

func TestTheFiveVerdictsOnThroughput(t *testing.T) {
	steady := []float64{10000, 10030, 9980, 10010, 9990}
	times := func(factor float64) []float64 {
		var out []float64
		for _, v := range steady {
			out = append(out, v*factor)
		}
		return out
	}
	for _, c := range []struct {
		name  string
		after []float64
		want  Word
		way   Direction
	}{
		{"a quarter more", times(1.24), Changed, Better},
		{"a quarter less", times(1 / 1.24), Changed, Worse},
		{"a little more, surely", times(1.01), Negligible, Better},
		{"as before", times(1.0002), NoChange, Better},
		{"scattered", []float64{8000, 12500, 10000, 11000, 9000}, Inconclusive, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := verdicts(runsOf(0, steady...), runsOf(10, c.after...), Options{}).Metrics[0]
			assert.Equal(t, c.want, m.Verdict)
			require.NotNil(t, m.Change)
			require.NotNil(t, m.Low)
			assert.Less(t, *m.Low, *m.Change)
			assert.Greater(t, *m.High, *m.Change)
			if c.way != "" {
				assert.Equal(t, c.way, m.Direction)
			}
			if c.want == Inconclusive {
				assert.Greater(t, m.Needed, 5)
			}
		})
	}
}

func TestSwappingTheSidesSwapsBetterAndWorse(t *testing.T) {
	a, b := runsOf(0, 10000, 10030, 9980, 10010, 9990), runsOf(10, 12000, 12100, 11900, 12050, 11950)
	there, back := verdicts(a, b, Options{}), verdicts(b, a, Options{})
	for i := range there.Metrics {
		x, y := there.Metrics[i], back.Metrics[i]
		assert.Equal(t, x.Verdict, y.Verdict, x.Name)
		switch x.Direction {
		case Better:
			assert.Equal(t, Worse, y.Direction, x.Name)
		case Worse:
			assert.Equal(t, Better, y.Direction, x.Name)
		default:
			assert.Equal(t, x.Direction, y.Direction, x.Name)
		}
		if x.Change != nil && y.Change != nil {
			assert.InDelta(t, 1, (1+*x.Change)*(1+*y.Change), 1e-9, x.Name)
		}
	}
	assert.False(t, there.Worse())
	assert.True(t, back.Worse())
}

func TestBelowFiveRunsThereAreNumbersAndNoVerdict(t *testing.T) {
	for n := 1; n < FewestRuns; n++ {
		rates := []float64{1000, 1001, 1002, 1003}[:n]
		m := verdicts(runsOf(0, rates...), runsOf(10, 2000, 2001, 2002, 2003, 2004), Options{}).Metrics
		for _, m := range m {
			assert.Contains(t, []Word{NoVerdict, NotComparable}, m.Verdict, m.Name)
		}
		assert.Equal(t, NoVerdict, m[0].Verdict)
		require.NotNil(t, m[0].Change)
		assert.InDelta(t, 1, *m[0].Change, 0.01)
		assert.Equal(t, Better, m[0].Direction)
	}
}

// failing makes each run fail so many of 1,000,000 requests.
func failing(runs []Run, failed ...uint64) []Run {
	for i := range runs {
		runs[i].Failed = failed[i]
		runs[i].Succeeded = 1_000_000 - failed[i]
	}
	return runs
}

func TestFailedShare(t *testing.T) {
	five := func(begin int) []Run { return runsOf(begin, 1, 1, 1, 1, 1) }
	for _, c := range []struct {
		name          string
		before, after []uint64
		want          Word
		way           Direction
		changeless    bool
	}{
		{"none and none", []uint64{0, 0, 0, 0, 0}, []uint64{0, 0, 0, 0, 0}, NoChange, Same, true},
		{"none, then many", []uint64{0, 0, 0, 0, 0}, []uint64{12000, 11000, 13000, 12500, 9000}, Changed, Worse, true},
		{"many, then none", []uint64{12000, 11000, 13000, 12500, 9000}, []uint64{0, 0, 0, 0, 0}, Changed, Better, false},
		{"none, then a few, surely", []uint64{0, 0, 0, 0, 0}, []uint64{20, 22, 19, 25, 21}, Negligible, Worse, true},
		{"one burst in one run", []uint64{0, 0, 0, 0, 0}, []uint64{0, 0, 40000, 0, 0}, Inconclusive, Worse, true},
		{"all, then all", []uint64{1e6, 1e6, 1e6, 1e6, 1e6}, []uint64{1e6, 1e6, 1e6, 1e6, 1e6}, NoChange, Same, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := verdicts(failing(five(0), c.before...), failing(five(10), c.after...), Options{}).Metrics[1]
			assert.Equal(t, c.want, m.Verdict)
			assert.Equal(t, c.way, m.Direction)
			assert.Equal(t, c.changeless, m.Change == nil)
			assert.Equal(t, c.name == "none and none", m.Reason != "")
		})
	}
}

func TestNoFailuresAmongFewRequestsSayLittle(t *testing.T) {
	few := runsOf(0, 10, 10, 10, 10, 10) // 500 requests
	m := verdicts(few, few, Options{}).Metrics[1]
	assert.Equal(t, Inconclusive, m.Verdict)
	assert.Contains(t, m.Reason, "0.6 %")
}

func TestAMissingValueIsNoVerdict(t *testing.T) {
	before, after := runsOf(0, 10000, 10030, 9980, 10010, 9990), runsOf(10, 10000, 10030, 9980, 10010, 9990)
	delete(before[2].Latency, "99")
	c := verdicts(before, after, Options{})
	for _, m := range c.Metrics {
		if m.Name != "latency p99" {
			continue
		}
		assert.Equal(t, NotComparable, m.Verdict)
		assert.Nil(t, m.Change)
		assert.Equal(t, Unknown, m.Direction)
		assert.Contains(t, m.Reason, "1 of 5 runs before")
	}
	assert.True(t, c.Comparable())
}

func TestARunThatSucceededInNothingHasNoRatio(t *testing.T) {
	dead := runsOf(10, 0, 0, 0, 0, 0)
	for i := range dead {
		dead[i].Failed, dead[i].Latency = 100, nil
	}
	c := verdicts(runsOf(0, 10000, 10030, 9980, 10010, 9990), dead, Options{})
	assert.Equal(t, NotComparable, c.Metrics[0].Verdict)
	assert.Equal(t, Worse, c.Metrics[0].Direction)
	assert.Equal(t, Changed, c.Metrics[1].Verdict)
	assert.True(t, c.Worse(), "by the share that failed")
	for _, m := range c.Metrics {
		for _, v := range []*float64{m.Change, m.Low, m.High} {
			assert.True(t, v == nil || !math.IsNaN(*v) && !math.IsInf(*v, 0), m.Name)
		}
	}
}

func TestQuantilesOfTooFewAnswersAreNotJudged(t *testing.T) {
	thin := runsOf(0, 50, 50, 50, 50, 50) // 500 answers: 5 beyond p99
	c := verdicts(thin, runsOf(10, 50, 50, 50, 50, 50), Options{})
	for _, m := range c.Metrics {
		switch m.Name {
		case "latency p50":
			assert.Equal(t, NoChange, m.Verdict)
		case "latency p99":
			assert.Equal(t, NotComparable, m.Verdict)
		}
	}
}

func TestRoundingIsNoChange(t *testing.T) {
	before, after := runsOf(0, 1000, 1000, 1000, 1000, 1000), runsOf(10, 1000, 1000, 1000, 1000, 1000)
	for i := range after { // the next bucket
		after[i].Latency["50"] = before[i].Latency["50"] * (1 + 1.0/129)
	}
	for _, m := range verdicts(before, after, Options{}).Metrics {
		if m.Name == "latency p50" {
			assert.Equal(t, NoChange, m.Verdict)
			assert.Equal(t, 1.0, m.P)
		}
	}
}

func TestWhatIsNotComparable(t *testing.T) {
	limit := func(n int) func([]Run) {
		return func(runs []Run) {
			for i := range n {
				runs[i].GeneratorLimited = true
			}
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(after []Run)
		says  string
	}{
		{"another number of clients", func(r []Run) { each(r, func(r *Run) { r.Plan["clients"] = "20" }) }, "clients: 10 before, 20 after"},
		{"one run with another", func(r []Run) { r[3].Plan["clients"] = "20" }, "clients: 10 before, 10 and 20 after"},
		{"another length", func(r []Run) { each(r, func(r *Run) { r.Plan["duration_ns"] = "5000000000" }) }, "duration: 10s before, 5s after"},
		{"kept alive", func(r []Run) { each(r, func(r *Run) { r.Plan["keepalive"] = "true" }) }, "keepalive: none before, true after"},
		{"another major version", func(r []Run) { each(r, func(r *Run) { r.Tool = "1.0.0" }) }, "major version"},
		{"cut short", func(r []Run) { r[1].Partial = true }, "11.json (after) is partial"},
		{"not valid", func(r []Run) { r[4].Valid = false }, "14.json (after) says nothing"},
		{"limited by the generator", limit(3), "0 of 5 runs before, 3 of 5 after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := runsOf(0, 1000, 1001, 1002, 1003, 1004), runsOf(10, 2000, 2001, 2002, 2003, 2004)
			for _, r := range [][]Run{before, after} {
				each(r, func(r *Run) { r.Plan["keepalive"] = "" })
			}
			c.spoil(after)
			found := verdicts(before, after, Options{})
			require.Len(t, found.Refused, 1)
			assert.Contains(t, found.Refused[0], c.says)
			assert.False(t, found.Comparable())
			assert.False(t, found.Worse())
			for _, m := range found.Metrics {
				assert.Equal(t, NotComparable, m.Verdict, m.Name)
			}
			anyway := verdicts(before, after, Options{Anyway: true})
			assert.True(t, anyway.Comparable())
			assert.Equal(t, Changed, anyway.Metrics[0].Verdict)
			assert.Equal(t, found.Refused, anyway.Refused, "and still said")
		})
	}
}

func each(runs []Run, do func(*Run)) {
	for i := range runs {
		do(&runs[i])
	}
}

func TestAFewRunsNearTheLimitOfTheGeneratorDoNotSpoilTheRest(t *testing.T) {
	before, after := runsOf(0, 1000, 1001, 1002, 1003, 1004), runsOf(10, 1000, 1001, 1002, 1003, 1004)
	after[0].GeneratorLimited = true
	assert.True(t, verdicts(before, after, Options{}).Comparable(), "one of five")
	each(after, func(r *Run) { r.GeneratorLimited = true })
	before[2].GeneratorLimited = true
	c := verdicts(before, after, Options{})
	assert.True(t, c.Comparable(), "both sides were")
	assert.True(t, c.Together)
}

func TestWhatOnlyANewerFileKnowsOfIsNoDifference(t *testing.T) {
	before, after := runsOf(0, 1000, 1001, 1002, 1003, 1004), runsOf(10, 1000, 1001, 1002, 1003, 1004)
	each(after, func(r *Run) { r.Plan["warmup_ns"] = "1000" })
	assert.Empty(t, verdicts(before, after, Options{}).Refused)
}

// in says which boot and which facts the runs' host had.
func in(runs []Run, boot func(i int) string, facts ...string) []Run {
	for i := range runs {
		state := &stats.HostState{Facts: map[string]stats.Fact{"kernel.random.boot_id": {Value: boot(i)}}}
		for j := 0; j < len(facts); j += 2 {
			state.Facts[facts[j]] = stats.Fact{Value: facts[j+1]}
		}
		runs[i].Host = stats.Host{Begin: state, End: state}
	}
	return runs
}

func TestBootsAreTheSampleWhereBothSidesHaveSeveral(t *testing.T) {
	boot := func(side string, runsEach int) func(int) string {
		return func(i int) string { return fmt.Sprint(side, i/runsEach) }
	}
	// Runs of a boot agree to 0.1 %, boots differ by 3 %.
	rates := []float64{10000, 10010, 10300, 10310, 9700, 9710}
	before, after := runsOf(0, rates...), runsOf(10, 10250, 10260, 10550, 10560, 9950, 9960)
	one := verdicts(in(before, boot("a", 6)), in(after, boot("b", 6)), Options{})
	assert.Equal(t, Boots{Before: 1, After: 1}, one.Boots)
	several := verdicts(in(before, boot("a", 2)), in(after, boot("b", 2)), Options{})
	assert.Equal(t, Boots{Before: 3, After: 3, Units: true}, several.Boots)
	width := func(c *Comparison) float64 { return *c.Metrics[0].High - *c.Metrics[0].Low }
	assert.Greater(t, width(several), 1.5*width(one), "three boots say less than six runs")
	same := verdicts(in(before, boot("a", 2)), in(after, boot("a", 2)), Options{})
	assert.Equal(t, Boots{Before: 3, After: 3, Shared: true}, same.Boots, "boots that both sides share favour neither")
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		sides string
		want  Order
	}{
		{"bbbbbaaaaa", InSessions}, {"aaaaabbbbb", InSessions}, {"ba", InSessions},
		{"bababababa", InPairs}, {"baabbaabba", InRandomPairs}, {"bbaabbaabb", Interleaved}, {"bbabbabba", Interleaved},
	} {
		after := make([]bool, len(c.sides))
		for i, side := range c.sides {
			after[i] = side == 'a'
		}
		assert.Equal(t, c.want, orderOfSides(after), c.sides)
	}
	unknown := runsOf(0, 1, 2)
	unknown[1].StartedAt = time.Time{}
	assert.Equal(t, OrderUnknown, orderOf(unknown, runsOf(10, 1, 2)))
	assert.Equal(t, InSessions, orderOf(runsOf(0, 1, 2), runsOf(10, 1, 2)))
}

func TestSeveralMetricsShareOneError(t *testing.T) {
	c := &Comparison{Metrics: []Metric{{Verdict: Changed, Welch: Estimate{P: 0.04, Bounded: true}, P: 0.04}}}
	for _, p := range []float64{0.04, 0.001, 0.5} {
		word := Changed
		if p > 0.05 {
			word = Inconclusive
		}
		c.Metrics = append(c.Metrics, Metric{Verdict: word, Welch: Estimate{P: p, Bounded: true}, P: p})
	}
	c.adjust()
	assert.Equal(t, Changed, c.Metrics[0].Verdict, "the question asked stands alone")
	assert.Equal(t, Inconclusive, c.Metrics[1].Verdict)
	assert.True(t, c.Metrics[1].Several)
	assert.InDelta(t, 0.08, c.Metrics[1].P, 1e-12)
	assert.Equal(t, Changed, c.Metrics[2].Verdict)
	assert.False(t, c.Metrics[3].Several)
}
