package doctor

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"horde/procs"
	"horde/stats"
	"horde/stats/units"
)

// process checks what the processes of the run need of this host.
func (p *patient) process() []Check {
	checks := []Check{p.nofile(), p.fileMax(), p.nrOpen(), p.pipes(), p.overcommit()}
	checks = append(checks, p.limits()...)
	return append(checks, p.note("policy", "policy", Both, "the scheduling class that workers inherit"),
		p.note("nice", "nice", Both, "the priority that workers inherit"),
		p.note("seccomp", "status/Seccomp", Both, "a filter of system calls costs time at each of them"),
		p.note("lsm", "security/lsm", Both, "each security module costs time at each system call"))
}

// note is a setting that must be the same in both runs that one compares.
func (p *patient) note(id, fact string, side Side, why string) Check {
	f := p.state.Fact(fact)
	c := Check{ID: id, Side: side, Why: why}
	if !f.Known() {
		return c.unknown(f)
	}
	return c.as(Note, f.Value)
}

// hardLimit reads the second number of a line of proc_pid_limits(5).
func hardLimit(f stats.Fact) (int, bool) {
	fields := strings.Fields(f.Value)
	if !f.Known() || len(fields) < 2 {
		return 0, false
	}
	if fields[1] == "unlimited" {
		return math.MaxInt32, true
	}
	n, err := strconv.ParseUint(fields[1], 10, 63)
	return int(min(n, math.MaxInt32)), err == nil
}

func (p *patient) nofile() Check {
	f := p.state.Fact("limits/Max open files")
	c := Check{ID: "nofile", Side: Client, Why: "each connection is a descriptor of a worker, and each worker two of the parent; only the hard limit counts, the soft one is raised to it"}
	hard, ok := hardLimit(f)
	if !ok {
		return c.unknown(notANumber(f))
	}
	need := procs.Descriptors(p.plan.Clients, p.plan.Workers)
	c.Limit = fmt.Sprintf("at least %d", need)
	c.Fix = fmt.Sprintf("ulimit -Hn %d  (as root; for good in /etc/security/limits.conf, or LimitNOFILE= of a unit); or more processes (-w)", roomy(need))
	return c.unless(hard >= need, Fail, strconv.Itoa(hard))
}

// roomy is what to set a limit to that must be at least n: the next power of two.
func roomy(n int) int {
	size := 1024
	for size < n {
		size *= 2
	}
	return size
}

func (p *patient) fileMax() Check {
	c := Check{ID: "file-max", Side: Both, Why: "all files and sockets of this host together; both ends of a connection count where both are here"}
	most, ok := number(p.state.Fact("fs.file-max"))
	if !ok {
		return c.unknown(notANumber(p.state.Fact("fs.file-max")))
	}
	nr := p.tree.Read("proc/sys/fs/file-nr")
	used, ok := number(nr)
	if !ok {
		return c.unknown(notANumber(nr))
	}
	ends := 1
	if p.plan.Local {
		ends = 2
	}
	need := used + ends*p.plan.Clients + 8*p.plan.Workers
	c.Limit = fmt.Sprintf("%d in use, %d with this run: at most 80 %% of it", used, need)
	c.Fix = fmt.Sprintf("sysctl -w fs.file-max=%d", roomy(need*2))
	return c.unless(float64(need) <= 0.8*float64(most), Warn, strconv.Itoa(most))
}

func (p *patient) nrOpen() Check {
	f := p.state.Fact("fs.nr_open")
	c := Check{ID: "nr_open", Side: Both, Why: "no process may have a higher limit of descriptors"}
	most, ok := number(f)
	if !ok {
		return c.unknown(notANumber(f))
	}
	need := procs.Descriptors(p.plan.Clients, p.plan.Workers)
	c.Limit = fmt.Sprintf("at least %d", need)
	c.Fix = fmt.Sprintf("sysctl -w fs.nr_open=%d", roomy(need))
	return c.unless(most >= need, Fail, strconv.Itoa(most))
}

