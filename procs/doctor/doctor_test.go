package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"horde/stats/host"
)

// unpacked are the hosts of testdata/hosts by their kernels, each in a directory.
var unpacked = map[string]host.Tree{}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hosts")
	if err != nil {
		panic(err)
	}
	archives, _ := filepath.Glob("../../testdata/hosts/*.txtar")
	for _, path := range archives {
		kernel := strings.TrimSuffix(filepath.Base(path), ".txtar")
		unpacked[kernel] = host.Tree(filepath.Join(dir, kernel))
		unpack(path, string(unpacked[kernel]))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func unpack(path, root string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		panic(err)
	}
	for _, f := range archive.Files {
		path := filepath.Join(root, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
			panic(err)
		}
	}
}

// modest is a plan that a host of any kernel carries.
func modest() Plan {
	return Plan{Clients: 100, Workers: 4, Pinned: true, Duration: 30 * time.Second, Sources: 1}
}

func with(change func(*Plan)) Plan {
	p := modest()
	change(&p)
	return p
}

func find(t *testing.T, checks []Check, id string) Check {
	t.Helper()
	for _, c := range checks {
		if c.ID == id {
			return c
		}
	}
	require.Fail(t, "no check "+id)
	return Check{}
}

const (
	sysctl = "proc/sys/"
	ipv4   = sysctl + "net/ipv4/"
	core   = sysctl + "net/core/"
	cpu    = "sys/devices/system/cpu/"
	group  = "sys/fs/cgroup/system.slice/run-u12.service/"
)

// each CPU's file of the host that the rows below begin with.
func each(name, text string) map[string]string {
	files := map[string]string{}
	for _, n := range []string{"0", "1", "2", "3"} {
		files[cpu+"cpu"+n+"/"+name] = text
	}
	return files
}

func file(name, text string) map[string]string { return map[string]string{name: text} }

