package report

import (
	"fmt"
	"slices"

	"horde/stats"
	"horde/stats/units"
)

// column is one distribution of the latency table: its name, its unit, and a
// cell for each of latencyRows.
type column struct {
	name, unit string
	cells      []string
}

func (p *page) latency(r *stats.Run) {
	p.line("Latency of succeeded requests (processing, waiting: since the connection was there)")
	if r.Plan.RatePerSec > 0 {
		p.line("First byte and total count from the intended start, since sent from when it was really made.")
	}
	columns := latencyColumns(r)
	rows := [][]string{{"<"}, {""}}
	for _, c := range columns {
		rows[0], rows[1] = append(rows[0], c.name), append(rows[1], c.unit)
	}
	for i, row := range latencyRows {
		cells := []string{row.name}
		for _, c := range columns {
			cells = append(cells, c.cells[i])
		}
		rows = append(rows, cells)
	}
	p.table(rows)
	p.unfinishedBeside(r)
	p.line("")
}

func latencyColumns(r *stats.Run) []column {
	t := &r.Tally
	columns := []column{
		newColumn("connect", &t.Connect), newColumn("processing", &t.Processing), newColumn("waiting", &t.Waiting),
		newColumn("first byte", &t.FirstByte), newColumn("total", &t.Total),
	}
	if r.Plan.TLS != nil {
		columns = slices.Insert(columns, 1, newColumn("handshake", &t.Handshake))
	}
	if r.Plan.RatePerSec > 0 {
		columns = append(columns, newColumn("since sent", &t.Service))
	}
	if t.FailedAfter.Count() > 0 {
		columns = append(columns, newColumn("failed", &t.FailedAfter))
	}
	if c := stats.NewCensored(&t.Total, &r.Unfinished.Ages); c.Matters(latencyQuantiles()...) {
		columns = append(columns, censoredColumn(c))
	}
	return columns
}

func newColumn(name string, h *stats.Histogram) column {
	c := column{name: name}
	if h.Count() == 0 {
		c.cells = slices.Repeat([]string{units.None}, len(latencyRows))
		return c
	}
	unit := units.Column(h.Min(), h.Quantile(0.5))
	c.unit = unit.Name
	for _, row := range latencyRows {
		c.cells = append(c.cells, unit.Write(row.value(h)))
	}
	return c
}

// censoredColumn holds the percentiles with the unfinished requests among them.
// What falls among these, or would be moved by when they end, is a lower bound.
func censoredColumn(c *stats.Censored) column {
	out := column{name: "all"}
	unit := units.Column(c.AtLeast(0), c.AtLeast(0.5))
	out.unit = unit.Name
	for _, row := range latencyRows {
		switch {
		case row.q == 0:
			out.cells = append(out.cells, "")
		case c.Exact(row.q):
			out.cells = append(out.cells, unit.Write(float64(c.AtLeast(row.q))))
		default:
			out.cells = append(out.cells, ">= "+unit.Write(float64(c.AtLeast(row.q))))
		}
	}
	return out
}

// unfinishedBeside says where in the table the unfinished requests are.
func (p *page) unfinishedBeside(r *stats.Run) {
	n := r.Unfinished.Sum()
	if n == 0 {
		return
	}
	words := fmt.Sprintf("%s unfinished, the oldest for %s: ", requests(n), units.Duration(float64(r.Unfinished.Oldest)))
	switch {
	case r.Unfinished.Ages.Count() == 0: // an older result file, which does not have them
		words += "not in this table"
	case stats.NewCensored(&r.Tally.Total, &r.Unfinished.Ages).Matters(latencyQuantiles()...):
		words += "in the last column as what they took at least (>=)"
	default:
		words += "they change no percentile"
	}
	p.wrapped("  ", "  ", words)
}

var latencyRows = []struct {
	name  string
	value func(*stats.Histogram) float64
	q     float64 // of a percentile, 0 = it is none
}{
	{"min", func(h *stats.Histogram) float64 { return float64(h.Min()) }, 0},
	{"mean", (*stats.Histogram).Mean, 0},
	{"sd", (*stats.Histogram).StdDev, 0},
	{"50 %", quantile(0.5), 0.5},
	{"75 %", quantile(0.75), 0.75},
	{"90 %", quantile(0.9), 0.9},
	{"95 %", quantile(0.95), 0.95},
	{"99 %", quantile(0.99), 0.99},
	{"99.9 %", quantile(0.999), 0.999},
	{"99.99 %", quantile(0.9999), 0.9999},
	{"max", func(h *stats.Histogram) float64 { return float64(h.Max()) }, 1},
}

func quantile(q float64) func(*stats.Histogram) float64 {
	return func(h *stats.Histogram) float64 { return float64(h.Quantile(q)) }
}

func latencyQuantiles() []float64 {
	var list []float64
	for _, row := range latencyRows {
		if row.q > 0 {
			list = append(list, row.q)
		}
	}
	return list
}
