package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The doctor: what it finds of this host, what it says of it, and that it only reads.

type finding struct {
	ID, Level, Side, Why string
	Value, Limit, Fix    *string
}

// examine runs the doctor and returns its findings by side and id.
func examine(t *testing.T, l launch, args ...string) (map[string]finding, *outcome) {
	t.Helper()
	o := l.run(t, append([]string{"doctor", "--json"}, args...)...)
	var document struct {
		Schema string
		Checks []finding
	}
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&document), o.everything())
	assert.Equal(t, "horde.doctor/1", document.Schema)
	found := map[string]finding{}
	for _, f := range document.Checks {
		assert.Contains(t, []string{"FAIL", "WARN", "NOTE", "UNKNOWN", "OK"}, f.Level, f.ID)
		assert.Contains(t, []string{"client", "server", "both"}, f.Side, f.ID)
		assert.NotEmpty(t, f.Why, f.ID)
		assert.Equal(t, f.Level == "UNKNOWN", f.Value == nil, "%s: what is unknown has no value, all else has one", f.ID)
		assert.NotContains(t, found, f.Side+" "+f.ID, "once")
		found[f.Side+" "+f.ID] = f
	}
	return found, o
}

func TestDoctorFindsAnOrdinaryHostFit(t *testing.T) {
	t.Parallel()
	found, o := examine(t, launch{}, "-c", "10", "-t", "5")
	assert.Zero(t, o.code)
	for _, id := range []string{"client nofile", "client ip_local_port_range", "server somaxconn", "client pid_max", "both clocksource", "both osrelease"} {
		assert.Contains(t, found, id)
	}
}

func TestDoctorFindsFewDescriptors(t *testing.T) {
	t.Parallel()
	few := launch{wrap: []string{need(t, "prlimit"), "--nofile=64:64"}}
	found, o := examine(t, few, "-c", "500")
	assert.Equal(t, 1, o.code)
	f := found["client nofile"]
	assert.Equal(t, "FAIL", f.Level)
	assert.Equal(t, "64", *f.Value)
	assert.Contains(t, *f.Fix, "ulimit")
	text := few.run(t, "doctor", "-c", "500")
	assert.Equal(t, 1, text.code)
	assert.Regexp(t, `(?m)\A(Plan.*\n( .*\n)*)\nFAIL +nofile 64`, text.stdout, "the worst first")
	found, o = examine(t, launch{wrap: []string{need(t, "prlimit"), "--nofile=128:128"}}, "-c", "10")
	assert.Equal(t, "OK", found["client nofile"].Level, "for this plan it is enough")
	assert.Zero(t, o.code)
}

func TestDoctorFindsFewPortsAndAShortQueue(t *testing.T) {
	if !inNamespaces(t, "-rn") {
		return
	}
	loopbackUp(t)
	setKernel(t, "net.ipv4.ip_local_port_range", "40000 40015")
	setKernel(t, "net.core.somaxconn", "16")
	found, o := examine(t, launch{}, "-c", "20", "http://192.0.2.1/")
	assert.Equal(t, 1, o.code)
	assert.Equal(t, "FAIL", found["client ip_local_port_range"].Level)
	assert.NotContains(t, found, "server somaxconn", "the server is another host")
	found, o = examine(t, launch{}, "-c", "20", "--source", "127.0.0.1-127.0.0.9", "http://127.0.0.1/")
	assert.Zero(t, o.code)
	assert.Equal(t, "OK", found["client ip_local_port_range"].Level, "nine addresses have nine times the ports")
	assert.Equal(t, "WARN", found["server somaxconn"].Level)
}

func TestDoctorLooksAtWhatListens(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, healthy)
	found, _ := examine(t, launch{}, "-c", "2", s.url())
	assert.Equal(t, "OK", found["server backlog"].Level)
	assert.Equal(t, "OK", found["server nofile"].Level)
	assert.Zero(t, s.connected(), "no connection is opened")
}

func TestDoctorRefusesWhatARunRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-c", "0"}, {"--no-such"}, {"http://127.0.0.1/", "http://127.0.0.2/"}, {"ftp://127.0.0.1/"}, {"--source", "192.0.2.77", "http://127.0.0.1/"}} {
		o := run(t, append([]string{"doctor"}, args...)...)
		assert.Equal(t, 2, o.code, args)
		assert.Empty(t, o.stdout, args)
		assert.NotEmpty(t, o.stderr, args)
	}
}

// Whatever it looks at: no file is opened to be written or made, nothing is
// connected to, and no file or setting is changed.
func TestDoctorOnlyReads(t *testing.T) {
	t.Parallel()
	strace := need(t, "strace")
	log := filepath.Join(t.TempDir(), "log")
	traced := []string{strace, "-f", "-qq", "-o", log, "-e",
		"trace=open,openat,openat2,creat,connect,adjtimex,clock_adjtime,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,mount,chmod,fchmod,fchmodat,truncate,ftruncate,setrlimit"}
	if out, err := exec.Command(traced[0], append(traced[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v %s", err, out)
	}
	for _, args := range [][]string{{"-c", "5000"}, {"--json", "-k", "-w", "auto", "-o", filepath.Join(t.TempDir(), "result"), "http://127.0.0.1:1/"}} {
		o := launch{wrap: traced}.run(t, append([]string{"doctor"}, args...)...)
		require.NotEmpty(t, o.stdout, o.stderr)
		trace, err := os.ReadFile(log)
		require.NoError(t, err)
		opened := 0
		for line := range strings.Lines(string(trace)) {
			_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
			call = strings.TrimSpace(call)
			switch {
			case strings.HasPrefix(call, "open"):
				opened++
				assert.NotRegexp(t, `O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND`, call)
			case strings.HasPrefix(call, "adjtimex"), strings.HasPrefix(call, "clock_adjtime"):
				assert.Contains(t, call, "modes=0")
			case strings.HasPrefix(call, "---"), strings.HasPrefix(call, "+++"), strings.HasPrefix(call, "<..."), strings.HasPrefix(call, "setrlimit(RLIMIT_NOFILE"):
			default:
				assert.Fail(t, "not only read: "+call)
			}
		}
		assert.Greater(t, opened, 50, "or nothing was looked at")
		if len(args) > 4 {
			assert.NoFileExists(t, args[5])
		}
	}
}