// Every check is looked at on a good host (Linux 6.12 of testdata), on one with
// something bad, and with what it reads missing and unreadable: that is never fine.
func TestEachCheck(t *testing.T) {
	rate := func(perSecond float64) Plan { return with(func(p *Plan) { p.Rate = perSecond }) }
	local := with(func(p *Plan) { p.Local, p.Target = true, "http://127.0.0.1/" })
	user := "Uid:\t1000\nCpus_allowed_list:\t0-3\n"
	for _, row := range []struct {
		id   string
		good Level
		bad  map[string]string // files, of which the first by name is the one that may be missing
		want Level
		plan Plan // the zero Plan is a modest one
	}{
		{"nofile", OK, file("proc/self/limits", "Max open files  50  80  files\n"), Fail, Plan{}},
		{"file-max", OK, file(sysctl+"fs/file-max", "1300"), Warn, Plan{}},
		{"file-max", OK, file(sysctl+"fs/file-nr", "700000\t0\t794168"), Warn, Plan{}},
		{"nr_open", OK, file(sysctl+"fs/nr_open", "80"), Fail, Plan{}},
		{"pipe-user-pages-soft", OK, file(sysctl+"fs/pipe-user-pages-soft", "100"), Warn, Plan{}},
		{"overcommit_memory", OK, file(sysctl+"vm/overcommit_memory", "2"), Warn, Plan{}},
		{"pid_max", OK, file(sysctl+"kernel/pid_max", "250"), Fail, Plan{}},
		{"pid_max", OK, file(sysctl+"kernel/pid_max", "264"), Warn, Plan{}},
		{"threads-max", OK, file(sysctl+"kernel/threads-max", "250"), Fail, Plan{}},
		{"pids.max", OK, file(group+"pids.max", "30"), Fail, Plan{}},
		{"MemAvailable", OK, file("proc/meminfo", "MemAvailable: 4000 kB"), Fail, Plan{}},
		{"memory.max", OK, map[string]string{group + "memory.max": "9000000", group + "memory.current": "8000000"}, Fail, Plan{}},
		{"policy", Note, nil, Note, Plan{}},
		{"nice", Note, nil, Note, Plan{}},

		{"ip_local_port_range", OK, file(ipv4+"ip_local_port_range", "40000\t40015"), Fail, Plan{}},
		{"ip_local_port_range", OK, file(ipv4+"ip_local_port_range", "40000\t40150"), Warn, Plan{}},
		{"ip_local_port_range", OK, map[string]string{ipv4 + "ip_local_port_range": "40000\t40300", ipv4 + "ip_local_reserved_ports": "40010-40200"}, Warn, Plan{}},
		{"ip_local_port_range", OK, map[string]string{ipv4 + "ip_local_port_range": "32768\t60999", ipv4 + "tcp_tw_reuse": "0"}, Warn, rate(1000)},
		{"ip_local_port_range", Fail, nil, Fail, with(func(p *Plan) { p.Clients = 70_000 })},
		{"ip_local_port_range", OK, nil, OK, with(func(p *Plan) { p.Clients, p.Sources = 70_000, 8 })},
		{"tcp_tw_reuse", OK, file(ipv4+"tcp_tw_reuse", "2"), Warn, Plan{}},
		{"tcp_tw_reuse", OK, file(ipv4+"tcp_tw_reuse", "0"), OK, with(func(p *Plan) { p.KeepAlive = true })},
		{"tcp_tw_reuse", OK, file(ipv4+"tcp_tw_reuse", "2"), OK, local},
		{"tcp_tw_reuse", OK, map[string]string{ipv4 + "tcp_tw_reuse": "1", ipv4 + "tcp_timestamps": "0"}, Warn, Plan{}},
		{"tcp_tw_recycle", Unknown, file(ipv4+"tcp_tw_recycle", "1"), Warn, Plan{}},
		{"tw", OK, file("proc/net/sockstat", "TCP: inuse 4 orphan 0 tw 20000 alloc 6 mem 1"), Warn, Plan{}},
		{"tcp_max_tw_buckets", OK, file(ipv4+"tcp_max_tw_buckets", "20000"), Warn, rate(1000)},
		{"tcp_max_tw_buckets", OK, file(ipv4+"tcp_max_tw_buckets", "20000"), OK, with(func(p *Plan) { p.Requests, p.Rate = 5000, 1000 })},
		{"tcp_max_tw_buckets", Note, nil, Note, Plan{}},

		{"somaxconn", OK, file(core+"somaxconn", "64"), Warn, Plan{}},
		{"somaxconn", OK, file(core+"somaxconn", "64"), OK, with(func(p *Plan) { p.Ramp = 10 * time.Second })},
		{"tcp_max_syn_backlog", OK, map[string]string{ipv4 + "tcp_max_syn_backlog": "64", ipv4 + "tcp_syncookies": "0"}, Warn, Plan{}},
		{"tcp_max_syn_backlog", OK, file(ipv4+"tcp_max_syn_backlog", "64"), OK, Plan{}},
		{"tcp_syncookies", Note, nil, Note, Plan{}},
		{"tcp_syncookies", Note, file("proc/net/netstat", "TcpExt: SyncookiesSent\nTcpExt: 90000\n"), Warn, Plan{}},
		{"tcp_abort_on_overflow", Note, nil, Note, Plan{}},
		{"tcp_max_orphans", OK, file("proc/net/sockstat", "TCP: inuse 4 orphan 40000 tw 2 alloc 6 mem 1"), Warn, Plan{}},
		{"tcp_mem", OK, file("proc/net/sockstat", "TCP: inuse 4 orphan 0 tw 2 alloc 6 mem 200000"), Warn, Plan{}},
		{"nf_conntrack", Unknown, map[string]string{sysctl + "net/netfilter/nf_conntrack_max": "1000", sysctl + "net/netfilter/nf_conntrack_count": "0"}, Note, Plan{}},
		{"nf_conntrack", Unknown, map[string]string{sysctl + "net/netfilter/nf_conntrack_max": "1000", sysctl + "net/netfilter/nf_conntrack_count": "950"}, Fail, Plan{}},
		{"nf_conntrack", Unknown, map[string]string{sysctl + "net/netfilter/nf_conntrack_max": "1000", sysctl + "net/netfilter/nf_conntrack_count": "30"}, Warn, Plan{}},
		{"nf_conntrack", Unknown, map[string]string{ipv4 + "netfilter/ip_conntrack_max": "1000", ipv4 + "netfilter/ip_conntrack_count": "0"}, Note, Plan{}},

		{"netdev_max_backlog", OK, file("proc/net/softnet_stat", "00001000 00000009 00000000"), Warn, Plan{}},
		{"netdev_budget", OK, file("proc/net/softnet_stat", "00001000 00000000 00ffffff"), Warn, Plan{}},
		{"netdev_budget", OK, file("proc/uptime", "1.0 4.0"), Warn, Plan{}},
		{"softirq", OK, file("proc/softirqs", " CPU0 CPU1 CPU2 CPU3\n NET_RX: 9000 10 10 10\n"), Warn, Plan{}},
		{"softirq", OK, file("proc/softirqs", " CPU0 CPU1\n NET_RX: 60 40\n"), OK, Plan{}},
		{"softirq_cpu", OK, file("proc/softirqs", " CPU0 CPU1 CPU2 CPU3\n NET_RX: 9000 10 10 10\n"), Note, Plan{}},
		{"rps_cpus", Note, nil, Note, Plan{}},
		{"smp_affinity", Note, map[string]string{"proc/irq/140/effective_affinity_list": "0", "proc/irq/141/effective_affinity_list": "0",
			"proc/irq/142/effective_affinity_list": "0", "proc/irq/143/effective_affinity_list": "0"}, Warn, Plan{}},
		{"eth0", Note, file("proc/net/dev", "eth0: 1 1000 0 500 0 0 0 0 0 0 0 0 0 0 0 0\n"), Warn, Plan{}},

		{"governor", OK, each("cpufreq/scaling_governor", "powersave"), Warn, Plan{}},
		{"boost", Note, nil, Note, Plan{}},
		{"thermal_throttle", Unknown, file(cpu+"cpu0/thermal_throttle/core_throttle_count", "4"), Warn, Plan{}},
		{"thermal_throttle", Unknown, file(cpu+"cpu0/thermal_throttle/core_throttle_count", "0"), OK, Plan{}},
		{"smt", Note, file(cpu+"smt/active", "1"), Warn, local},
		{"isolated", OK, file(cpu+"isolated", "2-3"), Warn, with(func(p *Plan) { p.Pinned = false })},
		{"isolated", OK, file(cpu+"isolated", "2-3"), OK, Plan{}},
		{"cpuidle", Note, nil, Note, Plan{}},
		{"sched_autogroup_enabled", Note, nil, Note, Plan{}},
		{"sched_autogroup_enabled", Warn, file(sysctl+"kernel/sched_autogroup_enabled", "0"), Note, local},
		{"numa_balancing", OK, file("sys/devices/system/node/online", "0-1"), Warn, Plan{}},
		{"cpu.max", OK, file(group+"cpu.max", "150000 100000"), Warn, Plan{}},
		{"cpu.max", OK, map[string]string{group + "cpu.max": "900000 100000", group + "cpu.stat": "nr_throttled 3\n"}, Warn, Plan{}},
		{"cpus_allowed", OK, file("proc/self/status", "Uid:\t0\nCpus_allowed_list:\t2\n"), Warn, Plan{}},
		{"cpus_allowed", Warn, nil, Warn, with(func(p *Plan) { p.PerClient, p.Workers, p.Clients = true, 5000, 5000 })},
		{"steal", OK, file("proc/stat", "cpu 400 0 100 450 0 0 0 50 0 0"), Warn, Plan{}},
		{"steal", OK, file("proc/stat", "cpu 400 0 100 300 0 0 0 200 0 0"), Fail, Plan{}},
		{"loadavg", OK, file("proc/loadavg", "9.00 8.00 7.00 12/231 4711"), Warn, Plan{}},
		{"pressure", OK, file("proc/pressure/cpu", "some avg10=12.50 avg60=0.10 avg300=0.05 total=9"), Warn, Plan{}},
		{"clocksource", OK, file("sys/devices/system/clocksource/clocksource0/current_clocksource", "acpi_pm"), Warn, Plan{}},
		{"transparent_hugepage", Note, nil, Note, Plan{}},
		{"sched_base_slice_ns", Note, nil, Note, Plan{}},
		{"sched_wakeup_granularity_ns", Unknown, file(sysctl+"kernel/sched_wakeup_granularity_ns", "4000000"), Note, Plan{}},

		{"tcp_congestion_control", Note, nil, Note, Plan{}},
		{"osrelease", Note, nil, Note, Plan{}},
		{"boot_id", Note, nil, Note, Plan{}},
		{"microcode", Note, nil, Note, Plan{}},
		{"mitigations", Note, nil, Note, Plan{}},
		{"preempt", Note, nil, Note, Plan{}},
		{"lockdep", Note, file("boot/config-6.12.57+deb13-amd64", "CONFIG_KASAN=y\n"), Warn, Plan{}},
		{"hz", Unknown, file("boot/config-6.12.57+deb13-amd64", "CONFIG_HZ=250\n"), Note, Plan{}},
		{"lockdep", Note, file("proc/lockdep_stats", " lock-classes: 9"), Warn, Plan{}},
	} {
		plan := row.plan
		if plan.Clients == 0 {
			plan = modest()
		}
		tree := unpacked["6.12"]
		write(t, tree, file("proc/self/status", user))
		assert.Equal(t, row.good, find(t, Examine(tree, plan), row.id).Level, "%s, good", row.id)
		restore := write(t, tree, row.bad)
		bad := find(t, Examine(tree, plan), row.id)
		restore()
		assert.Equal(t, row.want, bad.Level, "%s with %v: %+v", row.id, row.bad, bad)
		assert.NotEmpty(t, bad.Why, row.id)
		assert.NotEmpty(t, bad.Value, row.id)
		if bad.Level <= Warn {
			assert.NotEmpty(t, bad.Fix, row.id)
			assert.NotEmpty(t, bad.Limit, row.id)
		}
	}
}

