package report

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

// eachScene renders every scene.
func eachScene(t *testing.T, render Renderer, check func(t *testing.T, r *stats.Run, text string)) {
	t.Helper()
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, render(&out, &s.run, s.verdict()))
			check(t, &s.run, out.String())
		})
	}
}

func TestCSVIsOneTable(t *testing.T) {
	eachScene(t, CSV, func(t *testing.T, r *stats.Run, text string) {
		records, err := csv.NewReader(strings.NewReader(text)).ReadAll() // insists on equal lengths
		require.NoError(t, err)
		assert.Equal(t, csvHeader, records[0])
		kinds := map[string][][]string{}
		for _, record := range records[1:] {
			kinds[record[0]] = append(kinds[record[0]], record)
		}
		require.Len(t, kinds["run"], 1)
		assert.Equal(t, strconv.FormatUint(r.Tally.Succeeded, 10), cell(kinds["run"][0], "succeeded"))
		assert.Len(t, kinds["second"], len(r.Series))
		assert.Len(t, kinds["mean"], 1)
		last := int64(0)
		for _, record := range kinds["percentile"] {
			if value := cell(record, "total_ns"); r.Tally.Succeeded == 0 {
				assert.Empty(t, value)
			} else {
				n, err := strconv.ParseInt(value, 10, 64)
				require.NoError(t, err)
				assert.LessOrEqual(t, last, n)
				last = n
			}
		}
		assert.Equal(t, r.Tally.Total.Max(), last)
	})
}

func cell(record []string, column string) string { return record[slices.Index(csvHeader, column)] }

func TestGoldenExports(t *testing.T) {
	s := overload()
	for name, render := range map[string]Renderer{"csv": CSV, "gnuplot": Gnuplot, "hgrm": HDR("x.hgrm")} {
		var out bytes.Buffer
		require.NoError(t, render(&out, &s.run, s.verdict()))
		lines := bytes.SplitAfter(out.Bytes(), []byte("\n"))
		golden(t, s.name+"."+name, bytes.Join(lines[:min(len(lines), 100)], nil))
	}
}

func TestGnuplotHasTheColumnsOfAb(t *testing.T) {
	eachScene(t, Gnuplot, func(t *testing.T, r *stats.Run, text string) {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		assert.True(t, strings.HasPrefix(lines[0], "# "))
		assert.Equal(t, "starttime\tseconds\tctime\tdtime\tttime\twait", lines[1])
		assert.Len(t, lines[2:], int(min(r.Tally.Succeeded, gnuplotRows)))
		last := 0.0
		for _, line := range lines[2:] {
			require.Len(t, strings.Split(line, "\t"), 6)
			words := strings.Fields(line)
			require.Len(t, words, 10, "scripts for ab count words: the total is the ninth")
			total, err := strconv.ParseFloat(words[8], 64)
			require.NoError(t, err)
			assert.LessOrEqual(t, last, total)
			last = total
		}
		assert.InDelta(t, float64(r.Tally.Total.Max())/1e6, last, 0.001)
	})
}

func TestHDRPercentilesInTheirTextForm(t *testing.T) {
	row := regexp.MustCompile(`^ *[0-9]+\.[0-9]{3} +[01]\.[0-9]+ +[0-9]+ +([0-9]+\.[0-9]+|inf)$`)
	eachScene(t, HDR("latency"), func(t *testing.T, r *stats.Run, text string) {
		head, rest, found := strings.Cut(text, "\n\n")
		require.True(t, found)
		assert.Equal(t, []string{"Value", "Percentile", "TotalCount", "1/(1-Percentile)"}, strings.Fields(head))
		rows, foot, _ := strings.Cut(rest, "#")
		assert.NotContains(t, text, "NaN")
		for line := range strings.Lines(rows) {
			assert.Regexp(t, row, strings.TrimRight(line, "\n"))
		}
		assert.Contains(t, foot, "Total count    = "+strings.Repeat(" ", 12-len(strconv.FormatUint(r.Tally.Succeeded, 10)))+strconv.FormatUint(r.Tally.Succeeded, 10))
	})
}

func TestHDRLogIsReadByItsOwnReader(t *testing.T) {
	eachScene(t, HDR("latency.hlog"), func(t *testing.T, r *stats.Run, text string) {
		reader := hdrhistogram.NewHistogramLogReader(strings.NewReader(text))
		want := map[string]*stats.Histogram{
			"": &r.Tally.Total, "connect": &r.Tally.Connect, "processing": &r.Tally.Processing,
			"waiting": &r.Tally.Waiting, "first_byte": &r.Tally.FirstByte, "failed": &r.Tally.FailedAfter,
		}
		counts := map[string]uint64{}
		for {
			h, err := reader.NextIntervalHistogram()
			require.NoError(t, err)
			if h == nil {
				break
			}
			of := want[h.Tag()]
			require.NotNil(t, of, h.Tag())
			counts[h.Tag()] += uint64(h.TotalCount())
			for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
				rank, got := 1/float64(of.Count()), float64(h.ValueAtQuantile(q*100)) // which it may round otherwise
				assert.GreaterOrEqual(t, got, 0.998*float64(of.Quantile(q-rank)), "%s: quantile %v", h.Tag(), q)
				assert.LessOrEqual(t, got, 1.002*float64(of.Quantile(min(q+rank, 1))), "%s: quantile %v", h.Tag(), q)
			}
		}
		for tag, of := range want {
			assert.Equal(t, of.Count(), counts[tag], tag)
		}
	})
}

// bucketError is the error of a value that a bucket stands for.
const bucketError = 0.004

// The scenario by which HdrHistogram shows its correction, through our counts
// and its own arithmetic: 10,000 answers after 1 ms, then a pause of 100 s.
func TestHDRGoldenScenario(t *testing.T) {
	var h stats.Histogram
	for range 10000 {
		h.Record(1e6)
	}
	h.Record(100e9)
	raw := hdrOf(&h)
	assert.EqualValues(t, 10001, raw.TotalCount())
	assert.InEpsilon(t, 1e6, raw.ValueAtQuantile(99.99), bucketError)
	assert.InEpsilon(t, 100e9, raw.ValueAtQuantile(99.999), bucketError)

	const interval = 10e6 // between requests, had they gone on
	corrected := hdrhistogram.New(1, 100e9, hdrDigits)
	for value, n := range h.Values() {
		for range n {
			require.NoError(t, corrected.RecordCorrectedValue(value, interval))
		}
	}
	assert.EqualValues(t, 20000, corrected.TotalCount())
	for percent, seconds := range map[float64]float64{50: 0.001, 75: 50, 90: 80, 99: 98, 99.999: 100} {
		assert.InEpsilon(t, seconds*1e9, corrected.ValueAtQuantile(percent), bucketError, "%v %%", percent)
	}
}
