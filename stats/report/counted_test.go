package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"horde/stats"
)

// grow adds two ends to a run, between which the counters named "source row
// column" grew by so much.
func grow(r *stats.Run, by map[string]uint64) {
	state := func(factor uint64) *stats.HostState {
		c := stats.Counters{}
		for path, n := range by {
			f := strings.Fields(path)
			if c[f[0]] == nil {
				c[f[0]] = map[string]map[string]uint64{}
			}
			if c[f[0]][f[1]] == nil {
				c[f[0]][f[1]] = map[string]uint64{}
			}
			c[f[0]][f[1]][f[2]] = 1000 + factor*n
		}
		return &stats.HostState{Counters: c, Facts: map[string]stats.Fact{
			"net.core.somaxconn": stats.Have("128"), "net.core.netdev_max_backlog": stats.Have("1000"),
			"net.core.netdev_budget": stats.Have("300"), "net.core.netdev_budget_usecs": stats.Lack("this kernel has none"),
			"net.netfilter.nf_conntrack_max": stats.Have("65536"), "net.ipv4.tcp_max_tw_buckets": stats.Have("8192"), "net.ipv4.ip_local_port_range": stats.Have("40000 45000"),
		}}
	}
	r.Host = stats.Host{Begin: state(0), End: state(1)}
}

// quiet is what a host without trouble counts in 10 s under 40,000 connections.
func quiet() map[string]uint64 {
	return map[string]uint64{
		"netstat TcpExt ListenOverflows": 0, "netstat TcpExt ListenDrops": 0, "netstat TcpExt TCPSynRetrans": 0,
		"snmp Tcp ActiveOpens": 40001, "snmp Tcp PassiveOpens": 40000, "snmp Tcp OutSegs": 400_000, "snmp Tcp RetransSegs": 3,
		"snmp Tcp EstabResets": 8, "softnet_stat cpu0 dropped": 0, "softnet_stat cpu1 dropped": 0,
		"softnet_stat cpu0 processed": 210_000, "softnet_stat cpu1 processed": 190_000, "softnet_stat cpu0 time_squeeze": 4, "softnet_stat cpu1 time_squeeze": 9,
		"dev lo rx_packets": 400_000, "dev lo rx_drop": 0, "dev eth0 rx_packets": 10_000, "dev eth0 rx_drop": 1,
		"nf_conntrack all count": 12, "nf_conntrack cpu0 drop": 0,
		"softirqs NET_RX cpu0": 300_000, "softirqs NET_RX cpu1": 100_000,
		"stat cpu user": 900, "stat cpu idle": 1000, "stat cpu softirq": 90, "stat cpu steal": 10,
		"stat cpu0 user": 400, "stat cpu0 idle": 500, "stat cpu0 softirq": 100,
		"cpu.stat /sys/fs/cgroup/cpu nr_throttled": 0, "thermal_throttle cpu0 core_throttle_count": 0,
		"vmstat all oom_kill": 0, "vmstat all pswpin": 0,
	}
}

