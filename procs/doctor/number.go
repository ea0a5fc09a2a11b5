package doctor

import (
	"strconv"
	"strings"

	"horde/stats"
)

// number is the first whole number of a fact, and whether it begins with one.
func number(f stats.Fact) (int, bool) {
	first, _, _ := strings.Cut(f.Value, " ")
	n, err := strconv.Atoi(first)
	return n, f.Known() && err == nil
}

// notANumber is a fact that should have been one.
func notANumber(f stats.Fact) stats.Fact {
	if !f.Known() {
		return f
	}
	return stats.Lack(strconv.Quote(f.Value) + " is not a number")
}

// list expands "0,2-3" to its numbers; what it cannot read it leaves out.
func list(text string) []int {
	var numbers []int
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		from, to, isRange := strings.Cut(part, "-")
		first, err1 := strconv.Atoi(from)
		last, err2 := first, err1
		if isRange {
			last, err2 = strconv.Atoi(to)
		}
		for n := first; err1 == nil && err2 == nil && n <= last && n-first <= 1<<16; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
