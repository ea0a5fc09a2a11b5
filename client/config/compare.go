package config

import "horde/stats/compare"

// ReadCompare checks the options and the two sides of a comparison.
func ReadCompare(v Values, line Line) (compare.Options, error) {
	const form = "horde compare BEFORE... -- AFTER..."
	o := compare.Options{Margin: compare.Margin, Anyway: v.Bool("anyway")}
	switch {
	case len(line.Operands) == 0:
		return o, &Usage{Text: "the result files from before are missing", Hint: form}
	case len(line.After) == 0:
		return o, &Usage{Text: "the result files from after are missing", Hint: form}
	}
	b := &builder{values: v}
	o.Margin = value(b, "margin", compare.Margin, parseShare)
	if o.Margin <= 0 {
		b.wrong("margin", "", "%q must be above 0", v.String("margin"))
	}
	return o, b.err
}
