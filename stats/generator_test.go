package stats

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// measured is a run of four workers on two CPUs for 10 s, each with one client
// that mostly waits for the target.
func measured() *Run {
	r := happy()
	r.Plan.Clients = 4
	for i := range r.Workers.List {
		w := &r.Workers.List[i]
		w.CPU, w.Clients, w.CPUTime, w.RunDelay = i%2, 1, 200*time.Millisecond, 50*time.Millisecond
	}
	r.Generator = &Generator{Span: 10 * time.Second, CPUs: 2, Busy: 0.10, Busiest: 0.12}
	return r
}

// judged is the verdict on a run, with the load of its workers summed up.
func judged(r *Run) Verdict {
	if r.Generator != nil {
		r.Generator.Workers = r.Workers.Load(r.Generator.CPUs, r.Measured)
	}
	return Judge(r, Thresholds{})
}

// busy has every worker use and wait for a CPU for these shares of the window.
func busy(r *Run, cpu, delay float64) {
	for i := range r.Workers.List {
		w := &r.Workers.List[i]
		w.CPUTime, w.RunDelay = time.Duration(cpu*float64(r.Measured)), time.Duration(delay*float64(r.Measured))
	}
}

var generators = []struct {
	name    string
	happens func(*Run)
	limited bool
	reason  string // a part of it
}{
	{name: "an idle host", happens: func(*Run) {}},
	{
		name:    "workers that use their CPUs up",
		happens: func(r *Run) { busy(r, 0.48, 0.5); r.Generator.Busy, r.Generator.Busiest = 0.99, 0.99 }, limited: true,
		reason: "the workers used 96 % of their 2 CPUs and waited 50 % of the time for one",
	},
	{
		name: "one worker that uses its CPU up while others are idle",
		happens: func(r *Run) {
			r.Workers.List = r.Workers.List[:1]
			busy(r, 0.97, 0.01)
			r.Generator.Busy, r.Generator.Busiest = 0.5, 0.98
		}, limited: true, reason: "the workers used 97 % of the 1 of 2 CPUs they could use and waited 1 % of the time for one",
	},
	{
		name: "the target beside it",
		happens: func(r *Run) {
			busy(r, 0.25, 0.6)
			r.Generator.Busy, r.Generator.Busiest, r.Generator.TargetHere = 0.99, 1, true
		}, limited: true, reason: "horde and the target share this host's CPUs and together fill them: the workers used 50 % of their 2 CPUs and waited 60 % of the time for one, and all but horde used 49 %",
	},
	{
		name: "somebody else beside it",
		happens: func(r *Run) {
			busy(r, 0.05, 0.3)
			r.Generator.Busy, r.Generator.Busiest = 1, 1
		}, limited: true, reason: "horde had to share CPUs that others keep busy: the workers used 10 % of their 2 CPUs and waited 30 % of the time for one, and all but horde used 90 %",
	},
	{
		name: "a target that fills the host's CPUs by itself",
		happens: func(r *Run) {
			busy(r, 0.02, 0.05)
			r.Generator.Busy, r.Generator.Busiest, r.Generator.TargetHere = 1, 1, true
		},
	},
	{
		name: "a packed worker that is delayed, and sleeps most of the time all the same",
		happens: func(r *Run) {
			r.Plan.Clients = 400
			busy(r, 0.02, 0.5)
			r.Generator.Busy, r.Generator.Busiest, r.Generator.TargetHere = 1, 1, true
		},
	},
	{
		name: "a packed worker that never sleeps",
		happens: func(r *Run) {
			r.Plan.Clients = 400
			r.Workers.List = r.Workers.List[:1]
			busy(r, 0.5, 0.48)
			r.Generator.Busy, r.Generator.Busiest = 0.5, 1
		}, limited: true, reason: "the workers used 50 % of the 1 of 2 CPUs they could use and waited 48 % of the time for one",
	},
	{
		name:    "answers that come all at once to idle CPUs",
		happens: func(r *Run) { busy(r, 0.05, 0.4); r.Generator.Busy, r.Generator.Busiest = 0.4, 0.45 },
	},
	{
		name:    "a quota",
		happens: func(r *Run) { r.Generator.Throttled, r.Generator.Quota = 8200*time.Millisecond, 0.2 }, limited: true,
		reason: "the quota of a control group (0.2 CPUs) kept horde from its CPUs for 8.20 s of 10.0 s",
	},
	{name: "a quota that was hardly felt", happens: func(r *Run) { r.Generator.Throttled = 90 * time.Millisecond }},
	{
		name:    "a hypervisor that gives its CPUs to others",
		happens: func(r *Run) { r.Generator.Steal = 0.123 }, limited: true, reason: "the hypervisor kept 12.3 % of the CPUs for others",
	},
	{
		name:    "a CPU that handles packets and nothing else",
		happens: func(r *Run) { r.Generator.Softirq = 0.95 }, limited: true, reason: "one CPU spent 95 % of its time on packets",
	},
	{
		name:    "ports that are used up",
		happens: func(r *Run) { failing(r, LocalPorts, 100) }, limited: true, reason: "local ports used up",
	},
	{
		name:    "ports that were used up for a moment",
		happens: func(r *Run) { r.Tally.Begun += 200000; r.Tally.Succeeded += 200000; failing(r, LocalPorts, 1) },
		reason:  "local ports used up",
	},
	{
		name: "at its ceiling, CPUs nearly full",
		happens: func(r *Run) {
			busy(r, 0.2, 0.1)
			r.Generator.Busy, r.Generator.Busiest, r.Generator.Ceiling = 0.85, 0.9, &Ceiling{PerSecond: 110}
		}, limited: true, reason: "100 requests/s are 90.9 % of the 110/s that this host reaches against a target that does nothing",
	},
	{
		name:    "at the ceiling of few clients, CPUs half idle",
		happens: func(r *Run) { busy(r, 0.2, 0); r.Generator.Busy, r.Generator.Ceiling = 0.5, &Ceiling{PerSecond: 110} },
	},
	{
		name: "far below its ceiling",
		happens: func(r *Run) {
			busy(r, 0.2, 0.1)
			r.Generator.Busy, r.Generator.Ceiling = 0.85, &Ceiling{PerSecond: 1000}
		},
	},
	{
		name: "a kernel that does not tell of delays",
		happens: func(r *Run) {
			busy(r, 0.05, 0)
			for i := range r.Workers.List {
				r.Workers.List[i].RunDelay = -1
			}
		},
	},
}

