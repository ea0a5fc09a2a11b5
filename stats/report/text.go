package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"horde/stats"
	"horde/stats/units"
)

// Renderer writes a result in one form.
type Renderer func(io.Writer, *stats.Run, stats.Verdict) error

// Text writes the report for people: what ran, what makes it doubtful, what
// came of it, and the verdict. It is ASCII without control characters but
// newlines, and at most 96 columns wide where its words allow.
func Text(w io.Writer, r *stats.Run, v stats.Verdict) error {
	p := &page{}
	p.plan(r)
	p.doubts(r, v)
	if r.Unreachable == "" { // otherwise nothing was measured
		p.headline(r)
		p.failures(r)
		p.entries(r)
		p.latency(r)
		p.stalls(r)
		p.timeline(r)
		p.trend(r)
		p.host(r)
	}
	p.generator(r)
	p.verdict(r, v)
	_, err := w.Write(p.Bytes())
	return err
}

func (p *page) plan(r *stats.Run) {
	p.line("%s", strings.TrimSpace("horde "+ascii(r.Tool.Version)))
	p.line("")
	p.row("Target", "%s", targetWords(&r.Plan))
	p.row("Request", "%s", requestWords(&r.Plan))
	p.secured(r)
	if r.Unreachable == "" {
		p.row("Clients", "%s", clientWords(r))
		p.row("Load", "%s", loadWords(r))
		p.row("Window", "%s", windowWords(r))
	}
	p.place(r.Plan.Repeat)
	p.line("")
}

func requestWords(p *stats.PlanFacts) string {
	s := fmt.Sprintf("%s%s, HTTP/%s, ", listWords(p.List), ascii(p.Method), ascii(p.HTTP))
	if p.KeepAlive {
		s += "connections kept open"
	} else {
		s += "one connection per request"
	}
	if p.Force {
		s += ", replies not waited for"
	}
	if p.Timeout > 0 {
		s += fmt.Sprintf("; timeout %v", p.Timeout)
	}
	if p.ConnectTimeout > 0 {
		s += fmt.Sprintf(", to connect %v", p.ConnectTimeout)
	}
	return s
}

