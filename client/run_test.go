package client

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client/http1"
	"horde/stats"
)

func TestALimitedRunMakesExactlyItsRequests(t *testing.T) {
	for _, clients := range []int{1, 3, 7, 200} {
		for _, reuse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d clients, reuse %v", clients, reuse), func(t *testing.T) {
				s := serve(t, answerAll)
				plan := planOf(s.address(), clients, 500)
				plan.Reuse = reuse
				o := drive(t, plan)
				assert.EqualValues(t, 500, o.Succeeded)
				assert.EqualValues(t, 500, o.Begun)
				assert.EqualValues(t, 500, s.requests.Load())
				assert.EqualValues(t, 500*len(hello), o.BytesRead)
				assert.EqualValues(t, 500*len("hello"), o.BytesBody)
				assert.EqualValues(t, 500*len(get), o.BytesWritten)
				assert.Equal(t, map[int]uint64{200: 500}, o.statuses())
				assert.EqualValues(t, 500, o.FirstByte.Count())
			})
		}
	}
}

func TestAKeptConnectionServesAllRequestsOfItsClient(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, answerAll)
		plan := planOf(s.address(), clients, 400)
		plan.Reuse = true
		o := drive(t, plan)
		assert.EqualValues(t, clients, o.Opened)
		assert.EqualValues(t, clients, s.accepted.Load())
		assert.EqualValues(t, 400-clients, o.Reused)
		assert.EqualValues(t, 400, o.Succeeded)
	})
}

func TestAConnectionIsNotUsedAgain(t *testing.T) {
	for _, row := range []struct {
		name   string
		script func(*peer)
		adjust func(*Plan)
	}{
		{"if that was not asked for", answerAll, func(p *Plan) { p.Reuse = false }},
		{"if the server says so", func(p *peer) {
			for p.request() != "" {
				p.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
			}
		}, nil},
		{"in HTTP/1.0 unless the server says so", func(p *peer) {
			for p.request() != "" {
				p.say("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")
			}
		}, nil},
		{"if bytes are left over after the answer", func(p *peer) {
			for p.request() != "" {
				p.say(hello + "!")
			}
		}, nil},
		{"if the end of the stream ends the body", func(p *peer) {
			p.request()
			p.say("HTTP/1.1 200 OK\r\n\r\nhello")
		}, nil},
		{"if the server has hung up after an answer", func(p *peer) {
			p.request()
			_, _ = p.Write([]byte(hello))
			_ = p.CloseWrite()
			p.request()
		}, nil},
		{"if the answer came before the request was sent", func(p *peer) {
			p.head()
			p.say(hello)
			p.hold()
		}, func(p *Plan) { p.Entries[0].Request = post(16 << 20) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				s := serve(t, row.script)
				plan := planOf(s.address(), clients, 20)
				plan.Reuse = true
				if row.adjust != nil {
					row.adjust(&plan)
				}
				o := drive(t, plan)
				assert.EqualValues(t, 20, o.Succeeded, "%v", o.endings())
				assert.EqualValues(t, 20, s.accepted.Load())
				assert.Equal(t, o.Reused, o.Resent, "only what met the end of the stream too late")
			})
		})
	}
}

func TestAnswersInPieces(t *testing.T) {
	const chunked = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4;note=a\r\nabcd\r\n6\r\nefghij\r\n0\r\nX-Sum: 10\r\n\r\n"
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, func(p *peer) {
			_ = p.SetNoDelay(true)
			for p.request() != "" {
				for i := range len(chunked) {
					p.say(chunked[i : i+1])
				}
			}
		})
		plan := planOf(s.address(), clients, 12)
		plan.Reuse = true
		o := drive(t, plan)
		assert.EqualValues(t, 12, o.Succeeded)
		assert.EqualValues(t, clients, o.Opened)
		assert.EqualValues(t, 12*len(chunked), o.BytesRead)
		assert.EqualValues(t, 12*10, o.BytesBody)
		assert.Equal(t, map[int]uint64{200: 12}, o.statuses())
		assert.LessOrEqual(t, o.FirstByte.Max(), o.Total.Max())
	})
}

func TestALargeRequestArrivesWholeInManyParts(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	want := sha256.Sum256(body)
	head := fmt.Sprintf("POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n", len(body))
	for _, reuse := range []bool{false, true} {
		bothShapes(t, func(t *testing.T, clients int) {
			var wrong atomic.Int64
			s := serve(t, func(p *peer) {
				for p.head() != "" {
					sum := sha256.New()
					if _, err := io.CopyN(sum, p.in, int64(len(body))); err != nil || !bytes.Equal(sum.Sum(nil), want[:]) {
						wrong.Add(1)
					}
					p.say(hello)
				}
			})
			plan := planOf(s.address(), clients, 4)
			plan.Entries[0].Request, plan.Reuse = append([]byte(head), body...), reuse
			o := drive(t, plan)
			assert.EqualValues(t, 4, o.Succeeded)
			assert.EqualValues(t, 4*len(plan.Entries[0].Request), o.BytesWritten)
			assert.Zero(t, wrong.Load())
		})
	}
}

func TestABodyOf300MiB(t *testing.T) {
	const size = 300 << 20
	block := make([]byte, 1<<20)
	s := serve(t, func(p *peer) {
		p.request()
		p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size))
		for range size / len(block) {
			if _, err := p.Write(block); err != nil {
				return
			}
		}
	})
	o := drive(t, planOf(s.address(), 1, 1))
	assert.EqualValues(t, 1, o.Succeeded)
	assert.EqualValues(t, size, o.BytesBody)
}

// flood answers the first connection with a body that does not end, and all
// others as usual.
func flood(p *peer) {
	if p.nth > 0 {
		answerAll(p)
		return
	}
	p.request()
	p.say("HTTP/1.1 200 OK\r\n\r\n")
	for block := make([]byte, 1<<20); ; {
		if _, err := p.Write(block); err != nil {
			return
		}
	}
}

func TestAStreamWithoutEndStarvesNobody(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, flood)
		plan := planOf(s.address(), clients, 0)
		plan.Duration, plan.Reuse = 1500*time.Millisecond, true
		o := drive(t, plan)
		assert.Equal(t, plan.Duration, o.end)
		assert.EqualValues(t, 1, o.unfinished.Count[stats.Receiving]+o.Failed, "the stream")
		assert.Greater(t, o.BytesRead, uint64(1<<20))
		assert.GreaterOrEqual(t, len(o.reports), 2)
		if clients > 1 {
			assert.Greater(t, o.Succeeded, uint64(20), "what the others did beside it")
		}
	})
}

func TestAStreamWithoutEndMeetsItsDeadline(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, func(p *peer) { p.nth = 0; flood(p) })
		plan := planOf(s.address(), clients, uint64(clients))
		plan.Timeout = 300 * time.Millisecond
		o := drive(t, plan)
		assert.Equal(t, map[ending]uint64{{stats.TimeoutBody, stats.Receiving, 0}: uint64(clients)}, o.endings())
		assert.Less(t, o.end, 20*time.Second)
		for _, f := range o.Failures {
			assert.GreaterOrEqual(t, f.ClientTime, int64(f.Count)*int64(plan.Timeout))
		}
	})
}

func TestForceWaitsForNoAnswer(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		var whole atomic.Int64
		done := make(chan struct{}, 100)
		s := serve(t, func(p *peer) {
			if p.request() != "" {
				whole.Add(1)
			}
			done <- struct{}{}
			p.hold()
		})
		plan := planOf(s.address(), clients, 20)
		plan.Force, plan.Entries[0].Request = true, post(100_000)
		o := drive(t, plan)
		assert.EqualValues(t, 20, o.Succeeded)
		assert.Zero(t, o.BytesRead)
		assert.Zero(t, o.FirstByte.Count())
		for range 20 {
			<-done
		}
		assert.EqualValues(t, 20, whole.Load(), "each request arrived whole")
	})
}

// The last connection is closed late, but not later than the next wait.
func TestAConnectionThatHasServedIsClosedBeforeTheNextAnswer(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		var closed atomic.Int64
		all := make(chan struct{})
		s := serve(t, func(p *peer) {
			p.request()
			if p.nth >= clients {
				<-all
			}
			p.say(hello)
			p.request()
			if closed.Add(1) == int64(clients) {
				close(all)
			}
		})
		o := drive(t, planOf(s.address(), clients, uint64(2*clients)))
		assert.EqualValues(t, 2*clients, o.Succeeded)
		assert.EqualValues(t, 2*clients, s.accepted.Load())
	})
}

// Webbench takes every orderly end for a page, looks at no status, and does
// not wait before it tries again.
func TestClassicJudgesAsWebbenchDid(t *testing.T) {
	for _, row := range []struct {
		name      string
		script    func(*peer)
		succeeded uint64
		failed    ending
	}{
		{name: "a page", script: answerOnce, succeeded: 12},
		{name: "a page of another status", script: func(p *peer) { p.request(); p.say("HTTP/1.0 503 Busy\r\n\r\n") }, succeeded: 12},
		{name: "a page that is cut", script: func(p *peer) { p.request(); p.say(hello[:len(hello)-3]) }, succeeded: 12},
		{name: "no page at all", script: func(p *peer) { p.request() }, succeeded: 12},
		{name: "a reset", script: func(p *peer) { p.request(); p.reset() },
			failed: ending{stats.ResetWait, stats.Waiting, syscall.ECONNRESET}},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				s := serve(t, row.script)
				plan := planOf(s.address(), clients, 12)
				plan.Classic, plan.Entries[0].Answer, plan.Expect = true, http1.Answer09, StatusSet{}
				o := drive(t, plan)
				assert.Equal(t, row.succeeded, o.Succeeded)
				assert.Empty(t, o.Statuses)
				if row.succeeded == 0 {
					assert.Equal(t, map[ending]uint64{row.failed: 12}, o.endings())
				}
			})
		})
	}
}

func TestClassicDoesNotPace(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		plan := planOf(closedPort(t), clients, 2000) // paced, these would take minutes
		plan.Classic, plan.Entries[0].Answer = true, http1.Answer09
		o := drive(t, plan)
		assert.Equal(t, map[ending]uint64{{stats.Refused, stats.Connecting, syscall.ECONNREFUSED}: 2000}, o.endings())
	})
}

func TestHalfSendEndsTheSendingSide(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, func(p *peer) {
			if rest, err := io.ReadAll(p.in); err == nil && string(rest) == "GET /\r\n" {
				p.say("page")
			}
		})
		plan := planOf(s.address(), clients, 12)
		plan.Entries[0].Request, plan.Entries[0].Answer, plan.HalfSend = []byte("GET /\r\n"), http1.Answer09, true
		o := drive(t, plan)
		assert.EqualValues(t, 12, o.Succeeded)
		assert.EqualValues(t, 12*len("page"), o.BytesBody)
	})
}

func TestNobodyHalfClosesOtherwise(t *testing.T) {
	s := serve(t, func(p *peer) {
		p.request()
		_ = p.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := p.in.ReadByte(); errors.Is(err, io.EOF) {
			return
		}
		p.say(hello)
	})
	o := drive(t, planOf(s.address(), 4, 8))
	assert.EqualValues(t, 8, o.Succeeded)
}

func TestRefusedConnectsArePaced(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		plan := planOf(closedPort(t), clients, 0)
		plan.Duration = time.Second
		o := drive(t, plan)
		assert.Equal(t, plan.Duration, o.end)
		// 1 + 2 + 4 + … + 64 ms, then one every 100 ms
		assert.LessOrEqual(t, o.Failed, uint64(16*clients))
		assert.GreaterOrEqual(t, o.Failed, uint64(2*clients))
	})
}

func TestATargetThatComesBackIsUsedAgain(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		address := closedPort(t)
		plan := planOf(address, clients, 0)
		plan.Duration = 4 * time.Second
		c := openControl(t)
		o := driveUntil(t, plan, c, func(_ int, o *outcome) error {
			if o.Succeeded > 0 {
				c.hangUp() // seen enough
			}
			if len(o.reports) == 1 {
				serveAt(t, address.String(), answerAll)
			}
			return nil
		})
		assert.Greater(t, o.Succeeded, uint64(clients))
		assert.Contains(t, o.endings(), ending{stats.Refused, stats.Connecting, syscall.ECONNREFUSED})
	})
}

// hung is a target where every client ends up in another phase and stays there.
type hungRow struct {
	phase  stats.Phase
	script func(*peer)
	adjust func(*Plan)
}

var hungRows = []hungRow{
	{phase: stats.Connecting},
	{phase: stats.Sending, script: (*peer).hold, adjust: func(p *Plan) { p.Entries[0].Request = post(16 << 20) }},
	{phase: stats.Waiting, script: func(p *peer) { p.request(); p.hold() }},
	{phase: stats.Receiving, script: func(p *peer) { p.request(); p.say(hello[:20]); p.hold() }},
}

func (r *hungRow) plan(t *testing.T, clients int) Plan {
	if r.script == nil {
		return planOf(fullQueue(t), clients, 0)
	}
	plan := planOf(serve(t, r.script).address(), clients, 0)
	if r.adjust != nil {
		r.adjust(&plan)
	}
	return plan
}

