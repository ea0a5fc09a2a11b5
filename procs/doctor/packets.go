package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"horde/stats"
	"horde/stats/units"
)

// packets checks the way of a packet through this host: queues, interrupts,
// steering, interfaces.
func (p *patient) packets() []Check {
	checks := []Check{p.inputQueue(), p.budget(), p.softirq(), p.shared(), p.rps(), p.irqs()}
	for _, name := range p.interfaces() {
		checks = append(checks, p.link(name), p.qdisc(name), p.channels(name),
			p.note(name+"/xps_cpus", "net/"+name+"/xps_cpus", Both, "which CPUs send over which queue"),
			p.note(name+"/rings", "net/"+name+"/rings", Both, "packets that the interface holds before it must drop"),
			p.note(name+"/features", "net/"+name+"/features", Both, "what the interface and its driver do for the kernel"),
			p.note(name+"/coalesce", "net/"+name+"/coalesce", Both, "how long the interface collects packets before it interrupts: moves the median by tens of microseconds"))
	}
	return checks
}

// sinceStart is a sum over CPUs since the host started.
func (p *patient) sinceStart(source, column string) (n uint64, known bool) {
	for row := range p.state.Counters[source] {
		if v, ok := p.state.Counters.Get(source, row, column); ok {
			n, known = n+v, true
		}
	}
	return n, known
}

func (p *patient) inputQueue() Check {
	f := p.state.Fact("net.core.netdev_max_backlog")
	c := Check{ID: "netdev_max_backlog", Side: Both, Why: "each CPU's queue of packets received, those over loopback included", Fix: "sysctl -w net.core.netdev_max_backlog=10000"}
	drops, known1 := p.sinceStart("softnet_stat", "dropped")
	all, known2 := p.sinceStart("softnet_stat", "processed")
	if !f.Known() || !known1 || !known2 {
		return c.unknown(stats.Lack("the setting or /proc/net/softnet_stat is not readable"))
	}
	c.Limit = fmt.Sprintf("%s packets dropped since this host started, at most 1 in 100,000", units.Count(drops))
	return c.unless(drops <= all/100_000, Warn, f.Value)
}

func (p *patient) budget() Check {
	f := p.state.Fact("net.core.netdev_budget")
	c := Check{ID: "netdev_budget", Side: Both, Why: "how many packets a softirq takes before it makes way", Fix: "sysctl -w net.core.netdev_budget=600 net.core.netdev_budget_usecs=16000"}
	squeezes, known := p.sinceStart("softnet_stat", "time_squeeze")
	up, ok := p.uptime()
	if !f.Known() || !known || !ok {
		return c.unknown(stats.Lack("the setting, /proc/net/softnet_stat or /proc/uptime is not readable"))
	}
	perSecond := float64(squeezes) / up / float64(max(1, len(p.state.Counters["softnet_stat"])))
	c.Limit = fmt.Sprintf("ran out %s times since this host started, at most once a second for each CPU", units.Count(squeezes))
	return c.unless(perSecond <= 1, Warn, f.Value)
}

