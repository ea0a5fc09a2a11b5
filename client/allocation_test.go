package client

import (
	"bufio"
	"crypto/sha256"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

// answerElsewhere starts a server in a process of its own, so that nothing but
// the loop allocates in this one.
func answerElsewhere(t *testing.T) netip.AddrPort {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVar+"=answer")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		assert.NoError(t, cmd.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	ap, err := netip.ParseAddrPort(strings.TrimSpace(line))
	require.NoError(t, err)
	return ap
}

// mallocsOf is how many objects a run of n requests allocates, begin and end
// included.
func mallocsOf(t *testing.T, plan Plan, n uint64) int64 {
	plan.Limited, plan.Requests = true, n
	control := openControl(t)
	ended := uint64(0)
	count := func(_ int, tally *stats.Tally) error {
		ended += tally.Succeeded + tally.Failed
		return nil
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	end, err := runLocked(&plan, NewClock(Monotonic()), control.read, count)
	runtime.ReadMemStats(&after)
	end.Close()
	require.NoError(t, err)
	require.Equal(t, n, ended)
	return int64(after.Mallocs - before.Mallocs)
}

func TestNoRequestAllocates(t *testing.T) {
	address := answerElsewhere(t)
	refused := closedPort(t)
	for _, row := range []struct {
		name   string
		adjust func(*Plan)
	}{
		{"one connection per request", func(*Plan) {}},
		{"one connection for all", func(p *Plan) { p.Reuse = true }},
		{"a list of requests", func(p *Plan) { p.Entries, p.ByEntry = append(p.Entries, p.Entries[0], p.Entries[0]), true }},
		{"bodies with a sum", func(p *Plan) {
			sum := sha256.Sum256([]byte("hello"))
			p.Reuse, p.Check, p.Entries[0].Body.Sum = true, BodySum, sum[:]
		}},
		{"without waiting for an answer", func(p *Plan) { p.Force = true }},
		{"refused and not paced", func(p *Plan) { p.Address, p.Classic = rawAddress(refused), true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				plan := planOf(address, clients, 0)
				row.adjust(&plan)
				mallocsOf(t, plan, 100) // what is set up once in a process
				const more = 2000
				few := mallocsOf(t, plan, 100)
				many := mallocsOf(t, plan, 100+more)
				// The runtime allocates a little of its own now and then.
				assert.Less(t, many-few, int64(more/50), "%d for the first 100 requests, %d with %d more", few, many, more)
			})
		})
	}
}