func TestTheEndOfTheTimeFindsEveryClientInItsPhase(t *testing.T) {
	for _, row := range hungRows {
		t.Run(row.phase.String(), func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				plan := row.plan(t, clients)
				plan.Duration = 400 * time.Millisecond
				o := drive(t, plan)
				var want stats.Unfinished
				want.Count[row.phase] = uint64(clients)
				assert.Equal(t, want.Count, o.unfinished.Count)
				assert.Zero(t, o.Failed)
				assert.Equal(t, plan.Duration, o.end)
				assert.LessOrEqual(t, o.unfinished.Oldest, int64(plan.Duration))
				assert.Positive(t, o.unfinished.Oldest)
			})
		})
	}
}

func TestControlStopsARunAtOnce(t *testing.T) {
	signals := map[string]func(*control){
		"hung up":  (*control).hangUp,
		"readable": func(c *control) { _, _ = syscall.Write(c.write, []byte{1}) },
	}
	for name, signal := range signals {
		for _, row := range hungRows {
			t.Run(name+", "+row.phase.String(), func(t *testing.T) {
				bothShapes(t, func(t *testing.T, clients int) {
					plan := row.plan(t, clients)
					plan.Duration = time.Hour
					c := openControl(t)
					time.AfterFunc(200*time.Millisecond, func() { signal(c) })
					o := driveUntil(t, plan, c, nil)
					assert.Less(t, o.end, 30*time.Second)
					assert.EqualValues(t, clients, o.unfinished.Count[row.phase])
				})
			})
		}
	}
}

// A client that never waits long is seldom in a call when its bell rings.
func TestControlStopsARunThatIsBusy(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, answerAll)
		c := openControl(t)
		time.AfterFunc(100*time.Millisecond, c.hangUp)
		plan := planOf(s.address(), clients, 0)
		plan.Duration = 20 * time.Second
		o := driveUntil(t, plan, c, nil)
		assert.Less(t, o.end, plan.Duration/2)
		assert.Positive(t, o.Succeeded)
	})
}

func TestControlStopsARunThatPauses(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		c := openControl(t)
		time.AfterFunc(500*time.Millisecond, c.hangUp)
		o := driveUntil(t, planOf(closedPort(t), clients, 0), c, nil)
		assert.Less(t, o.end, 30*time.Second)
	})
}

func TestControlStopsARunBeforeItsRelease(t *testing.T) {
	for _, clients := range []int{1, 200} {
		s := serve(t, answerAll)
		plan := planOf(s.address(), clients, 0)
		c := openControl(t)
		c.hangUp()
		var reports []uint64
		end, err := runLocked(&plan, NewClock(Monotonic()+int64(time.Hour)), c.read, func(_ int, tally *stats.Tally) error {
			reports = append(reports, tally.Begun)
			return nil
		})
		require.NoError(t, err)
		assert.Zero(t, end.Unfinished.Sum())
		assert.Zero(t, end.At)
		assert.Equal(t, []uint64{0}, reports)
		assert.Zero(t, s.accepted.Load())
	}
}

func TestControlStopsARunThatIsStillStarting(t *testing.T) {
	s := serve(t, answerAll)
	plan := planOf(s.address(), 5*startsPerRound, 0)
	c := openControl(t)
	c.hangUp()
	o := driveUntil(t, plan, c, nil)
	assert.LessOrEqual(t, o.Begun, uint64(2*startsPerRound), "the others are not even begun")
}

func TestARunWaitsForItsRelease(t *testing.T) {
	s := serve(t, answerAll)
	plan := planOf(s.address(), 2, 10)
	release := Monotonic() + int64(200*time.Millisecond)
	end, err := runLocked(&plan, NewClock(release), openControl(t).read, func(int, *stats.Tally) error {
		assert.GreaterOrEqual(t, Monotonic(), release)
		return nil
	})
	require.NoError(t, err)
	assert.Positive(t, end.At)
}

func TestALimitOfTimeAndRequestsEndsWithTheFirst(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, answerAll)
		plan := planOf(s.address(), clients, 10)
		plan.Duration = time.Hour
		assert.Less(t, drive(t, plan).end, time.Minute)
		plan.Requests, plan.Duration = 1<<40, 200*time.Millisecond
		assert.Equal(t, plan.Duration, drive(t, plan).end)
	})
}

