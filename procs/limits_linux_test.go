package procs

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostOf is a host of these files.
func hostOf(t *testing.T, files map[string]string) host {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return host(root)
}

func names(limits []Limit) map[string]int {
	out := map[string]int{}
	for _, l := range limits {
		out[l.Name+" "+l.Value] = l.Workers
	}
	return out
}

// fits is how many workers there are threads for.
func fits(most, used int) int { return (most - used - parentThreads) / workerThreads }

func TestThreadsAreLimitedByTheSystemAndEveryGroup(t *testing.T) {
	const cg = "sys/fs/cgroup/"
	rows := []struct {
		name  string
		files map[string]string
		want  map[string]int
	}{
		{"nothing is known", nil, map[string]int{}},
		{"the system's two", map[string]string{
			"proc/loadavg":                    "0.1 0.2 0.3 2/100 4711\n",
			"proc/sys/kernel/pid_max":         "32768\n",
			"proc/sys/kernel/threads-max":     "1000\n",
			"proc/sys/kernel/something-else":  "1\n",
			"sys/fs/cgroup/pids/pids.max":     "1\n", // not this process's
			"sys/fs/cgroup/pids/pids.current": "1\n",
		}, map[string]int{"pid_max 32768, 100 in use": fits(32768, 100), "threads-max 1000, 100 in use": fits(1000, 100)}},
		{"the load is not known", map[string]string{"proc/loadavg": "what?", "proc/sys/kernel/pid_max": "300"},
			map[string]int{"pid_max 300, 0 in use": fits(300, 0)}},
		{"version 2, a limit above", map[string]string{
			"proc/self/cgroup":       "0::/a/b\n",
			cg + "a/b/pids.max":      "max\n",
			cg + "a/b/pids.current":  "7\n",
			cg + "a/pids.max":        "100\n",
			cg + "a/pids.current":    "10\n",
			cg + "pids.max":          "40\n", // of the root as a container sees it
			cg + "pids.current":      "10\n",
			"sys/fs/pids.max":        "1\n",
			"sys/fs/pids.current":    "1\n",
			cg + "a/c/pids.max":      "1\n", // a neighbour's
			cg + "a/c/pids.current":  "1\n",
			"sys/pids.max":           "1\n",
			cg + "pids/a/b/pids.max": "1\n",
		}, map[string]int{"pids.max 100, 10 in use": fits(100, 10), "pids.max 40, 10 in use": fits(40, 10)}},
		{"version 1 among other controllers", map[string]string{
			"proc/self/cgroup":             "12:cpu,cpuacct:/x\n11:net,pids:/a\n10:pidsx:/y\n1:name=systemd:/z\n0::/\n",
			cg + "pids/a/pids.max":         "90\n",
			cg + "pids/a/pids.current":     "0\n",
			cg + "pids/pids.max":           "max\n",
			cg + "pids/y/pids.max":         "1\n",
			cg + "pids/y/pids.current":     "1\n",
			cg + "cpu,cpuacct/x/pids.max":  "1\n",
			cg + "pids/a/sub/pids.max":     "1\n",
			cg + "pids/a/sub/pids.current": "1\n",
		}, map[string]int{"pids.max 90, 0 in use": fits(90, 0)}},
		{"a limit without its use is unknown", map[string]string{"proc/self/cgroup": "0::/a\n", cg + "a/pids.max": "3\n"}, map[string]int{}},
		{"a group outside of what this process sees", map[string]string{
			"proc/self/cgroup": "0::/../../other\n", "sys/fs/pids.max": "1\n", "sys/fs/pids.current": "1\n",
			"other/pids.max": "1\n", "other/pids.current": "1\n", "sys/other/pids.max": "1\n", "sys/other/pids.current": "1\n",
		}, map[string]int{}},
		{"lines that are none", map[string]string{"proc/self/cgroup": "\n0:\nx\n", cg + "pids.max": "1\n", cg + "pids.current": "1\n"}, map[string]int{}},
		{"more in use than allowed", map[string]string{
			"proc/self/cgroup": "0::/\n", cg + "pids.max": "10\n", cg + "pids.current": "40\n",
		}, map[string]int{"pids.max 10, 40 in use": fits(10, 40)}},
	}
	for _, row := range rows {
		got := names(hostOf(t, row.files).threadLimits())
		for name := range got {
			if strings.HasPrefix(name, "nproc ") { // of whoever runs the test
				delete(got, name)
			}
		}
		assert.Equal(t, row.want, got, row.name)
	}
}

