package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

func TestSeriesInWords(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		asked int
		want  string
	}{
		{[]float64{1000, 1010, 990, 1005, 995}, 5, "Series       5 of 5 runs, 990 to 1,010 requests/s, CV 0.79 %; beside as many runs a change of\n             1.16 % would show (horde compare)\n"},
		{[]float64{1000}, 3, "Series       1 of 3 runs, 1,000 to 1,000 requests/s\n"},
		{[]float64{1000, 0}, 2, "Series       2 of 2 runs, 0 to 1,000 requests/s\n"},
		{nil, 2, "Series       0 of 2 runs\n"},
	} {
		var out bytes.Buffer
		require.NoError(t, Series(&out, c.rates, c.asked))
		assert.Equal(t, "\n"+c.want, out.String())
	}
}

func TestTheReportNamesThePlaceOfARun(t *testing.T) {
	r := newRun()
	r.Plan.Repeat = stats.Repeat{Index: 2, Of: 10, Paused: 58 * time.Second, TimeWait: 120}
	var text, document bytes.Buffer
	verdict := stats.Judge(&r, stats.Thresholds{})
	require.NoError(t, Text(&text, &r, verdict))
	assert.Contains(t, text.String(), "Series       run 2 of 10, 58.0 s after the one before; 120 connections in TIME_WAIT at its begin\n")
	require.NoError(t, JSON(&document, &r, verdict))
	again, _, err := Load(&document)
	require.NoError(t, err)
	assert.Equal(t, r.Plan.Repeat, again.Plan.Repeat)
	r.Plan.Repeat.TimeWait = -1
	text.Reset()
	require.NoError(t, Text(&text, &r, verdict))
	assert.Contains(t, text.String(), "after the one before\n")
}
