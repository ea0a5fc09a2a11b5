package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// proc is one line of the process list.
type proc struct {
	pid, parent, group int
	state              string // R, S, Z, T, …
}

// processes reads the process list. A process that ends meanwhile is left out.
func processes() []proc {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	var list []proc
	for _, f := range files {
		if p, ok := readStat(f); ok {
			list = append(list, p)
		}
	}
	return list
}

func readStat(file string) (proc, bool) {
	stat, err := os.ReadFile(file)
	if err != nil {
		return proc{}, false
	}
	// The name in parentheses may hold anything, so fields count from its end.
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 3 {
		return proc{}, false
	}
	pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
	parent, _ := strconv.Atoi(fields[1])
	group, _ := strconv.Atoi(fields[2])
	return proc{pid, parent, group, fields[0]}, true
}

// workersOf returns the living worker processes of a running horde.
func workersOf(parent int) []int {
	var pids []int
	for _, p := range processes() {
		if p.parent == parent && p.state != "Z" {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// alive reports which of the processes still run; a zombie does not.
func alive(pids []int) []int {
	var list []int
	for _, pid := range pids {
		if p, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid)); ok && p.state != "Z" {
			list = append(list, pid)
		}
	}
	return list
}

// groupMembers returns all that is left of a process group, zombies too.
func groupMembers(group int) []proc {
	var list []proc
	for _, p := range processes() {
		if p.group == group {
			list = append(list, p)
		}
	}
	return list
}

// allowedCPUs returns the Cpus_allowed_list of every thread of a process.
func allowedCPUs(t *testing.T, pid int) []string {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	require.NoError(t, err)
	var list []string
	for _, f := range files {
		status, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(status)) {
			if cpus, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
				list = append(list, strings.TrimSpace(cpus))
			}
		}
	}
	return list
}

// expandCPUs turns a kernel list such as "0-2,5" into numbers.
func expandCPUs(t *testing.T, list string) []int {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		require.NoError(t, err)
		hi := lo
		if isRange {
			hi, err = strconv.Atoi(last)
			require.NoError(t, err)
		}
		for c := lo; c <= hi; c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// peakMemory returns the most memory, in bytes, that horde or any of its
// workers has had so far. (Getrusage would not do: what it says of a process
// includes the one it was forked from.)
func peakMemory(parent int) int64 {
	var most int64
	for _, pid := range append(workersOf(parent), parent) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(status)) {
			var kib int64
			if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
				most = max(most, kib<<10)
			}
		}
	}
	return most
}

// isLoaded reports whether a child of parent runs its own program yet. Before
// that it is a fork of its parent, which waits for it.
func isLoaded(pid, parent int) bool {
	own, err1 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	its, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", parent))
	return err1 == nil && err2 == nil && len(own) > 0 && string(own) != string(its)
}

// stop halts a process as SIGSTOP does.
func stop(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }
