// Package doctor holds a host against a planned run and says, before it starts,
// what would make its numbers wrong, surprising, or impossible to compare. It
// only reads. It lives in the parent, and in no run.
package doctor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"horde/stats"
	"horde/stats/host"
)

// Level says how much a finding matters, the worst first.
type Level int

// The levels. What is missing or unreadable is Unknown: it is never fine.
const (
	Fail    Level = iota // the numbers would be wrong, or the run cannot work
	Warn                 // the numbers will be right, but will surprise
	Unknown              // not there, or not readable by this user
	Note                 // must be the same in both runs that one compares
	OK
)

func (l Level) String() string { return [...]string{"FAIL", "WARN", "UNKNOWN", "NOTE", "OK"}[l] }

// Side is the end of the connection that a finding matters for.
type Side string

// The sides.
const (
	Client Side = "client"
	Server Side = "server"
	Both   Side = "both"
)

// Check is one thing looked at. ID is the kernel's own name for it where it has one.
type Check struct {
	ID    string
	Level Level
	Side  Side
	Value string // as seen, "" if unknown
	Limit string // for this plan, "" if there is none
	Why   string
	Fix   string // a command, "" if there is none
}

// Plan is what matters of a planned run.
type Plan struct {
	Clients   int
	Workers   int
	PerClient bool // as many workers as clients, because that is the default
	Pinned    bool
	BodySize  int
	Requests  uint64        // 0 = no limit
	Rate      float64       // requests per second, 0 = closed loop
	Duration  time.Duration // 0 = no limit
	Ramp      time.Duration
	KeepAlive bool
	Sources   int // addresses to connect from, at least 1

	Target string // as typed, "" if none was
	Local  bool   // the target is on this host
	Port   int    // of the target, 0 if none was typed
}

// remote reports whether the target is another host, or may be.
func (p *Plan) remote() bool { return !p.Local }

// serves reports whether this host may be the one that serves: it does, or no
// target was named.
func (p *Plan) serves() bool { return p.Local || p.Target == "" }

// opened is how many connections the plan opens in a second, 0 if that depends
// on how fast the target answers.
func (p *Plan) opened() float64 {
	if p.KeepAlive {
		return 0
	}
	return p.Rate
}

// burst is how many connections come at once when the run starts.
func (p *Plan) burst() int {
	if p.Ramp > 0 {
		return min(p.Clients, 1+int(float64(p.Clients)*0.1/p.Ramp.Seconds())) // within 100 ms
	}
	return p.Clients
}

// patient is a host being examined for a plan.
type patient struct {
	tree  host.Tree
	state *stats.HostState
	plan  Plan
}

// Examine holds the host in tree against the plan. The worst findings come first.
func Examine(tree host.Tree, plan Plan) []Check {
	p := &patient{tree, tree.State(), plan}
	checks := slices.Concat(p.process(), p.ports(), p.queues(), p.packets(), p.settings(), p.cpus(), p.identity())
	checks = slices.DeleteFunc(checks, func(c Check) bool { return c.ID == "" || c.Side == Server && !plan.serves() })
	for i := range checks {
		checks[i].Value = strings.Join(strings.Fields(checks[i].Value), " ")
	}
	slices.SortStableFunc(checks, func(a, b Check) int { return cmp.Compare(a.Level, b.Level) })
	return checks
}

// Worst is the worst level among checks.
func Worst(checks []Check) Level {
	worst := OK
	for _, c := range checks {
		worst = min(worst, c.Level)
	}
	return worst
}

// unknown is c without a value, and why.
func (c Check) unknown(f stats.Fact) Check {
	c.Level, c.Value, c.Limit, c.Fix = Unknown, "", "", ""
	c.Why = f.Unknown
	return c
}

// as is c with a level and a value.
func (c Check) as(level Level, value string) Check {
	c.Level, c.Value = level, value
	return c
}

// fine is c without a finding: there is nothing to mend.
func (c Check) fine(value string) Check {
	c.Fix = ""
	return c.as(OK, value)
}

// unless is c at level, or fine if all is well.
func (c Check) unless(well bool, level Level, value string) Check {
	if well {
		return c.fine(value)
	}
	return c.as(level, value)
}
