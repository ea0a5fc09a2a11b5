package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

// The first rows are what webbench 1.5 itself printed, or what its expressions
// give in single precision, for the same counts.
func TestClassic(t *testing.T) {
	for _, row := range []struct {
		name              string
		succeeded, failed uint64
		bytes             uint64
		asked, measured   time.Duration
		want              string
	}{
		{
			"a whole number comes out one short", 3263, 0, 2496195, 2 * time.Second, 2010 * time.Millisecond,
			"\nSpeed=97889 pages/min, 1248097 bytes/sec.\nRequests: 3263 susceed, 0 failed.\n",
		},
		{
			"failures count as speed", 1692407, 2554, 858182640, 60 * time.Second, 60 * time.Second,
			"\nSpeed=1694961 pages/min, 14303044 bytes/sec.\nRequests: 1692407 susceed, 2554 failed.\n",
		},
		{
			"counts go beyond 32 bits", 4400000000, 0, 6000000000, 60 * time.Second, 60 * time.Second,
			"\nSpeed=4400000000 pages/min, 100000000 bytes/sec.\nRequests: 4400000000 susceed, 0 failed.\n",
		},
		{
			"a run by number is divided by its own time", 100, 0, 6000, 0, time.Minute,
			"\nSpeed=100 pages/min, 100 bytes/sec.\nRequests: 100 susceed, 0 failed.\n",
		},
		{
			"nothing over no time", 0, 0, 0, 0, 0,
			"\nSpeed=0 pages/min, 0 bytes/sec.\nRequests: 0 susceed, 0 failed.\n",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := stats.Run{Plan: stats.PlanFacts{Duration: row.asked}, Measured: row.measured}
			r.Tally.Succeeded, r.Tally.Failed, r.Tally.BytesRead = row.succeeded, row.failed, row.bytes
			var out bytes.Buffer
			require.NoError(t, Classic(&out, &r, stats.Verdict{}))
			assert.Equal(t, row.want, out.String())
		})
	}
}
