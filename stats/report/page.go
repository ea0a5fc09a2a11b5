package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

const (
	pageWidth  = 96
	labelWidth = 13
)

// page is the text being laid out: rows of a label and what belongs to it,
// wrapped with a hanging indent, and tables below a label.
type page struct{ bytes.Buffer }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// row writes text beside label. What does not fit goes on below itself.
func (p *page) row(label, format string, args ...any) {
	p.wrapped(fmt.Sprintf("%-*s", labelWidth, label), strings.Repeat(" ", labelWidth), fmt.Sprintf(format, args...))
}

// wrapped writes text after lead, further lines after indent. A word longer
// than a line (a URL) is not cut.
func (p *page) wrapped(lead, indent, text string) {
	line, empty := lead, true
	for word := range strings.FieldsSeq(text) {
		switch {
		case empty:
			line += word
		case len(line)+1+len(word) > pageWidth:
			p.line("%s", line)
			line = indent + word
		default:
			line += " " + word
		}
		empty = false
	}
	p.line("%s", strings.TrimRight(line, " "))
}

// table writes rows with their columns aligned: to the right, or to the left
// where the heading (the first row) begins with "<". Below a label, it is
// indented by two.
func (p *page) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	left := make([]bool, len(rows[0]))
	for i, heading := range rows[0] {
		rows[0][i], left[i] = strings.CutPrefix(heading, "<")
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if left[i] {
				line += fmt.Sprintf("  %-*s", widths[i], cell)
			} else {
				line += fmt.Sprintf("  %*s", widths[i], cell)
			}
		}
		p.line("%s", strings.TrimRight(line, " "))
	}
}

// ascii makes a string from outside safe for any terminal and any locale:
// control characters and what is not ASCII are written as Go escapes.
func ascii(s string) string {
	quoted := strconv.QuoteToASCII(s)
	quoted = quoted[1 : len(quoted)-1]
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted)
}