func TestMemoryIsLimitedByTheHostAndEveryGroup(t *testing.T) {
	const cg = "sys/fs/cgroup/"
	rows := []struct {
		name  string
		files map[string]string
		want  []room
	}{
		{"nothing is known", nil, nil},
		{"the host's", map[string]string{"proc/meminfo": "MemTotal: 9 kB\nMemFree: 5 kB\nMemAvailable:    2048 kB\n"}, []room{{"MemAvailable", 2 << 20}}},
		{"an old kernel", map[string]string{"proc/meminfo": "MemTotal: 9 kB\nMemFree: 5 kB\n"}, nil},
		{"no number", map[string]string{"proc/meminfo": "MemAvailable: lots\n"}, nil},
		{"version 2, two of three", map[string]string{
			"proc/self/cgroup":         "0::/a/b\n",
			cg + "a/b/memory.max":      "1000\n",
			cg + "a/b/memory.current":  "900\n",
			cg + "a/memory.max":        "max\n",
			cg + "a/memory.current":    "5000\n",
			cg + "memory.max":          "4000\n",
			cg + "memory.current":      "3000\n",
			cg + "memory.stat":         "anon 1\ninactive_file 2500\n",
			cg + "a/c/memory.max":      "1\n",
			cg + "a/c/memory.current":  "1\n",
			cg + "a/b/memory.stat":     "anon 900\n",
			cg + "memory/memory.max":   "1\n",
			cg + "a/memory.stat":       "inactive_file 1\n",
			cg + "a/b/memory.high":     "1\n",
			cg + "a/b/memory.swap.max": "0\n",
		}, []room{{"memory.max", 100}, {"memory.max", 3500}}},
		{"version 1, where no limit is a huge one", map[string]string{
			"proc/self/cgroup":                      "5:memory:/a/b\n",
			cg + "memory/a/b/memory.limit_in_bytes": "1000\n",
			cg + "memory/a/b/memory.usage_in_bytes": "700\n",
			cg + "memory/a/b/memory.stat":           "inactive_file 1\ntotal_inactive_file 200\n",
			cg + "memory/a/memory.limit_in_bytes":   "9223372036854771712\n",
			cg + "memory/a/memory.usage_in_bytes":   "700\n",
		}, []room{{"memory.limit_in_bytes", 500}}},
	}
	for _, row := range rows {
		assert.Equal(t, row.want, hostOf(t, row.files).memoryRooms(), row.name)
	}
}

func TestThreadsOfAUserAreCounted(t *testing.T) {
	h := hostOf(t, map[string]string{
		"proc/1/status":    "Name:\tinit\nUid:\t0\t0\t0\t0\nThreads:\t1\n",
		"proc/20/status":   "Name:\ta\nUid:\t1000\t0\t0\t0\nThreads:\t3\n",
		"proc/300/status":  "Name:\tb\nUid:\t1000\t1000\t1000\t1000\nThreads:\t4\n",
		"proc/self/status": "Uid:\t1000\t0\t0\t0\nThreads:\t100\n",
		"proc/5/status":    "Name:\tno more known\n",
		"proc/6/other":     "gone",
	})
	assert.Equal(t, 7, h.userThreads(1000))
	assert.Equal(t, 1, h.userThreads(0))
	assert.Zero(t, h.userThreads(5))
	assert.Positive(t, host("/").userThreads(os.Geteuid()))
}

