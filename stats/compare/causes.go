package compare

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"horde/stats"
)

// Cause is a fact of the host that differs between the sides.
type Cause struct {
	Fact          string
	Before, After string // in the kernel's words; "unknown" where it has none
	Why           string // what it is known for, "" = nothing
}

// effects are facts that are known to move the numbers of a load test, the
// strongest first. A pattern is one of path.Match.
var effects = []struct{ pattern, why string }{
	{"machine-id/sha256", "another machine"},
	{"cpuinfo/model name", "another processor"},
	{"cpu/online", "more or fewer processors"},
	{"status/Cpus_allowed_list", "more or fewer processors allowed"},
	{"cgroup/cpu*", "a quota of processor time throttles"},
	{derivedThrottled, "the control group's quota of processor time was used up"},
	{derivedSteal, "other guests of the machine took processor time"},
	{derivedConntrack, "each packet of a tracked connection costs a look-up, each connection an entry"},
	{"net.netfilter.nf_conntrack_*", "a full or crowded table of tracked connections drops or slows new ones"},
	{"ip_tables_names", "each packet passes the tables that are loaded"},
	{"ip_conntrack_max", "a full table of tracked connections drops new ones"},
	{"vulnerabilities/*", "mitigations make each system call and interrupt dearer"},
	{"cmdline", "boot parameters switch mitigations, isolation, clocks"},
	{"cpuinfo/microcode", "microcode brings mitigations of its own"},
	{"cpufreq/*", "the processor's speed follows its governor"},
	{"intel_pstate/no_turbo", "turbo speed"},
	{"cpuidle/*", "waking from idle takes time"},
	{derivedNetRX, "one processor's share of the network's work bounds them all"},
	{"net/*/rps_*", "says which processors do the work of receiving"},
	{"net/*/*_affinity_list", "says which processors take the interrupts"},
	{"net/*/[rt]x_queues", "fewer queues, fewer processors"},
	{"net/*/driver", "another network card"},
	{"net/*/speed", "another link"},
	{"net.core.rps_*", "says which processors do the work of receiving"},
	{"kernel.osrelease", "from kernel to kernel connections a second have changed several fold"},
	{"policy", "SCHED_BATCH does not preempt on waking: fewer switches, longer waits"},
	{"nice", "share of the processor against the others"},
	{"sched/*", "how long a process runs before another may take its place"},
	{"sched_ext/*", "another scheduler"},
	{"kernel.sched_*", "who gets the processor"},
	{"limits/Max open files", "connections beyond it fail, here or in a server started alike"},
	{"limits/*", "processes beyond it do not start"},
	{"kernel.pid_max", "threads beyond it do not start"},
	{"net.ipv4.ip_local_*", "few free ports make connect slow, none make it fail"},
	{"net.ipv4.tcp_tw_*", "whether ports in TIME_WAIT can be used again"},
	{"net.ipv4.tcp_max_tw_buckets", "connections in TIME_WAIT beyond it are dropped early"},
	{"net.core.somaxconn", "longest queue of connections to accept"},
	{"net.ipv4.tcp_max_syn_backlog", "longest queue of half-open connections"},
	{"net.ipv4.tcp_syncookies", "what happens when that queue is full"},
	{"net.ipv4.tcp_abort_on_overflow", "whether a full accept queue resets or drops"},
	{"net.core.netdev_*", "how much is received at a time, and queued"},
	{"clocksource/current_clocksource", "a slow clock makes each time stamp a system call"},
	{"net.ipv4.tcp_congestion_control", "how fast a connection sends"},
	{"net.core.default_qdisc", "how packets queue to be sent"},
	{"transparent_hugepage/enabled", "cost of memory"},
	{"net/*/mtu", "packets for each answer"},
}

// unrelated are facts that differ without meaning anything.
var unrelated = []string{"kernel.random.boot_id", "clocksource/available_clocksource"}

const unknownFact = "unknown"

// causes are the facts that differ between the sides, those of the strongest
// known effect first, and why a change cannot be put down to one end.
func causes(before, after []Run) ([]Cause, string) {
	b, a := factsOf(before), factsOf(after)
	if b == nil || a == nil {
		return nil, ""
	}
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, has := a[name]; !has {
			names = append(names, name)
		}
	}
	var out []Cause
	for _, name := range names {
		was, is := cmp.Or(b[name], unknownFact), cmp.Or(a[name], unknownFact)
		if was != is && !slices.Contains(unrelated, name) {
			_, why := effectOf(name)
			out = append(out, Cause{name, was, is, why})
		}
	}
	slices.SortStableFunc(out, func(x, y Cause) int {
		i, _ := effectOf(x.Fact)
		j, _ := effectOf(y.Fact)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(x.Fact, y.Fact))
	})
	return out, attribution(out, slices.Concat(before, after))
}

