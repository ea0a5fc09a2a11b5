package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"horde/stats"
)

// unpacked are the hosts of testdata/hosts by their kernels, each in a directory.
var unpacked = map[string]Tree{}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hosts")
	if err != nil {
		panic(err)
	}
	archives, _ := filepath.Glob("../../testdata/hosts/*.txtar")
	for _, path := range archives {
		kernel := strings.TrimSuffix(filepath.Base(path), ".txtar")
		unpacked[kernel] = Tree(filepath.Join(dir, kernel))
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

// none stands in the table below for a fact that this kernel cannot have.
const none = "\x00"

func TestFactsAreFoundWhereEachKernelKeepsThem(t *testing.T) {
	for kernel, want := range map[string]map[string]string{
		"2.6.32": {
			"kernel.osrelease": "2.6.32-754.el6.x86_64", "net.core.somaxconn": "128", "net.ipv4.tcp_tw_recycle": "0",
			"sched/wakeup_granularity_ns": "4000000", "sched/migration_cost_ns": "500000", "sched/base_slice_ns": none,
			"sched/features": "GENTLE_FAIR_SLEEPERS START_DEBIT NO_WAKEUP_PREEMPT", "transparent_hugepage/enabled": "[always] madvise never",
			"net/eth0/rps_cpus": none, "net/eth0/effective_affinity_list": none, "net/eth0/smp_affinity_list": "0", "net/eth0/driver": "igb",
			"cpufreq/scaling_governor": "ondemand", "os-release/PRETTY_NAME": none, "cgroup/cpu.max": none, "fs.pipe-user-pages-soft": none,
			"config/CONFIG_HZ": none, "net.core.default_qdisc": none, "cpuinfo/hypervisor": "no", "adjtimex": none,
		},
		"3.10": {
			"sched/wakeup_granularity_ns": "15000000", "cgroup/cpu.cfs_quota_us": "-1", "cgroup/pids.max": "max", "cgroup/cpu.shares": "1024",
			"vulnerabilities/meltdown": "Mitigation: PTI", "net/eth0/rx_queues": "4", "net/eth0/effective_affinity_list": "42=0 43=1 44=2 45=3",
			"config/CONFIG_HZ": "1000", "config/CONFIG_PREEMPT": "n", "config/CONFIG_PREEMPT_VOLUNTARY": "y", "cpu/isolated": "", "policy": "SCHED_OTHER",
		},
		"4.18": {
			"net.ipv4.tcp_tw_reuse": "2", "net.ipv4.tcp_tw_recycle": none, "net.ipv4.ip_local_reserved_ports": "40000-40999,50000",
			"node/online": "0-1", "cgroup/pids.max": "410", "net/eth0/effective_affinity_list": "0", "smt/active": "1", "cpu/isolated": "2-3",
		},
		"5.14": {
			"sched/wakeup_granularity_ns": "4000000", "sched/latency_ns": "24000000", "sched/preempt": "none (voluntary) full",
			"cgroup/cpu.max": "200000 100000", "cgroup/cpu.weight": "100", "cgroup/cpuset.cpus.effective": "0-3", "net.netfilter.nf_conntrack_max": none,
		},
		"6.1":  {"sched/latency_ns": none, "cpuinfo/hypervisor": "yes", "clocksource/current_clocksource": "hpet", "config/CONFIG_HZ": "250", "cgroup/cpu.max": "max 100000"},
		"6.12": {"sched/base_slice_ns": "2800000", "sched/wakeup_granularity_ns": none, "net.ipv4.tcp_syn_linear_timeouts": "4", "sched_ext/state": "disabled", "cpufreq/energy_performance_preference": "performance"},
		"6.18": {"net.ipv4.tcp_tw_reuse_delay": "1000", "sched/slice": "1400000", "cpuidle/current_driver": "haltpoll", "net/lo/rps_cpus": "0", "status/Seccomp": "0", "nice": "0"},
	} {
		facts := unpacked[kernel].State()
		for name, value := range want {
			f := facts.Fact(name)
			if value == none {
				assert.False(t, f.Known(), "%s of %s", name, kernel)
				assert.NotEmpty(t, f.Unknown, "%s of %s", name, kernel)
				continue
			}
			assert.Equal(t, stats.Have(value), f, "%s of %s", name, kernel)
		}
	}
}

func TestCountersAreReadFromEachKernel(t *testing.T) {
	for kernel, want := range map[string]map[[3]string]bool{
		"2.6.32": {{"netstat", "TcpExt", "ListenOverflows"}: true, {"netstat", "TcpExt", "TCPSynRetrans"}: false, {"softnet_stat", "cpu3", "processed"}: true,
			{"softnet_stat", "cpu3", "received_rps"}: false, {"stat", "cpu0", "guest"}: true, {"stat", "cpu0", "guest_nice"}: false,
			{"schedstat", "cpu3", "waiting_ns"}: true, {"nf_conntrack", "all", "count"}: true, {"pressure", "cpu", "some_us"}: false, {"softirqs", "NET_RX", "cpu0"}: true},
		"3.10": {{"cpu.stat", "/sys/fs/cgroup/cpu/user.slice", "nr_throttled"}: true, {"softnet_stat", "cpu0", "received_rps"}: true, {"thermal_throttle", "cpu3", "core_throttle_count"}: true},
		"4.18": {{"nf_conntrack", "cpu3", "drop"}: true, {"vmstat", "all", "oom_kill"}: true, {"schedstat", "cpu0", "waiting_ns"}: false},
		"5.14": {{"cpu.stat", "/sys/fs/cgroup/user.slice", "throttled_usec"}: true, {"pressure", "cpu", "full_us"}: true, {"nf_conntrack", "all", "count"}: false},
		"6.1":  {{"dev", "eth0", "rx_drop"}: true, {"interrupts", "26", "cpu1"}: true, {"interrupts", "26", "cpu0"}: false, {"thermal_throttle", "cpu0", "core_throttle_count"}: false},
		"6.12": {{"snmp", "Tcp", "ActiveOpens"}: true, {"snmp", "Tcp", "MaxConn"}: false, {"sockstat", "TCP", "tw"}: true},
		"6.18": {{"netstat", "TcpExt", "TCPReqQFullDoCookies"}: true, {"softnet_stat", "cpu1", "dropped"}: true, {"stat", "all", "ctxt"}: true},
	} {
		state := unpacked[kernel].State()
		for path, known := range want {
			_, got := state.Counters.Get(path[0], path[1], path[2])
			assert.Equal(t, known, got, "%v of %s", path, kernel)
		}
	}
}

// Whatever of a host is missing or cannot be read is unknown. It is never empty
// and never 0, and reading the rest goes on.
func TestAHostThatTellsNothing(t *testing.T) {
	unreadable := t.TempDir()
	for _, path := range []string{ // a directory instead of a file: not even root can read it
		"proc/net/snmp", "proc/stat", "proc/softirqs", "proc/cmdline", "proc/cpuinfo", "proc/self/limits", "proc/self/stat",
		"proc/sys/net/core/somaxconn", "proc/config.gz", "sys/class/net/eth0/mtu", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(unreadable, path), 0o755))
	}
	for name, root := range map[string]string{"missing": t.TempDir(), "unreadable": unreadable} {
		t.Run(name, func(t *testing.T) {
			state := Tree(root).State()
			require.NotEmpty(t, state.Facts)
			for name, f := range state.Facts {
				assert.False(t, f.Known(), name)
				assert.NotEmpty(t, f.Unknown, name)
			}
			require.NotEmpty(t, state.Counters)
			for name, rows := range state.Counters {
				assert.Nil(t, rows, name)
			}
		})
	}
}

