package host

import (
	"fmt"
	"path/filepath"
	"time"

	"horde/stats"
)

// Meter follows what the CPUs of this host do while a run goes on.
type Meter struct {
	tree  Tree
	cpus  []int // that this process may use
	first look
	last  look
	full  time.Duration
}

// NewMeter returns a meter of the CPUs with these numbers.
func NewMeter(cpus []int) *Meter { return &Meter{tree: "/", cpus: cpus} }

// full is the busy share of a time in which CPUs had nothing left to give: what
// is missing to 1 is less than the ticks of the kernel can tell.
const full = 0.95

// look is what the kernel had counted at one moment, of what a meter goes by.
type look struct {
	at       time.Time
	counters stats.Counters
}

func (t Tree) look() look {
	l := look{time.Now(), stats.Counters{"cpu.stat": t.throttling()}}
	for _, name := range [...]string{"stat", "schedstat", "pressure", "softnet_stat"} {
		l.counters[name] = t.source(name)
	}
	return l
}

// Look takes note of what the host has counted up to now. The first look begins
// what is measured and the last one ends it; those between tell, about once a
// second, for how long the CPUs were full.
func (m *Meter) Look() { m.take(m.tree.look()) }

func (m *Meter) take(now look) {
	if m.first.counters == nil {
		m.first, m.last = now, now
		return
	}
	if m.between(m.last, now).Busy >= full {
		m.full += now.at.Sub(m.last.at)
	}
	m.last = now
}

// Generator returns what was measured, nil if the host was not looked at twice.
func (m *Meter) Generator() *stats.Generator {
	if !m.last.at.After(m.first.at) {
		return nil
	}
	g := m.between(m.first, m.last)
	g.CPUs, g.Quota, g.Full = len(m.cpus), m.tree.quota(), m.full
	if g.Busy < 0 {
		g.Full = -1
	}
	return &g
}

// between is what the host did between two looks.
func (m *Meter) between(from, to look) stats.Generator {
	h := stats.Host{Begin: &stats.HostState{Counters: from.counters}, End: &stats.HostState{Counters: to.counters}}
	g := stats.Generator{Span: to.at.Sub(from.at), Pressure: -1, Throttled: -1}
	m.shares(&h, &g)
	if us, known := h.Grown("pressure", "cpu", "some_us"); known {
		g.Pressure = min(float64(us)/float64(g.Span.Microseconds()), 1)
	}
	if from.counters["cpu.stat"] != nil {
		us, _ := h.GrownSum("cpu.stat", "throttled_usec") // version 2, and version 1:
		ns, _ := h.GrownSum("cpu.stat", "throttled_time")
		g.Throttled = time.Duration(us)*time.Microsecond + time.Duration(ns)
	}
	g.Dropped, g.Squeezed = grown(&h, "dropped"), grown(&h, "time_squeeze")
	return g
}

func grown(h *stats.Host, column string) int64 {
	n, known := h.GrownSum("softnet_stat", column)
	if !known {
		return -1
	}
	return int64(n)
}

// shares sets those of the CPUs' time, -1 where it is not known.
func (m *Meter) shares(h *stats.Host, g *stats.Generator) {
	g.Busy, g.Busiest, g.Steal, g.IOWait, g.Softirq = -1, -1, -1, -1, -1
	var sum times
	busy, known := 0.0, 0
	for _, cpu := range m.cpus {
		row := fmt.Sprintf("cpu%d", cpu)
		t := timesOf(h, row)
		if t.all == 0 {
			continue
		}
		used := max(t.busy(), running(h, row, g.Span))
		busy, known = busy+used, known+1
		sum = times{sum.idle + t.idle, sum.iowait + t.iowait, sum.softirq + t.softirq, sum.steal + t.steal, sum.all + t.all}
		g.Busiest = max(g.Busiest, used)
		g.Softirq = max(g.Softirq, t.share(t.softirq))
	}
	if sum.all > 0 {
		g.Busy, g.Steal, g.IOWait = busy/float64(known), sum.share(sum.steal), sum.share(sum.iowait)
	}
}

// running is the share of a CPU that tasks had by the scheduler's own account,
// which knows of those that are asleep again at each tick; it knows nothing of
// interrupts, and of a task that runs only when that is over.
func running(h *stats.Host, row string, span time.Duration) float64 {
	ns, _ := h.Grown("schedstat", row, "running_ns")
	return min(float64(ns)/float64(span), 1)
}

// times is what a CPU did, in the kernel's ticks.
type times struct{ idle, iowait, softirq, steal, all uint64 }

// timesOf reads them. What the kernel has corrected downwards, as it may
// (proc_stat(5)), is nothing.
func timesOf(h *stats.Host, row string) times {
	var t times
	for _, column := range ticks[:8] { // the time of guests is in user's
		n, _ := h.Grown("stat", row, column)
		t.all += n
		switch column {
		case "idle":
			t.idle = n
		case "iowait":
			t.iowait = n
		case "softirq":
			t.softirq = n
		case "steal":
			t.steal = n
		}
	}
	return t
}

func (t times) share(part uint64) float64 { return float64(part) / float64(t.all) }

// busy is the share in which the CPU was not idle.
func (t times) busy() float64 { return max(1-t.share(t.idle+t.iowait), 0) }

// quota is how many CPUs the control groups of this process allow, 0 if they set
// no limit: each has one of its own, and the tightest holds (cgroups(7)).
func (t Tree) quota() float64 {
	tightest := 0.0
	for _, dir := range t.groups("cpu") {
		text := t.Read(filepath.Join(dir, "cpu.max")) // version 2: quota and period
		if !text.Known() {
			text = t.Read(filepath.Join(dir, "cpu.cfs_quota_us"))
			text.Value += " " + t.Read(filepath.Join(dir, "cpu.cfs_period_us")).Value
		}
		var most, period float64 // "max" is no number and -1 no limit
		if _, err := fmt.Sscan(text.Value, &most, &period); err != nil || most <= 0 || period <= 0 {
			continue
		}
		if n := most / period; tightest == 0 || n < tightest {
			tightest = n
		}
	}
	return tightest
}
