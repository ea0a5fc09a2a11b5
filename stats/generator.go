package stats

import (
	"fmt"
	"math"
	"strings"
	"time"

	"horde/stats/units"
)

// Generator is what this side did while the requests were counted: by it a run
// is judged to be limited by its own side. Shares are 0–1; what is below 0 is not
// known. It lives in the parent.
type Generator struct {
	Span       time.Duration // between the two looks at the host
	CPUs       int           // that this process may use; the shares of the host are of their time
	Busy       float64       // not idle, whoever used them
	Busiest    float64       // of the one used most
	Full       time.Duration // in which all of them were as good as busy
	Steal      float64       // kept by the hypervisor for others
	IOWait     float64
	Softirq    float64       // of the one that spent most on it: the network's half of receiving and sending
	Pressure   float64       // of the time, in which some process waited for a CPU (PSI)
	Throttled  time.Duration // in which control groups kept this process or its workers from a CPU, summed over CPUs
	Quota      float64       // CPUs that control groups allow, 0 = no limit
	Dropped    int64         // packets received and dropped, for the queue of their CPU was full
	Squeezed   int64         // times that receiving was broken off, for its time was up
	TargetHere bool          // the target has an address of this host
	ParentCPU  time.Duration // used by the parent
	Workers    WorkerLoad
	Ceiling    *Ceiling // nil: never measured for such a run
}

// Ceiling is what workers like those of a run reached against a target that does
// nothing and shares their CPUs. A target on the same host can hardly be faster;
// against one elsewhere this side can generate that much at least.
type Ceiling struct {
	PerSecond float64 // succeeded requests
	Span      time.Duration
	At        time.Time
}

// WorkerLoad is how the workers that ended well fared with their CPUs, as shares
// of the window; below 0 is not known.
type WorkerLoad struct {
	CPUs    int           // they could use at once: a worker has one thread that works
	CPU     float64       // of these CPUs, in all
	Busiest float64       // of one CPU, by the worker that used most
	Delay   float64       // of its time, that a worker was ready to run and had no CPU; the mean of all
	Lag     time.Duration // by how much one looked at the clock too late, at worst
}

// Load sums up what the workers said of themselves. cpus is how many those that
// are not bound to one may use, window the time that was measured.
func (w *Workers) Load(cpus int, window time.Duration) WorkerLoad {
	l := WorkerLoad{CPU: -1, Busiest: -1, Delay: -1}
	var cpu, delay, busiest time.Duration
	told := 0
	for i := range w.List {
		k := &w.List[i]
		if k.Lost {
			continue
		}
		told++
		cpu += k.CPUTime
		busiest = max(busiest, k.CPUTime)
		delay += k.RunDelay // -1 each, where the kernel does not say
		l.Lag = max(l.Lag, k.Lag)
	}
	if told == 0 || window <= 0 {
		return l
	}
	l.CPUs = min(told, w.bound(cpus))
	l.CPU, l.Busiest = cpu.Seconds()/window.Seconds()/float64(l.CPUs), busiest.Seconds()/window.Seconds()
	if delay >= 0 {
		l.Delay = min(delay.Seconds()/window.Seconds()/float64(told), 1) // a worker may wait for a CPU to say its last
	}
	return l
}

// bound is how many CPUs the workers are bound to, cpus if not all of them are.
func (w *Workers) bound(cpus int) int {
	numbers := map[int]bool{}
	for i := range w.List {
		if w.List[i].CPU < 0 {
			return max(cpus, 1)
		}
		numbers[w.List[i].CPU] = true
	}
	return max(len(numbers), 1)
}

// Own is the share of this host's CPUs that the workers and their parent used,
// -1 if not known.
func (g *Generator) Own() float64 {
	if g.Workers.CPU < 0 || g.CPUs == 0 {
		return -1
	}
	return (g.Workers.CPU*float64(g.Workers.CPUs) + g.ParentCPU.Seconds()/g.Span.Seconds()) / float64(g.CPUs)
}

// Others is the share that they did not use and that was used: by the target, if
// it is here too, the kernel's own work, and whoever else there is. -1 if not known.
func (g *Generator) Others() float64 {
	own := g.Own()
	if own < 0 || g.Busy < 0 {
		return -1
	}
	return max(g.Busy-g.Steal-own, 0)
}

// When a run is limited by its generator. Found by scripts/limited: of runs with
// a side that is short of CPU every one is above, and of runs against a target
// that is slow on an idle host every one is far below.
const (
	limitCPU       = 0.90 // of the workers' CPUs and time: used, or waited for
	limitDelay     = 0.20 // of a client's time: its worker, which has no other, was ready for a CPU
	limitBusiest   = 0.80 // of the busiest CPU; below it no delay is a want of CPUs
	limitFull      = 0.90 // of this host's CPUs, used by anybody
	limitOwn       = 0.20 // of CPUs that are full, used by horde: the target could have had them
	limitThrottled = 0.01 // of the window
	limitSteal     = 0.10
	limitSoftirq   = 0.90 // of one CPU
	limitCeiling   = 0.80 // of the ceiling, where CPUs are nearly at their limit too:
	nearlyCPU      = 0.80 // of the workers' CPUs and time, or of the host's CPUs
	limitLocal     = 0.001
)

