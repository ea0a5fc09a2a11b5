package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Line is a command line in order: options first, each by its canonical name,
// then the operands.
type Line struct {
	Args     []string          // --name, --name=value, …, --, operands
	Operands []string          // what is no option
	After    []string          // and what stands behind the -- that parts two sides
	Typed    map[string]string // canonical name to the spelling the user chose, with dashes
}

// Permute orders a command line as getopt_long(3) would read it: options and
// operands in any order, short options together (-kq), their values attached
// or apart (-c5, -c 5), long ones with = or apart, -- ends the options.
func Permute(args []string, options []Option) (Line, error) {
	l := Line{Typed: map[string]string{}}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case arg == "--":
			l.Operands = append(l.Operands, args...)
			args = nil
		case strings.HasPrefix(arg, "--"):
			args, err = l.long(arg, args, options)
		case len(arg) > 1 && arg[0] == '-':
			args, err = l.short(arg, args, options)
		default:
			l.Operands = append(l.Operands, arg)
		}
		if err != nil {
			return Line{}, err
		}
	}
	l.Args = append(append(l.Args, "--"), l.Operands...)
	return l, nil
}

// PermuteSides orders a command line of two sides, BEFORE... -- AFTER...: here
// -- parts the operands, and options may stand on either side of it.
func PermuteSides(args []string, options []Option) (Line, error) {
	parting := slices.Index(args, "--")
	if parting < 0 {
		return Permute(args, options)
	}
	l, err := Permute(args[:parting], options)
	if err != nil {
		return Line{}, err
	}
	right, err := Permute(args[parting+1:], options)
	if err != nil {
		return Line{}, err
	}
	maps.Copy(l.Typed, right.Typed)
	l.Args = slices.Concat(l.optionArgs(), right.optionArgs(), []string{"--"}, l.Operands)
	l.After = right.Operands
	return l, nil
}

func (l *Line) optionArgs() []string { return l.Args[:len(l.Args)-len(l.Operands)-1] }

func (l *Line) long(arg string, args []string, options []Option) ([]string, error) {
	name, value, attached := strings.Cut(arg[2:], "=")
	o := find(options, name)
	switch {
	case o == nil || len(name) < 2:
		return nil, unknown("--"+name, options)
	case o.Value == "" && attached:
		return nil, &Usage{Text: fmt.Sprintf("option --%s takes no value", name)}
	case o.Value == "":
		l.add(o, "--"+name, "", false)
		return args, nil
	case attached:
		l.add(o, "--"+name, value, true)
		return args, nil
	case len(args) == 0:
		return nil, &Usage{Text: fmt.Sprintf("option --%s needs a value", name)}
	}
	l.add(o, "--"+name, args[0], true)
	return args[1:], nil
}

func (l *Line) short(arg string, args []string, options []Option) ([]string, error) {
	for i := 1; i < len(arg); i++ {
		name := arg[i : i+1]
		o := find(options, name)
		switch {
		case o == nil:
			return nil, unknown("-"+name, options)
		case o.Value == "":
			l.add(o, "-"+name, "", false)
			continue
		case i+1 < len(arg):
			l.add(o, "-"+name, arg[i+1:], true)
			return args, nil
		case len(args) == 0:
			return nil, &Usage{Text: fmt.Sprintf("option -%s needs a value", name)}
		}
		l.add(o, "-"+name, args[0], true)
		return args[1:], nil
	}
	return args, nil
}

func (l *Line) add(o *Option, typed, value string, hasValue bool) {
	l.Typed[o.Names[0]] = typed
	arg := "--" + o.Names[0]
	if hasValue {
		arg += "=" + value
	}
	l.Args = append(l.Args, arg)
}

func find(options []Option, name string) *Option {
	for i := range options {
		if slices.Contains(options[i].Names, name) {
			return &options[i]
		}
	}
	return nil
}

// unknown names the option as typed and, where one comes near, what may have
// been meant.
func unknown(typed string, options []Option) error {
	name := strings.TrimLeft(typed, "-")
	for _, o := range options {
		for _, n := range o.Names {
			if len(n) > 1 && len(name) > 2 && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n)) {
				return &Usage{Text: "unknown option " + typed, Hint: "did you mean --" + n + "?"}
			}
		}
	}
	return &Usage{Text: "unknown option " + typed, Hint: "horde --help lists all options"}
}
