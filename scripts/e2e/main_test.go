package e2e

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// horde is the program under test: a copy in a directory of its own, so that
// its path in /proc/PID/exe is like no other process's.
var horde string

// insideVar marks the test binary that inNamespaces started.
const insideVar = "HORDE_E2E_INSIDE"

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// traceClock makes this binary a tracer if it was started as one. It is nil
// where no tracer is written for the machine.
var traceClock func() (code int, asked bool)

func testMain(m *testing.M) int {
	if traceClock != nil {
		if code, asked := traceClock(); asked {
			return code
		}
	}
	flag.Parse()
	if runtime.GOMAXPROCS(0) < 3 { // most tests wait for a deadline most of the time
		if err := flag.Set("test.parallel", "3"); err != nil {
			return fail(err)
		}
	}
	if os.Getenv(insideVar) != "" {
		horde = os.Getenv("HORDE_BINARY")
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "horde-e2e-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	// Another user's horde must be able to start it (TestUserLimit…).
	if err := os.Chmod(dir, 0o755); err != nil {
		return fail(err)
	}
	horde = filepath.Join(dir, "horde")
	if err := provideBinary(); err != nil {
		return fail(err)
	}
	code := m.Run()
	if left := leftProcesses(); len(left) > 0 {
		return fail(fmt.Errorf("processes left behind: %v", left))
	}
	return code
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

func provideBinary() error {
	if given := os.Getenv("HORDE_BINARY"); given != "" {
		return copyFile(given, horde)
	}
	build := exec.Command("go", "build", "-o", horde, "horde")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the README has it
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}

// leftProcesses returns the processes that still run it, after giving
// them a moment to go.
func leftProcesses() []int {
	var left []int
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		left = nil
		for _, p := range processes() {
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
			if strings.TrimSuffix(exe, " (deleted)") == horde {
				left = append(left, p.pid)
			}
		}
		if left == nil {
			break
		}
	}
	return left
}