// judgeGenerator says whether this side limited the run, and by what. Local
// failures have been named already.
func (v *Verdict) judgeGenerator(r *Run) {
	if r.LocalShare() > limitLocal {
		v.GeneratorLimited = new(true)
	}
	g := r.Generator
	if g == nil || r.Unreachable != "" {
		return
	}
	causes, hint := r.generatorCauses()
	if v.GeneratorLimited == nil && (len(causes) > 0 || g.Workers.CPU >= 0) {
		v.GeneratorLimited = new(len(causes) > 0)
	}
	if len(causes) > 0 {
		v.say("%s; the target may be faster than shown: throughput is a lower bound, and latencies hold the delay of this side; hint: %s",
			strings.Join(causes, "; "), hint)
	}
}

// generatorCauses names what limited this side, the cause that explains most
// first, and what helps against that one.
func (r *Run) generatorCauses() (causes []string, hint string) {
	g := r.Generator
	say := func(fix, format string, args ...any) {
		causes = append(causes, fmt.Sprintf(format, args...))
		if hint == "" {
			hint = fix
		}
	}
	if g.Throttled.Seconds() > limitThrottled*g.Span.Seconds() {
		say("raise the quota (cpu.max, cpu.cfs_quota_us), or ask for less load",
			"the quota of a control group%s kept horde from its CPUs for %s of %s",
			quotaWords(g.Quota), units.Duration(float64(g.Throttled)), units.Duration(float64(g.Span)))
	}
	if g.Steal > limitSteal {
		say("use a host that nobody else uses", "the hypervisor kept %s of the CPUs for others", Proportion(g.Steal))
	}
	if g.Softirq > limitSoftirq {
		say("spread the interrupts of the network over the CPUs (RSS, RPS)", "one CPU spent %s of its time on packets", Proportion(g.Softirq))
	}
	if text, fix := r.cpuCause(); text != "" {
		say(fix, "%s", text)
	}
	if c := g.Ceiling; c != nil && r.PerSecond(r.Tally.Succeeded) > limitCeiling*c.PerSecond && g.nearlyFull() {
		say("use more CPUs or further hosts", "%s requests/s are %s of the %s/s that this host reaches against a target that does nothing",
			units.Rate(r.PerSecond(r.Tally.Succeeded)), Proportion(r.PerSecond(r.Tally.Succeeded)/c.PerSecond), units.Rate(c.PerSecond))
	}
	return causes, hint
}

// nearlyFull reports whether CPUs are so near to their limit that a ceiling can be
// one of theirs: few clients reach theirs with CPUs that are half idle.
func (g *Generator) nearlyFull() bool {
	return g.Workers.CPU+max(g.Workers.Delay, 0) > nearlyCPU || g.Busy > nearlyCPU
}

func quotaWords(cpus float64) string {
	if cpus == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s CPUs)", plain(cpus))
}

// cpuCause says that the workers had too little CPU, and who had the rest of it;
// "" if they had enough. A worker that waits for the target sleeps: it neither
// uses a CPU nor waits for one.
func (r *Run) cpuCause() (text, hint string) {
	g, w := r.Generator, r.Generator.Workers
	use := fmt.Sprintf("the workers used %s of %s and waited %s of the time for one",
		Proportion(w.CPU), cpuWords(w.CPUs, g.CPUs), Proportion(w.Delay))
	switch {
	case w.CPU > limitCPU && w.CPUs < g.CPUs:
		return use, r.wider()
	case w.CPU > limitCPU:
		return use, "use more CPUs or further hosts" + r.cheaper()
	case !r.contended():
		return "", ""
	case g.TargetHere && g.Own() > limitOwn:
		return fmt.Sprintf("horde and the target share this host's CPUs and together fill them: %s, and all but horde used %s of the host's",
			use, Proportion(g.Others())), "run the target on another host, or keep it and horde on CPUs of their own (taskset, --pin)" + r.cheaper()
	}
	return fmt.Sprintf("horde had to share CPUs that others keep busy: %s, and all but horde used %s of this host's",
		use, Proportion(g.Others())), "stop what else runs here, or use more CPUs" + r.cheaper()
}

// contended reports whether the workers and others wanted the same CPUs at the
// same time. In a worker with many clients a delay is a loss only if it hardly
// ever sleeps; in one with a single client it is that client's loss.
func (r *Run) contended() bool {
	g, w := r.Generator, r.Generator.Workers
	alone := r.Plan.Clients <= len(r.Workers.List)
	switch {
	case g.Busiest >= 0 && g.Busiest < limitBusiest:
		return false
	case w.CPU+max(w.Delay, 0) > limitCPU:
		return true
	case alone && w.Delay > limitDelay:
		return true
	}
	return g.Busy >= limitFull && g.Own() > limitOwn
}

// wider is what lets workers use the CPUs that they left idle.
func (r *Run) wider() string {
	n := len(r.Workers.List)
	switch {
	case n > r.Generator.Workers.CPUs:
		return "use more CPUs (--pin)"
	case n < r.Plan.Clients:
		return "use more workers (-w auto)"
	}
	return "use more clients (-c)"
}

// cheaper is what makes a process per client cost less.
func (r *Run) cheaper() string {
	if len(r.Workers.List) > 4*r.Generator.Workers.CPUs {
		return "; fewer processes (-w auto) need less CPU for the same requests"
	}
	return ""
}

func cpuWords(n, all int) string {
	switch {
	case n < all:
		return fmt.Sprintf("the %d of %d CPUs they could use", n, all)
	case n == 1:
		return "their one CPU"
	}
	return fmt.Sprintf("their %d CPUs", n)
}

// Proportion writes a share as far as it can be measured: to a tenth of a per
// cent, and none where it is not known.
func Proportion(share float64) string {
	if share < 0 {
		return units.None
	}
	return units.Percent(math.Round(min(share, 1)*1000) / 1000)
}