func TestEachSecondIsReportedOnce(t *testing.T) {
	for _, row := range []struct {
		duration time.Duration
		last     int
	}{{time.Second, 0}, {2300 * time.Millisecond, 2}} {
		for name, script := range map[string]func(*peer){
			"busy":  answerAll,
			"quiet": func(p *peer) { p.request(); p.hold() },
		} {
			t.Run(fmt.Sprintf("%s for %v", name, row.duration), func(t *testing.T) {
				bothShapes(t, func(t *testing.T, clients int) {
					s := serve(t, script)
					plan := planOf(s.address(), clients, 0)
					plan.Duration, plan.Reuse = row.duration, true
					o := drive(t, plan)
					assert.Equal(t, row.last, o.reports[len(o.reports)-1].second)
					assert.Zero(t, o.reports[0].second)
					var begun uint64
					for _, r := range o.reports {
						begun += r.begun
					}
					assert.Equal(t, o.Begun, begun)
					assert.GreaterOrEqual(t, int64(o.Begun), s.requests.Load())
					assert.LessOrEqual(t, o.Succeeded, uint64(s.requests.Load()))
				})
			})
		}
	}
}

func TestAWorkerThatWasHeldUpSkipsSecondsAndRepeatsNone(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, answerAll)
		plan := planOf(s.address(), clients, 0)
		plan.Duration, plan.Reuse = 4500*time.Millisecond, true
		o := driveUntil(t, plan, openControl(t), func(second int, _ *outcome) error {
			if second == 0 {
				time.Sleep(2200 * time.Millisecond) // the worker stands still
			}
			return nil
		})
		for _, r := range o.reports {
			assert.NotEqual(t, 2, r.second, "it began and ended meanwhile")
		}
		assert.Equal(t, 4, o.reports[len(o.reports)-1].second)
	})
}

func TestAReportThatCannotBeSentEndsTheRun(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, answerAll)
		plan := planOf(s.address(), clients, 0)
		plan.Reuse = true
		o := driveUntil(t, plan, openControl(t), func(int, *outcome) error { return syscall.EPIPE })
		require.ErrorIs(t, o.err, syscall.EPIPE)
		assert.Len(t, o.reports, 1)
	})
}

// The runtime interrupts system calls by signals whenever it likes.
func TestSignalsDisturbNothing(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		bothShapes(t, func(t *testing.T, clients int) {
			stop := make(chan struct{})
			storm := make(chan struct{})
			go func() {
				defer close(storm)
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					_ = syscall.Kill(syscall.Getpid(), syscall.SIGURG)
					if i%64 == 0 {
						runtime.GC()
					}
				}
			}()
			s := serve(t, answerAll)
			plan := planOf(s.address(), clients, 500)
			plan.Reuse = reuse
			o := drive(t, plan)
			assert.EqualValues(t, 500, o.Succeeded, "%v", o.endings())

			plan = planOf(serve(t, func(p *peer) { p.request(); p.hold() }).address(), clients, uint64(clients))
			plan.Timeout = 300 * time.Millisecond
			o = drive(t, plan)
			assert.Equal(t, map[ending]uint64{{stats.TimeoutTTFB, stats.Waiting, 0}: uint64(clients)}, o.endings())
			assert.GreaterOrEqual(t, o.end, plan.Timeout)
			close(stop)
			<-storm
		})
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here")
	}
	l.Close()
	bothShapes(t, func(t *testing.T, clients int) {
		s := serveAt(t, "[::1]:0", answerAll)
		o := drive(t, planOf(s.address(), clients, 12))
		assert.EqualValues(t, 12, o.Succeeded)
	})
}

// A slow server and a fast one together: what has a long deadline must not
// keep what has a short wait, nor the other way round.
func TestPausesDoNotHoldUpOthers(t *testing.T) {
	s := serve(t, func(p *peer) {
		if p.nth == 0 {
			p.request()
			p.hold()
		}
		answerAll(p)
	})
	plan := planOf(s.address(), 4, 300)
	plan.Reuse, plan.Timeout = true, 2*time.Second
	o := drive(t, plan)
	assert.EqualValues(t, 299, o.Succeeded)
	assert.Equal(t, map[ending]uint64{{stats.TimeoutTTFB, stats.Waiting, 0}: 1}, o.endings())
}

func TestMethodsWithoutABodyInTheirAnswer(t *testing.T) {
	s := serve(t, func(p *peer) {
		for p.request() != "" {
			p.say(strings.TrimSuffix(hello, "hello"))
		}
	})
	plan := planOf(s.address(), 1, 12)
	plan.Reuse, plan.Entries[0].Answer = true, http1.AnswerHead
	o := drive(t, plan)
	assert.EqualValues(t, 12, o.Succeeded)
	assert.EqualValues(t, 1, o.Opened)
	assert.Zero(t, o.BytesBody)
}
