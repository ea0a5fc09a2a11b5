package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Output is what is wanted of a result beside the report, or in its place.
type Output struct {
	JSON  bool // the result file on stdout instead of the report
	Files []File
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

// renderings are the options that name a file to write.
var renderings = [...]string{"output"}

// ReadOutput checks the options of a command that only renders.
func ReadOutput(v Values) (Output, error) {
	b := &builder{values: v}
	out := b.output()
	return out, b.err
}

func (b *builder) output() Output {
	out := Output{JSON: b.values.Bool("json")}
	for _, option := range renderings {
		if !b.values.IsSet(option) {
			continue
		}
		name := b.values.String(option)
		if name == "" || name == "-" {
			b.wrong(option, "--json prints the result on stdout", "%q is not the name of a file", name)
		}
		out.Files = append(out.Files, File{option, name})
	}
	return out
}