func clientWords(r *stats.Run) string {
	w := &r.Workers
	s := units.Count(uint64(r.Plan.Clients)) + " in "
	if w.Started < w.Asked {
		s += fmt.Sprintf("%d of ", w.Started)
	}
	s += fmt.Sprintf("%s (-w %s)", plural(max(w.Asked, w.Started), "process", "processes"), ascii(r.Plan.Workers))
	switch {
	case w.Pinned == 0:
		s += ", not pinned to CPUs"
	case w.Pinned < w.Started:
		s += fmt.Sprintf(", %d of them pinned to one CPU each", w.Pinned)
	default:
		s += ", each pinned to one CPU"
	}
	switch {
	case w.Batch == 0:
	case w.Batch < w.Started:
		s += fmt.Sprintf(", %d of them in SCHED_BATCH", w.Batch)
	default:
		s += ", in SCHED_BATCH"
	}
	if w.ReadyIn > 0 {
		s += "; ready after " + units.Duration(float64(w.ReadyIn))
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return units.Count(uint64(n)) + " " + many
}

func loadWords(r *stats.Run) string {
	words := "closed loop: a client sends its next request when its last one has ended"
	if r.Plan.RatePerSec > 0 {
		words = fmt.Sprintf("open loop: %s requests/s asked over all clients, evenly spaced; latency from the intended start", units.Rate(r.Plan.RatePerSec))
	}
	switch {
	case r.Plan.Ramp > 0 && r.Plan.RatePerSec > 0:
		words += "; the rate grew evenly from 0 over " + seconds(r.Plan.Ramp) + " s"
	case r.Plan.Ramp > 0:
		words += "; clients started evenly over " + seconds(r.Plan.Ramp) + " s"
	}
	if c := r.Coalescing; c.Slept > 0 {
		words += fmt.Sprintf("; answers collected for up to %s (wake-up coalescing, at most %s of the median latency)",
			units.Duration(float64(c.Longest)), units.Percent(stats.CoalesceShare))
	}
	return words
}

func windowWords(r *stats.Run) string {
	s := fmt.Sprintf("%.3f s measured", r.Measured.Seconds())
	var asked []string
	if r.Plan.Duration > 0 {
		asked = append(asked, strconv.FormatFloat(r.Plan.Duration.Seconds(), 'f', -1, 64)+" s")
	}
	if r.Plan.Requests > 0 {
		asked = append(asked, units.Count(r.Plan.Requests)+" requests")
	}
	if len(asked) > 0 {
		s += ", " + strings.Join(asked, " or ") + " asked"
	}
	if r.Plan.Warmup > 0 {
		s += ", after a warm-up of " + seconds(r.Plan.Warmup) + " s"
	}
	if !r.StartedAt.IsZero() {
		s += ", from " + r.StartedAt.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return s
}

// doubts stands above the numbers: whoever reads one number has read this.
func (p *page) doubts(r *stats.Run, v stats.Verdict) {
	if len(v.Reasons) == 0 {
		return
	}
	if words := verdictWords(r, v); words != "" {
		p.line("!! %s", words)
	}
	for _, reason := range v.Reasons {
		sentence, hint, found := strings.Cut(ascii(reason), "; hint: ")
		p.wrapped("!  ", "   ", sentence)
		if found {
			p.wrapped("   hint: ", "         ", hint)
		}
	}
	p.line("")
}

// verdictWords names in capitals all that is wrong with a run, worst first; "" if nothing is.
func verdictWords(r *stats.Run, v stats.Verdict) string {
	var words []string
	add := func(applies bool, word string) {
		if applies {
			words = append(words, word)
		}
	}
	add(r.Unreachable != "", "TARGET NOT REACHED")
	add(!v.Valid && r.Unreachable == "", "INVALID (these numbers say nothing about the target)")
	add(r.Interrupted != "", "INTERRUPTED")
	add(v.Partial && r.Interrupted == "", "PARTIAL")
	add(v.Partial && r.Interrupted != "" && (r.Workers.Lost > 0 || r.Workers.Started < r.Workers.Asked), "PARTIAL")
	// What is invalid for a limit of this host needs no second word for it.
	add(v.Valid && v.GeneratorLimited != nil && *v.GeneratorLimited, "GENERATOR-LIMITED")
	add(r.Unreachable == "" && r.Tally.Succeeded == 0, "BENCHMARK FAILED")
	add(v.Exit == stats.ExitThreshold, "THRESHOLD CROSSED")
	return strings.Join(words, "; ")
}

// headline begins with the two lines whose form is fixed.
func (p *page) headline(r *stats.Run) {
	t := &r.Tally
	p.line("Speed=%.0f pages/min, %.0f bytes/sec.", math.Round(r.PagesPerMin()), math.Round(r.PerSecond(t.BytesRead)))
	lost := ""
	if r.Lost > 0 {
		lost = fmt.Sprintf(", %d lost", r.Lost)
	}
	p.line("Requests: %d succeeded, %d failed, %d unfinished%s.", t.Succeeded, t.Failed, r.Unfinished.Sum(), lost)
	p.line("")
	p.row("Rates", "%s requests/s succeeded, %s/s read", units.Rate(r.PerSecond(t.Succeeded)), units.Bytes(r.PerSecond(t.BytesRead)))
	p.pace(r)
	p.law(r)
	p.row("Failed", "%s of %s that ended (%s)", units.Count(t.Failed), requests(t.Succeeded+t.Failed), units.Share(t.Failed, t.Succeeded+t.Failed))
	p.notSuccessful(t)
	p.row("Unfinished", "%s", unfinishedWords(&r.Unfinished))
	if r.Lost > 0 {
		p.row("Lost", "%s begun by workers that died before they could say how it ended", requests(r.Lost))
	}
	p.row("Statuses", "%s", statusWords(r))
	p.row("Connections", "%s opened, %s attempts failed; %s sent on a reused one, %s resent",
		units.Count(t.Opened), units.Count(t.NoConn), requests(t.Reused), units.Count(t.Resent))
	p.handshakes(r)
	p.row("Bytes", "%s read, %s of it bodies; %s written", units.Bytes(float64(t.BytesRead)), units.Bytes(float64(t.BytesBody)), units.Bytes(float64(t.BytesWritten)))
	p.fairness(&r.PerClient)
	p.line("")
}

func requests(n uint64) string {
	if n == 1 {
		return "1 request"
	}
	return units.Count(n) + " requests"
}

// notSuccessful counts the answers that were not 2xx, whether they were expected or not.
func (p *page) notSuccessful(t *stats.Tally) {
	var all, other uint64
	for _, s := range t.Statuses {
		all += s.Count
		if statusClass(s.Status) != "2xx" {
			other += s.Count
		}
	}
	if other > 0 {
		p.row("Non-2xx", "%s of %s complete answers (%s)", units.Count(other), units.Count(all), units.Share(other, all))
	}
}

func unfinishedWords(u *stats.Unfinished) string {
	if u.Sum() == 0 {
		return "none"
	}
	var parts []string
	for phase := stats.Connecting; phase < stats.PhaseCount; phase++ {
		if u.Count[phase] > 0 {
			parts = append(parts, units.Count(u.Count[phase])+" "+phase.String())
		}
	}
	return fmt.Sprintf("%s when the time ran out; the oldest had begun %s before", strings.Join(parts, ", "), units.Duration(float64(u.Oldest)))
}

func statusWords(r *stats.Run) string {
	if r.Plan.HTTP == "0.9" {
		return "HTTP/0.9 has none"
	}
	if len(r.Tally.Statuses) == 0 {
		return "none"
	}
	sorted := slices.Clone(r.Tally.Statuses)
	slices.SortFunc(sorted, func(a, b stats.StatusCount) int { return a.Status - b.Status })
	var parts []string
	for _, s := range sorted {
		parts = append(parts, fmt.Sprintf("%d: %s", s.Status, units.Count(s.Count)))
	}
	return strings.Join(parts, ", ")
}

// mostFailures bounds the table; the result file has all.
const mostFailures = 15

func (p *page) failures(r *stats.Run) {
	if len(r.Tally.Failures) == 0 {
		return
	}
	p.line("Failures (first, last: seconds since the start; lost: time of clients, and its share of all)")
	rows := [][]string{{"<class", "<phase", "<errno", "count", "share", "first", "last", "lost", ""}}
	ended := r.Tally.Succeeded + r.Tally.Failed
	clientTime := uint64(r.Measured) * uint64(r.Plan.Clients)
	sorted := sortedFailures(r.Tally.Failures)
	shown := sorted[:min(len(sorted), mostFailures)]
	for _, f := range shown {
		rows = append(rows, []string{
			f.Class.String(), f.Phase.String(), errnoName(f.Errno),
			units.Count(f.Count), units.Share(f.Count, ended),
			fmt.Sprintf("%.2f", time.Duration(f.FirstAt).Seconds()), fmt.Sprintf("%.2f", time.Duration(f.LastAt).Seconds()),
			units.Duration(float64(f.ClientTime)), units.Share(uint64(f.ClientTime), clientTime),
		})
	}
	p.table(rows)
	if rest := sorted[len(shown):]; len(rest) > 0 {
		p.line("  and %d more kinds, %s in all", len(rest), requests(sum(rest)))
	}
	p.meanings(shown)
	p.line("")
}

func sum(failures []stats.Failure) uint64 {
	var n uint64
	for _, f := range failures {
		n += f.Count
	}
	return n
}

// meanings says in words what the classes shown are.
func (p *page) meanings(failures []stats.Failure) {
	var parts []string
	for _, f := range failures {
		words := f.Class.String() + " = " + f.Class.Text()
		if f.Class.Side() == stats.SideClient {
			words += " (this host)"
		}
		if !slices.Contains(parts, words) {
			parts = append(parts, words)
		}
	}
	p.wrapped("  ", "  ", strings.Join(parts, "; "))
}

// verdict is the last line: what the exit code says, in words.
func (p *page) verdict(r *stats.Run, v stats.Verdict) {
	words := verdictWords(r, v)
	switch {
	case words != "":
		words += "; see ! above"
	case r.Tally.Failed > 0:
		words = fmt.Sprintf("COMPLETE, with %s failed (%s)", requests(r.Tally.Failed), units.Share(r.Tally.Failed, r.Tally.Succeeded+r.Tally.Failed))
	default:
		words = "COMPLETE, nothing failed"
	}
	p.row("Verdict", "%s; exit code %d", words, v.Exit)
}
