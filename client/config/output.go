package config

// Output is what is wanted of a result beside the report, or in its place.
type Output struct {
	JSON  bool // the result file on stdout instead of the report
	Files []File
}

// File is a rendering of a result, by the option that asks for it.
type File struct{ Option, Name string }

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
