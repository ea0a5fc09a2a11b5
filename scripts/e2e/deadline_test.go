package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The end of the run comes when its time is up, whatever the target does, and
// what was under way then is shown, neither good nor bad.

func TestServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, silent)
	o := run(t, "-c", "10", "-t", "2", "--json", s.url())
	o.onTime(2 * time.Second)
	o.counts(0, 0, 10)
	assert.EqualValues(t, 10, o.Unfinished.Waiting)
	require.NotNil(t, o.Unfinished.OldestNS)
	assert.InDelta(t, 2, time.Duration(*o.Unfinished.OldestNS).Seconds(), 0.5, "age of the oldest")
	assert.Zero(t, o.Throughput.PagesPerMin)
	assert.Equal(t, 1, o.code, "no request succeeded")
}

func TestServerThatNeverAnswersInTheText(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, silent)
	o := run(t, "-c", "10", "-t", "2", s.url())
	o.onTime(2 * time.Second)
	assert.Equal(t, headline{unfinished: 10}, o.headline())
	assert.Contains(t, o.stdout, "n/a", "no latency")
	assert.Contains(t, o.stdout, "waiting", "the phase of the unfinished")
	assert.NotContains(t, o.stdout, "NaN")
	assert.Equal(t, 1, o.code)
}

func TestConnectThatHangs(t *testing.T) {
	t.Parallel()
	o := run(t, "-c", "10", "-t", "2", "--json", "http://"+fullBacklog(t)+"/")
	o.onTime(2 * time.Second)
	o.counts(0, 0, 10)
	assert.EqualValues(t, 10, o.Unfinished.Connecting)
	assert.Equal(t, 1, o.code)
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	o := run(t, "-c", "4", "-t", "2", "--connect-timeout", "500ms", "--json", "http://"+fullBacklog(t)+"/").json()
	assert.LessOrEqual(t, o.wall, 3*time.Second+slack)
	if o.Requests.Begun > 0 {
		assert.Equal(t, map[string]uint64{"timeout_connect": o.Requests.Failed}, o.classes())
		assert.Positive(t, o.Requests.Failed)
	}
	assert.Equal(t, 1, o.code)
}

func TestTimeoutOfARequest(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, silent)
	o := run(t, "-c", "10", "-t", "2", "--timeout", "500ms", "--json", s.url()).json()
	o.onTime(2 * time.Second)
	assert.Equal(t, map[string]uint64{"timeout_ttfb": o.Requests.Failed}, o.classes())
	assert.GreaterOrEqual(t, o.Requests.Failed, uint64(20))
	assert.LessOrEqual(t, o.Requests.Failed, uint64(40))
	assert.LessOrEqual(t, o.Requests.Unfinished, uint64(10))
	for _, f := range o.Failures {
		assert.GreaterOrEqual(t, f.ClientTimeNS, int64(f.Count)*(450*time.Millisecond).Nanoseconds(), "client time lost")
	}
}

func TestTimeoutWithinABody(t *testing.T) {
	t.Parallel()
	s := serve(t, 2, func(c *conn) {
		if c.request() && c.take() {
			c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
			for c.send("x") && c.watch(50*time.Millisecond) == quiet {
			}
		}
	})
	o := run(t, "-c", "1", "-n", "2", "-t", "5", "--timeout", "500ms", "--json", s.url())
	o.counts(0, 2, 0)
	assert.Equal(t, map[string]uint64{"timeout_body": 2}, o.classes(), "drops of a body do not renew the limit")
}

func TestUnfinishedRequestsAreShownByPhase(t *testing.T) {
	t.Parallel()
	t.Run("sending", func(t *testing.T) {
		t.Parallel()
		s := serve(t, 0, (*conn).ignore)
		o := run(t, "-c", "3", "-t", "1", "-m", "POST", "--body-file", bodyFile(t, 32<<20), "--json", s.url())
		o.onTime(time.Second)
		o.counts(0, 0, 3)
		assert.EqualValues(t, 3, o.Unfinished.Sending)
	})
	t.Run("receiving", func(t *testing.T) {
		t.Parallel()
		s := serve(t, 0, func(c *conn) {
			if c.request() && c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") {
				c.hold()
			}
		})
		o := run(t, "-c", "3", "-t", "1", "-k", "--json", s.url())
		o.onTime(time.Second)
		o.counts(0, 0, 3)
		assert.EqualValues(t, 3, o.Unfinished.Receiving)
	})
}

// A body cut by the deadline is not a success, and an endless one does not
// hold the run.
func TestBodyCutByTheDeadline(t *testing.T) {
	t.Parallel()
	block := strings.Repeat("x", 64<<10)
	s := serve(t, 0, func(c *conn) {
		if c.request() && c.send("HTTP/1.0 200 OK\r\n\r\n") {
			for c.send(block) {
				c.pause(time.Millisecond)
			}
		}
	})
	o := run(t, "-c", "2", "-t", "1", "--json", s.url())
	o.onTime(time.Second)
	o.counts(0, 0, 2)
	assert.EqualValues(t, 2, o.Unfinished.Receiving)
	assert.Positive(t, o.Bytes.Read, "bytes of unfinished answers are bytes read")
}

// Workers that start while others already send would make -c a lie, and
// start-up time in the divisor the rate.
func TestClockStartsWhenAllWorkersAreReady(t *testing.T) {
	const clients = 300
	forked := make(chan int, 1)
	p := make(chan *process, 1)
	s := serve(t, unlimited, func(c *conn) {
		for c.request() {
			if c.nthInAll() == 0 {
				parent := <-p
				forked <- len(workersOf(parent.pid()))
			}
			c.pause(20 * time.Millisecond)
			c.answer(ok5)
		}
	})
	started := launch{}.start(t, "-c", "300", "-t", "3", "--keepalive", "--json", s.url())
	p <- started
	o := started.wait().json()
	assert.Equal(t, clients, <-forked, "workers when the first request came")
	assert.Equal(t, clients, o.Workers.Started)
	assert.InDelta(t, 3, o.measured().Seconds(), 0.3)
	assert.LessOrEqual(t, o.Requests.Unfinished, uint64(clients))

	seen := s.seen()
	firsts := 0
	var lastFirst time.Time
	for _, r := range seen {
		if r.nth == 0 {
			firsts++
			lastFirst = r.at
		}
	}
	assert.Equal(t, clients, firsts, "clients that sent anything")
	assert.Less(t, lastFirst.Sub(seen[0].at), 1500*time.Millisecond, "first requests lie close together")
	window := seen[len(seen)-1].at.Sub(seen[0].at)
	assert.Less(t, window, 3*time.Second+500*time.Millisecond, "a request after the window")
}

func TestOneSlowWorkerDoesNotHoldTheStart(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen(ok5))
	p := launch{}.start(t, "-c", "40", "-t", "1", "--keepalive", "--json", s.url())
	var stopped int
	require.Eventually(t, func() bool {
		for _, pid := range workersOf(p.pid()) {
			if isLoaded(pid, p.pid()) {
				stopped = pid
				return stop(pid) == nil
			}
		}
		return false
	}, 10*time.Second, time.Millisecond, "a worker to stop")
	o := p.wait().json()
	assert.Less(t, o.wall, 30*time.Second)
	assert.Positive(t, o.Requests.Succeeded)
	assert.Equal(t, 3, o.code)
	assert.Empty(t, alive([]int{stopped}))
}