func effectOf(fact string) (rank int, why string) {
	for i, e := range effects {
		if match, _ := path.Match(e.pattern, fact); match {
			return i, e.why
		}
	}
	return len(effects), ""
}

// factsOf are the facts of a side, the derived ones among them; nil if a run
// has none. Where the runs do not agree, all values stand.
func factsOf(runs []Run) map[string]string {
	values := map[string][]string{}
	for i := range runs {
		if runs[i].Host.Begin == nil {
			return nil
		}
		for name, f := range runs[i].Host.Begin.Facts {
			if f.Known() {
				values[name] = append(values[name], f.Value)
			}
		}
	}
	facts := derived(runs)
	for name, all := range values {
		slices.Sort(all)
		facts[name] = cmp.Or(strings.Join(slices.Compact(all), " or "), "none")
	}
	return facts
}

// attribution refuses to blame one end where both may have changed.
func attribution(causes []Cause, runs []Run) string {
	kernel := slices.IndexFunc(causes, func(c Cause) bool { return c.Fact == "kernel.osrelease" })
	if kernel < 0 {
		return ""
	}
	k := causes[kernel]
	if n := count(runs, func(r *Run) bool { return r.OnLoopback }); n == len(runs) {
		return fmt.Sprintf("generator and target are on this host, and the kernel changed under both (%s to %s): a change cannot be put down to either", k.Before, k.After)
	}
	return fmt.Sprintf("the generator's own kernel changed (%s to %s): a change may be this end's, and if the target's kernel changed too it cannot be put down to either; keep one end as it was", k.Before, k.After)
}

// Facts derived from what the kernel counted during the runs.
const (
	derivedConntrack = "connections tracked by nf_conntrack"
	derivedNetRX     = "share of NET_RX on the busiest CPU"
	derivedThrottled = "throttled by the CPU quota"
	derivedSteal     = "processor time stolen"
)

// derived facts are coarse on purpose: only a difference that means something
// may differ.
func derived(runs []Run) map[string]string {
	facts := map[string]string{}
	majority := func(name string, is func(*stats.Host, *Run) (bool, bool), yes, no string) {
		known, n := 0, 0
		for i := range runs {
			if value, ok := is(&runs[i].Host, &runs[i]); ok {
				known++
				if value {
					n++
				}
			}
		}
		switch {
		case known < len(runs):
		case 2*n > known:
			facts[name] = yes
		default:
			facts[name] = no
		}
	}
	majority(derivedConntrack, tracked, "yes", "no")
	majority(derivedNetRX, oneSided, "above 80 %", "up to 80 %")
	majority(derivedThrottled, throttled, "yes", "no")
	majority(derivedSteal, stolen, "above 1 %", "up to 1 %")
	return facts
}

// tracked reports whether the connections of a run are in the kernel's table of
// tracked ones: it holds many and took some. That the module is there says
// nothing. The growth may be small, as each port is reused with its old entry.
func tracked(h *stats.Host, r *Run) (yes, known bool) {
	if h.End == nil || r.Opened == 0 {
		return false, false
	}
	n, known := h.End.Counters.Get("nf_conntrack", "all", "count")
	grown, _ := h.Grown("nf_conntrack", "all", "count") // 0 where it fell
	return grown > 0 && 10*n >= min(r.Opened, uint64(10*r.Clients)), known
}

// oneSided reports whether one CPU did more than 80 % of the receiving.
func oneSided(h *stats.Host, _ *Run) (yes, known bool) {
	if h.End == nil || len(h.End.Counters["softirqs"]["NET_RX"]) < 2 {
		return false, false
	}
	var most, sum uint64
	for cpu := range h.End.Counters["softirqs"]["NET_RX"] {
		if n, ok := h.Grown("softirqs", "NET_RX", cpu); ok {
			most, sum = max(most, n), sum+n
		}
	}
	return 10*most > 8*sum, sum > 0
}

func throttled(h *stats.Host, _ *Run) (yes, known bool) {
	n, known := h.GrownSum("cpu.stat", "nr_throttled")
	return n > 0, known
}

// stolen reports whether more than 1 % of the processors' time went to others:
// column 8 of proc_stat(5).
func stolen(h *stats.Host, _ *Run) (yes, known bool) {
	steal, known := h.Grown("stat", "cpu", "steal")
	var all uint64
	for _, column := range []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"} {
		n, ok := h.Grown("stat", "cpu", column)
		all, known = all+n, known && ok
	}
	return 100*steal > all, known
}