// write changes files of a tree, and returns what undoes it.
func write(t *testing.T, tree host.Tree, files map[string]string) (restore func()) {
	t.Helper()
	var undo []func() error
	for name, text := range files {
		path := filepath.Join(string(tree), name)
		before, err := os.ReadFile(path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			undo = append(undo, func() error { return os.Remove(path) })
		} else {
			undo = append(undo, func() error { return os.WriteFile(path, before, 0o644) })
		}
	}
	return func() {
		for _, f := range undo {
			require.NoError(t, f())
		}
	}
}

// A check may only be OK, or a note, for what it has read. So with any one file
// gone, or unreadable, no check gets better, and with all gone every one is unknown.
func TestNoCheckIsFineForWhatIsNotThere(t *testing.T) {
	tree := unpacked["6.12"]
	plan := modest()
	before := Examine(tree, plan)
	archive, err := txtar.ParseFile("../../testdata/hosts/6.12.txtar")
	require.NoError(t, err)
	lost := map[string]bool{}
	for i, f := range archive.Files {
		path := filepath.Join(string(tree), f.Name)
		require.NoError(t, os.Rename(path, path+".away"))
		if i%2 == 0 { // every other one becomes a directory, which not even root can read
			require.NoError(t, os.Mkdir(path, 0o755))
		}
		for _, c := range Examine(tree, plan) {
			was := find(t, before, c.ID)
			if c.Level == Unknown && was.Level != Unknown {
				lost[c.ID] = true
			}
			assert.False(t, was.Level < OK && c.Level == OK, "%s is fine without %s", c.ID, f.Name)
		}
		os.Remove(path)
		require.NoError(t, os.Rename(path+".away", path))
	}
	for _, c := range before {
		if c.Level != Unknown {
			assert.True(t, lost[c.ID] || spare[c.ID], "%s is known, whatever is missing", c.ID)
		}
	}
	for _, c := range Examine(host.Tree(t.TempDir()), plan) {
		assert.Equal(t, Unknown, c.Level, c.ID)
		assert.Empty(t, c.Value, c.ID)
	}
}

