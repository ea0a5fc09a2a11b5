package doctor

import (
	"fmt"
	"io"
	"strings"

	"horde/stats/units"
)

const (
	textWidth = 96
	indent    = "         "
)

// Text writes the findings for people: the worst first, what must be equal and
// what is unknown in short, and of what is well only the names.
func Text(w io.Writer, plan Plan, checks []Check) error {
	var b strings.Builder
	wrapped(&b, "Plan     ", planWords(plan))
	b.WriteByte('\n')
	var rest [OK + 1][]Check
	for _, c := range checks {
		rest[c.Level] = append(rest[c.Level], c)
		if c.Level <= Warn {
			finding(&b, c)
		}
	}
	short(&b, "NOTE", "must be the same in both runs that you compare: ", noteWords(rest[Note]))
	short(&b, "UNKNOWN", "", unknownWords(rest[Unknown]))
	short(&b, "OK", "", names(rest[OK]))
	fmt.Fprintln(&b, summary(rest))
	_, err := io.WriteString(w, b.String())
	return err
}

func planWords(p Plan) string {
	s := fmt.Sprintf("%s in %s", count(p.Clients, "client", "clients"), count(p.Workers, "process", "processes"))
	if p.KeepAlive {
		s += ", connections kept open"
	} else {
		s += ", one connection per request"
	}
	if p.Rate > 0 {
		s += fmt.Sprintf(", %s requests/s", units.Rate(p.Rate))
	}
	switch {
	case p.Target == "":
		s += "; no target named: seen as client and as server"
	case p.Local:
		s += "; the target is on this host: seen as client and as server"
	default:
		s += "; the target is another host: run horde doctor there, too"
	}
	return s
}

// finding takes as many lines as it needs.
func finding(b *strings.Builder, c Check) {
	first := fmt.Sprintf("%s %s", c.ID, c.Value)
	if c.Limit != "" {
		first += " (" + c.Limit + ")"
	}
	wrapped(b, fmt.Sprintf("%-9s", c.Level), first+" ["+string(c.Side)+"]")
	wrapped(b, indent, c.Why)
	if c.Fix != "" {
		wrapped(b, indent+"fix: ", c.Fix)
	}
	b.WriteByte('\n')
}

// short puts many findings into one paragraph.
func short(b *strings.Builder, word, what string, parts []string) {
	if len(parts) > 0 {
		wrapped(b, fmt.Sprintf("%-9s", word), what+strings.Join(parts, "; "))
		b.WriteByte('\n')
	}
}

func noteWords(checks []Check) []string {
	parts := make([]string, len(checks))
	for i, c := range checks {
		parts[i] = c.ID + " " + c.Value
	}
	return parts
}

func names(checks []Check) []string {
	parts := make([]string, len(checks))
	for i, c := range checks {
		parts[i] = c.ID
	}
	return parts
}

// unknownWords puts together what is unknown for the same reason.
func unknownWords(checks []Check) []string {
	var reasons []string
	of := map[string][]string{}
	for _, c := range checks {
		if of[c.Why] == nil {
			reasons = append(reasons, c.Why)
		}
		of[c.Why] = append(of[c.Why], c.ID)
	}
	for i, why := range reasons {
		reasons[i] = why + ": " + strings.Join(of[why], ", ")
	}
	return reasons
}

// wrapped writes text after lead, further lines below its begin.
func wrapped(b *strings.Builder, lead, text string) {
	line, empty := lead, true
	for word := range strings.FieldsSeq(text) {
		if !empty && len(line)+1+len(word) > textWidth {
			fmt.Fprintln(b, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(b, strings.TrimRight(line, " "))
}

func summary(of [OK + 1][]Check) string {
	n := func(l Level) int { return len(of[l]) }
	s := fmt.Sprintf("%d FAIL, %d WARN, %d NOTE, %d UNKNOWN, %d OK: ", n(Fail), n(Warn), n(Note), n(Unknown), n(OK))
	switch {
	case n(Fail) > 0:
		return s + "this run would not tell the truth"
	case n(Warn) > 0:
		return s + "this run will work, and may surprise"
	}
	return s + "nothing seen that stands in the way"
}
