package host

import (
	"path/filepath"
	"strconv"
	"strings"

	"horde/stats"
)

// table is one source of counters: rows of columns.
type table map[string]map[string]uint64

// set keeps one number as the kernel wrote it. What is none, or negative (some
// files write -1 for "no limit"), is no counter.
func (t table) set(row, column, number string, base int) {
	n, err := strconv.ParseUint(number, base, 64)
	if err != nil {
		return
	}
	if t[row] == nil {
		t[row] = map[string]uint64{}
	}
	t[row][column] = n
}

// sources are the counters of a host. Times are in the unit of their source:
// stat counts ticks of 10 ms (proc_stat(5)), schedstat nanoseconds, pressure
// microseconds. Those of the network are of this network namespace.
var sources = map[string]struct {
	file string
	read func(text string) table
}{
	"snmp":         {"proc/net/snmp", pairs},
	"netstat":      {"proc/net/netstat", pairs},
	"sockstat":     {"proc/net/sockstat", namedValues},
	"softnet_stat": {"proc/net/softnet_stat", softnet},
	"dev":          {"proc/net/dev", devices},
	"softirqs":     {"proc/softirqs", perCPUMatrix},
	"interrupts":   {"proc/interrupts", interrupts},
	"stat":         {"proc/stat", stat},
	"schedstat":    {"proc/schedstat", schedstat},
	"vmstat":       {"proc/vmstat", vmstat},
	"nf_conntrack": {"proc/net/stat/nf_conntrack", conntrack},
	"pressure":     {"proc/pressure/cpu", pressure},
}

// counters reads all sources. One that cannot be read is nil.
func (t Tree) counters() stats.Counters {
	c := stats.Counters{}
	for name := range sources {
		c[name] = t.source(name)
	}
	t.countConnections(c)
	c["cpu.stat"] = t.throttling()
	c["thermal_throttle"] = t.thermal()
	return c
}

// source reads one of them, nil if it cannot be read.
func (t Tree) source(name string) table {
	s := sources[name]
	text := t.Read(s.file)
	if !text.Known() {
		return nil
	}
	return s.read(text.Value)
}

// countConnections adds how many connections are tracked right now, under the
// name this kernel has for it.
func (t Tree) countConnections(c stats.Counters) {
	n := t.first("proc/sys/net/netfilter/nf_conntrack_count", "proc/sys/net/ipv4/netfilter/ip_conntrack_count")
	if !n.Known() {
		return
	}
	if c["nf_conntrack"] == nil {
		c["nf_conntrack"] = table{}
	}
	table(c["nf_conntrack"]).set("all", "count", n.Value, 10)
}

// pairs reads lines of names, each followed by one of numbers: "Tcp: ActiveOpens
// …" and "Tcp: 5 …" (the kernel's Documentation/networking/snmp_counter.rst).
func pairs(text string) table {
	t := table{}
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case names == nil || names[0] != f[0]:
			names = f
		default:
			for i := 1; i < min(len(f), len(names)); i++ {
				t.set(strings.TrimSuffix(f[0], ":"), names[i], f[i], 10)
			}
			names = nil
		}
	}
	return t
}

// namedValues reads "TCP: inuse 204 orphan 0 tw 344".
func namedValues(text string) table {
	t := table{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		for i := 1; i+1 < len(f); i += 2 {
			t.set(strings.TrimSuffix(f[0], ":"), f[i], f[i+1], 10)
		}
	}
	return t
}

// softnetColumns are the columns of softnet_stat, which has no heading; older
// kernels have fewer. The CPU stands in a column of its own since 5.10.
var softnetColumns = map[int]string{
	0: "processed", 1: "dropped", 2: "time_squeeze", 8: "cpu_collision", 9: "received_rps", 10: "flow_limit_count", 11: "backlog_len",
}

const softnetCPU = 12

func softnet(text string) table {
	t := table{}
	line := 0
	for row := range strings.Lines(text) {
		f := strings.Fields(row)
		cpu := strconv.Itoa(line)
		if len(f) > softnetCPU {
			if n, err := strconv.ParseUint(f[softnetCPU], 16, 32); err == nil {
				cpu = strconv.FormatUint(n, 10)
			}
		}
		for i, number := range f {
			if name, found := softnetColumns[i]; found {
				t.set("cpu"+cpu, name, number, 16)
			}
		}
		line++
	}
	return t
}

// deviceColumns are those of /proc/net/dev, which are the same since 2.2.
var deviceColumns = [...]string{
	"rx_bytes", "rx_packets", "rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_compressed", "multicast",
	"tx_bytes", "tx_packets", "tx_errs", "tx_drop", "tx_fifo", "tx_colls", "tx_carrier", "tx_compressed",
}

