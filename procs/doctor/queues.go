package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"horde/stats"
	"horde/stats/units"
)

// queues checks what connections wait in on the side that serves, and what may
// be lost of them.
func (p *patient) queues() []Check {
	return []Check{
		p.somaxconn(), p.backlog(), p.serverFiles(), p.synBacklog(), p.syncookies(),
		p.note("tcp_abort_on_overflow", "net.ipv4.tcp_abort_on_overflow", Server,
			"1 turns connections silently dropped from a full accept queue into resets: another class of failures"),
		p.orphans(), p.tcpMemory(), p.conntrack(),
	}
}

// mostBurst is how long a queue one can ask a server for.
const mostBurst = 1024

func (p *patient) needQueue() int { return min(p.plan.burst(), mostBurst) }

func (p *patient) somaxconn() Check {
	f := p.state.Fact("net.core.somaxconn")
	c := Check{ID: "somaxconn", Side: Server, Why: "the longest accept queue a server can have, whatever it asks for: the clients' first connects come all at once. 128 before Linux 5.4, 4096 since"}
	if n, _ := p.state.Counters.Get("netstat", "TcpExt", "ListenOverflows"); n > 0 {
		c.Why += fmt.Sprintf("; accept queues of this host overflowed %s times since it started", units.Count(n))
	}
	most, ok := number(f)
	if !ok {
		return c.unknown(notANumber(f))
	}
	c.Limit = fmt.Sprintf("at least %d for this start of the clients", p.needQueue())
	c.Fix = fmt.Sprintf("sysctl -w net.core.somaxconn=%d, and restart the server; or --ramp", max(4096, roomy(p.needQueue())))
	return c.unless(most >= p.needQueue(), Warn, f.Value)
}

// backlog is what the server itself asked for, which is often less.
func (p *patient) backlog() Check {
	c := Check{ID: "backlog", Side: Server, Why: "the accept queue that the target asked for when it began to listen (ss -ltn, Send-Q)",
		Fix: "raise the server's backlog (nginx: listen … backlog=, Tomcat: acceptCount, Go: somaxconn); or --ramp"}
	if !p.plan.Local || p.plan.Port == 0 {
		return Check{} // nothing to look at
	}
	l, f := p.tree.Listener(p.plan.Port)
	if !f.Known() {
		return c.unknown(f)
	}
	c.Limit = fmt.Sprintf("at least %d for this start of the clients", p.needQueue())
	return c.unless(l.Queue >= p.needQueue(), Warn, fmt.Sprintf("%d, %d waiting", l.Queue, l.Waiting))
}

// serverFiles is the descriptor limit of the process that listens.
func (p *patient) serverFiles() Check {
	c := Check{ID: "nofile", Side: Server, Why: "each connection is a descriptor of the server's process"}
	if !p.plan.Local || p.plan.Port == 0 {
		return Check{}
	}
	l, f := p.tree.Listener(p.plan.Port)
	if f.Known() && l.PID == 0 {
		f = stats.Lack("the process that listens is not to be seen")
	}
	if !f.Known() {
		return c.unknown(f)
	}
	limits := p.tree.Field("proc/"+strconv.Itoa(l.PID)+"/limits", "Max open files")
	soft, ok := number(limits)
	if !ok && strings.HasPrefix(limits.Value, "unlimited") {
		return c.fine(limits.Value)
	}
	if !ok {
		return c.unknown(notANumber(limits))
	}
	need := p.plan.Clients + 64
	c.Limit = fmt.Sprintf("at least %d, if process %d serves all", need, l.PID)
	c.Fix = fmt.Sprintf("LimitNOFILE=%d in its unit, or prlimit --nofile=%d --pid %d", roomy(need), roomy(need), l.PID)
	return c.unless(soft >= need, Warn, strconv.Itoa(soft))
}

// synBacklog matters only without cookies: else the half-open queue is as long
// as the backlog of the socket.
func (p *patient) synBacklog() Check {
	f := p.state.Fact("net.ipv4.tcp_max_syn_backlog")
	c := Check{ID: "tcp_max_syn_backlog", Side: Server, Why: "bounds half-open connections, three quarters of it, where tcp_syncookies is 0"}
	most, ok := number(f)
	if !ok {
		return c.unknown(notANumber(f))
	}
	c.Limit = fmt.Sprintf("without cookies at least %d", p.needQueue()*4/3)
	c.Fix = fmt.Sprintf("sysctl -w net.ipv4.tcp_max_syn_backlog=%d", roomy(p.needQueue()*4/3))
	cookies := p.state.Fact("net.ipv4.tcp_syncookies").Value
	return c.unless(cookies == "1" || cookies == "2" || most*3/4 >= p.needQueue(), Warn, f.Value)
}

