package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Limits of this host: told apart from failures of the target, paced, with a
// way out.

func TestLocalPortsUsedUp(t *testing.T) {
	if !inNamespaces(t, "-rn") {
		return
	}
	loopbackUp(t)
	s := serve(t, unlimited, keepOpen(ok5)) // before the range is cut: its port is none of the 16
	setKernel(t, "net.ipv4.ip_local_port_range", "40000 40015")
	setKernel(t, "net.ipv4.tcp_tw_reuse", "0") // no port comes free within the run
	o := run(t, "-c", "1", "-t", "3", "--json", s.url()).json()
	o.onTime(3 * time.Second)
	assert.EqualValues(t, 16, o.Requests.Succeeded)
	assert.Equal(t, map[string]uint64{"local_ports": o.Requests.Failed}, o.classes())
	assert.Positive(t, o.Requests.Failed)
	assert.Less(t, o.Requests.Failed, uint64(3000), "attempts without a port are paced")
	for _, f := range o.Failures {
		assert.Equal(t, "client", f.Side, "the server is not to blame")
	}
	assert.False(t, o.Verdicts.Valid)
	assert.Equal(t, 5, o.code)
}

func TestLocalPortsUsedUpInTheText(t *testing.T) {
	if !inNamespaces(t, "-rn") {
		return
	}
	loopbackUp(t)
	s := serve(t, unlimited, keepOpen(ok5)) // before the range is cut: its port is none of the 16
	setKernel(t, "net.ipv4.ip_local_port_range", "40000 40015")
	o := run(t, "-c", "1", "-t", "2", s.url())
	assert.Equal(t, 5, o.code)
	assert.Contains(t, o.stdout, "local ports")
	assert.Regexp(t, `-k\b|keep-?alive`, o.everything(), "the hint")
	above, _, _ := strings.Cut(o.stdout, "Speed=")
	assert.Contains(t, above, "local", "what makes the numbers doubtful stands above them")
}

func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	prlimit := need(t, "prlimit")
	for _, c := range []struct {
		name    string
		limit   string
		clients string
		asked   int
		enough  bool
	}{
		{"six, and no more to be had", "--nofile=6:6", "1", 1, false},
		{"six, and more to be had", "--nofile=6:4096", "1", 1, true},
		{"64 for 500 clients, and no more to be had", "--nofile=64:64", "500", 500, false},
		{"64 for 200 clients, and more to be had", "--nofile=64:4096", "200", 200, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, healthy)
			o := launch{wrap: []string{prlimit, c.limit}}.run(t, "-c", c.clients, "-t", "2", "-k", "--json", s.url())
			if c.enough || o.code == 0 {
				assert.Zero(t, o.code)
				assert.Equal(t, c.asked, o.json().Workers.Started)
				assert.Zero(t, o.Workers.Lost)
				assert.Zero(t, o.Requests.Failed)
				return
			}
			assertRefusedOrPacked(t, s, o, c.asked, `(?i)nofile|descriptor|open files`)
		})
	}
}

// Packed clients need descriptors in their worker: the soft limit that workers
// inherit must not be the one from before the parent raised its own.
func TestFewDescriptorsInAPackedWorker(t *testing.T) {
	t.Parallel()
	prlimit := need(t, "prlimit")
	s := serve(t, unlimited, healthy)
	o := launch{wrap: []string{prlimit, "--nofile=64:4096"}}.run(t, "-c", "200", "-w", "1", "-t", "2", "-k", "--json", s.url())
	assert.Zero(t, o.code)
	assert.Zero(t, o.json().Requests.Failed)
	assert.EqualValues(t, 200, o.Connections.Opened)
}