func (p *patient) uptime() (seconds float64, ok bool) {
	first, _, _ := strings.Cut(p.tree.Read("proc/uptime").Value, " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return seconds, err == nil && seconds > 0
}

// softirq tells how the CPUs shared the receiving since the host started, which
// is what masks, queues and steering came to.
func (p *patient) softirq() Check {
	c := Check{ID: "softirq", Side: Both, Why: "the CPU that takes most packets is the first to be full; a worker or a server bound to it has only what is left",
		Fix: "irqbalance, more queues (ethtool -L IF combined N), or rps_cpus of the interface"}
	name, share, cpus := p.busiest()
	if name == "" {
		return c.unknown(stats.Lack("/proc/softirqs has no NET_RX, or nothing was received yet"))
	}
	c.Limit = "since this host started; at most half on one of 4 CPUs or more"
	return c.unless(!p.concentrated(), Warn, fmt.Sprintf("%s of what is received taken by %s of %d", units.Percent(share), name, cpus))
}

// busiest is the CPU with the greatest share of the receiving: of the softirqs,
// or of the packets, which steering may have handed on to another.
func (p *patient) busiest() (name string, share float64, cpus int) {
	softirqs := p.state.Counters["softirqs"]["NET_RX"]
	packets := map[string]uint64{}
	for cpu := range p.state.Counters["softnet_stat"] {
		if n, known := p.state.Counters.Get("softnet_stat", cpu, "processed"); known {
			packets[cpu] = n
		}
	}
	name, share = most(softirqs)
	if other, s := most(packets); name != "" && len(packets) == len(softirqs) && s > share {
		name, share = other, s
	}
	return name, share, len(softirqs)
}

func most(row map[string]uint64) (cpu string, share float64) {
	var all, top uint64
	for _, name := range slices.Sorted(maps.Keys(row)) {
		all += row[name]
		if row[name] > top {
			cpu, top = name, row[name]
		}
	}
	return cpu, float64(top) / float64(max(all, 1))
}

func (p *patient) concentrated() bool {
	_, share, cpus := p.busiest()
	return cpus >= 4 && share > 0.5 || cpus > 1 && share > 0.9
}

// shared tells of workers bound to the CPU that receives most.
func (p *patient) shared() Check {
	c := Check{ID: "softirq_cpu", Side: Client, Why: "a worker bound to the CPU that takes most packets has only what is left of it"}
	name, share, _ := p.busiest()
	allowed := p.state.Fact("status/Cpus_allowed_list")
	if name == "" || !allowed.Known() {
		return c.unknown(stats.Lack("/proc/softirqs or /proc/self/status does not say"))
	}
	value := fmt.Sprintf("%s takes %s; workers may use %s", name, units.Percent(share), allowed.Value)
	busy, _ := strconv.Atoi(strings.TrimPrefix(name, "cpu"))
	return c.unless(!p.concentrated() || !p.plan.Pinned || !slices.Contains(list(allowed.Value), busy), Note, value)
}

// rps is receive packet steering of the interfaces with hardware: needed where
// one queue feeds many CPUs.
func (p *patient) rps() Check {
	c := Check{ID: "rps_cpus", Side: Both, Why: "hands packets of a queue to other CPUs; off unless set, and of no use where there are as many queues as CPUs"}
	var values []string
	needed := ""
	for _, name := range p.interfaces() {
		f := p.state.Fact("net/" + name + "/rps_cpus")
		if !f.Known() {
			continue
		}
		values = append(values, name+" "+f.Value)
		if p.state.Fact("net/"+name+"/rx_queues").Value == "1" && strings.Trim(f.Value, "0,") == "" {
			needed = name
		}
	}
	if len(values) == 0 {
		return c.unknown(stats.Lack("no interface has it, or is readable: kernels have it since 2.6.35"))
	}
	value := strings.Join(values, ", ")
	if cpus := len(p.state.Counters["softirqs"]["NET_RX"]); needed != "" && cpus >= 4 && p.concentrated() {
		c.Limit = "not 0 for one queue, many CPUs and receiving on one of them"
		c.Fix = fmt.Sprintf("echo %s > /sys/class/net/%s/queues/rx-0/rps_cpus", mask(cpus), needed)
		return c.as(Warn, value)
	}
	return c.as(Note, value)
}

// mask of the first n CPUs, as the kernel writes it: 32 bits between commas.
func mask(n int) string {
	var words []string
	for ; n > 0; n -= 32 {
		words = append([]string{fmt.Sprintf("%x", uint32(1<<min(n, 32)-1))}, words...)
	}
	return strings.Join(words, ",")
}

// irqs says whether all queues of an interface interrupt the same CPU.
func (p *patient) irqs() Check {
	c := Check{ID: "smp_affinity", Side: Both, Why: "where interrupts of the interfaces go"}
	var values, same []string
	for _, name := range p.interfaces() {
		f := p.state.Fact("net/" + name + "/effective_affinity_list")
		if !f.Known() {
			f = p.state.Fact("net/" + name + "/smp_affinity_list")
		}
		if !f.Known() {
			continue
		}
		values = append(values, name+" "+f.Value)
		queues, _ := number(p.state.Fact("net/" + name + "/rx_queues"))
		if _, err := strconv.Atoi(f.Value); err == nil && queues > 1 {
			same = append(same, name)
		}
	}
	if len(values) == 0 {
		return c.unknown(stats.Lack("no interface says which interrupts it has"))
	}
	if len(same) > 0 {
		c.Limit = "the queues of an interface on different CPUs"
		c.Fix = "irqbalance, or echo CPU > /proc/irq/N/smp_affinity_list for each interrupt of " + same[0]
		return c.as(Warn, strings.Join(values, ", "))
	}
	return c.as(Note, strings.Join(values, ", "))
}

// interfaces are those with hardware behind them; towards a target on this host
// the loopback.
func (p *patient) interfaces() []string {
	var names []string
	for _, name := range p.tree.Interfaces() {
		if name == "lo" && p.plan.Local || p.state.Fact("net/"+name+"/driver").Known() && !p.plan.Local {
			names = append(names, name)
		}
	}
	return names
}

// link is the interface itself, and what it dropped of what it received.
func (p *patient) link(name string) Check {
	c := Check{ID: name, Side: Both, Why: "the interface: driver, speed in Mbit/s, MTU"}
	var parts []string
	for _, what := range [...]string{"driver", "speed", "mtu"} {
		if f := p.state.Fact("net/" + name + "/" + what); f.Known() {
			parts = append(parts, what+" "+f.Value)
		}
	}
	all, known := p.state.Counters.Get("dev", name, "rx_packets")
	if !known {
		return c.unknown(stats.Lack("/proc/net/dev does not have it"))
	}
	drops, _ := p.state.Counters.Get("dev", name, "rx_drop")
	missed, _ := p.state.Counters.Get("dev", name, "rx_fifo")
	value := strings.Join(parts, ", ")
	if n := drops + missed; name != "lo" && n > 10+all/10_000 {
		c.Why += fmt.Sprintf("; it dropped %s of %s packets received", units.Count(n), units.Count(n+all))
		c.Limit, c.Fix = "1 of 10,000 dropped", fmt.Sprintf("ethtool -S %s says why; ethtool -G %s rx N for longer rings", name, name)
		return c.as(Warn, value)
	}
	return c.as(Note, value)
}

// shapers are the queueing disciplines that hold packets back (tc(8)).
var shapers = [...]string{"netem", "tbf", "htb", "hfsc", "cbq", "cake"}

func (p *patient) qdisc(name string) Check {
	f := p.state.Fact("net/" + name + "/qdisc")
	c := Check{ID: name + "/qdisc", Side: Both, Why: "the queueing discipline of what is sent"}
	if !f.Known() {
		return c.unknown(f)
	}
	for _, shaper := range shapers {
		if slices.Contains(strings.Fields(f.Value), shaper) {
			c.Why, c.Fix = c.Why+"; this one holds packets back", "tc qdisc del dev "+name+" root"
			return c.as(Warn, f.Value)
		}
	}
	return c.as(Note, f.Value)
}

// channels are the queues that an interface uses of those it has.
func (p *patient) channels(name string) Check {
	f := p.state.Fact("net/" + name + "/channels")
	c := Check{ID: name + "/channels", Side: Both, Why: "queues of the interface, in use and at most: each can interrupt a CPU of its own"}
	if !f.Known() {
		return c.unknown(f)
	}
	var used, most int
	if n, _ := fmt.Sscanf(f.Value, "%d of %d", &used, &most); n != 2 {
		return c.unknown(notANumber(f))
	}
	want := min(most, max(1, len(p.state.Counters["softirqs"]["NET_RX"])))
	speed, _ := number(p.state.Fact("net/" + name + "/speed"))
	c.Limit = fmt.Sprintf("at least %d above 1 Gbit/s", want)
	if used < want && speed > 1000 {
		c.Fix = fmt.Sprintf("ethtool -L %s combined %d", name, want)
		return c.as(Warn, f.Value)
	}
	return c.as(Note, f.Value)
}
