package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"horde/stats"
	"horde/stats/units"
)

// cpus checks who gets a CPU, how fast it is, and what the time is.
func (p *patient) cpus() []Check {
	checks := []Check{
		p.governor(), p.turbo(), p.throttled(), p.smt(), p.isolated(), p.cstates(),
		p.autogroup(), p.numa(), p.quota(), p.allowed(), p.steal(), p.load(), p.pressure(), p.clocksource(), p.timeSync(),
		p.note("transparent_hugepage", "transparent_hugepage/enabled", Both, "large pages: fewer misses, more work to make them"),
		p.note("energy_performance_preference", "cpufreq/energy_performance_preference", Both, "what the CPU prefers where it chooses its clock itself"),
		p.note("nohz_full", "cpu/nohz_full", Both, "CPUs without a tick while one process runs on them"),
		p.note("ksm", "ksm/run", Both, "1 lets the kernel look for equal pages, which takes CPU"),
	}
	for _, name := range [...]string{"latency_ns", "min_granularity_ns", "wakeup_granularity_ns", "base_slice_ns"} {
		checks = append(checks, p.scheduler(name))
	}
	return checks
}

// scheduler is a knob that moved: /proc/sys/kernel until 5.12, debugfs until 6.5,
// and gone but for base_slice_ns since. One that is not there was not left at a
// good value: nobody knows.
func (p *patient) scheduler(name string) Check {
	c := p.note("sched_"+name, "sched/"+name, Both, "how long a process runs before another may take its CPU")
	if c.Level == Unknown && !p.tree.Read("sys/kernel/debug/sched/features").Known() {
		c.Why = "not under /proc/sys/kernel, and debugfs is not mounted, or only for root"
	}
	return c
}

func (p *patient) governor() Check {
	f := p.state.Fact("cpufreq/scaling_governor")
	c := Check{ID: "governor", Side: Both, Limit: "performance", Why: "other governors change the clock of the CPUs with the load, and so the numbers", Fix: "cpupower frequency-set -g performance"}
	if !f.Known() {
		c = c.unknown(f)
		c.Why += ": a virtual machine usually has no say in it"
		return c
	}
	return c.unless(f.Value == "performance", Warn, f.Value)
}

func (p *patient) turbo() Check {
	c := Check{ID: "boost", Side: Both, Why: "a clock above the nominal one depends on heat and neighbours"}
	if f := p.state.Fact("intel_pstate/no_turbo"); f.Known() {
		return c.as(Note, "no_turbo "+f.Value)
	}
	f := p.state.Fact("cpufreq/boost")
	if !f.Known() {
		return c.unknown(f)
	}
	return c.as(Note, "boost "+f.Value)
}

func (p *patient) throttled() Check {
	c := Check{ID: "thermal_throttle", Side: Both, Limit: "0", Why: "CPUs that were slowed down because they were hot, since this host started", Fix: "cooling, or a lower clock"}
	n, known := p.sinceStart("thermal_throttle", "core_throttle_count")
	if !known {
		return c.unknown(stats.Lack("the CPUs do not count it"))
	}
	return c.unless(n == 0, Warn, units.Count(n))
}

func (p *patient) smt() Check {
	c := p.note("smt", "smt/active", Both, "1: two of the CPUs share one core, and each is slower when both work")
	if c.Level == Note && c.Value == "1" && p.plan.Local {
		c.Level, c.Limit, c.Fix = Warn, "0 for a target on this host", "bind server and workers to different cores: --pin, taskset (lscpu -e shows which share one)"
	}
	return c
}

// isolated CPUs are left out by the scheduler: unbound workers that may use
// them all stay where they began.
func (p *patient) isolated() Check {
	f := p.state.Fact("cpu/isolated")
	c := Check{ID: "isolated", Side: Client, Limit: "not among the CPUs of workers that are not bound", Why: "the scheduler balances no load onto or off isolated CPUs", Fix: "--pin with the isolated CPUs, or taskset without them"}
	if !f.Known() {
		return c.unknown(f)
	}
	allowed := list(p.state.Fact("status/Cpus_allowed_list").Value)
	among := slices.ContainsFunc(list(f.Value), func(cpu int) bool { return slices.Contains(allowed, cpu) })
	value := f.Value
	if value == "" {
		value = "none"
	}
	return c.unless(p.plan.Pinned || !among, Warn, value)
}

