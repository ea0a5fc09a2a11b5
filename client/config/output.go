package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Output is what is wanted of a result beside the report, or in its place.
type Output struct {
	Stdout string // the option whose rendering takes the report's place on stdout, "" = none
	Files  []File
}

// File is a rendering of a result, by the option that asks for it.
type File struct{ Option, Name string }

// Numbered is the output of one run of a series: 7 of 10 makes r.json r-07.json.
func (o Output) Numbered(index, of int) Output {
	files := make([]File, len(o.Files))
	for i, f := range o.Files {
		suffix := filepath.Ext(f.Name)
		number := fmt.Sprintf("-%0*d", max(2, len(strconv.Itoa(of))), index)
		files[i] = File{f.Option, strings.TrimSuffix(f.Name, suffix) + number + suffix}
	}
	o.Files = files
	return o
}

// exports are the options that name a file to write, or with "-" want it on stdout.
var exports = [...]string{"csv", "gnuplot", "hdr"}

// ReadOutput checks the options of a command that only renders.
func ReadOutput(v Values) (Output, error) {
	b := &builder{values: v}
	out := b.output()
	return out, b.err
}

func (b *builder) output() Output {
	var out Output
	if b.values.Bool("json") {
		b.toStdout(&out, "json")
	}
	if b.values.IsSet("output") {
		name := b.values.String("output")
		if name == "" || name == "-" {
			b.wrong("output", "--json prints the result on stdout", "%q is not the name of a file", name)
		}
		out.Files = append(out.Files, File{"output", name})
	}
	for _, option := range exports {
		if !b.values.IsSet(option) {
			continue
		}
		for _, name := range b.names(option) {
			switch name {
			case "":
				b.wrong(option, "- is stdout", "%q is not the name of a file", name)
			case "-":
				b.toStdout(&out, option)
			default:
				out.Files = append(out.Files, File{option, name})
			}
		}
	}
	return out
}

// names are the values of an option, of which only --hdr may have several.
func (b *builder) names(option string) []string {
	if option == "hdr" {
		return b.values.StringSlice(option)
	}
	return []string{b.values.String(option)}
}

// toStdout gives stdout to one option.
func (b *builder) toStdout(out *Output, option string) {
	switch {
	case out.Stdout != "":
		b.clash(option, out.Stdout)
	case b.values.Bool("classic"):
		b.clash(option, "classic")
	}
	out.Stdout = option
}
