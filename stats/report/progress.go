package report

import (
	"fmt"
	"strings"

	"horde/stats"
	"horde/stats/units"
)

// liveWidth is the width of the live line. A longer one would wrap on a
// terminal of 80 columns, and a wrapped line cannot be written over.
const liveWidth = 79

// Clear wipes the live line off a terminal and leaves the cursor at its begin.
var Clear = "\r" + strings.Repeat(" ", liveWidth) + "\r"

// Live writes s over the line that a terminal's cursor stands in. Counts from
// a million up are rounded so that it fits.
func Live(s stats.Snapshot) string {
	return "\r" + fmt.Sprintf("%-*.*s", liveWidth, liveWidth, line(s, units.Short))
}

// Line writes s for a log: one line of plain text without its newline.
func Line(s stats.Snapshot) string { return line(s, units.Count) }

func line(s stats.Snapshot, count func(uint64) string) string {
	elapsed := fmt.Sprintf("%.0fs", s.Elapsed.Seconds())
	if s.Elapsed < 0 {
		return fmt.Sprintf("warm-up, %s to go  %d workers", elapsed[1:], s.Alive)
	}
	if s.Duration > 0 {
		elapsed += "/" + seconds(s.Duration) + "s"
	}
	workers := fmt.Sprint(s.Alive)
	if s.Alive != s.Workers {
		workers += "/" + fmt.Sprint(s.Workers)
	}
	return fmt.Sprintf("%s  %s/s  %s ok  %s failed  %s unfinished  %s workers",
		elapsed, units.Rate(s.Rate), count(s.Succeeded), count(s.Failed), count(s.Unfinished), workers)
}
