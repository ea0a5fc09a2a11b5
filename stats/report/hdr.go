package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"horde/stats"
)

// HDR returns what writes a file of that name in a format of HdrHistogram's
// tools: ".hlog" is a log of encoded histograms, anything else the text that
// plotters of percentiles read.
func HDR(name string) Renderer {
	if strings.HasSuffix(name, ".hlog") {
		return hdrLog
	}
	return hdrPercentiles
}

// Three digits keep each of our buckets apart from its neighbours.
const hdrDigits = 3

func hdrOf(h *stats.Histogram) *hdrhistogram.Histogram {
	out := hdrhistogram.New(1, max(h.Max(), 2), hdrDigits)
	for value, n := range h.Values() {
		_ = out.RecordValues(value, int64(n)) // none is above the greatest
	}
	return out
}

// hdrPercentiles writes the distribution of the total latency of succeeded
// requests in milliseconds, as HdrHistogram's outputPercentileDistribution does.
func hdrPercentiles(w io.Writer, r *stats.Run, _ stats.Verdict) error {
	const ticksPerHalf, nsPerMS = 5, 1e6
	_, err := hdrOf(&r.Tally.Total).PercentilesPrint(w, ticksPerHalf, nsPerMS)
	return err
}

// hdrLog writes an interval log (format 1.3, V2 compressed encoding, values in
// nanoseconds): the total latency of succeeded requests without a tag, the other
// latencies of the run with one.
func hdrLog(w io.Writer, r *stats.Run, _ stats.Verdict) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	begin := max(r.StartedAt.UnixMilli(), 0) // 0 if it never began
	log.SetBaseTime(begin)
	err := firstOf(
		log.OutputComment(fmt.Sprintf("[Logged by horde %s]", ascii(r.Tool.Version))),
		log.OutputLogFormatVersion(), log.OutputStartTime(begin), log.OutputLegend())
	if err != nil {
		return err
	}
	t := &r.Tally
	for _, kind := range []struct {
		tag string
		of  *stats.Histogram
	}{{"", &t.Total}, {"connect", &t.Connect}, {"processing", &t.Processing}, {"waiting", &t.Waiting}, {"first_byte", &t.FirstByte}, {"failed", &t.FailedAfter}} {
		if kind.of.Count() == 0 {
			continue
		}
		h := hdrOf(kind.of)
		h.SetTag(kind.tag)
		h.SetStartTimeMs(begin)
		h.SetEndTimeMs(begin + r.Measured.Milliseconds())
		if err := log.OutputIntervalHistogram(h); err != nil {
			return err
		}
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