func TestCountedSaysWhatIsWorthSaying(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]uint64
		want   []string // what the one line holds
	}{
		{"quiet", nil, nil},
		{"accept queue", map[string]uint64{"netstat TcpExt ListenOverflows": 1234, "netstat TcpExt ListenDrops": 1234},
			[]string{"accept queue of the target", "1,234 times", "somaxconn (128)", "--ramp"}},
		{"drops of listening sockets", map[string]uint64{"netstat TcpExt ListenDrops": 7}, []string{"7 more connections were dropped by listening"}},
		{"half-open queue", map[string]uint64{"netstat TcpExt TCPReqQFullDoCookies": 5, "netstat TcpExt SyncookiesSent": 6}, []string{"half-open", "5 times", "6 SYN cookies"}},
		{"TIME_WAIT", map[string]uint64{"netstat TcpExt TCPTimeWaitOverflow": 5}, []string{"5 connections in TIME_WAIT", "(8192)"}},
		{"SYN again", map[string]uint64{"netstat TcpExt TCPSynRetrans": 41}, []string{"41 SYNs were sent again (0.1 % of"}},
		{"segments again", map[string]uint64{"snmp Tcp RetransSegs": 4100}, []string{"4,100 other segments", "(1.03 % of all)"}},
		{"resets", map[string]uint64{"snmp Tcp EstabResets": 900}, []string{"900 established", "only 5 of these requests"}},
		{"softnet drops", map[string]uint64{"softnet_stat cpu0 dropped": 5, "softnet_stat cpu1 dropped": 6}, []string{"11 packets were dropped", "netdev_max_backlog (1000)"}},
		{"squeezes", map[string]uint64{"softnet_stat cpu1 time_squeeze": 900}, []string{"904 times", "netdev_budget (300)", "netdev_budget_usecs."}},
		{"interface drops", map[string]uint64{"dev eth0 rx_fifo": 90}, []string{"eth0 dropped 91 packets"}},
		{"socket buffers", map[string]uint64{"netstat TcpExt TCPBacklogDrop": 3, "netstat TcpExt PruneCalled": 4}, []string{"7 times"}},
		{"conntrack follows", map[string]uint64{"nf_conntrack all count": 39_000}, []string{"39,000 more entries for 40,000 connections", "notrack"}},
		{"conntrack follows, and ports were used again", map[string]uint64{"nf_conntrack all count": 800}, []string{"800 more entries"}},
		{"conntrack drops", map[string]uint64{"nf_conntrack cpu0 drop": 3, "nf_conntrack cpu1 early_drop": 4}, []string{"dropped 7", "(65536)"}},
		{"one CPU of two", map[string]uint64{"softirqs NET_RX cpu0": 4_000_000}, []string{"97.56 % of the network softirqs were taken by CPU 0 of 2,", "10 % of its time", "rps_cpus"}},
		{"packets handed to one CPU", map[string]uint64{"softnet_stat cpu0 processed": 1_000_000, "softnet_stat cpu1 processed": 5}, []string{">99.99 % of the packets received were taken by CPU 0 of 2"}},
		{"one CPU of four", map[string]uint64{"softirqs NET_RX cpu2": 0, "softirqs NET_RX cpu3": 0}, []string{"75 % of the network softirqs were taken by CPU 0 of 4"}},
		{"steal", map[string]uint64{"stat cpu steal": 100}, []string{"took 4.78 % of the CPU time"}},
		{"quota", map[string]uint64{"cpu.stat /sys/fs/cgroup/a nr_throttled": 50, "cpu.stat /sys/fs/cgroup/a throttled_usec": 2_500_000},
			[]string{"CPU quota of /sys/fs/cgroup/a", "50 times", "2.50 s"}},
		{"quota of version 1", map[string]uint64{"cpu.stat /sys/fs/cgroup/cpu nr_throttled": 50, "cpu.stat /sys/fs/cgroup/cpu throttled_time": 2_500_000_000},
			[]string{"50 times", "2.50 s"}},
		{"heat", map[string]uint64{"thermal_throttle cpu0 core_throttle_count": 2}, []string{"slowed down 2 times"}},
		{"TCP memory", map[string]uint64{"netstat TcpExt TCPMemoryPressures": 2}, []string{"Memory for TCP was short 2 times"}},
		{"out of memory", map[string]uint64{"vmstat all oom_kill": 1}, []string{"killed 1 process"}},
		{"swap", map[string]uint64{"vmstat all pswpin": 12}, []string{"12 pages came back"}},
		{"neighbours", map[string]uint64{"snmp Tcp ActiveOpens": 80_000}, []string{"40,000 of the 80,000 connections", "(50 %)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			by := quiet()
			for name, n := range c.change {
				by[name] = n
			}
			lines := countedAfter(by)
			if c.want == nil {
				assert.Empty(t, lines)
				return
			}
			if assert.Len(t, lines, 1) {
				for _, part := range c.want {
					assert.Contains(t, lines[0], part)
				}
			}
		})
	}
}

// A host that says nothing at all gives nothing to say, and no division by 0.
func TestCountedOfAHostThatDoesNotTell(t *testing.T) {
	assert.Empty(t, countedAfter(map[string]uint64{}))
	r := newRun()
	assert.Empty(t, countedWords(&r), "facts were not taken")
	grow(&r, map[string]uint64{"netstat TcpExt ListenOverflows": 5})
	r.Measured = 0
	assert.Empty(t, countedWords(&r), "nothing was measured")
	for path := range quiet() {
		by := quiet()
		delete(by, path)
		assert.Empty(t, countedAfter(by), "without %s", path)
	}
}

// Towards another host, what listening sockets of this one lose is not the target's.
func TestCountedNamesTheTargetOnlyIfItIsHere(t *testing.T) {
	r := countedRun()
	grow(&r, map[string]uint64{"netstat TcpExt ListenOverflows": 5})
	r.Plan.Address = "192.0.2.1:80"
	assert.NotContains(t, countedWords(&r)[0], "target")
}

func countedAfter(by map[string]uint64) []string {
	r := countedRun()
	grow(&r, by)
	return countedWords(&r)
}

func countedRun() stats.Run {
	r := newRun()
	succeed(&r, 39_995, time.Millisecond, 0, 10)
	fail(&r, 5, stats.ResetWait, stats.Waiting, 0, time.Millisecond, 0, 10)
	r.Tally.Opened = 40_000
	return r
}