// cstates: at a low rate the median is the time a CPU takes to wake up.
func (p *patient) cstates() Check {
	const dir = "sys/devices/system/cpu/cpu0/cpuidle"
	c := Check{ID: "cpuidle", Side: Both, Why: "how long the deepest sleep of a CPU takes to end, in microseconds", Fix: "cpupower idle-set -D 10, or hold /dev/cpu_dma_latency"}
	deepest, found := 0, false
	for i := range 16 {
		state := fmt.Sprintf("%s/state%d/", dir, i)
		if n, ok := number(p.tree.Read(state + "latency")); ok && p.tree.Read(state+"disable").Value != "1" {
			deepest, found = max(deepest, n), true
		}
	}
	if !found {
		return c.unknown(stats.Lack("the CPUs do not say how they sleep"))
	}
	value := p.state.Fact("cpuidle/current_driver").Value + " " + strconv.Itoa(deepest) + " us"
	if p.plan.Rate > 0 && p.plan.Rate < 1000 && deepest > 100 {
		c.Limit = "at most 100 us for a run at a low rate"
		return c.as(Warn, value)
	}
	c.Fix = ""
	return c.as(Note, value)
}

func (p *patient) autogroup() Check {
	f := p.state.Fact("kernel.sched_autogroup_enabled")
	c := Check{ID: "sched_autogroup_enabled", Side: Both, Why: "1 gives each session the same share of the CPUs, whatever runs in it", Fix: "sysctl -w kernel.sched_autogroup_enabled=0"}
	if !f.Known() {
		return c.unknown(f)
	}
	if p.plan.Local && f.Value != "0" {
		c.Limit, c.Why = "0 for a target on this host", c.Why+": server and clients get half each, however many processes they are"
		return c.as(Warn, f.Value)
	}
	c.Fix = ""
	return c.as(Note, f.Value)
}

func (p *patient) numa() Check {
	f := p.state.Fact("node/online")
	c := Check{ID: "numa_balancing", Side: Both, Limit: "one node, or workers and server on one", Why: "memory of another node is slower, and moving it costs time", Fix: "sysctl -w kernel.numa_balancing=0, and --pin CPUs of one node"}
	if !f.Known() {
		return c.unknown(f)
	}
	nodes, balancing := len(list(f.Value)), p.state.Fact("kernel.numa_balancing")
	value := count(nodes, "node", "nodes")
	if balancing.Known() {
		value += ", numa_balancing " + balancing.Value
	}
	return c.unless(nodes <= 1, Warn, value)
}

// quota of the control groups: version 2 "max 100000" or "50000 100000", version
// 1 -1 or microseconds of each period; from this process's group upwards.
func (p *patient) quota() Check {
	c := Check{ID: "cpu.max", Side: Both, Why: "a quota stops all processes of the group for the rest of each period, which shows as stalls", Fix: "CPUQuota= of the unit, cpu.max or cpu.cfs_quota_us of the control group"}
	v2, v1 := p.state.Fact("cgroup/cpu.max"), p.state.Fact("cgroup/cpu.cfs_quota_us")
	if !v2.Known() && !v1.Known() {
		return c.unknown(v2)
	}
	cpus := p.allowedCPUs()
	quota := min(quotas(v2.Value, ""), quotas(v1.Value, p.state.Fact("cgroup/cpu.cfs_period_us").Value))
	stopped, _ := p.sinceStart("cpu.stat", "nr_throttled")
	if quota > float64(mostCPUs) {
		return c.fine("none")
	}
	c.Limit = fmt.Sprintf("at least the %d CPUs allowed", cpus)
	value := fmt.Sprintf("%.2f CPUs, stopped %s times so far", quota, units.Count(stopped))
	return c.unless(quota >= float64(cpus) && stopped == 0, Warn, value)
}

const mostCPUs = 1 << 20

// quotas is the least number of CPUs that a list of quotas leaves.
func quotas(text, period string) float64 {
	least := float64(mostCPUs * 2)
	for level := range strings.SplitSeq(text, " < ") {
		fields := strings.Fields(level + " " + period)
		if len(fields) < 2 {
			continue
		}
		quota, err1 := strconv.ParseFloat(fields[0], 64)
		each, err2 := strconv.ParseFloat(fields[1], 64)
		if err1 == nil && err2 == nil && quota > 0 && each > 0 {
			least = min(least, quota/each)
		}
	}
	return least
}

