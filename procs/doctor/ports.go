package doctor

import (
	"fmt"
	"strconv"

	"horde/stats"
	"horde/stats/units"
)

// timeWait is how long an end that closed first keeps its port. It is fixed;
// tcp_fin_timeout is for something else (ip-sysctl.rst).
const timeWait = 60

// ports checks whether the connections of the plan find a port of this host.
func (p *patient) ports() []Check {
	return []Check{p.portRange(), p.twReuse(), p.twRecycle(), p.inTimeWait(), p.twBuckets()}
}

// portRange is how many ports a source address has for one address and port of
// the target. connect(2) looks ever longer once half of them are taken.
func (p *patient) portRange() Check {
	f := p.state.Fact("net.ipv4.ip_local_port_range")
	c := Check{ID: "ip_local_port_range", Side: Client, Fix: "sysctl -w net.ipv4.ip_local_port_range='1024 65535', or more addresses to connect from (--source)"}
	ports, ok := p.ephemeral()
	if !ok {
		return c.unknown(notANumber(f))
	}
	each := (p.plan.Clients + p.plan.Sources - 1) / p.plan.Sources
	c.Limit = fmt.Sprintf("%s of the %d ports at once for each address connected from, at most half", units.Count(uint64(each)), ports)
	c.Why = "each connection takes a port; beyond half of them connect(2) gets slow, and with none left it fails"
	if !p.plan.KeepAlive {
		c.Why += fmt.Sprintf("; a port whose end closed first waits %d s, so without reuse %s connections/s last", timeWait, units.Rate(float64(ports)/timeWait))
	}
	rate := p.plan.opened() / float64(p.plan.Sources)
	switch {
	case each > ports:
		return c.as(Fail, f.Value)
	case each > ports/2:
		return c.as(Warn, f.Value)
	case p.plan.remote() && !p.reuses() && rate > float64(ports)/timeWait:
		c.Limit = fmt.Sprintf("%s connections/s without reuse (net.ipv4.tcp_tw_reuse), %s asked", units.Rate(float64(ports)/timeWait), units.Rate(rate))
		return c.as(Warn, f.Value)
	}
	return c.fine(f.Value)
}

// ephemeral is how many ports the kernel gives out: the range without those reserved.
func (p *patient) ephemeral() (n int, ok bool) {
	var first, last int
	if got, _ := fmt.Sscan(p.state.Fact("net.ipv4.ip_local_port_range").Value, &first, &last); got != 2 || last < first {
		return 0, false
	}
	n = last - first + 1
	for _, port := range list(p.state.Fact("net.ipv4.ip_local_reserved_ports").Value) {
		if port >= first && port <= last {
			n--
		}
	}
	return n, true
}

// reuses reports whether ports in TIME_WAIT are used again towards another host.
func (p *patient) reuses() bool {
	return p.state.Fact("net.ipv4.tcp_tw_reuse").Value == "1" && p.state.Fact("net.ipv4.tcp_timestamps").Value != "0"
}

func (p *patient) twReuse() Check {
	f := p.state.Fact("net.ipv4.tcp_tw_reuse")
	c := Check{ID: "tcp_tw_reuse", Side: Client, Fix: "sysctl -w net.ipv4.tcp_tw_reuse=1 net.ipv4.tcp_timestamps=1",
		Why: "1 lets a new connection take a port in TIME_WAIT after a second; 2, the default since 4.19, on loopback only, so that a rehearsal there flatters the real test"}
	if _, ok := number(f); !ok {
		return c.unknown(notANumber(f))
	}
	if p.plan.KeepAlive {
		c.Why = "connections are kept open: few ports are in TIME_WAIT"
		return c.fine(f.Value)
	}
	c.Limit = "1, with tcp_timestamps 1"
	well := p.reuses()
	if p.plan.Local {
		c.Limit = "1 or 2 for a target on this host, with tcp_timestamps 1"
		well = well || f.Value == "2" && p.state.Fact("net.ipv4.tcp_timestamps").Value != "0"
	}
	return c.unless(well, Warn, f.Value)
}

// twRecycle is gone since 4.12, and nobody missed it.
func (p *patient) twRecycle() Check {
	f := p.state.Fact("net.ipv4.tcp_tw_recycle")
	c := Check{ID: "tcp_tw_recycle", Side: Both, Limit: "0", Why: "1 breaks clients behind one address; kernels since 4.12 do not have it",
		Fix: "sysctl -w net.ipv4.tcp_tw_recycle=0"}
	if _, ok := number(f); !ok {
		return c.unknown(notANumber(f))
	}
	return c.unless(f.Value == "0", Warn, f.Value)
}

func (p *patient) inTimeWait() Check {
	c := Check{ID: "tw", Side: Both, Why: "connections in TIME_WAIT from before hold ports and memory",
		Fix: fmt.Sprintf("wait %d s before the run", timeWait)}
	now, known := p.state.Counters.Get("sockstat", "TCP", "tw")
	ports, ok := p.ephemeral()
	if !known || !ok {
		return c.unknown(stats.Lack("/proc/net/sockstat or ip_local_port_range does not say"))
	}
	c.Limit = fmt.Sprintf("at most %d, a quarter of the ports", ports/4)
	return c.unless(int(now) <= ports/4, Warn, units.Count(now))
}

// twBuckets bounds the connections in TIME_WAIT; those beyond are thrown away,
// which improves results for a wrong reason.
func (p *patient) twBuckets() Check {
	f := p.state.Fact("net.ipv4.tcp_max_tw_buckets")
	c := Check{ID: "tcp_max_tw_buckets", Side: Both, Why: "connections in TIME_WAIT beyond it are thrown away: numbers get better for a wrong reason"}
	most, ok := number(f)
	if !ok {
		return c.unknown(notANumber(f))
	}
	c.Limit = fmt.Sprintf("good for %s connections/s", units.Rate(float64(most)/timeWait))
	if p.plan.KeepAlive {
		return c.fine(f.Value)
	}
	need := p.plan.opened() * timeWait
	if p.plan.Requests > 0 && (need == 0 || float64(p.plan.Requests) < need) {
		need = float64(p.plan.Requests)
	}
	if need == 0 {
		return c.as(Note, f.Value)
	}
	c.Limit = fmt.Sprintf("at least %.0f for this run", need)
	c.Fix = "sysctl -w net.ipv4.tcp_max_tw_buckets=" + strconv.Itoa(roomy(int(min(need, 1<<30))))
	return c.unless(float64(most) >= need, Warn, f.Value)
}
