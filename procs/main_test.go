package procs

import (
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain also is the main function of the processes that tests start from
// this binary: workers that misbehave, and parents that are killed. Workers that
// behave end in this package's init and never come here.
func TestMain(m *testing.M) {
	if os.Args[0] == faultName {
		misbehave(os.Args[1])
	}
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(roles[role]())
	}
	openPoller()
	os.Exit(m.Run())
}

// openPoller has the runtime open what it keeps for its network poller, so that
// no test is blamed for it.
func openPoller() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_ = l.Close()
}

// leaveNothing fails the test if it leaves a descriptor or a process behind. It
// must come before anything that cleans up.
func leaveNothing(t *testing.T) {
	t.Helper()
	before := descriptorNames(t)
	t.Cleanup(func() {
		assert.Equal(t, before, descriptorNames(t), "descriptors were left open")
		_, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		assert.Equal(t, syscall.ECHILD, err, "a child or a zombie was left")
	})
}

// descriptorNames are what the open descriptors stand for, without the one
// that this list is read from.
func descriptorNames(t *testing.T) []string {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		name, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(name, "/proc/") {
			names = append(names, e.Name()+" "+name)
		}
	}
	sort.Strings(names)
	return names
}

// workerPIDs are the workers that are children of a process and alive.
func workerPIDs(parent int) map[int]string {
	pids := map[int]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil { // gone since
			continue
		}
		// pid (comm) state ppid …
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		args := strings.Split(string(line), "\x00")
		if len(args) > 1 && args[0] == workerName && number(fields[1]) == parent {
			pids[number(filepath.Base(filepath.Dir(path)))] = args[1]
		}
	}
	return pids
}

func number(s string) int {
	n := 0
	for _, c := range []byte(s) {
		n = n*10 + int(c-'0')
	}
	return n
}