func (p *patient) allowedCPUs() int { return len(list(p.state.Fact("status/Cpus_allowed_list").Value)) }

// mostProcesses is from when on switching between processes is much of the work.
const mostProcesses = 1000

func (p *patient) allowed() Check {
	f := p.state.Fact("status/Cpus_allowed_list")
	c := Check{ID: "cpus_allowed", Side: Client, Why: "the CPUs that workers may use", Fix: "-w auto"}
	if !f.Known() {
		return c.unknown(f)
	}
	cpus := p.allowedCPUs()
	value := fmt.Sprintf("%s (%s)", f.Value, count(cpus, "CPU", "CPUs"))
	switch {
	case p.plan.PerClient && p.plan.Workers > mostProcesses:
		c.Limit = fmt.Sprintf("%s processes; above %d switching between them is much of the work", units.Count(uint64(p.plan.Workers)), mostProcesses)
		return c.as(Warn, value)
	case !p.plan.PerClient && p.plan.Workers > cpus:
		c.Limit = fmt.Sprintf("%s share them", count(p.plan.Workers, "worker", "workers"))
		return c.as(Warn, value)
	}
	return c.fine(value)
}

func (p *patient) steal() Check {
	c := Check{ID: "steal", Side: Both, Limit: "at most 1 % since this host started", Why: "CPU time that the hypervisor gave to other machines", Fix: "CPUs of its own for this machine, or another hour"}
	var all uint64
	for _, column := range [...]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"} {
		n, _ := p.state.Counters.Get("stat", "cpu", column)
		all += n
	}
	steal, known := p.state.Counters.Get("stat", "cpu", "steal")
	if !known || all == 0 {
		return c.unknown(stats.Lack("/proc/stat does not say"))
	}
	share := float64(steal) / float64(all)
	level := Warn
	if share > 0.1 {
		level = Fail
	}
	return c.unless(share <= 0.01, level, units.Percent(share))
}

// load is who else wants a CPU now, this process not counted (proc_loadavg(5)).
func (p *patient) load() Check {
	f := p.tree.Read("proc/loadavg")
	c := Check{ID: "loadavg", Side: Both, Why: "processes that run or wait for a CPU right now, before this run adds its own", Fix: "wait until the host is idle; top(1) says who is not"}
	fields := strings.Fields(f.Value)
	if len(fields) < 4 {
		return c.unknown(notANumber(f))
	}
	running, _, _ := strings.Cut(fields[3], "/")
	n, err := strconv.Atoi(running)
	if err != nil {
		return c.unknown(notANumber(f))
	}
	n = max(0, n-1)
	c.Limit = fmt.Sprintf("at most half of the %s", count(max(1, p.allowedCPUs()), "CPU", "CPUs"))
	return c.unless(2*n <= max(1, p.allowedCPUs()), Warn, fmt.Sprintf("%d running, load %s", n, fields[0]))
}

// pressure is the share of the last 10 s in which something waited for a CPU.
func (p *patient) pressure() Check {
	c := Check{ID: "pressure", Side: Both, Limit: "at most 5 % of the last 10 s", Why: "the time that something had to wait for a CPU (/proc/pressure/cpu)", Fix: "wait until the host is idle"}
	f := p.tree.Read("proc/pressure/cpu")
	_, rest, found := strings.Cut(f.Value, "avg10=")
	text, _, _ := strings.Cut(rest, " ")
	percent, err := strconv.ParseFloat(text, 64)
	if !found || err != nil {
		return c.unknown(notANumber(f))
	}
	return c.unless(percent <= 5, Warn, units.Percent(percent/100))
}

// quickClocks are those a process reads without a system call (vdso(7)).
var quickClocks = []string{"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen", "timebase", "riscv_clocksource", "tod"}

func (p *patient) clocksource() Check {
	f := p.state.Fact("clocksource/current_clocksource")
	c := Check{ID: "clocksource", Side: Both, Limit: "one that is read without a system call", Why: "every time stamp becomes a slow system call",
		Fix: "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if it is available"}
	if !f.Known() {
		return c.unknown(f)
	}
	return c.unless(slices.Contains(quickClocks, f.Value), Warn, f.Value)
}

// timeSync matters for what several hosts wrote down, not for any latency.
func (p *patient) timeSync() Check {
	return p.note("adjtimex", "adjtimex", Both, "whether the wall clock is right: it dates results, and measures nothing")
}
