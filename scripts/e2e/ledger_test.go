package e2e

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Counting: what the server saw and what the result says are the same.

func TestServerLogAndResultAgree(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"--keepalive", "--http11"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, func(c *conn) {
				for c.request() {
					c.pause(rand.N(30 * time.Millisecond))
					c.answer(ok5)
				}
			})
			o := run(t, "-c", "8", "-t", "3", mode, "--json", s.url()).json()
			o.onTime(3 * time.Second)
			log := uint64(s.complete())
			assert.LessOrEqual(t, o.Requests.Succeeded, log)
			assert.GreaterOrEqual(t, o.Requests.Succeeded+o.Requests.Unfinished, log)
			assert.Zero(t, o.Requests.Failed)
			assert.Equal(t, o.Requests.Succeeded, sum(o.Status))
			assert.GreaterOrEqual(t, o.Requests.Begun, uint64(len(s.seen())))
			assert.Equal(t, 8, o.Workers.Started)
			assert.Len(t, o.Workers.List, 8)
		})
	}
}

func TestEveryConnectionIsReset(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		if c.request() {
			c.reset()
		}
	})
	o := run(t, "-c", "4", "-t", "2", "--json", s.url()).json()
	o.onTime(2 * time.Second)
	assert.Zero(t, o.Requests.Succeeded)
	assert.Zero(t, o.Throughput.PagesPerMin)
	assert.Zero(t, o.Throughput.BytesPerSec)
	assert.Zero(t, o.Bytes.Read)
	assert.Greater(t, o.Requests.Failed, uint64(20))
	assert.Equal(t, map[string]uint64{"reset_wait": o.Requests.Failed}, o.classes())
	assert.Equal(t, 1, o.code)
}

func TestExactNumberOfRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		options string
		want    uint64
		workers int
	}{
		{"shared out with a remainder over clients and workers", "-n 1000 -c 7 -w 3", 1000, 3},
		{"one process per client", "-n 100 -c 7", 100, 7},
		{"fewer requests than clients", "-n 3 -c 5 -w 2", 3, 2},
		{"a time limit that does not bite", "-n 10 -c 2 -t 30", 10, 2},
	} {
		for _, mode := range []string{"-k", "-2"} {
			t.Run(c.name+" "+mode, func(t *testing.T) {
				t.Parallel()
				s := serve(t, unlimited, keepOpen(ok5))
				o := run(t, append(strings.Fields(c.options), mode, "--json", s.url())...)
				o.counts(c.want, 0, 0)
				assert.EqualValues(t, c.want, s.complete())
				assert.Equal(t, c.workers, o.Workers.Started)
				assert.Less(t, o.wall, 15*time.Second, "it ends with the last request")
				assert.Zero(t, o.code)
				clients := 0
				for _, w := range o.Workers.List {
					clients += w.Clients
				}
				assert.Equal(t, o.Plan.Clients, clients)
			})
		}
	}
}

func TestTimeLimitBitesBeforeTheNumberOfRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, 20, keepOpen(ok5))
	o := run(t, "-n", "1000", "-c", "2", "-t", "1", "-k", "--json", s.url())
	o.onTime(time.Second)
	o.counts(20, 0, 2)
}

func TestNoSuccessLeavesNoFalseNumbers(t *testing.T) {
	t.Parallel()
	t.Run("silent server", func(t *testing.T) {
		t.Parallel()
		s := serve(t, 0, silent)
		o := run(t, "--json", "-c", "2", "-t", "1", s.url())
		o.counts(0, 0, 2) // that latencies are null is asserted for every document
		assert.Zero(t, o.Throughput)
		assert.Equal(t, 1, o.code)
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		s := serve(t, 0, silent)
		s.refuse()
		o := run(t, "--json", "-c", "2", "-t", "1", s.url())
		o.counts(0, 0, 0)
		assert.Zero(t, o.Throughput)
		assert.Equal(t, 1, o.code)
	})
}

