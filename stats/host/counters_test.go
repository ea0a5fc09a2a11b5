package host

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCountersReadEachFormTheKernelWrites(t *testing.T) {
	for _, c := range []struct {
		name, text string
		read       func(string) table
		want       table
	}{
		{"pairs: -1 is no count, a longer heading has no number", "Tcp: MaxConn ActiveOpens New\nTcp: -1 5\nUdp: InDatagrams\nUdp: 7\n", pairs,
			table{"Tcp": {"ActiveOpens": 5}, "Udp": {"InDatagrams": 7}}},
		{"pairs: a heading cut short", "Tcp: A B\n", pairs, table{}},
		{"named values", "sockets: used 221\nTCP: inuse 204 tw 344 odd\n", namedValues,
			table{"sockets": {"used": 221}, "TCP": {"inuse": 204, "tw": 344}}},
		{"softnet of 2.6.32: nine columns", "0000000a 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000003\n", softnet,
			table{"cpu0": {"processed": 10, "dropped": 1, "time_squeeze": 2, "cpu_collision": 3}}},
		{"softnet of 5.14: the CPU in its column", "0000000a 0 0 0 0 0 0 0 0 0 0 0 00000003\n", softnet,
			table{"cpu3": {"processed": 10, "dropped": 0, "time_squeeze": 0, "cpu_collision": 0, "received_rps": 0, "flow_limit_count": 0, "backlog_len": 0}}},
		{"devices", "Inter-| Receive\n face |bytes packets\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", devices,
			table{"lo": {"rx_bytes": 1, "rx_packets": 2, "rx_errs": 3, "rx_drop": 4, "rx_fifo": 5, "rx_frame": 6, "rx_compressed": 7, "multicast": 8,
				"tx_bytes": 9, "tx_packets": 10, "tx_errs": 11, "tx_drop": 12, "tx_fifo": 13, "tx_colls": 14, "tx_carrier": 15, "tx_compressed": 16}}},
		{"softirqs: CPU 1 is offline", "   CPU0  CPU2\n NET_RX:  5  6\n", perCPUMatrix, table{"NET_RX": {"cpu0": 5, "cpu2": 6}}},
		{"interrupts: nothing of nobody", "  CPU0 CPU1\n 24: 0 3 IO-APIC eth0-rx\n 25: 0 0 x\nERR: 0\n", interrupts, table{"24": {"cpu1": 3}}},
		{"stat of 2.6.32: no guest_nice", "cpu0 1 2 3 4 5 6 7 8 9\nintr 5 1 4\nctxt 12\n", stat,
			table{"cpu0": {"user": 1, "nice": 2, "system": 3, "idle": 4, "iowait": 5, "irq": 6, "softirq": 7, "steal": 8, "guest": 9}, "all": {"ctxt": 12}}},
		{"schedstat", "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 70 80 90\ndomain0 3 1 2 3 4 5 6 7 8\n", schedstat,
			table{"cpu0": {"running_ns": 70, "waiting_ns": 80, "timeslices": 90}}},
		{"schedstat of a version with other columns", "version 12\ncpu0 0 0 0 0 0 0 70 80 90\n", schedstat, table{}},
		{"vmstat", "nr_free_pages 5\npgmajfault 6\n", vmstat, table{"all": {"pgmajfault": 6}}},
		{"conntrack", "entries drop\n0000000f 00000002\n0000000f 00000003\n", conntrack,
			table{"cpu0": {"entries": 15, "drop": 2}, "cpu1": {"entries": 15, "drop": 3}}},
		{"pressure", "some avg10=0.94 avg60=1.26 avg300=7.00 total=99\nfull avg10=0 total=1\n", pressure, table{"cpu": {"some_us": 99, "full_us": 1}}},
		{"nothing", "", stat, table{}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, c.read(c.text)) })
	}
}

// Whatever stands in a file of a kernel to come, reading it must not fail, and
// what is no number is no counter.
func FuzzCounters(f *testing.F) {
	f.Add("Tcp: A B\nTcp: 1 2\n")
	f.Add("   CPU0 CPU1\n24: 1 2 x\n")
	f.Add("version 15\ncpu0 0 0 0 0 0 0 0 0 0\n")
	f.Add("cpu  1 2 3\nbtime 9\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, s := range sources {
			assert.NotNil(t, s.read(text), name)
		}
	})
}
