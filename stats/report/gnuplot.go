package report

import (
	"fmt"
	"io"
	"time"

	"horde/stats"
)

// gnuplotRows is how many rows stand for all requests at most.
const gnuplotRows = 1000

// Gnuplot writes what ab writes with -g: columns starttime, seconds, ctime,
// dtime, ttime, wait, separated by tabs, times in milliseconds, the fastest
// first. ab has a row for each request. A run does not keep its requests one by
// one, so here row i of n holds the i/n quantile of each column by itself: what
// is plotted against the number of the row is the same curve. The start is that
// of the run.
func Gnuplot(w io.Writer, r *stats.Run, _ stats.Verdict) error {
	t := &r.Tally
	rows := min(t.Total.Count(), gnuplotRows)
	if _, err := fmt.Fprintf(w, "# %d rows for %d requests, made from histograms: row i holds the i/%d quantile of each column by itself\n"+
		"starttime\tseconds\tctime\tdtime\tttime\twait\n", rows, t.Total.Count(), rows); err != nil {
		return err
	}
	started := r.StartedAt.UTC()
	for i := range rows {
		q := float64(i+1) / float64(rows)
		if _, err := fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", started.Format(time.ANSIC), started.Unix(),
			ms(&t.Connect, q), ms(&t.Processing, q), ms(&t.Total, q), ms(&t.Waiting, q)); err != nil {
			return err
		}
	}
	return nil
}

// ms is a quantile in milliseconds; without a value it is 0, as in ab.
func ms(h *stats.Histogram, q float64) string {
	return fmt.Sprintf("%.3f", float64(h.Quantile(q))/1e6)
}