func TestBodyBeyondFourGibibytes(t *testing.T) {
	if testing.Short() {
		t.Skip("streams 5 GiB")
	}
	const size = 5368709120
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n"
	block := make([]byte, 4<<20)
	parent := make(chan int, 1)
	memory := make(chan int64, 1)
	s := serve(t, 1, func(c *conn) {
		if !c.request() || !c.take() || !c.send(head) {
			return
		}
		for sent := 0; sent < size; sent += len(block) {
			if sent == size-len(block) {
				memory <- peakMemory(<-parent)
			}
			if _, err := c.Write(block); err != nil {
				return
			}
		}
		c.finish()
		c.hold()
	})
	p := launch{}.start(t, "-c", "1", "-n", "1", "--timeout", "80s", "--json", s.url())
	parent <- p.pid()
	o := p.wait()
	o.counts(1, 0, 0)
	assert.EqualValues(t, size, o.Bytes.Body)
	assert.EqualValues(t, size+len(head), o.Bytes.Read)
	select {
	case most := <-memory:
		assert.Less(t, most, int64(64<<20), "the body is not kept in memory")
	default:
		assert.Fail(t, "the body did not come to its end")
	}
}

func TestPercentilesOfOneClient(t *testing.T) {
	t.Parallel()
	order := rand.Perm(100)
	s := serve(t, 100, func(c *conn) {
		for c.request() && c.take() {
			c.pause(time.Duration(order[c.nthInAll()]+1) * time.Millisecond)
			c.answer(ok5)
		}
	})
	o := run(t, "-c", "1", "-n", "100", "-k", "--json", s.url())
	o.counts(100, 0, 0)
	for p, ms := range map[string]int{"50": 50, "75": 75, "90": 90, "95": 95, "99": 99} {
		got := o.percentile(p)
		assert.GreaterOrEqual(t, got, time.Duration(ms)*time.Millisecond*99/100, "p%s", p)
		assert.Less(t, got, time.Duration(ms+25)*time.Millisecond, "p%s", p)
	}
	assert.GreaterOrEqual(t, o.slowest(), 100*time.Millisecond)
	assert.InDelta(t, 50.5e6, *o.Latency.Total.MeanNS, 15e6, "mean")
}

// Percentiles come from the sum of all samples: the mean of each worker's own
// p99 would be 200 ms here.
func TestPercentilesOverAllWorkers(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		if !c.request() {
			return
		}
		slow := c.server.first()
		for n := 1; ; n++ {
			if slow {
				c.pause(400 * time.Millisecond)
			}
			c.answer(ok5)
			if slow && n == 5 || !slow && n == 995 {
				c.hold()
				return
			}
			if !c.request() {
				return
			}
		}
	})
	o := run(t, "-c", "2", "-t", "4", "-k", "--json", s.url())
	o.counts(1000, 0, 2)
	assert.Less(t, o.percentile("50"), 200*time.Millisecond)
	assert.Less(t, o.percentile("99"), 200*time.Millisecond)
	assert.GreaterOrEqual(t, o.percentile("99.9"), 398*time.Millisecond)
	assert.GreaterOrEqual(t, o.slowest(), 400*time.Millisecond)
}

// A stall shows in the longest time, not in every percentile.
func TestOneStallOfTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, func(c *conn) {
		for c.request() {
			c.pause(time.Millisecond)
			if c.nthInAll() == 300 {
				c.pause(1500 * time.Millisecond)
			}
			c.answer(ok5)
		}
	})
	o := run(t, "-c", "1", "-t", "4", "-k", "--json", s.url()).json()
	assert.Greater(t, o.Requests.Succeeded, uint64(301))
	assert.Less(t, o.percentile("99"), 500*time.Millisecond)
	assert.GreaterOrEqual(t, o.slowest(), 1500*time.Millisecond)
	assert.Less(t, o.slowest(), 1500*time.Millisecond+slack)
}

func TestOneSampleIsEveryFigure(t *testing.T) {
	t.Parallel()
	s := serve(t, 1, keepOpen(ok5))
	o := run(t, "-n", "1", "--json", s.url())
	o.counts(1, 0, 0)
	l := o.Latency.Total
	for _, p := range percentiles {
		assert.Equal(t, *l.MinNS, *l.PercentilesNS[p], "p%s", p)
	}
	assert.Equal(t, *l.MinNS, *l.MaxNS)
	assert.InDelta(t, *l.MinNS, *l.MeanNS, 1)
}
