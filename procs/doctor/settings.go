package doctor

import (
	"strconv"
	"strings"
)

// settings are those that must be the same in both runs that one compares.
func (p *patient) settings() []Check {
	var checks []Check
	for _, n := range [...]struct {
		name string // of the sysctl net.ipv4.…
		side Side
		why  string
	}{
		{"tcp_congestion_control", Both, "how fast data is sent"},
		{"tcp_slow_start_after_idle", Both, "1 makes a kept connection slow again after a pause"},
		{"tcp_ecn", Both, "congestion is marked instead of packets dropped"},
		{"tcp_timestamps", Both, "12 bytes in each packet; needed to reuse ports"},
		{"tcp_syn_retries", Client, "how long the kernel tries to connect: 6 is 131 s, beyond --connect-timeout"},
		{"tcp_syn_linear_timeouts", Client, "how many SYNs are sent again after one second each, since 6.5"},
		{"tcp_retries2", Both, "how long the kernel sends data again before it gives up"},
		{"tcp_rmem", Both, "memory for what is received: least, default, most"},
		{"tcp_wmem", Both, "memory for what is sent: least, default, most"},
	} {
		checks = append(checks, p.note(n.name, "net.ipv4."+n.name, n.side, n.why))
	}
	return append(checks,
		p.note("default_qdisc", "net.core.default_qdisc", Both, "the queueing discipline of new interfaces"),
		p.note("busy_poll", "net.core.busy_poll", Both, "microseconds that poll(2) asks the interface itself"),
		p.note("rps_sock_flow_entries", "net.core.rps_sock_flow_entries", Both, "packets are taken where their reader runs, if above 0"))
}

// identity is what says whether two results are of the same host.
func (p *patient) identity() []Check {
	return []Check{
		p.note("osrelease", "kernel.osrelease", Both, "the kernel"),
		p.note("boot_id", "kernel.random.boot_id", Both, "each start of a host is a sample of its own: runs inside one are alike"),
		p.note("os-release", "os-release/PRETTY_NAME", Both, "the distribution"),
		p.cpuModel(),
		p.note("microcode", "cpuinfo/microcode", Both, "brings mitigations of its own"),
		p.note("hypervisor", "cpuinfo/hypervisor", Both, "yes for a virtual machine, whose CPUs others may share"),
		p.mitigations(), p.preemption(), p.debugging(),
		p.note("hz", "config/CONFIG_HZ", Both, "ticks in a second: the grain of time slices and of much accounting"),
	}
}

// cpuModel has a name on x86 and a part number on ARM.
func (p *patient) cpuModel() Check {
	c := p.note("cpu", "cpuinfo/model name", Both, "the CPU")
	if c.Level == Unknown {
		c = p.note("cpu", "cpuinfo/CPU part", Both, "the CPU")
	}
	return c
}

// mitigations of the CPU's vulnerabilities: each costs time at system calls and
// switches, and an upgrade brings new ones.
func (p *patient) mitigations() Check {
	c := Check{ID: "mitigations", Side: Both, Why: "each mitigation costs time at system calls and switches of context; a new kernel brings new ones"}
	mitigated, known := 0, 0
	for name, f := range p.state.Facts {
		if strings.HasPrefix(name, "vulnerabilities/") && f.Known() {
			known++
			if strings.HasPrefix(f.Value, "Mitigation") {
				mitigated++
			}
		}
	}
	if known == 0 {
		return c.unknown(p.tree.Read("sys/devices/system/cpu/vulnerabilities"))
	}
	value := strconv.Itoa(mitigated) + " active, " + strconv.Itoa(known) + " vulnerabilities known to this kernel"
	for option := range strings.FieldsSeq(p.state.Fact("cmdline").Value) {
		if strings.HasPrefix(option, "mitigations=") {
			value += ", " + option
		}
	}
	return c.as(Note, value)
}

// preemption model: from the build's name, or where it can be chosen at boot
// from debugfs, which only root may read.
func (p *patient) preemption() Check {
	c := Check{ID: "preempt", Side: Both, Why: "how readily the kernel takes a CPU away from a process that works"}
	f := p.state.Fact("sched/preempt")
	if f.Known() {
		return c.as(Note, f.Value)
	}
	version := p.state.Fact("kernel.version")
	if !version.Known() {
		return c.unknown(version)
	}
	for word := range strings.FieldsSeq(version.Value) {
		if strings.HasPrefix(word, "PREEMPT") {
			return c.as(Note, word)
		}
	}
	return c.as(Note, "none in "+version.Value)
}

// debugging kernels check themselves at every step.
func (p *patient) debugging() Check {
	c := Check{ID: "lockdep", Side: Both, Why: "a kernel that checks its own locks or memory is several times slower", Fix: "start a kernel built without CONFIG_PROVE_LOCKING, CONFIG_KASAN and CONFIG_DEBUG_KMEMLEAK"}
	f := p.state.Fact("kernel.tainted")
	if !f.Known() {
		return c.unknown(f)
	}
	on := p.tree.Read("proc/lockdep_stats").Known()
	for _, choice := range [...]string{"CONFIG_KASAN", "CONFIG_PROVE_LOCKING", "CONFIG_DEBUG_KMEMLEAK"} {
		on = on || p.state.Fact("config/"+choice).Value == "y"
	}
	if on {
		c.Limit = "off"
		return c.as(Warn, "on")
	}
	c.Fix = ""
	return c.as(Note, "off, kernel.tainted "+f.Value)
}
