package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newTree writes files below a directory of their own.
func newTree(t *testing.T, files map[string]string) Tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return Tree(root)
}

// hostAt is a host of two CPUs of which the second has done so much.
func hostAt(user, idle, softirq, steal int, pressure string, dropped int, throttled string) map[string]string {
	return map[string]string{
		"proc/stat": fmt.Sprintf("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 0 0 0 1000 0 0 0 0 0 0\ncpu1 %d 0 0 %d 0 0 %d %d 0 0\nintr 5 6\nctxt 7\n",
			user, idle, softirq, steal),
		"proc/pressure/cpu":               "some avg10=1.46 avg60=1.13 avg300=6.10 total=" + pressure + "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"proc/net/softnet_stat":           fmt.Sprintf("2744ba54 %08x 0000001b 00000000\n279002fc 00000010 00000015 00000000\n", dropped),
		"proc/self/cgroup":                "4:memory:/a\n1:cpu,cpuacct:/a/b\n0::/\n",
		"sys/fs/cgroup/cpu/a/b/cpu.stat":  "nr_periods 11\nnr_throttled 10\nthrottled_time " + throttled + "\n",
		"sys/fs/cgroup/cpu/a/cpu.stat":    "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
		"sys/fs/cgroup/cpu/a/b/cpu.max":   "",
		"sys/fs/cgroup/cpu/a/b/garbage":   "x",
		"sys/fs/cgroup/cpu/cpu.stat":      "nr_periods 0\n",
		"sys/fs/cgroup/memory/a/cpu.stat": "throttled_time 999\n",
	}
}

// metered is a meter that has looked at each of the trees, a second apart.
func metered(cpus []int, trees ...Tree) *Meter {
	m := NewMeter(cpus)
	for i, t := range trees {
		l := t.look()
		l.at = time.Unix(1000+int64(i), 0)
		m.take(l)
	}
	return m
}

func TestAMeterTellsWhatCPUsDidBetweenItsLooks(t *testing.T) {
	begin := newTree(t, hostAt(100, 1000, 10, 0, "1000000", 16, "5000000"))
	end := newTree(t, hostAt(130, 1040, 40, 0, "1250000", 19, "905000000"))
	g := metered([]int{1}, begin, end).Generator()
	require.NotNil(t, g)
	assert.Equal(t, time.Second, g.Span)
	assert.Equal(t, 1, g.CPUs)
	assert.InDelta(t, 0.60, g.Busy, 1e-9)
	assert.InDelta(t, 0.30, g.Softirq, 1e-9)
	assert.Zero(t, g.Steal)
	assert.InDelta(t, 0.25, g.Pressure, 1e-9)
	assert.Equal(t, 900*time.Millisecond, g.Throttled)
	assert.EqualValues(t, 3, g.Dropped)
	assert.Zero(t, g.Squeezed)
	assert.Zero(t, g.Full)
}

func TestTasksThatDodgeTheTicksAreSeen(t *testing.T) {
	at := func(running string, idle int) Tree {
		files := hostAt(0, idle, 0, 0, "0", 0, "0")
		files["proc/schedstat"] = "version 17\ntimestamp 1\ncpu0 0 0 0 0 0 0 5 5 5\ncpu1 0 0 0 0 0 0 " + running + " 7 9\n"
		return newTree(t, files)
	}
	g := metered([]int{1}, at("1000", 0), at("370001000", 100)).Generator()
	assert.InDelta(t, 0.37, g.Busy, 1e-9)
	assert.InDelta(t, 0.37, g.Busiest, 1e-9)
}

func TestAMeterSeesOnlyTheCPUsThatMayBeUsed(t *testing.T) {
	begin := newTree(t, hostAt(0, 0, 0, 0, "0", 0, "0"))
	end := newTree(t, hostAt(90, 0, 0, 10, "0", 0, "0"))
	g := metered([]int{1}, begin, end).Generator()
	assert.Equal(t, 1.0, g.Busy, "the hypervisor's share is not idle")
	assert.InDelta(t, 0.1, g.Steal, 1e-9)
	g = metered([]int{0, 1}, begin, end).Generator()
	assert.Equal(t, 1.0, g.Busiest, "the idle one has not moved: nothing is known of it")
}

func TestAMeterAddsUpTheTimeInWhichCPUsWereFull(t *testing.T) {
	var trees []Tree
	for i, user := range []int{0, 100, 199, 210} {
		trees = append(trees, newTree(t, hostAt(user, 100*i-user, 0, 0, "0", 0, "0")))
	}
	g := metered([]int{1}, trees...).Generator()
	assert.Equal(t, 2*time.Second, g.Full)
	assert.InDelta(t, 0.7, g.Busy, 1e-9)
}

func TestWhatAHostDoesNotTellIsUnknown(t *testing.T) {
	nothing := newTree(t, nil)
	g := metered([]int{0, 1}, nothing, nothing).Generator()
	require.NotNil(t, g)
	for _, share := range []float64{g.Busy, g.Busiest, g.Steal, g.IOWait, g.Softirq, g.Pressure, float64(g.Full), float64(g.Throttled), float64(g.Dropped), float64(g.Squeezed)} {
		assert.Negative(t, share)
	}
	assert.Nil(t, NewMeter([]int{0}).Generator(), "never looked")
	assert.Nil(t, metered([]int{0}).Generator())
}

func TestTheTightestQuotaOfBothVersionsHolds(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"version 2, a limit above one without", map[string]string{
			"proc/self/cgroup":          "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
			"sys/fs/cgroup/a/cpu.max":   "150000 100000\n",
		}, 1.5},
		{"version 1, no limit", map[string]string{
			"proc/self/cgroup":                    "1:cpu:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, 0},
		{"version 1, the tighter of two", map[string]string{
			"proc/self/cgroup":                      "7:cpuacct,cpu:/x\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  "50000\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":    "20000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":   "100000\n",
		}, 0.2},
		{"none", map[string]string{"proc/self/cgroup": "1:name=systemd:/\n"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, newTree(t, c.files).quota()) })
	}
}

func TestThrottlingByVersion2IsCountedInMicroseconds(t *testing.T) {
	at := func(usec string) Tree {
		return newTree(t, map[string]string{
			"proc/self/cgroup":           "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.stat": "usage_usec 5\nnr_throttled 3\nthrottled_usec " + usec + "\n",
			"sys/fs/cgroup/a/cpu.stat":   "throttled_usec 2000\n",
			"sys/fs/cgroup/cpu.stat":     "usage_usec 5\n",
		})
	}
	assert.Equal(t, 93*time.Millisecond, metered([]int{0}, at("7000"), at("100000")).Generator().Throttled)
}

// What is read off this host must at least hold together.
func TestThisHostIsMeasured(t *testing.T) {
	m := NewMeter([]int{0})
	m.Look()
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
	}
	m.Look()
	g := m.Generator()
	require.NotNil(t, g)
	assert.GreaterOrEqual(t, g.Span, 30*time.Millisecond)
	assert.LessOrEqual(t, g.Busy, 1.0)
	assert.LessOrEqual(t, g.Busy, g.Busiest)
	assert.GreaterOrEqual(t, g.Dropped, int64(0))
}
