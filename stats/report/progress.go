package report

import (
	"fmt"
	"strings"
	"time"

	"horde/stats/units"
)

// Snapshot is a run under way as its parent sees it: counts are since the release.
type Snapshot struct {
	Elapsed    time.Duration
	Duration   time.Duration // as asked; 0 = no limit of time
	Rate       float64       // succeeded requests/s lately
	Succeeded  uint64
	Failed     uint64
	Unfinished uint64
	Alive      int // workers that still report
	Workers    int // workers started
}

// liveWidth is the width of the live line. A longer one would wrap on a
// terminal of 80 columns, and a wrapped line cannot be written over.
const liveWidth = 79

// Clear wipes the live line off a terminal and leaves the cursor at its begin.
var Clear = "\r" + strings.Repeat(" ", liveWidth) + "\r"

// Live writes s over the line that a terminal's cursor stands in. Counts from
// a million up are rounded so that it fits.
func Live(s Snapshot) string {
	line := s.line(units.Short)
	return "\r" + fmt.Sprintf("%-*.*s", liveWidth, liveWidth, line)
}

// Line writes s for a log: one line of plain text without its newline.
func Line(s Snapshot) string { return s.line(units.Count) }

func (s Snapshot) line(count func(uint64) string) string {
	elapsed := fmt.Sprintf("%.0fs", s.Elapsed.Seconds())
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
