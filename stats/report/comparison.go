package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"horde/stats/compare"
	"horde/stats/units"
)

// Comparison writes what a comparison found, for people: a line for each metric.
func Comparison(w io.Writer, c *compare.Comparison) error {
	p := &page{}
	p.side("Before", c.Before, c.Boots.Before)
	p.side("After", c.After, c.Boots.After)
	p.row("Load", "%s", ascii(load(&c.After[0])))
	p.line("")
	if len(c.Refused) > 0 {
		p.refusal(c)
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		p.wrapped(fmt.Sprintf("%-*s%s  ", metricWidth, m.Name, head(c, m)), strings.Repeat(" ", metricWidth), tail(c, m))
	}
	p.line("")
	p.failureClasses(c)
	p.causes(c)
	for _, note := range c.Notes {
		p.row("Note", "%s", note)
	}
	_, err := w.Write(p.Bytes())
	return err
}

const metricWidth = 15

func (p *page) side(label string, runs []compare.Run, boots int) {
	from, to := runs[0].StartedAt, runs[0].StartedAt
	for _, r := range runs {
		if r.StartedAt.Before(from) {
			from = r.StartedAt
		}
		if r.StartedAt.After(to) {
			to = r.StartedAt
		}
	}
	text := runs[0].Name
	if len(runs) > 1 {
		text = fmt.Sprintf("%d runs, %s to %s", len(runs), runs[0].Name, runs[len(runs)-1].Name)
	}
	if !from.IsZero() {
		text += ", " + from.UTC().Format("2006-01-02 15:04")
		if to.Sub(from) >= 60e9 {
			text += " to " + to.UTC().Format("15:04")
		}
		text += " UTC"
	}
	if boots > 0 {
		text += ", " + plural(boots, "boot", "boots")
	}
	p.row(label, "%s", ascii(text))
}

// load is what a run was asked to do, in a line.
func load(r *compare.Run) string {
	connections := "one connection per request"
	if r.Plan["keepalive"] != "" {
		connections = "kept-alive connections"
	}
	return joined(", ", r.Plan["url"], plural(r.Clients, "client", "clients"), connections, "measured for "+r.Measured.Round(time.Millisecond).String())
}

// refusal stands above the numbers.
func (p *page) refusal(c *compare.Comparison) {
	heading := "NOT COMPARABLE: the two sides are different experiments"
	if c.Anyway {
		heading = "COMPARED ANYWAY: the two sides are different experiments, and that alone may be the change"
	}
	p.wrapped("", "", heading)
	for _, reason := range c.Refused {
		p.wrapped("  - ", "    ", ascii(reason))
	}
	p.line("")
}

// sentence is the verdict on a metric in words.
func sentence(c *compare.Comparison, m *compare.Metric) string { return head(c, m) + "  " + tail(c, m) }

func head(c *compare.Comparison, m *compare.Metric) string {
	if m.Verdict == compare.NoChange {
		return string(m.Verdict) + " " + margin(c, m)
	}
	return string(m.Verdict)
}

func tail(c *compare.Comparison, m *compare.Metric) string {
	switch m.Verdict {
	case compare.NotComparable:
		return joined("; ", ascii(m.Reason), effect(m), values(m))
	case compare.NoVerdict:
		need := fmt.Sprintf("%s, a verdict needs %d a side", sample(c, m), compare.FewestRuns)
		return joined("; ", effect(m), within(c, m), moved(m), need)
	case compare.Negligible:
		return joined("; ", effect(m)+", inside your "+margin(c, m)+" margin", sample(c, m), moved(m))
	case compare.Inconclusive:
		return joined("; ", joined(", ", effect(m), sample(c, m), variation(m)), m.Reason, disagreement(m), settled(c, m), values(m))
	case compare.Changed:
		return joined("; ", effect(m)+", "+sample(c, m), moved(m))
	}
	return joined("; ", joined(", ", effect(m), sample(c, m)), m.Reason, values(m))
}

// joined leaves out what is empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

// effect is the change with its interval. From nothing there is no percentage.
func effect(m *compare.Metric) string {
	switch {
	case m.Change == nil && m.Direction == compare.Unknown, m.Change == nil && m.Direction == compare.Same:
		return ""
	case m.Change == nil:
		return "new (n/a %)"
	case m.Low == nil || m.High == nil:
		return signed(*m.Change) + " %"
	}
	name := ""
	if m.Verdict == compare.Changed {
		name = "95 % CI "
	}
	return fmt.Sprintf("%s %% (%s%s … %s)", signed(*m.Change), name, signed(*m.Low), signed(*m.High))
}

func signed(share float64) string {
	text := fmt.Sprintf("%+.1f", share*100)
	if text == "-0.0" {
		return "+0.0"
	}
	return text
}

func margin(c *compare.Comparison, m *compare.Metric) string {
	if m.Kind == compare.Share {
		return fmt.Sprintf("±%g points", compare.ShareMargin*100)
	}
	return "±" + units.Percent(c.Margin)
}