func TestAGeneratorThatIsTheLimitIsNamed(t *testing.T) {
	for _, c := range generators {
		t.Run(c.name, func(t *testing.T) {
			r := measured()
			c.happens(r)
			v := judged(r)
			if assert.NotNil(t, v.GeneratorLimited) {
				assert.Equal(t, c.limited, *v.GeneratorLimited)
			}
			reasons := strings.Join(v.Reasons, " | ")
			if c.reason == "" {
				assert.Empty(t, reasons)
			}
			assert.Contains(t, reasons, c.reason)
			assert.NotContains(t, reasons, "NaN")
		})
	}
}

func TestWhatHelpsAgainstIdleCPUsFitsThePlan(t *testing.T) {
	for _, c := range []struct {
		workers, clients int
		want             string
	}{{1, 100, "more workers (-w auto)"}, {1, 1, "more clients (-c)"}, {4, 4, "more CPUs (--pin)"}} {
		r := measured()
		r.Workers.List, r.Plan.Clients = r.Workers.List[:c.workers], c.clients
		for i := range r.Workers.List {
			r.Workers.List[i].CPU = 0
		}
		busy(r, 0.98/float64(c.workers), 0.01)
		assert.Contains(t, judged(r).Reasons[0], c.want)
	}
}

func TestTheVerdictOnTheGeneratorLeavesTheExitCodeAlone(t *testing.T) {
	r := measured()
	r.Generator.Steal = 0.5
	assert.Equal(t, ExitOK, judged(r).Exit)
}

func TestWhereNothingWasMeasuredThereIsNoVerdictOnTheGenerator(t *testing.T) {
	r := measured()
	r.Generator = nil
	assert.Nil(t, judged(r).GeneratorLimited)

	r = measured()
	lose(r, "signal: killed", "signal: killed", "signal: killed", "signal: killed")
	assert.Nil(t, judged(r).GeneratorLimited, "no worker said how it fared")
	r.Generator.Steal = 0.5
	assert.Equal(t, set(true), judged(r).GeneratorLimited, "the host did")
}

func TestAWorkerThatWasLostDoesNotSpoilTheShares(t *testing.T) {
	r := measured()
	lose(r, "signal: killed")
	r.Workers.List[0].CPUTime = 0
	l := r.Workers.Load(2, r.Measured)
	assert.InDelta(t, 3*0.02/2, l.CPU, 1e-9)
	assert.InDelta(t, 0.005, l.Delay, 1e-9)
}

func TestAWorkerThatWaitedBeyondTheWindowWaitedAllOfIt(t *testing.T) {
	r := measured()
	busy(r, 0.1, 1.07)
	assert.Equal(t, 1.0, r.Workers.Load(2, r.Measured).Delay)
}

func TestWhatOthersUsedIsWhatIsLeft(t *testing.T) {
	r := measured()
	busy(r, 0.25, 0)
	g := r.Generator
	g.Workers = r.Workers.Load(2, r.Measured)
	g.Busy, g.Steal, g.ParentCPU = 0.9, 0.1, 2*time.Second
	assert.InDelta(t, 0.6, g.Own(), 1e-9)
	assert.InDelta(t, 0.2, g.Others(), 1e-9)
	g.Busy = 0.3
	assert.Zero(t, g.Others(), "the kernel's ticks are coarse")
	g.Workers.CPU = -1
	assert.Equal(t, -1.0, g.Others(), "the workers did not say")
}
