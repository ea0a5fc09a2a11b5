package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// inNamespaces runs the calling test again in fresh namespaces: this test
// binary under unshare(1), with that test alone. It returns true in there, and
// false outside when the test is over.
func inNamespaces(t *testing.T, flags ...string) bool {
	t.Helper()
	if os.Getenv(insideVar) != "" {
		return true
	}
	unshare := need(t, "unshare")
	if out, err := exec.Command(unshare, append(flags, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	line := append(flags, self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.CommandContext(t.Context(), unshare, line...)
	cmd.Env = append(os.Environ(), "HORDE_BINARY="+horde, insideVar+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("inside:\n%s", out)
	if strings.Contains(string(out), "--- SKIP: "+t.Name()) {
		t.SkipNow()
	}
	assert.NoError(t, err)
	return false
}

// loopbackUp brings the loopback interface of a fresh network namespace up.
func loopbackUp(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	require.NoError(t, err)
	require.NoError(t, unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo))
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	require.NoError(t, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo))
}

// replaceFile puts other contents in place of a file, for this mount namespace alone.
func replaceFile(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	require.NoError(t, unix.Mount(file, name, "", unix.MS_BIND, ""))
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(name, unix.MNT_DETACH)) })
}

func setKernel(t *testing.T, name, value string) {
	t.Helper()
	file := filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
	require.NoError(t, os.WriteFile(file, []byte(value), 0o644))
}
