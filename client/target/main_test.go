package target

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(runChecked(m)) }

// runChecked runs the tests and holds them to what they leave behind.
func runChecked(m *testing.M) int {
	warmUp()
	before := openFiles()
	code := m.Run()
	if after := openFiles(); after != before {
		fmt.Fprintf(os.Stderr, "descriptors leaked: %d before, %d after\n", before, after)
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
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
	}
	_ = exec.Command("true").Run()
}

func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}
