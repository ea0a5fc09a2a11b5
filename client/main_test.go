package client

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roleVar makes this test binary something else than a test: see roles.
const roleVar = "HORDE_CLIENT_TEST_ROLE"

// insideVar marks the test binary that inside started.
const insideVar = "HORDE_CLIENT_TEST_INSIDE"

var roles = map[string]func() int{"answer": answerForever}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVar)]; role != nil {
		os.Exit(role())
	}
	os.Exit(runChecked(m))
}

// runChecked runs the tests and holds them to what they leave behind.
func runChecked(m *testing.M) int {
	// A loop keeps its processor while it waits; the servers need others.
	runtime.GOMAXPROCS(max(4, runtime.NumCPU()))
	warmUp()
	before := openFiles()
	code := m.Run()
	if after := openFiles(); len(after) != len(before) {
		fmt.Fprintf(os.Stderr, "descriptors leaked: before %v\nafter %v\n", before, after)
		code = 1
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		fmt.Fprintf(os.Stderr, "a child process is left: %d %v\n", pid, err)
		code = 1
	}
	return code
}

// warmUp has the runtime open the descriptors it keeps for good.
func warmUp() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		l.Close()
	}
	_ = exec.Command("true").Run()
}

// openFiles returns the descriptors of this process and what they lead to.
func openFiles() map[string]string {
	files := map[string]string{}
	names, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil {
			files[filepath.Base(name)] = to
		}
	}
	return files
}

// inside runs the calling test again in a process of its own, alone, behind
// the command line given (unshare(1), say). It returns true in there, and
// false outside when the test is over.
func inside(t *testing.T, command ...string) bool {
	t.Helper()
	if os.Getenv(insideVar) != "" {
		return true
	}
	if len(command) > 0 {
		probe := append(slices.Clone(command), "true")
		if out, err := exec.Command(probe[0], probe[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s does not work here: %v %s", command[0], err, out)
		}
	}
	self, err := os.Executable()
	require.NoError(t, err)
	line := append(slices.Clone(command), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), insideVar+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("inside:\n%s", out)
	if strings.Contains(string(out), "--- SKIP: "+t.Name()) {
		t.SkipNow()
	}
	assert.NoError(t, err)
	return false
}