// pipes of an unprivileged user beyond the soft limit shrink to one page
// (pipe(7)); the parent has two for each worker.
func (p *patient) pipes() Check {
	f := p.state.Fact("fs.pipe-user-pages-soft")
	c := Check{ID: "pipe-user-pages-soft", Side: Client, Why: "pipes beyond it hold one page instead of 16, for users other than root: workers may wait for the parent to read"}
	pages, ok := number(f)
	if !ok {
		return c.unknown(notANumber(f))
	}
	need := 2 * p.plan.Workers * 16
	c.Limit = fmt.Sprintf("at least %d for %s", need, count(2*p.plan.Workers, "pipe", "pipes"))
	c.Fix = fmt.Sprintf("sysctl -w fs.pipe-user-pages-soft=%d, or fewer processes (-w auto)", roomy(need))
	return c.unless(pages == 0 || pages >= need || p.root(), Warn, strconv.Itoa(pages))
}

// root reports whether this process is the superuser's (proc_pid_status(5)).
func (p *patient) root() bool {
	uid, ok := number(p.tree.Field("proc/self/status", "Uid:"))
	return ok && uid == 0
}

func (p *patient) overcommit() Check {
	f := p.state.Fact("vm.overcommit_memory")
	c := Check{ID: "overcommit_memory", Side: Client, Limit: "0 or 1", Fix: "sysctl -w vm.overcommit_memory=0",
		Why: "with 2 the kernel refuses memory that many processes ask for and never use"}
	mode, ok := number(f)
	if !ok {
		return c.unknown(notANumber(f))
	}
	return c.unless(mode != 2, Warn, f.Value)
}

// fixes of the limits that procs.Limits names.
var limitFixes = map[string]string{
	"pid_max":               "sysctl -w kernel.pid_max=4194304",
	"threads-max":           "sysctl -w kernel.threads-max=4194304",
	"nproc":                 "ulimit -Hu unlimited  (as root; for good in /etc/security/limits.conf)",
	"pids.max":              "raise TasksMax= of the unit or pids.max of the control group",
	"memory.max":            "raise MemoryMax= of the unit or memory.max of the control group",
	"memory.limit_in_bytes": "raise memory.limit_in_bytes of the control group",
}

// limits are those that procs.Fit packs workers by. A host that lacks one says
// so; of several control groups the tightest counts.
func (p *patient) limits() []Check {
	names := []string{"pid_max", "threads-max", "nproc", "pids.max", "MemAvailable", "memory.max", "memory.limit_in_bytes"}
	checks := map[string]Check{}
	for _, l := range procs.Limits(string(p.tree), p.plan.Clients, p.plan.BodySize) {
		c := p.limit(l)
		if earlier, found := checks[l.Name]; !found || c.Level < earlier.Level {
			checks[l.Name] = c
		}
	}
	list := make([]Check, len(names))
	for i, name := range names {
		c, found := checks[name]
		if !found || name == "nproc" && !p.tree.Live() {
			c = p.without(Check{ID: name, Side: Client, Why: "no limit"})
		}
		list[i] = c
	}
	return list
}

// without judges a limit that procs.Limits does not have: because the host says
// that there is none, or because it does not say anything.
func (p *patient) without(c Check) Check {
	f := p.state.Fact("cgroup/" + c.ID)
	switch {
	case c.ID == "nproc" && p.root():
		return c.as(OK, "not for root")
	case c.ID == "nproc" && !p.tree.Live():
		return c.unknown(stats.Lack("only a running host tells"))
	case c.ID == "nproc":
		f = p.state.Fact("limits/Max processes")
	case !strings.Contains(c.ID, "."):
		return c.unknown(stats.Lack("/proc does not say"))
	}
	if !f.Known() {
		return c.unknown(f)
	}
	return c.as(OK, f.Value)
}

// limit judges one of them: a plan must take at most 90 % of what is left.
func (p *patient) limit(l procs.Limit) Check {
	c := Check{ID: l.Name, Side: Client, Why: l.Why, Fix: limitFixes[l.Name]}
	if c.Fix == "" {
		c.Fix = "fewer processes (-w auto) or fewer clients (-c)"
	}
	c.Limit = fmt.Sprintf("carries %s, this run starts %s", count(max(l.Workers, 0), "worker", "workers"), units.Count(uint64(p.plan.Workers)))
	switch {
	case l.Workers < p.plan.Workers:
		return c.as(Fail, l.Value)
	case 9*l.Workers < 10*p.plan.Workers:
		return c.as(Warn, l.Value)
	}
	return c.fine(l.Value)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return units.Count(uint64(n)) + " " + many
}
