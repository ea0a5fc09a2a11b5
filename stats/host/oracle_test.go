package host

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The counters are read by this package itself, because it must keep each name
// that a kernel has and must not make a 0 of what it lacks. Where another reader
// knows the same numbers, both must agree.
func TestCountersAgreeWithAnotherReader(t *testing.T) {
	for kernel, tree := range unpacked {
		fs, err := procfs.NewFS(filepath.Join(string(tree), "proc"))
		require.NoError(t, err)
		c := tree.counters()
		agree := func(want uint64, source, row, column string) {
			got, known := c.Get(source, row, column)
			assert.True(t, known, "%s: %s %s %s", kernel, source, row, column)
			assert.Equal(t, want, got, "%s: %s %s %s", kernel, source, row, column)
		}
		softnet, err := fs.NetSoftnetStat()
		require.NoError(t, err)
		for _, s := range softnet {
			cpu := "cpu" + strconv.Itoa(int(s.Index))
			agree(uint64(s.Processed), "softnet_stat", cpu, "processed")
			agree(uint64(s.Dropped), "softnet_stat", cpu, "dropped")
			agree(uint64(s.TimeSqueezed), "softnet_stat", cpu, "time_squeeze")
		}
		sockets, err := fs.NetSockstat()
		require.NoError(t, err)
		for _, p := range sockets.Protocols {
			if p.Protocol == "TCP" {
				agree(uint64(p.InUse), "sockstat", "TCP", "inuse")
				agree(uint64(*p.TW), "sockstat", "TCP", "tw")
				agree(uint64(*p.Mem), "sockstat", "TCP", "mem")
			}
		}
		softirqs, err := fs.Softirqs()
		require.NoError(t, err)
		for cpu, n := range softirqs.NetRx {
			agree(n, "softirqs", "NET_RX", "cpu"+strconv.Itoa(cpu))
		}
		stat, err := fs.Stat()
		require.NoError(t, err)
		agree(uint64(stat.CPUTotal.User*100+0.5), "stat", "cpu", "user")
		agree(uint64(stat.CPUTotal.Steal*100+0.5), "stat", "cpu", "steal")
		agree(stat.ContextSwitches, "stat", "all", "ctxt")
		devices, err := fs.NetDev()
		require.NoError(t, err)
		for name, d := range devices {
			agree(d.RxPackets, "dev", name, "rx_packets")
			agree(d.RxDropped, "dev", name, "rx_drop")
			agree(d.TxBytes, "dev", name, "tx_bytes")
		}
		if entries, err := fs.ConntrackStat(); err == nil {
			for cpu, e := range entries {
				agree(e.Drop, "nf_conntrack", "cpu"+strconv.Itoa(cpu), "drop")
				agree(e.InsertFailed, "nf_conntrack", "cpu"+strconv.Itoa(cpu), "insert_failed")
			}
		}
		if schedstat, err := fs.Schedstat(); err == nil {
			for _, cpu := range schedstat.CPUs {
				agree(cpu.RunningNanoseconds, "schedstat", "cpu"+cpu.CPUNum, "running_ns")
				agree(cpu.WaitingNanoseconds, "schedstat", "cpu"+cpu.CPUNum, "waiting_ns")
			}
		}
		if pressure, err := fs.PSIStatsForResource("cpu"); err == nil {
			agree(pressure.Some.Total, "pressure", "cpu", "some_us")
		}
	}
}
