package stats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"horde/stats/units"
)

// Exit codes of a run. Where several apply the first of 130 and 143, 3, 5, 1,
// 4 wins; usage errors (2) end a run before there is anything to judge.
const (
	ExitOK          = 0
	ExitFailed      = 1 // target not reached at the start, or no request succeeded
	ExitUsage       = 2
	ExitWorkers     = 3 // workers not started, or lost
	ExitThreshold   = 4
	ExitGenerator   = 5 // this program or this host was at fault, not the target
	ExitInterrupted = 130
	ExitTerminated  = 143
)

var exitPrecedence = []int{ExitInterrupted, ExitTerminated, ExitWorkers, ExitGenerator, ExitFailed, ExitThreshold, ExitOK}

// Worst is the code that wins among those of several runs.
func Worst(codes ...int) int {
	var v Verdict
	for _, code := range codes {
		v.raise(code)
	}
	return v.Exit
}

// Thresholds are the limits that a user set for a run; nil is not set.
type Thresholds struct {
	MaxFailed *float64 // failed share of the requests that ended, 0–1
	MaxP99    *time.Duration
	MinRate   *float64 // succeeded requests per second
}

// Verdict says how far the numbers of a run can be trusted. It lives in the parent.
type Verdict struct {
	Exit             int
	Valid            bool  // false: the run says nothing about the target
	GeneratorLimited *bool // nil: not measured
	Partial          bool  // less was run than was asked for
	Stationary       *bool // nil: not measured
	Reasons          []string
}

// Judge draws the verdict on a finished run. What it finds itself comes first
// in Reasons, the worst before the rest, and the run's own reasons follow.
func Judge(r *Run, limits Thresholds) Verdict {
	v := Verdict{Valid: true}
	v.judgeBalance(r)
	v.judgeInterruption(r)
	if r.Unreachable == "" { // otherwise no worker was meant to start
		v.judgeWorkers(&r.Workers)
	}
	v.judgeLocalLimits(r)
	v.judgeGenerator(r)
	v.judgeLag(r)
	v.judgePace(r)
	v.judgeSuccess(r)
	v.judgeThresholds(r, limits)
	v.Reasons = append(v.Reasons, r.Reasons...)
	return v
}

func (v *Verdict) say(format string, args ...any) {
	v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
}

func (v *Verdict) raise(code int) {
	if slices.Index(exitPrecedence, code) < slices.Index(exitPrecedence, v.Exit) {
		v.Exit = code
	}
}

func (v *Verdict) judgeBalance(r *Run) {
	if r.Balance() == 0 {
		return
	}
	t, unfinished := &r.Tally, r.Unfinished.Sum()
	v.Valid = false
	v.raise(ExitGenerator)
	v.say("THE LEDGER DOES NOT BALANCE: %d begun, but %d succeeded + %d failed + %d unfinished + %d lost make %d; this is a defect of horde, do not use these numbers",
		t.Begun, t.Succeeded, t.Failed, unfinished, r.Lost, t.Succeeded+t.Failed+unfinished+r.Lost)
}

func (v *Verdict) judgeInterruption(r *Run) {
	if r.Interrupted == "" {
		return
	}
	v.Partial = true
	if r.Interrupted == "SIGTERM" {
		v.raise(ExitTerminated)
	} else {
		v.raise(ExitInterrupted)
	}
	asked := ""
	if r.Plan.Duration > 0 {
		asked = fmt.Sprintf(" of the %v asked", r.Plan.Duration)
	}
	v.say("interrupted by %s after %.3f s%s; rates are over the time that was measured", r.Interrupted, r.Measured.Seconds(), asked)
}

func (v *Verdict) judgeWorkers(w *Workers) {
	if w.Lost > 0 {
		v.Partial = true
		v.raise(ExitWorkers)
		v.say("%d of %d workers lost (%s); what they did after their last report is not in these numbers", w.Lost, w.Started, lossCauses(w))
	}
	if w.Started < w.Asked {
		v.Partial = true
		v.raise(ExitWorkers)
		v.say("%d workers asked, %d started", w.Asked, w.Started)
	}
}

