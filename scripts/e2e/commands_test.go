package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The smaller commands.

// startServe starts `horde serve` and returns it with the address it printed.
func startServe(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	p := launch{}.start(t, append([]string{"serve"}, args...)...)
	addr := ""
	require.Eventually(t, func() bool {
		line, rest, ok := strings.Cut(contents(t, p.stdout), "\n")
		addr = line
		return ok && rest == ""
	}, 10*time.Second, 10*time.Millisecond, "an address alone on the first line")
	return p, addr
}

func TestServePrintsItsAddressAndRunsUntilToldToStop(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p, addr := startServe(t)
			assert.Regexp(t, `^127\.0\.0\.1:[1-9][0-9]*$`, addr)
			answer, err := http.Get("http://" + addr + "/")
			require.NoError(t, err)
			answer.Body.Close()
			assert.Equal(t, http.StatusOK, answer.StatusCode)
			sent := time.Now()
			p.signal(s)
			p.wait()
			assert.Less(t, p.end.Sub(sent), slack)
		})
	}
}

func TestServeListensWhereAsked(t *testing.T) {
	t.Parallel()
	p, addr := startServe(t, "--listen", "[::1]:0")
	assert.True(t, strings.HasPrefix(addr, "[::1]:"), addr)
	p.signal(syscall.SIGTERM)
	p.wait()
}

func TestServeIsATargetForARun(t *testing.T) {
	t.Parallel()
	p, addr := startServe(t)
	for _, mode := range []string{"-k", "-2"} {
		o := run(t, "-c", "10", "-t", "1", mode, "--json", "http://"+addr+"/").json()
		assert.Zero(t, o.Requests.Failed)
		assert.Greater(t, o.Requests.Succeeded, uint64(100))
		assert.Zero(t, o.code)
	}
	p.signal(syscall.SIGTERM)
	p.wait()
}

func TestServeOnAnAddressInUse(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, silent)
	o := run(t, "serve", "--listen", s.addr)
	assert.NotZero(t, o.code)
	assert.Empty(t, o.stdout)
	assert.Contains(t, o.stderr, s.addr)
}

func TestDemoNeedsNothing(t *testing.T) {
	t.Parallel()
	o := run(t, "demo", "-c", "10", "-t", "1", "--json").json()
	o.onTime(time.Second)
	assert.Zero(t, o.code)
	assert.Greater(t, o.Requests.Succeeded, uint64(100))
	assert.Zero(t, o.Requests.Failed)
	assert.Equal(t, 10, o.Workers.Started)

	text := run(t, "demo", "-c", "2", "-t", "1")
	assert.Zero(t, text.code)
	assert.Positive(t, text.headline().succeeded)
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	p := launch{}.start(t, "demo", "-c", "2", "-t", "60", "--json")
	require.Eventually(t, func() bool { return len(workersOf(p.pid())) >= 2 }, 10*time.Second, 10*time.Millisecond)
	time.Sleep(time.Second)
	p.signalGroup(syscall.SIGINT)
	o := p.wait().json()
	assert.Equal(t, 130, o.code)
	assert.True(t, o.interrupted())
	assert.Positive(t, o.Requests.Succeeded)
}

// Options of later versions must not be taken and ignored.
func TestOptionsThatAreNotThereDoNotParse(t *testing.T) {
	t.Parallel()
	help := run(t, "--help").stdout
	s := serve(t, unlimited, keepOpen(ok5))
	for name := range strings.FieldsSeq("rate ramp warmup source via repeat pause unix-socket resolve insecure csv html") {
		option := "--" + name
		if strings.Contains(help, option) {
			continue
		}
		o := run(t, option, "1", s.url())
		assert.Equal(t, 2, o.code, option)
		assert.Contains(t, o.stderr, option)
	}
	assert.Zero(t, s.connected())
}