func devices(text string) table {
	t := table{}
	for line := range strings.Lines(text) {
		name, numbers, found := strings.Cut(line, ":")
		f := strings.Fields(numbers)
		if !found || len(f) != len(deviceColumns) { // the heading
			continue
		}
		for i, column := range deviceColumns {
			t.set(strings.TrimSpace(name), column, f[i], 10)
		}
	}
	return t
}

// perCPUMatrix reads a heading of CPUs, and rows of a name and a number for each.
func perCPUMatrix(text string) table {
	t := table{}
	heading, rest, _ := strings.Cut(text, "\n")
	cpus := strings.Fields(strings.ToLower(heading))
	for line := range strings.Lines(rest) {
		name, numbers, _ := strings.Cut(line, ":")
		f := strings.Fields(numbers)
		for i := range min(len(cpus), len(f)) {
			t.set(strings.TrimSpace(name), cpus[i], f[i], 10)
		}
	}
	return t
}

// interrupts leaves out the CPUs that had none of an interrupt: a large host has
// thousands of such pairs.
func interrupts(text string) table {
	t := perCPUMatrix(text)
	for name, row := range t {
		for cpu, n := range row {
			if n == 0 {
				delete(row, cpu)
			}
		}
		if len(row) == 0 {
			delete(t, name)
		}
	}
	return t
}

// ticks are the columns of a CPU in /proc/stat; each kernel has the first ones.
var ticks = [...]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}

func stat(text string) table {
	t := table{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case strings.HasPrefix(f[0], "cpu"):
			for i := 1; i < min(len(f), len(ticks)+1); i++ {
				t.set(f[0], ticks[i-1], f[i], 10)
			}
		case len(f) == 2:
			t.set("all", f[0], f[1], 10)
		}
	}
	return t
}

// schedstat reads the last three columns of a CPU since version 15 of the file
// (2.6.30): time running, time waiting to run, and turns (sched-stats.rst).
func schedstat(text string) table {
	t := table{}
	version := 0
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "version":
			version, _ = strconv.Atoi(f[1])
		case version >= 15 && len(f) >= 10 && strings.HasPrefix(f[0], "cpu"):
			for i, column := range [...]string{"running_ns", "waiting_ns", "timeslices"} {
				t.set(f[0], column, f[7+i], 10)
			}
		}
	}
	return t
}

// vmstat keeps what stands for a host that is short of memory.
func vmstat(text string) table {
	t := table{}
	for line := range strings.Lines(text) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "pgmajfault", "pswpin", "pswpout", "allocstall_normal", "allocstall_movable", "compact_stall", "oom_kill":
			t.set("all", name, number, 10)
		}
	}
	return t
}

// conntrack reads a heading and a row of hexadecimal numbers for each CPU.
func conntrack(text string) table {
	t := table{}
	heading, rest, _ := strings.Cut(text, "\n")
	columns := strings.Fields(heading)
	cpu := 0
	for line := range strings.Lines(rest) {
		f := strings.Fields(line)
		for i := range min(len(f), len(columns)) {
			t.set("cpu"+strconv.Itoa(cpu), columns[i], f[i], 16)
		}
		cpu++
	}
	return t
}

// pressure reads the time that something waited for a CPU: "some avg10=… total=…".
func pressure(text string) table {
	t := table{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 0 {
			if total, found := strings.CutPrefix(f[len(f)-1], "total="); found {
				t.set("cpu", f[0]+"_us", total, 10)
			}
		}
	}
	return t
}

// throttling is what the CPU quotas of the control groups did to this process:
// a row for each group, by its place.
func (t Tree) throttling() table {
	var all table
	for _, dir := range t.groups("cpu") {
		text := t.Read(filepath.Join(dir, "cpu.stat"))
		if !text.Known() {
			continue
		}
		if all == nil {
			all = table{}
		}
		for line := range strings.Lines(text.Value) {
			name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
			all.set("/"+dir, name, number, 10)
		}
	}
	return all
}

// thermal counts how often each CPU was slowed down because it was hot.
func (t Tree) thermal() table {
	const dir = "sys/devices/system/cpu"
	var all table
	for _, cpu := range t.numbered(dir, "cpu") {
		n := t.Read(filepath.Join(dir, cpu, "thermal_throttle/core_throttle_count"))
		if !n.Known() {
			continue
		}
		if all == nil {
			all = table{}
		}
		all.set(cpu, "core_throttle_count", n.Value, 10)
	}
	return all
}
