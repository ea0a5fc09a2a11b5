package config

import (
	"fmt"
	"io"
	"strings"
)

// WriteHelp writes the options for a terminal of 80 columns, under their groups.
func WriteHelp(w io.Writer, options []Option) {
	group := ""
	for _, o := range options {
		if o.Group != group {
			group = o.Group
			fmt.Fprintf(w, "\n%s:\n", group)
		}
		left, text := o.spelling(", "), o.text()
		if len(left) > helpIndent-4 {
			fmt.Fprintf(w, "  %s\n", left)
			left = ""
		}
		for i, line := range wrap(text, helpWidth-helpIndent) {
			if i > 0 {
				left = ""
			}
			fmt.Fprintf(w, "  %-*s%s\n", helpIndent-2, left, line)
		}
	}
}

const (
	helpWidth  = 80
	helpIndent = 26
)

// spelling is the option as one may type it, short names first.
func (o *Option) spelling(separator string) string {
	var short, long []string
	for _, name := range o.Names {
		if len(name) == 1 {
			short = append(short, "-"+name)
		} else {
			long = append(long, "--"+name)
		}
	}
	s := strings.Join(append(short, long...), separator)
	if o.Value != "" {
		s += " " + o.Value
	}
	return s
}

func (o *Option) text() string {
	if o.Default == "" {
		return o.Text
	}
	return o.Text + " [" + o.Default + "]"
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// WriteMarkdown writes the options as the rows of a table: option, meaning, default.
func WriteMarkdown(w io.Writer, options []Option) {
	fmt.Fprint(w, "| option | meaning | default |\n| --- | --- | --- |\n")
	for _, o := range options {
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", o.spelling(", "), o.Text, o.Default)
	}
}

// WriteMan writes the options in the macros of man(7).
func WriteMan(w io.Writer, options []Option) {
	group := ""
	for _, o := range options {
		if o.Group != group {
			group = o.Group
			fmt.Fprintf(w, ".SS %s\n", group)
		}
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(o.spelling(", ")), roff(o.text()))
	}
}

// roff escapes what a line of text must not hold bare.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