// lossCauses groups the lost workers by how they ended: the cause alone where
// all share one, else each with its number, the most frequent first.
func lossCauses(w *Workers) string {
	counts := map[string]int{}
	unknown := w.Lost
	for _, k := range w.List {
		if k.Lost && k.Exit != "" {
			counts[k.Exit]++
			unknown--
		}
	}
	if unknown > 0 {
		counts["cause unknown"] += unknown
	}
	causes := make([]string, 0, len(counts))
	for cause := range counts {
		causes = append(causes, cause)
	}
	if len(causes) == 1 {
		return causes[0]
	}
	slices.SortFunc(causes, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, cause := range causes {
		causes[i] = fmt.Sprintf("%d x %s", counts[cause], cause)
	}
	return strings.Join(causes, ", ")
}

// judgeLocalLimits names every limit of this host that was met. Above limitLocal of
// all begun requests the run no longer speaks of the target.
func (v *Verdict) judgeLocalLimits(r *Run) {
	met := map[Class]uint64{}
	for _, f := range r.Tally.Failures {
		if f.Class.Side() == SideClient {
			met[f.Class] += f.Count
		}
	}
	for class := range classCount {
		if met[class] == 0 {
			continue
		}
		v.say("%s %s times (%s of the requests begun): a limit of this host, not of the target; hint: %s",
			class.Text(), units.Count(met[class]), units.Share(met[class], r.Tally.Begun), localHint(class, r.Plan.KeepAlive))
	}
	if r.LocalShare() > limitLocal {
		v.Valid = false
		v.raise(ExitGenerator)
	}
}

// judgeLag tells of time-outs that may be this host's own.
func (v *Verdict) judgeLag(r *Run) {
	n := r.Tally.Overslept
	if n == 0 {
		return
	}
	var lag time.Duration
	for i := range r.Workers.List {
		lag = max(lag, r.Workers.List[i].Lag)
	}
	v.say("%s of the time-outs may be this host's own: what the client waited for was there, but its worker got a CPU only when the time was up (at worst %s late); hint: use fewer clients per CPU (-c), or fewer processes (-w auto)",
		units.Count(n), units.Duration(float64(lag)))
}

// missedShare is the part of an open loop's starts that may be missing unsaid.
const missedShare = 0.001

// judgePace tells of starts that were due and could not be made.
func (v *Verdict) judgePace(r *Run) {
	if missed := r.NotMade(); float64(missed) > missedShare*float64(r.Scheduled) {
		v.say("%s of the %s starts that were due were not made, for want of a free client: %s requests/s were begun, not %s; hint: use more clients (-c), if the target is to be asked that often",
			units.Count(missed), units.Count(r.Scheduled), units.Rate(r.PerSecond(r.Tally.Begun)), units.Rate(r.Plan.RatePerSec))
	}
}

func localHint(class Class, keepAlive bool) string {
	switch {
	case class == LocalPorts && keepAlive:
		return "widen net.ipv4.ip_local_port_range, or use fewer clients (-c)"
	case class == LocalPorts:
		return "keep connections open with -k, or widen net.ipv4.ip_local_port_range"
	case class == LocalFDs:
		return "raise the limit of open files (ulimit -Hn, fs.file-max), or use fewer clients (-c)"
	}
	return "use fewer clients (-c), or give this host more memory for sockets (net.ipv4.tcp_mem)"
}

func (v *Verdict) judgeSuccess(r *Run) {
	if r.Unreachable != "" {
		v.Valid = false
		v.raise(ExitFailed)
		v.say("the target could not be reached: %s", r.Unreachable)
		return
	}
	if r.Tally.Succeeded > 0 {
		return
	}
	v.raise(ExitFailed)
	if r.Tally.Begun == 0 {
		v.say("no request was begun")
		return
	}
	oldest := ""
	if r.Unfinished.Sum() > 0 {
		oldest = fmt.Sprintf(" (the oldest for %s)", units.Duration(float64(r.Unfinished.Oldest)))
	}
	v.say("no request succeeded: %s failed%s, %s unfinished%s",
		units.Count(r.Tally.Failed), mostFrequent(r.Tally.Failures), units.Count(r.Unfinished.Sum()), oldest)
}

// mostFrequent names the class that most failures belong to, in brackets.
func mostFrequent(failures []Failure) string {
	var counts [classCount]uint64
	most := ClassNone
	for _, f := range failures {
		counts[f.Class] += f.Count
		if counts[f.Class] > counts[most] {
			most = f.Class
		}
	}
	if most == ClassNone {
		return ""
	}
	return fmt.Sprintf(" (most: %s, %s)", most.Text(), units.Count(counts[most]))
}

func (v *Verdict) judgeThresholds(r *Run, limits Thresholds) {
	t := &r.Tally
	if t.Begun == 0 {
		return
	}
	ended := t.Succeeded + t.Failed
	if limits.MaxFailed != nil && ended > 0 && float64(t.Failed)/float64(ended) > *limits.MaxFailed {
		v.raise(ExitThreshold)
		v.say("--max-failed %s crossed: %s failed (%s of %s that ended)",
			plain(*limits.MaxFailed*100)+" %", units.Share(t.Failed, ended), units.Count(t.Failed), units.Count(ended))
	}
	v.judgeP99(r, limits.MaxP99)
	if rate := r.PerSecond(t.Succeeded); limits.MinRate != nil && rate < *limits.MinRate {
		v.raise(ExitThreshold)
		v.say("--min-rate %s crossed: %.2f requests/s succeeded", plain(*limits.MinRate), rate)
	}
}

// judgeP99 counts the unfinished with what they took at least: a target that
// hangs must not pass by what it answered before.
func (v *Verdict) judgeP99(r *Run, limit *time.Duration) {
	total := &r.Tally.Total
	if limit == nil || total.Count() == 0 {
		return
	}
	p99, all := time.Duration(total.Quantile(0.99)), time.Duration(NewCensored(total, &r.Unfinished.Ages).AtLeast(0.99))
	switch {
	case p99 > *limit:
		v.raise(ExitThreshold)
		v.say("--max-p99 %v crossed: 99 %% of the requests that succeeded took up to %v", *limit, p99.Round(time.Microsecond))
	case all > *limit:
		v.raise(ExitThreshold)
		v.say("--max-p99 %v crossed: with the %s unfinished requests the 99th percentile is %v at least", *limit, units.Count(r.Unfinished.Sum()), all.Round(time.Microsecond))
	}
}

// plain writes a limit as a user would: no exponent, no noise of binary fractions.
func plain(x float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", x), "0"), ".")
}
