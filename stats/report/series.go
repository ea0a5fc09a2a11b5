package report

import (
	"fmt"
	"io"
	"slices"

	"horde/stats"
	"horde/stats/compare"
	"horde/stats/units"
)

// Series writes what the runs of a series were together: their requests per
// second, and what change as many runs more would show.
func Series(w io.Writer, rates []float64, asked int) error {
	p := &page{}
	p.line("")
	text := fmt.Sprintf("%d of %d runs", len(rates), asked)
	if len(rates) > 0 {
		text += fmt.Sprintf(", %s to %s requests/s", units.Rate(slices.Min(rates)), units.Rate(slices.Max(rates)))
	}
	if spread, change, known := compare.Detectable(rates); known {
		text += fmt.Sprintf(", CV %s; beside as many runs a change of %s would show (horde compare)", units.Percent(spread), units.Percent(change))
	}
	p.row("Series", "%s", text)
	_, err := w.Write(p.Bytes())
	return err
}

// place says which run of a series this is.
func (p *page) place(r stats.Repeat) {
	if r.Of == 0 {
		return
	}
	text := fmt.Sprintf("run %d of %d", r.Index, r.Of)
	if r.Index > 1 {
		text += fmt.Sprintf(", %s after the one before", units.Duration(float64(r.Paused)))
	}
	if r.TimeWait >= 0 {
		text += fmt.Sprintf("; %s in TIME_WAIT at its begin", plural(r.TimeWait, "connection", "connections"))
	}
	p.row("Series", "%s", text)
}