func TestWorkersFitIntoMemoryWithTheirClientsAndBodies(t *testing.T) {
	h := hostOf(t, map[string]string{"proc/meminfo": "MemAvailable: 1048576 kB\n"})
	one := func(clients, body int) Limit {
		limits := h.limits(clients, body)
		require.NotEmpty(t, limits)
		return limits[len(limits)-1]
	}
	const left = 1 << 30 / 5 * 4
	assert.Equal(t, left/workerMemory, one(0, 0).Workers)
	assert.Equal(t, (left-1000*clientMemory)/workerMemory, one(1000, 0).Workers)
	assert.Equal(t, left/(workerMemory+2<<20), one(0, 1<<20).Workers)
	assert.Negative(t, one(1e6, 0).Workers)
	assert.Equal(t, "1024 MiB free", one(0, 0).Value)
}

func TestWhatFits(t *testing.T) {
	threads := func(n int) []Limit {
		return []Limit{{"pid_max", "32768, 100 in use", 5000, "a"}, {"pids.max", "64, 4 in use", n, "a worker has 3 threads"}}
	}
	rows := []struct {
		name                          string
		limits                        []Limit
		descriptors, workers, clients int
		fit                           int
		reason, problem               string
	}{
		{name: "all, and nothing to say", limits: threads(100), descriptors: 1024, workers: 100, clients: 100, fit: 100},
		{name: "nothing is known", descriptors: math.MaxInt32, workers: 5000, clients: 5000, fit: 5000},
		{name: "packed by the tightest limit", limits: threads(20), descriptors: 1024, workers: 100, clients: 101, fit: 20,
			reason: "100 workers asked, 20 fit: pids.max 64, 4 in use: a worker has 3 threads; each drives up to 6 clients"},
		{name: "packed by descriptors", descriptors: 52, workers: 100, clients: 100, fit: 10,
			reason: "100 workers asked, 10 fit: nofile 52: the parent holds two pipes for each worker; each drives up to 10 clients"},
		{name: "no room at all", limits: threads(0), descriptors: 1024, workers: 4, clients: 4,
			problem: "this host has no room for a worker: pids.max 64, 4 in use: a worker has 3 threads"},
		{name: "less than no room", limits: threads(-5), descriptors: 1024, workers: 4, clients: 4, problem: "no room for a worker: pids.max"},
		{name: "no descriptors", descriptors: 33, workers: 1, clients: 1, problem: "no room for a worker: nofile 33"},
		{name: "fewer descriptors than are open", descriptors: 3, workers: 1, clients: 1, problem: "no room for a worker: nofile 3"},
		{name: "more workers because of their descriptors", descriptors: 132, workers: 2, clients: 1001, fit: 11,
			reason: "2 workers asked, 11 started: one process may hold 132 descriptors"},
		{name: "just enough descriptors", descriptors: 132, workers: 2, clients: 200, fit: 2},
		{name: "more clients than all workers can hold", limits: threads(5), descriptors: 132, workers: 2, clients: 501,
			problem: "501 clients need 6 workers for their descriptors, and 5 fit: pids.max"},
	}
	for _, row := range rows {
		fit, reason, err := fitWithin(row.limits, row.descriptors, row.workers, row.clients)
		if row.problem != "" {
			assert.ErrorContains(t, err, row.problem, row.name)
			assert.Zero(t, fit, row.name)
			continue
		}
		require.NoError(t, err, row.name)
		assert.Equal(t, row.fit, fit, row.name)
		assert.Equal(t, row.reason, reason, row.name)
	}
}

func TestOneWorkerFitsOnThisHost(t *testing.T) {
	fit, reason, err := Fit(1, 1, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, fit)
	assert.Empty(t, reason)
	assert.Positive(t, descriptors())
}