// syncookies matter where they are sent for more than one connection in a thousand.
func (p *patient) syncookies() Check {
	c := p.note("tcp_syncookies", "net.ipv4.tcp_syncookies", Server, "what happens when the half-open queue is full: cookies, which lose TCP options, or dropped SYNs")
	sent, known1 := p.state.Counters.Get("netstat", "TcpExt", "SyncookiesSent")
	opened, known2 := p.state.Counters.Get("snmp", "Tcp", "PassiveOpens")
	if c.Level == Note && known1 && known2 && sent > opened/1000 {
		c.Why = "the half-open queue was full: cookies were sent instead, which lose TCP options"
		c.Limit = fmt.Sprintf("%s cookies for %s connections since this host started, at most 1 in 1,000", units.Count(sent), units.Count(opened))
		c.Fix = "raise the server's backlog and net.core.somaxconn"
		return c.as(Warn, c.Value)
	}
	return c
}

func (p *patient) orphans() Check {
	f := p.state.Fact("net.ipv4.tcp_max_orphans")
	c := Check{ID: "tcp_max_orphans", Side: Server, Why: "connections whose process has closed them, but whose data is not yet acknowledged; those beyond are reset"}
	most, ok := number(f)
	now, known := p.state.Counters.Get("sockstat", "TCP", "orphan")
	if !ok || !known {
		return c.unknown(notANumber(f))
	}
	c.Limit = fmt.Sprintf("%d now, at most half of it", now)
	c.Fix = fmt.Sprintf("sysctl -w net.ipv4.tcp_max_orphans=%d", roomy(4*int(now)))
	return c.unless(int(now) <= most/2, Warn, f.Value)
}

// tcpMemory is low, pressure and high, in pages.
func (p *patient) tcpMemory() Check {
	f := p.state.Fact("net.ipv4.tcp_mem")
	c := Check{ID: "tcp_mem", Side: Both, Why: "pages for all TCP buffers together: at the second number the kernel begins to save, at the third connections fail", Fix: "sysctl -w net.ipv4.tcp_mem='…' with higher numbers"}
	var low, pressure, high int
	n, _ := fmt.Sscan(f.Value, &low, &pressure, &high)
	now, known := p.state.Counters.Get("sockstat", "TCP", "mem")
	if n != 3 || !known {
		return c.unknown(notANumber(f))
	}
	c.Limit = fmt.Sprintf("%d pages now, at most half of the second", now)
	return c.unless(int(now) <= pressure/2, Warn, f.Value)
}

// conntrack that is loaded does nothing until a rule needs it; whether it tracks
// shows in its count.
func (p *patient) conntrack() Check {
	f := p.state.Fact("net.netfilter.nf_conntrack_max")
	if !f.Known() {
		f = p.state.Fact("ip_conntrack_max")
	}
	c := Check{ID: "nf_conntrack", Side: Both, Why: "connection tracking costs CPU for each packet"}
	most, ok := number(f)
	now, known := p.state.Counters.Get("nf_conntrack", "all", "count")
	if !ok || !known {
		return c.unknown(notANumber(f))
	}
	need := p.plan.Clients
	if rate := int(p.plan.opened()); rate > 0 { // entries outlive their connections by two minutes
		need += rate * min(120, max(1, int(p.plan.Duration.Seconds())))
	}
	if p.plan.Requests > 0 && !p.plan.KeepAlive {
		need = min(max(need, int(min(p.plan.Requests, 1<<31))), p.plan.Clients+int(min(p.plan.Requests, 1<<31)))
	}
	value := fmt.Sprintf("%s of %s entries", units.Count(now), units.Count(uint64(most)))
	tracks := p.tracks(now)
	c.Limit = fmt.Sprintf("this run may need %s entries", units.Count(uint64(need)))
	c.Fix = fmt.Sprintf("exempt the target's port: iptables -t raw -A PREROUTING -p tcp --dport %s -j NOTRACK; or raise net.netfilter.nf_conntrack_max", p.port())
	switch {
	case int(now)*10 > most*9:
		c.Why += "; the table is nearly full, and what does not fit is dropped"
		return c.as(Fail, value)
	case tracks && int(now)+need > most:
		c.Why += "; it tracks connections of this host, and this run may fill its table"
		return c.as(Warn, value)
	case tracks:
		c.Why += "; it tracks connections of this host"
		return c.as(Warn, value)
	}
	c.Why += "; it is there, but hardly tracks any of this host's connections now: the report of a run says whether it tracked those"
	c.Fix = ""
	return c.as(Note, value)
}

// tracks reports whether conntrack follows the connections there are: at least
// half as many entries as sockets of TCP, and enough of them to tell.
func (p *patient) tracks(entries uint64) bool {
	inuse, known1 := p.state.Counters.Get("sockstat", "TCP", "inuse")
	tw, known2 := p.state.Counters.Get("sockstat", "TCP", "tw")
	return known1 && known2 && entries >= 10 && 2*entries >= inuse+tw
}

func (p *patient) port() string {
	if p.plan.Port == 0 {
		return "PORT"
	}
	return strconv.Itoa(p.plan.Port)
}
