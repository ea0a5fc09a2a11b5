package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

func TestHostSurvivesTheResultFile(t *testing.T) {
	r := newRun()
	r.Host.Begin = &stats.HostState{
		Facts: map[string]stats.Fact{
			"net.core.somaxconn": stats.Have("4096"),
			"cpu/isolated":       stats.Have(""),
			"sched/latency_ns":   stats.Lack("this kernel has none"),
		},
		Counters: stats.Counters{"netstat": {"TcpExt": {"ListenOverflows": 3}}, "schedstat": nil},
	}
	var file bytes.Buffer
	require.NoError(t, JSON(&file, &r, stats.Verdict{}))
	var document struct{ Host json.RawMessage }
	require.NoError(t, json.Unmarshal(file.Bytes(), &document))
	assert.JSONEq(t, `{"end": null, "begin": {
		"facts": {"net.core.somaxconn": "4096", "cpu/isolated": "", "sched/latency_ns": null},
		"counters": {"netstat": {"TcpExt": {"ListenOverflows": 3}}, "schedstat": null}}}`, string(document.Host))
	d, err := Read(&file)
	require.NoError(t, err)
	got := d.Host.Stats()
	assert.Nil(t, got.End)
	assert.Equal(t, r.Host.Begin.Counters, got.Begin.Counters)
	assert.Equal(t, "4096", got.Begin.Facts["net.core.somaxconn"].Value)
	assert.True(t, got.Begin.Facts["cpu/isolated"].Known(), "empty is a value")
	assert.False(t, got.Begin.Facts["sched/latency_ns"].Known())
}
