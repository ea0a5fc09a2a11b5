package host

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"horde/stats"
)

// sysctls are facts by the names sysctl(8) gives them; the file is the same
// with slashes under /proc/sys. A kernel that lacks one says so in the result.
var sysctls = [...]string{
	"kernel.osrelease", "kernel.version", "kernel.random.boot_id", "kernel.tainted",
	"kernel.pid_max", "kernel.threads-max", "kernel.numa_balancing", "kernel.sched_autogroup_enabled",
	"kernel.sched_rt_runtime_us", "kernel.nmi_watchdog", "kernel.timer_migration",
	"fs.file-max", "fs.nr_open", "fs.pipe-user-pages-soft", "fs.epoll.max_user_watches",
	"vm.overcommit_memory", "vm.overcommit_ratio",

	"net.core.somaxconn", "net.core.netdev_max_backlog", "net.core.netdev_budget", "net.core.netdev_budget_usecs",
	"net.core.dev_weight", "net.core.busy_poll", "net.core.busy_read", "net.core.default_qdisc",
	"net.core.rps_sock_flow_entries", "net.core.rps_default_mask", "net.core.bpf_jit_enable",
	"net.core.rmem_default", "net.core.rmem_max", "net.core.wmem_default", "net.core.wmem_max",

	"net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_abort_on_overflow", "net.ipv4.tcp_autocorking", "net.ipv4.tcp_congestion_control",
	"net.ipv4.tcp_ecn", "net.ipv4.tcp_ehash_entries", "net.ipv4.tcp_fastopen", "net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_low_latency", "net.ipv4.tcp_max_orphans",
	"net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_max_tw_buckets", "net.ipv4.tcp_mem",
	"net.ipv4.tcp_moderate_rcvbuf", "net.ipv4.tcp_no_metrics_save", "net.ipv4.tcp_notsent_lowat",
	"net.ipv4.tcp_orphan_retries", "net.ipv4.tcp_retries2", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
	"net.ipv4.tcp_rto_max_ms", "net.ipv4.tcp_rto_min_us", "net.ipv4.tcp_sack", "net.ipv4.tcp_slow_start_after_idle",
	"net.ipv4.tcp_syn_linear_timeouts", "net.ipv4.tcp_syn_retries", "net.ipv4.tcp_synack_retries",
	"net.ipv4.tcp_syncookies", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_tw_recycle", "net.ipv4.tcp_tw_reuse",
	"net.ipv4.tcp_tw_reuse_delay", "net.ipv4.tcp_window_scaling",

	"net.netfilter.nf_conntrack_max", "net.netfilter.nf_conntrack_buckets",
	"net.netfilter.nf_conntrack_tcp_timeout_established", "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
}

// files are facts that are a file of their own. Where a kernel has moved one,
// the places stand in the order of the kernels, the oldest first.
var files = map[string][]string{
	"cmdline":                         {"proc/cmdline"},
	"clocksource/current_clocksource": {"sys/devices/system/clocksource/clocksource0/current_clocksource"},
	"clocksource/available_clocksource": {
		"sys/devices/system/clocksource/clocksource0/available_clocksource"},
	"cpu/online":                   {"sys/devices/system/cpu/online"},
	"cpu/isolated":                 {"sys/devices/system/cpu/isolated"},
	"cpu/nohz_full":                {"sys/devices/system/cpu/nohz_full"},
	"smt/active":                   {"sys/devices/system/cpu/smt/active"},
	"node/online":                  {"sys/devices/system/node/online"},
	"cpufreq/boost":                {"sys/devices/system/cpu/cpufreq/boost"},
	"intel_pstate/no_turbo":        {"sys/devices/system/cpu/intel_pstate/no_turbo"},
	"cpuidle/current_driver":       {"sys/devices/system/cpu/cpuidle/current_driver"},
	"cpuidle/current_governor":     {"sys/devices/system/cpu/cpuidle/current_governor_ro", "sys/devices/system/cpu/cpuidle/current_governor"},
	"transparent_hugepage/enabled": {"sys/kernel/mm/transparent_hugepage/enabled", "sys/kernel/mm/redhat_transparent_hugepage/enabled"},
	"ksm/run":                      {"sys/kernel/mm/ksm/run"},
	"security/lsm":                 {"sys/kernel/security/lsm"},
	"hypervisor/type":              {"sys/hypervisor/type"},
	"dmi/sys_vendor":               {"sys/class/dmi/id/sys_vendor"},
	"dmi/product_name":             {"sys/class/dmi/id/product_name"},
	"irq/default_smp_affinity":     {"proc/irq/default_smp_affinity"},
	"ip_tables_names":              {"proc/net/ip_tables_names"},
	"sched/latency_ns":             {"proc/sys/kernel/sched_latency_ns", "sys/kernel/debug/sched/latency_ns"},
	"sched/min_granularity_ns":     {"proc/sys/kernel/sched_min_granularity_ns", "sys/kernel/debug/sched/min_granularity_ns"},
	"sched/wakeup_granularity_ns":  {"proc/sys/kernel/sched_wakeup_granularity_ns", "sys/kernel/debug/sched/wakeup_granularity_ns"},
	"sched/migration_cost_ns":      {"proc/sys/kernel/sched_migration_cost_ns", "proc/sys/kernel/sched_migration_cost", "sys/kernel/debug/sched/migration_cost_ns"},
	"sched/base_slice_ns":          {"sys/kernel/debug/sched/base_slice_ns"},
	"sched/features":               {"sys/kernel/debug/sched_features", "sys/kernel/debug/sched/features"},
	"sched/preempt":                {"sys/kernel/debug/sched/preempt"},
	"sched_ext/state":              {"sys/kernel/sched_ext/state"},
	"ip_conntrack_max":             {"proc/sys/net/ipv4/netfilter/ip_conntrack_max", "proc/sys/net/ipv4/ip_conntrack_max"},
	"nf_conntrack/parameters/hashsize": {
		"sys/module/nf_conntrack/parameters/hashsize"},
}

