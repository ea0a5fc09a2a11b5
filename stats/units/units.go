// Package units writes durations, byte counts, counts, rates and shares for
// people: ASCII, decimal point, digits in groups of three, "n/a" for what is
// no number. Files for programs carry plain numbers and do not use it.
package units

import (
	"math"
	"strconv"
)

// None stands where there is no value.
const None = "n/a"

// Unit is one step of a scale: its name, its size in base units, and the
// decimals a column in this unit is printed with.
type Unit struct {
	Name     string
	size     float64
	decimals int
}

var (
	durations = []Unit{
		{"ns", 1, 0}, {"us", 1e3, 1}, {"ms", 1e6, 3}, {"s", 1e9, 3}, {"min", 60e9, 3}, {"h", 3600e9, 3},
	}
	sizes = []Unit{
		{"B", 1, 0}, {"kB", 1e3, 3}, {"MB", 1e6, 3}, {"GB", 1e9, 3}, {"TB", 1e12, 3}, {"PB", 1e15, 3},
	}
)

// Duration writes nanoseconds in three digits: "999 ns", "1.23 ms", "2.50 h".
func Duration(ns float64) string { return scaled(ns, durations) }

// Bytes writes a byte count in three digits, in powers of 1000: "14.3 MB".
func Bytes(n float64) string { return scaled(n, sizes) }

// scaled picks the largest unit in which the rounded value is at least one, so
// that what rounds up to the next unit is written in it: 999.6 us is 1.00 ms.
func scaled(v float64, units []Unit) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
	}
	if v < 0 {
		return "-" + scaled(-v, units)
	}
	for i := range units[:len(units)-1] {
		text, rounded := threeDigits(v/units[i].size, i == 0)
		if rounded*units[i].size < units[i+1].size {
			return text + " " + units[i].Name
		}
	}
	last := units[len(units)-1]
	text, _ := threeDigits(v/last.size, false)
	return text + " " + last.Name
}

// threeDigits writes x, and returns the value as written. A base unit is not divided.
func threeDigits(x float64, base bool) (string, float64) {
	decimals := 0
	switch {
	case base:
	case x < 9.995:
		decimals = 2
	case x < 99.95:
		decimals = 1
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	rounded, _ := strconv.ParseFloat(text, 64)
	return text, rounded
}

// Column returns the one unit for a column of durations: that of its median,
// or a smaller one where the least value would otherwise be written as 0.
func Column(least, median int64) Unit {
	const seconds = 3 // a column in minutes cannot be read at a glance
	i := 0
	for i < seconds && float64(median) >= durations[i+1].size {
		i++
	}
	for i > 0 && least > 0 && float64(least) < durations[i].size/1000 {
		i--
	}
	return durations[i]
}

// Write writes nanoseconds in u, without the unit's name.
func (u Unit) Write(ns float64) string {
	if math.IsNaN(ns) || math.IsInf(ns, 0) {
		return None
	}
	return strconv.FormatFloat(ns/u.size, 'f', u.decimals, 64)
}

// Count writes n with its digits in groups of three.
func Count(n uint64) string { return group(strconv.FormatUint(n, 10)) }

func group(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Short writes n in at most six characters below 10^15: "999999", "1.00M".
func Short(n uint64) string {
	if n < 1e6 {
		return strconv.FormatUint(n, 10)
	}
	for _, u := range []Unit{{"M", 1e6, 0}, {"G", 1e9, 0}} {
		if text, rounded := threeDigits(float64(n)/u.size, false); rounded < 1000 {
			return text + u.Name
		}
	}
	text, _ := threeDigits(float64(n)/1e12, false)
	return text + "T"
}

// Rate writes a number per second: whole from 100 up, with decimals below.
func Rate(perSecond float64) string {
	if math.IsNaN(perSecond) || math.IsInf(perSecond, 0) || perSecond < 0 {
		return None
	}
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 0.005:
		return "<0.01"
	case perSecond < 9.995:
		return strconv.FormatFloat(perSecond, 'f', 2, 64)
	case perSecond < 99.95:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return group(strconv.FormatFloat(perSecond, 'f', 0, 64))
}

// Share writes part of whole per cent. Only nothing is "0 %" and only all of
// it is "100 %".
func Share(part, whole uint64) string {
	switch {
	case whole == 0:
		return None
	case part == 0:
		return "0 %"
	case part == whole:
		return "100 %"
	}
	return Percent(float64(part) / float64(whole))
}

// Percent writes a share of one per cent, as short as two decimals allow.
func Percent(share float64) string {
	p := share * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return None
	case p > 0 && p < 0.01:
		return "<0.01 %"
	case p > 99.99 && p < 100:
		return ">99.99 %"
	}
	return strconv.FormatFloat(math.Round(p*100)/100, 'f', -1, 64) + " %"
}
