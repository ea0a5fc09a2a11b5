package report

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"horde/stats"
	"horde/stats/units"
)

// counted is what the kernel of this host counted during a run, so far as it is
// worth a reader's time: a quiet host has no lines. What the counters mean is in
// the kernel's Documentation/networking/snmp_counter.rst.
type counted struct {
	run   *stats.Run
	host  *stats.Host
	lines []string
}

// host says in words what the counters of this host say.
func (p *page) host(r *stats.Run) {
	lines := countedWords(r)
	if len(lines) == 0 {
		return
	}
	p.line("Counted by the kernel of this host during the run")
	for _, line := range lines {
		p.wrapped("  - ", "    ", line)
	}
	p.line("")
}

func countedWords(r *stats.Run) []string {
	if r.Host.Begin == nil || r.Host.End == nil || r.Measured <= 0 {
		return nil
	}
	c := &counted{run: r, host: &r.Host}
	c.queues()
	c.lost()
	c.resets()
	c.packets()
	c.tracked()
	c.oneCPU()
	c.takenAway()
	c.memory()
	c.neighbours()
	return c.lines
}

func (c *counted) say(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// tcp is the growth of a counter that nstat(8) calls TcpExt and a name, or Tcp
// and a name. Unknown is as good as none here: nothing is said of it.
func (c *counted) tcp(name string) uint64 {
	n, known := c.host.Grown("netstat", "TcpExt", name)
	if !known {
		n, _ = c.host.Grown("snmp", "Tcp", name)
	}
	return n
}

// fact is a setting at the begin, in brackets; "" if unknown.
func (c *counted) fact(name string) string {
	if f := c.host.Begin.Fact(name); f.Known() && f.Value != "" {
		return " (" + f.Value + ")"
	}
	return ""
}

// local reports whether the target is on this host, so that its side is counted here, too.
func (c *counted) local() bool {
	a, err := netip.ParseAddrPort(c.run.Plan.Address)
	return err != nil || a.Addr().Unmap().IsLoopback() // a unix socket has no such address
}

// queues of listening sockets. Before 4.10 the handshake completed for the
// client when the accept queue was full; since then its SYN is dropped.
func (c *counted) queues() {
	whose := "of a listening socket here"
	if c.local() {
		whose = "of the target, or of another listening socket here,"
	}
	overflows, drops := c.tcp("ListenOverflows"), c.tcp("ListenDrops")
	if overflows > 0 {
		c.say("The accept queue %s overflowed %s times: each costs a client a second or more. Raise the backlog it asks for and net.core.somaxconn%s, or start the clients over a time (--ramp).",
			whose, units.Count(overflows), c.fact("net.core.somaxconn"))
	}
	if drops > overflows {
		c.say("%s more connections were dropped by listening sockets for other causes.", units.Count(drops-overflows))
	}
	if n := c.tcp("TCPReqQFullDoCookies") + c.tcp("TCPReqQFullDrop"); n > 0 {
		c.say("The queue of half-open connections was full %s times; %s SYN cookies were sent.", units.Count(n), units.Count(c.tcp("SyncookiesSent")))
	}
	if n := c.tcp("TCPTimeWaitOverflow"); n > 0 {
		c.say("%s connections in TIME_WAIT were thrown away: net.ipv4.tcp_max_tw_buckets%s was reached.", units.Count(n), c.fact("net.ipv4.tcp_max_tw_buckets"))
	}
}

// lost are segments that had to be sent again. On loopback nothing is lost on
// the way: a queue of this host was full.
func (c *counted) lost() {
	syns, all, sent := c.tcp("TCPSynRetrans"), c.tcp("RetransSegs"), c.tcp("OutSegs")
	if syns > 0 {
		c.say("%s SYNs were sent again (%s of the connections opened here): each such connect took a second or more.",
			units.Count(syns), units.Share(min(syns, c.tcp("ActiveOpens")), c.tcp("ActiveOpens")))
	}
	if rest := all - min(all, syns); sent > 0 && (rest > sent/1000 || c.local() && rest > sent/100_000) {
		c.say("%s other segments were sent again (%s of all): packets were lost, or came late.", units.Count(rest), units.Share(rest, sent))
	}
}

// resets of established connections beyond those that this program saw as
// failures, or caused itself when it left requests unfinished. On loopback both
// ends count one.
func (c *counted) resets() {
	n := c.tcp("EstabResets")
	var ours uint64
	for _, f := range c.run.Tally.Failures {
		if f.Class == stats.ResetConnect || f.Class == stats.ResetWait || f.Class == stats.ResetBody {
			ours += f.Count
		}
	}
	known := 2 * (ours + c.run.Unfinished.Sum())
	if n > 10+known+(c.tcp("ActiveOpens")+c.tcp("PassiveOpens"))/100 {
		c.say("%s established connections of this host ended by a reset, but only %s of these requests failed so.", units.Count(n), units.Count(ours))
	}
}

func (c *counted) packets() {
	if n, _ := c.host.GrownSum("softnet_stat", "dropped"); n > 0 {
		c.say("%s packets were dropped because a CPU's input queue was full: net.core.netdev_max_backlog%s.", units.Count(n), c.fact("net.core.netdev_max_backlog"))
	}
	cpus := float64(len(c.host.End.Counters["softnet_stat"]))
	if n, _ := c.host.GrownSum("softnet_stat", "time_squeeze"); float64(n) > cpus*c.run.Measured.Seconds() {
		c.say("Network softirqs ran out of their budget %s times: net.core.netdev_budget%s, net.core.netdev_budget_usecs%s.",
			units.Count(n), c.fact("net.core.netdev_budget"), c.fact("net.core.netdev_budget_usecs"))
	}
	for _, name := range sortedRows(c.host.End.Counters["dev"]) {
		drops, _ := c.host.Grown("dev", name, "rx_drop")
		missed, _ := c.host.Grown("dev", name, "rx_fifo")
		all, _ := c.host.Grown("dev", name, "rx_packets")
		if n := drops + missed; all > 0 && n > 10+all/10_000 {
			c.say("%s dropped %s packets it received (%s).", ascii(name), units.Count(n), units.Share(n, n+all))
		}
	}
	if n := c.tcp("TCPBacklogDrop") + c.tcp("PruneCalled") + c.tcp("TCPRcvQDrop"); n > 0 {
		c.say("Buffers of sockets were full %s times: net.ipv4.tcp_rmem%s.", units.Count(n), c.fact("net.ipv4.tcp_rmem"))
	}
}

func sortedRows(rows map[string]map[string]uint64) []string {
	names := make([]string, 0, len(rows))
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// tracked tells whether conntrack follows our connections: that it is loaded
// says nothing, its count growing with ours does.
func (c *counted) tracked() {
	opened := c.run.Tally.Opened
	grown, known := c.host.Grown("nf_conntrack", "all", "count")
	if known && opened >= 100 && grown > min(opened, c.ports())/10 {
		c.say("Connection tracking followed our connections: %s more entries for %s connections. It costs CPU for each packet; a notrack rule in the raw table exempts the target's port.",
			units.Count(grown), units.Count(opened))
	}
	var lost uint64
	for _, column := range [...]string{"drop", "early_drop", "insert_failed"} {
		n, _ := c.host.GrownSum("nf_conntrack", column)
		lost += n
	}
	if lost > 0 {
		c.say("Connection tracking dropped %s packets or entries: net.netfilter.nf_conntrack_max%s.", units.Count(lost), c.fact("net.netfilter.nf_conntrack_max"))
	}
}

// ports is how many ports connections have: an entry is used again with its port.
func (c *counted) ports() uint64 {
	var first, last uint64
	if n, _ := fmt.Sscan(c.host.Begin.Fact("net.ipv4.ip_local_port_range").Value, &first, &last); n != 2 || last < first {
		return 1 << 16
	}
	return last - first + 1
}

// oneCPU tells of packets that one CPU had to take nearly alone, by the softirqs
// that take them or, where they were handed on to another CPU (rps_cpus), by the
// packets themselves.
func (c *counted) oneCPU() {
	receiving := grownBy(c.host.End.Counters["softirqs"]["NET_RX"], func(cpu string) (uint64, bool) { return c.host.Grown("softirqs", "NET_RX", cpu) })
	taken := grownBy(c.host.End.Counters["softnet_stat"], func(cpu string) (uint64, bool) { return c.host.Grown("softnet_stat", cpu, "processed") })
	busiest, share, crowded := c.crowded(taken)
	what := "packets received"
	if !crowded {
		busiest, share, crowded = c.crowded(receiving)
		what = "network softirqs"
	}
	if crowded {
		c.say("%s of the %s were taken by %s of %d, which spent %s of its time in softirqs. Spread the interrupts (irqbalance, ethtool -L), or the packets (rps_cpus).",
			units.Percent(share), what, strings.Replace(busiest, "cpu", "CPU ", 1), max(len(receiving), len(taken)), units.Percent(c.share(busiest, "softirq")))
	}
}

// grownBy is the growth for each CPU among the keys, nil if that of one is unknown.
func grownBy[T any](cpus map[string]T, growth func(cpu string) (uint64, bool)) map[string]uint64 {
	out := map[string]uint64{}
	for cpu := range cpus {
		n, known := growth(cpu)
		if !known {
			return nil
		}
		out[cpu] = n
	}
	return out
}

// crowded reports whether one CPU did more than half of the work of four or
// more, or nearly all of that of fewer, and whether there was work worth a word.
func (c *counted) crowded(work map[string]uint64) (busiest string, share float64, yes bool) {
	var all, most uint64
	for cpu, n := range work {
		all += n
		if n > most || n == most && cpu < busiest {
			most, busiest = n, cpu
		}
	}
	tooMuch := 0.5
	if len(work) < 4 {
		tooMuch = 0.9
	}
	share = float64(most) / float64(max(all, 1))
	return busiest, share, len(work) > 1 && share > tooMuch && float64(all) > 1000*c.run.Measured.Seconds()
}

// share is the part of a CPU's time that one column of /proc/stat took; guest
// time is in user time already.
func (c *counted) share(cpu, column string) float64 {
	var all uint64
	for _, name := range [...]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"} {
		n, _ := c.host.Grown("stat", cpu, name)
		all += n
	}
	n, _ := c.host.Grown("stat", cpu, column)
	return float64(n) / float64(max(all, 1))
}

// takenAway is CPU time that was not there to be used.
func (c *counted) takenAway() {
	if steal := c.share("cpu", "steal"); steal > 0.01 {
		c.say("The hypervisor took %s of the CPU time of this host away (steal): other machines share its CPUs.", units.Percent(steal))
	}
	groups := c.host.End.Counters["cpu.stat"]
	for _, group := range sortedRows(groups) {
		n, known := c.host.Grown("cpu.stat", group, "nr_throttled")
		if !known || n == 0 {
			continue
		}
		v2, _ := c.host.Grown("cpu.stat", group, "throttled_usec")
		v1, _ := c.host.Grown("cpu.stat", group, "throttled_time")
		c.say("The CPU quota of %s stopped its processes %s times, %s in all.", ascii(group), units.Count(n),
			units.Duration(float64(time.Duration(v2)*time.Microsecond+time.Duration(v1))))
	}
	if n, _ := c.host.GrownSum("thermal_throttle", "core_throttle_count"); n > 0 {
		c.say("CPUs were slowed down %s times because they were hot.", units.Count(n))
	}
}

func (c *counted) memory() {
	if n := c.tcp("TCPMemoryPressures") + c.tcp("TCPAbortOnMemory"); n > 0 {
		c.say("Memory for TCP was short %s times: net.ipv4.tcp_mem%s.", units.Count(n), c.fact("net.ipv4.tcp_mem"))
	}
	if n, _ := c.host.Grown("vmstat", "all", "oom_kill"); n > 0 {
		c.say("The kernel killed %s for want of memory.", plural(int(n), "process", "processes"))
	}
	if n, _ := c.host.Grown("vmstat", "all", "pswpin"); n > 0 {
		c.say("%s pages came back from swap.", units.Count(n))
	}
}

// neighbours says how much of what was counted above is not ours.
func (c *counted) neighbours() {
	opened := c.tcp("ActiveOpens")
	ours := min(c.run.Tally.Opened+c.run.Tally.NoConn, opened)
	if others := opened - ours; others < 100 || 10*others <= opened {
		return
	}
	c.say("%s of the %s connections opened from this host were ours (%s): the counters include other programs'.",
		units.Count(ours), units.Count(opened), units.Share(ours, opened))
}