// fields are facts that are one line of a file.
var fields = map[string]struct{ file, name string }{
	"cpuinfo/model name":       {"proc/cpuinfo", "model name"},
	"cpuinfo/microcode":        {"proc/cpuinfo", "microcode"},
	"cpuinfo/stepping":         {"proc/cpuinfo", "stepping"},
	"cpuinfo/CPU part":         {"proc/cpuinfo", "CPU part"}, // arm64, which has no model name
	"meminfo/MemTotal":         {"proc/meminfo", "MemTotal"},
	"limits/Max open files":    {"proc/self/limits", "Max open files"},
	"limits/Max processes":     {"proc/self/limits", "Max processes"},
	"status/Cpus_allowed_list": {"proc/self/status", "Cpus_allowed_list"},
	"status/Mems_allowed_list": {"proc/self/status", "Mems_allowed_list"},
	"status/Seccomp":           {"proc/self/status", "Seccomp"},
	"sched/slice":              {"proc/self/sched", "se.slice"},
	"os-release/PRETTY_NAME":   {"etc/os-release", "PRETTY_NAME"},
}

// facts are all settings and traits of a host.
func (t Tree) facts() map[string]stats.Fact {
	facts := make(map[string]stats.Fact, 256)
	for _, name := range sysctls {
		facts[name] = t.Read("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	}
	for name, places := range files {
		facts[name] = t.first(places...)
	}
	for name, f := range fields {
		facts[name] = t.Field(f.file, f.name)
	}
	facts["machine-id/sha256"] = t.machine()
	facts["cpuinfo/hypervisor"] = t.hypervisor()
	facts["nice"], facts["policy"] = t.scheduling()
	maps.Copy(facts, t.vulnerabilities())
	maps.Copy(facts, t.perCPU())
	maps.Copy(facts, t.limitsOfGroups())
	maps.Copy(facts, t.interfaces())
	maps.Copy(facts, t.build(facts["kernel.osrelease"].Value))
	maps.Copy(facts, t.asked())
	return facts
}

// machine identifies the installation without telling its id (machine-id(5)).
func (t Tree) machine() stats.Fact {
	id := t.first("etc/machine-id", "var/lib/dbus/machine-id")
	if !id.Known() {
		return id
	}
	sum := sha256.Sum256([]byte("horde " + id.Value))
	return stats.Have(hex.EncodeToString(sum[:8]))
}

// hypervisor says whether the CPU knows that it is a virtual one.
func (t Tree) hypervisor() stats.Fact {
	flags := t.Field("proc/cpuinfo", "flags")
	if !flags.Known() {
		return flags
	}
	if slices.Contains(strings.Fields(flags.Value), "hypervisor") {
		return stats.Have("yes")
	}
	return stats.Have("no")
}

// policies are the numbers of sched(7).
var policies = map[string]string{
	"0": "SCHED_OTHER", "1": "SCHED_FIFO", "2": "SCHED_RR", "3": "SCHED_BATCH", "5": "SCHED_IDLE", "6": "SCHED_DEADLINE", "7": "SCHED_EXT",
}

// scheduling is what the workers inherit: fields 19 and 41 of proc_pid_stat(5),
// counted behind the name, which may hold anything.
func (t Tree) scheduling() (nice, policy stats.Fact) {
	stat := t.Read("proc/self/stat")
	if !stat.Known() {
		return stat, stat
	}
	_, rest, _ := cutLast(stat.Value, ")")
	f := strings.Fields(rest)
	if len(f) < 39 {
		short := stats.Lack("/proc/self/stat has only a few fields")
		return short, short
	}
	name, found := policies[f[38]]
	if !found {
		name = f[38]
	}
	return stats.Have(f[16]), stats.Have(name)
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// vulnerabilities are the CPU's, and what is done about each.
func (t Tree) vulnerabilities() map[string]stats.Fact {
	const dir = "sys/devices/system/cpu/vulnerabilities"
	facts := map[string]stats.Fact{}
	for _, name := range t.names(dir) {
		facts["vulnerabilities/"+name] = t.Read(dir + "/" + name)
	}
	return facts
}

// perCPU are facts that each CPU has one of.
func (t Tree) perCPU() map[string]stats.Fact {
	const dir = "sys/devices/system/cpu"
	cpus := t.numbered(dir, "cpu")
	facts := map[string]stats.Fact{}
	for _, name := range [...]string{
		"cpufreq/scaling_driver", "cpufreq/scaling_governor", "cpufreq/energy_performance_preference",
	} {
		var who []string
		var values []stats.Fact
		for _, cpu := range cpus {
			value := t.Read(filepath.Join(dir, cpu, name))
			if !value.Known() && len(values) == 0 { // none has it, or a few lag behind
				continue
			}
			who, values = append(who, strings.TrimPrefix(cpu, "cpu")), append(values, value)
		}
		facts[name] = spread(who, values)
	}
	return facts
}
