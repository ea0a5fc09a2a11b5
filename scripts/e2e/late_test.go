package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A worker that gets no CPU finds both the answer and the end of the request's
// time when it runs again. The limit holds; and that the answer was there is said.
func TestAnAnswerThatCameWhileTheWorkerHadNoCPU(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	for name, args := range map[string][]string{
		"one client in its process":                        {"-n", "2"},
		"one client in its process, connections kept open": {"-n", "2", "-k"},
		"two clients in one process":                       {"-n", "2", "-w", "1"},
		"the run is over, too":                             {"-t", "0.8"},
		"the run is over, too, two clients in one process": {"-t", "0.8", "-w", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopped := make(chan struct{})
			s := serve(t, unlimited, func(c *conn) {
				if c.request() {
					<-stopped
					c.answer(ok5)
					c.hold()
				}
			})
			p := launch{}.start(t, append(args, "-c", "2", "--timeout", timeout.String(), "--json", s.url())...)
			s.await(t, 2)
			begun := time.Now()
			for _, pid := range workersOf(p.pid()) {
				require.NoError(t, stop(pid))
			}
			close(stopped)
			time.Sleep(time.Until(begun.Add(2 * timeout))) // the limit passes
			for _, pid := range workersOf(p.pid()) {
				require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
			}
			o := p.wait()
			o.counts(0, 2, 0)
			assert.Equal(t, map[string]uint64{"timeout_ttfb": 2}, o.classes())
			// A wait that was over before the stop may have seen one of the answers only.
			assert.Regexp(t, `[12] of the time-outs may be this host's own`, strings.Join(o.Verdicts.Reasons, "\n"))
			assert.Equal(t, 1, o.code)
		})
	}
}