// What a fact is called must not depend on the host it was read on: a missing one is null.
func TestEveryHostHasTheSameFactsButForWhatItHasSeveralOf(t *testing.T) {
	of := func(facts map[string]stats.Fact) map[string]bool {
		names := map[string]bool{}
		for name := range facts {
			switch filepath.Dir(name) {
			case "vulnerabilities", "net/eth0", "net/lo":
			default:
				names[name] = true
			}
		}
		return names
	}
	want := of(Tree(t.TempDir()).State().Facts)
	require.Len(t, unpacked, 7)
	for kernel := range unpacked {
		assert.Equal(t, want, of(unpacked[kernel].State().Facts), kernel)
	}
}

func TestThisHostTellsWhatALiveOneCan(t *testing.T) {
	begin := Tree("/").State()
	assert.True(t, begin.Fact("kernel.osrelease").Known())
	assert.True(t, begin.Fact("kernel.random.boot_id").Known())
	assert.True(t, begin.Fact("policy").Known())
	for _, name := range Tree("/").Interfaces() {
		assert.Contains(t, begin.Facts, "net/"+name+"/qdisc")
		assert.Contains(t, begin.Facts, "net/"+name+"/channels")
	}
	end := Tree("/").StateAfter()
	h := stats.Host{Begin: begin, End: end}
	grown, known := h.Grown("stat", "all", "ctxt")
	assert.True(t, known)
	assert.Less(t, grown, uint64(1e9))
}

func TestSpreadSaysWhoDiffers(t *testing.T) {
	have := func(values ...string) (facts []stats.Fact) {
		for _, v := range values {
			facts = append(facts, stats.Have(v))
		}
		return facts
	}
	who := []string{"0", "1", "2"}
	assert.Equal(t, stats.Have("a"), spread(who, have("a", "a", "a")))
	assert.Equal(t, stats.Have("0,2=a 1=b"), spread(who, have("a", "b", "a")))
	assert.False(t, spread(nil, nil).Known())
	assert.False(t, spread(who, []stats.Fact{stats.Have("a"), noFile}).Known())
}

func TestTheListenerOfAPortIsFound(t *testing.T) {
	port, close := listen(t, 7)
	defer close()
	l, f := Tree("/").Listener(port)
	require.True(t, f.Known(), f.Unknown)
	assert.Equal(t, Listening{Queue: 7, PID: os.Getpid()}, l)
	close()
	_, f = Tree("/").Listener(port)
	assert.False(t, f.Known())
	_, f = Tree(t.TempDir()).Listener(port)
	assert.False(t, f.Known())
}

func BenchmarkState(b *testing.B) {
	for b.Loop() {
		Tree("/").State()
	}
}