// sample is what the verdict rests on; of throughput, the question asked, in full.
func sample(c *compare.Comparison, m *compare.Metric) string {
	text := fmt.Sprintf("%d vs %d runs", len(c.Before), len(c.After))
	if m != &c.Metrics[0] {
		return text
	}
	switch b := c.Boots; {
	case b.Before == 0:
	case b.Shared && b.Before == 1 && b.After == 1:
		text += " in one boot"
	default:
		text += fmt.Sprintf(" in %d+%d boots", b.Before, b.After)
	}
	order := string(c.Order)
	if c.Order == compare.InSessions {
		order += "; drift not excluded"
	}
	together := ""
	if c.Together {
		together = "limited by the generator on both sides: this is the speed of the generator"
		if c.OnThisHost() {
			together = "of generator and target together on this host"
		}
	}
	return joined(", ", text, order, together)
}

// moved is which way the values went, and the values.
func moved(m *compare.Metric) string { return joined(": ", string(m.Direction), values(m)) }

func values(m *compare.Metric) string {
	write := func(v float64) string {
		switch m.Kind {
		case compare.Share:
			return units.Percent(v)
		case compare.Duration:
			return units.Duration(v)
		}
		return units.Rate(v) + "/s"
	}
	return write(m.Before.Typical) + " to " + write(m.After.Typical)
}

// within says of a change that may be noise that it may be.
func within(c *compare.Comparison, m *compare.Metric) string {
	if m.Kind == compare.Share || m.Change == nil || math.Abs(*m.Change) > c.Margin {
		return ""
	}
	return "within noise: inside your " + margin(c, m) + " margin"
}

func variation(m *compare.Metric) string {
	if m.Kind == compare.Share || m.Spread == 0 {
		return ""
	}
	return "CV " + units.Percent(m.Spread)
}

func disagreement(m *compare.Metric) string {
	switch {
	case m.Several:
		return fmt.Sprintf("p %.2g among so many metrics", m.P)
	case m.RankVerdict == m.WelchVerdict:
		return ""
	case m.RankLow == nil || m.RankHigh == nil:
		return fmt.Sprintf("%s by Welch's test, %s by ranks", m.WelchVerdict, m.RankVerdict)
	}
	return fmt.Sprintf("%s by Welch's test, %s by ranks (%s … %s)", m.WelchVerdict, m.RankVerdict, signed(*m.RankLow), signed(*m.RankHigh))
}

// settled says what would settle it.
func settled(c *compare.Comparison, m *compare.Metric) string {
	unit, have := "runs", min(len(c.Before), len(c.After))
	if c.Boots.Units {
		unit, have = "boots", min(c.Boots.Before, c.Boots.After)
	}
	switch {
	case m.Needed == 0:
		return ""
	case m.Needed <= have:
		return fmt.Sprintf("it is too near to %s; more %s, or another --margin, would settle it", margin(c, m), unit)
	case m.Needed > 1000:
		return fmt.Sprintf("more than 1,000 %s per side would be needed for %s: make them longer or the host quieter, or widen --margin", unit, margin(c, m))
	}
	return fmt.Sprintf("about %d %s per side would settle %s", m.Needed, unit, margin(c, m))
}

// failureClasses shows what the failures were: the same share of another kind
// is a change, too.
func (p *page) failureClasses(c *compare.Comparison) {
	before, after := c.Classes()
	if len(before)+len(after) == 0 {
		return
	}
	write := func(counts []compare.Class) string {
		parts := []string{}
		for _, n := range counts {
			parts = append(parts, ascii(n.Name)+" "+units.Count(n.Count))
		}
		if len(parts) == 0 {
			return "none"
		}
		return strings.Join(parts, ", ")
	}
	p.row("Failures", "before: %s; after: %s", write(before), write(after))
}

// mostCauses is how many differing facts of the hosts are shown; the rest is in
// --json.
const mostCauses = 12

func (p *page) causes(c *compare.Comparison) {
	if len(c.Causes) == 0 && c.HostsKnown() {
		p.row("Host", "no setting or trait of the host differs between the sides")
	}
	for i, cause := range c.Causes {
		label := ""
		switch {
		case i == 0:
			label = "Differs"
		case i == mostCauses:
			p.row("", "and %d more; --json has them all", len(c.Causes)-i)
			return
		}
		text := fmt.Sprintf("%s: %s, then %s", ascii(cause.Fact), shortened(cause.Before), shortened(cause.After))
		p.row(label, "%s", joined("; ", text, cause.Why))
	}
	if c.Attribution != "" {
		p.row("Attribution", "%s", ascii(c.Attribution))
	}
}

func shortened(fact string) string {
	const most = 80
	fact = ascii(fact)
	if len(fact) > most {
		return fact[:most-3] + "..."
	}
	return fact
}
