package report

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"

	"horde/stats"
)

// csvHeader names the columns of every record; one that says nothing of a
// column leaves it empty.
var csvHeader = []string{
	"record", "at_s", "percent", "succeeded", "failed", "unfinished", "bytes", "p50_ns", "p99_ns", "max_ns",
	"connect_ns", "processing_ns", "waiting_ns", "first_byte_ns", "total_ns", "failed_after_ns",
}

// CSV writes a table (RFC 4180) with one heading and records of four kinds, the
// word for which stands first: "run" is the whole run, "second" one entry of the
// time line, "mean" and "stddev" those of each latency, and "percentile" what
// so many per cent of the values are not above; 0 is the least, 100 the greatest.
func CSV(w io.Writer, r *stats.Run, _ stats.Verdict) error {
	out := csv.NewWriter(w)
	records := [][]string{csvHeader, csvRun(r)}
	for i := range r.Series {
		records = append(records, csvSecond(&r.Series[i]))
	}
	records = append(records, csvMoments(&r.Tally)...)
	for _, percent := range csvPercents() {
		records = append(records, csvPercentile(&r.Tally, percent))
	}
	return out.WriteAll(records)
}

func csvRun(r *stats.Run) []string {
	t := &r.Tally
	cells := csvCounts("run", 0, t.Succeeded, t.Failed, r.Unfinished.Sum(), t.BytesRead)
	if t.Total.Count() > 0 {
		cells = append(cells, decimal(t.Total.Quantile(0.5)), decimal(t.Total.Quantile(0.99)), decimal(t.Total.Max()))
	}
	return padded(cells)
}

func csvSecond(s *stats.Second) []string {
	cells := csvCounts("second", s.At.Seconds(), s.Succeeded, s.Failed, s.Unfinished, s.Bytes)
	if s.Succeeded > 0 {
		cells = append(cells, decimal(s.P50), decimal(s.P99), decimal(s.Max))
	}
	return padded(cells)
}

func csvCounts(record string, at float64, counts ...uint64) []string {
	cells := []string{record, strconv.FormatFloat(at, 'f', -1, 64), ""}
	for _, n := range counts {
		cells = append(cells, strconv.FormatUint(n, 10))
	}
	return cells
}

// csvLatencies are the distributions in the order of their columns.
func csvLatencies(t *stats.Tally) [6]*stats.Histogram {
	return [...]*stats.Histogram{&t.Connect, &t.Processing, &t.Waiting, &t.FirstByte, &t.Total, &t.FailedAfter}
}

func csvMoments(t *stats.Tally) [][]string {
	mean, deviation := padded([]string{"mean"}), padded([]string{"stddev"})
	for i, h := range csvLatencies(t) {
		if h.Count() > 0 {
			column := len(csvHeader) - len(csvLatencies(t)) + i
			mean[column], deviation[column] = decimal(int64(math.Round(h.Mean()))), decimal(int64(math.Round(h.StdDev())))
		}
	}
	return [][]string{mean, deviation}
}

func csvPercentile(t *stats.Tally, percent float64) []string {
	cells := padded([]string{"percentile", "", strconv.FormatFloat(percent, 'f', -1, 64)})
	for i, h := range csvLatencies(t) {
		if h.Count() > 0 {
			cells[len(cells)-len(csvLatencies(t))+i] = decimal(percentile(h, percent))
		}
	}
	return cells
}

// percentile is the value that percent of all are not above, from the least (0)
// to the greatest (100).
func percentile(h *stats.Histogram, percent float64) int64 {
	if percent == 0 {
		return h.Min()
	}
	return h.Quantile(percent / 100)
}

func csvPercents() []float64 {
	var list []float64
	for i := range 100 {
		list = append(list, float64(i))
	}
	return append(list, 99.9, 99.99, 99.999, 100)
}

func padded(cells []string) []string {
	return append(slices.Clip(cells), make([]string, len(csvHeader)-len(cells))...)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