// spare are the checks that have a second place to read, or several like it.
var spare = map[string]bool{"preempt": true, "governor": true, "mitigations": true, "rps_cpus": true, "smp_affinity": true, "eth0": true, "cpuidle": true}

func TestEveryKernelIsExamined(t *testing.T) {
	for kernel, want := range map[string]map[string]Level{
		"2.6.32": {"nofile": OK, "somaxconn": Warn, "softirq": Warn, "governor": Warn, "tcp_tw_recycle": OK, "tcp_tw_reuse": Warn, "rps_cpus": Unknown,
			"mitigations": Unknown, "pressure": Unknown, "sched_wakeup_granularity_ns": Note, "sched_base_slice_ns": Unknown, "MemAvailable": Unknown,
			"nf_conntrack": Warn, "clocksource": OK, "numa_balancing": OK, "pids.max": Unknown},
		"3.10": {"somaxconn": Warn, "softirq": OK, "governor": OK, "pids.max": OK, "cpu.max": OK, "mitigations": Note, "sched_latency_ns": Note, "nf_conntrack": Note},
		"4.18": {"softirq": Warn, "smp_affinity": Warn, "governor": Warn, "numa_balancing": Warn, "pids.max": Fail, "tcp_tw_recycle": Unknown, "sched_wakeup_granularity_ns": Note},
		"5.14": {"cpu.max": Warn, "softirq": OK, "somaxconn": OK, "sched_wakeup_granularity_ns": Note, "pressure": OK, "nf_conntrack": Unknown},
		"6.1":  {"steal": Warn, "clocksource": Warn, "softirq": Warn, "rps_cpus": Warn, "governor": Unknown, "sched_wakeup_granularity_ns": Unknown, "sched_base_slice_ns": Unknown},
		"6.12": {"tcp_tw_reuse": OK, "ip_local_port_range": OK, "governor": OK, "sched_base_slice_ns": Note, "sched_latency_ns": Unknown, "tcp_syn_linear_timeouts": Note},
		"6.18": {"tcp_tw_reuse": Warn, "governor": Unknown, "clocksource": OK, "mitigations": Note, "preempt": Note, "sched_base_slice_ns": Unknown},
	} {
		plan := with(func(p *Plan) { p.Clients, p.Workers = 500, 200 })
		checks := Examine(unpacked[kernel], plan)
		for id, level := range want {
			c := find(t, checks, id)
			assert.Equal(t, level, c.Level, "%s of %s: %+v", id, kernel, c)
		}
		for i, c := range checks {
			assert.True(t, i == 0 || checks[i-1].Level <= c.Level, "the worst first")
			assert.NotEmpty(t, c.Why, c.ID)
			assert.Contains(t, []Side{Client, Server, Both}, c.Side, c.ID)
		}
	}
}

// Towards another host only the client's side is here to be seen.
func TestTheSideOfTheServerIsCheckedWhereItIs(t *testing.T) {
	sides := func(p Plan) map[Side]bool {
		got := map[Side]bool{}
		for _, c := range Examine(unpacked["6.12"], p) {
			got[c.Side] = true
		}
		return got
	}
	assert.True(t, sides(modest())[Server], "no target")
	assert.True(t, sides(with(func(p *Plan) { p.Target, p.Local = "http://127.0.0.1/", true }))[Server])
	assert.False(t, sides(with(func(p *Plan) { p.Target = "http://192.0.2.1/" }))[Server])
}

func TestMasksAreWrittenAsTheKernelReadsThem(t *testing.T) {
	assert.Equal(t, "f", mask(4))
	assert.Equal(t, "ffffffff", mask(32))
	assert.Equal(t, "1,ffffffff", mask(33))
}

func TestLists(t *testing.T) {
	assert.Equal(t, []int{0, 2, 3, 7}, list("0,2-3,7"))
	assert.Empty(t, list(""))
	assert.Empty(t, list("x,5-,-"))
	assert.NotPanics(t, func() { list("0-99999999999") })
}
