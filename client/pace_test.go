package client

import (
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/stats"
)

func TestAStartIsDueAtATimeThatFollowsFromItsNumber(t *testing.T) {
	for _, row := range []struct {
		pace  Pace
		start uint64
		due   time.Duration
	}{
		{Pace{Rate: 10}, 0, 0},
		{Pace{Rate: 10}, 1, 100 * time.Millisecond},
		{Pace{Rate: 10}, 864000, 24 * time.Hour},
		{Pace{Rate: 0.5}, 4, 8 * time.Second},
		{Pace{Rate: 20000}, 20000 * 3600, time.Hour},
		{Pace{Rate: 100, Ramp: 2 * time.Second}, 0, 0},
		{Pace{Rate: 100, Ramp: 2 * time.Second}, 25, time.Second},
		{Pace{Rate: 100, Ramp: 2 * time.Second}, 100, 2 * time.Second},
		{Pace{Rate: 100, Ramp: 2 * time.Second}, 101, 2010 * time.Millisecond},
		{Pace{Rate: 1e-300}, 1, never},
		{Pace{Rate: 1e-300, Ramp: time.Hour}, 1, never},
		{Pace{Rate: 1e9}, math.MaxUint64, never},
	} {
		assert.InDelta(t, int64(row.due), row.pace.At(row.start), 1, "%+v, start %d", row.pace, row.start)
	}
}

func TestStartsAreCountedAsTheyAreDue(t *testing.T) {
	for range 2000 {
		p := Pace{Rate: math.Exp(rand.Float64()*20 - 5), Ramp: time.Duration(rand.IntN(3)) * time.Duration(rand.Int64N(1e11))}
		at := rand.Int64N(1e12)
		n := p.Before(at)
		require.GreaterOrEqual(t, p.At(n), at, "%+v, %d", p, at)
		if n > 0 {
			require.Less(t, p.At(n-1), at, "%+v, %d", p, at)
		}
	}
	p := Pace{Rate: 100}
	assert.Zero(t, p.Before(0))
	assert.Zero(t, p.Before(-1))
	assert.EqualValues(t, 1, p.Before(1), "the first is due at once")
	assert.EqualValues(t, 100, p.Before(1e9))
	assert.EqualValues(t, 101, p.Before(1e9+1))
}

// No wait may end after what it waits for, or many would be needed for it.
func TestALongWaitEndsEarlyByWhatTheKernelMayAdd(t *testing.T) {
	for rest, most := range map[int64]int64{-5: 0, 0: 0, 1: 1, 2e6: 2e6, 3e6: 3e6 - 3e6/200, 1e9: 1e9 - 1e9/200, 20e9: 20e9 - 100e6} {
		assert.LessOrEqual(t, sharp(rest), most, "%d", rest)
		assert.GreaterOrEqual(t, sharp(rest), max(rest, 0)*98/100, "%d", rest)
	}
}

func TestSecondsEndOnWholeSecondsOfTheWindow(t *testing.T) {
	for now, tick := range map[int64]int64{
		-2.5e9: -2e9, -2e9: -1e9, -1: 0, 0: second, 1: second, second - 1: second, second: 2 * second,
	} {
		assert.Equal(t, tick, tickAfter(now), "%d", now)
	}
}

func TestAnOpenLoopBeginsWhatIsDueAndNoMore(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		for _, reuse := range []bool{false, true} {
			s := serve(t, answerAll)
			plan := planOf(s.address(), clients, 0)
			plan.Reuse, plan.Duration = reuse, 400*time.Millisecond
			plan.Pace = Pace{Rate: 100, Step: 1}
			o := drive(t, plan)
			assert.LessOrEqual(t, o.Begun, uint64(40), "the one that is due at the end is not in the run")
			assert.GreaterOrEqual(t, o.Begun, uint64(20))
			assert.LessOrEqual(t, o.Service.Max(), o.Total.Max())
		}
	})
}

func TestAWorkerTakesItsOwnStarts(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, answerAll)
		plan := planOf(s.address(), clients, 0)
		plan.Duration = 300 * time.Millisecond
		plan.Pace = Pace{Rate: 1000, First: 100, Step: 1000} // at 100 ms, and then at 1.1 s
		o := drive(t, plan)
		assert.EqualValues(t, 1, o.Begun)
		assert.LessOrEqual(t, o.Total.Max(), int64(200*time.Millisecond), "since it was due")
	})
}

// stallOnce answers at once, but for the first request of all.
func stallOnce(stall time.Duration) func(*peer) {
	return func(p *peer) {
		for first := p.nth == 0; p.request() != ""; first = false {
			if first {
				time.Sleep(stall)
			}
			p.say(hello)
		}
	}
}

func TestWhatWasDueInAStallBeginsAfterIt(t *testing.T) {
	const stall = 500 * time.Millisecond
	s := serve(t, stallOnce(stall))
	plan := planOf(s.address(), 1, 60)
	plan.Reuse, plan.Pace = true, Pace{Rate: 100, Step: 1}
	o := drive(t, plan)
	assert.EqualValues(t, 60, o.Succeeded)
	assert.GreaterOrEqual(t, o.Queued, uint64(49), "those due in the stall found the client busy")
	assert.GreaterOrEqual(t, o.Total.Max(), int64(stall))
	assert.GreaterOrEqual(t, o.Total.Quantile(0.5), int64(stall/5), "the median counts from when they were due")
	assert.Less(t, o.Service.Quantile(0.5), int64(stall/5), "and not from when they began")
}

func TestStartsThatNobodyIsFreeForAreNotBegun(t *testing.T) {
	s := serve(t, func(p *peer) {
		p.request()
		p.hold()
	})
	plan := planOf(s.address(), 4, 0)
	plan.Duration, plan.Pace = 300*time.Millisecond, Pace{Rate: 1e5, Step: 1}
	o := drive(t, plan)
	assert.EqualValues(t, 4, o.Begun)
	assert.EqualValues(t, 4, o.unfinished.Sum())
}

func TestAnOpenLoopDoesNotPauseAfterARefusal(t *testing.T) {
	plan := planOf(closedPort(t), 1, 60)
	plan.Pace = Pace{Rate: 1000, Step: 1}
	o := drive(t, plan)
	assert.EqualValues(t, 60, o.Failed)
	assert.Less(t, o.end, 3*time.Second, "with pauses it takes more than five seconds")
}

func TestTheWarmUpIsCountedApart(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		for _, pace := range []Pace{{}, {Rate: 200, Step: 1}} {
			s := serve(t, answerAll)
			plan := planOf(s.address(), clients, 20)
			plan.Warmup, plan.Pace, plan.Reuse = 300*time.Millisecond, pace, true
			o := drive(t, plan)
			assert.EqualValues(t, 20, o.Succeeded, "the share is the window's")
			assert.NotZero(t, o.warmup.Succeeded)
			assert.EqualValues(t, len(hello), o.BytesRead/o.Succeeded)
			assert.EqualValues(t, len(hello), o.warmup.BytesRead/o.warmup.Succeeded)
			assert.Equal(t, s.requests.Load(), int64(o.Begun+o.warmup.Begun))
		}
	})
}

// A request belongs to the period that it was due in, with all that it does.
func TestARequestOfTheWarmUpThatEndsInTheWindowIsNotTheWindows(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, stallOnce(400*time.Millisecond))
		plan := planOf(s.address(), clients, 0)
		plan.Warmup, plan.Duration = 100*time.Millisecond, 600*time.Millisecond
		plan.Pace = Pace{Rate: 10, Step: 100} // the one start at the begin of the warm-up
		o := drive(t, plan)
		assert.EqualValues(t, 1, o.warmup.Succeeded)
		assert.EqualValues(t, len(hello), o.warmup.BytesRead)
		assert.EqualValues(t, 1, o.warmup.Opened)
		assert.Zero(t, o.Begun)
		assert.Zero(t, o.BytesRead)
	})
}

func TestARequestOfTheWarmUpThatDoesNotEnd(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, (*peer).hold)
		plan := planOf(s.address(), clients, 0)
		plan.Warmup, plan.Duration = 100*time.Millisecond, 100*time.Millisecond
		o := drive(t, plan)
		assert.EqualValues(t, clients, o.warmingUp)
		assert.Zero(t, o.Begun)
		assert.Equal(t, stats.Unfinished{}, o.unfinished)
	})
}

func TestARunThatIsStoppedInItsWarmUpHasNoWindow(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, answerAll)
		plan := planOf(s.address(), clients, 0)
		plan.Warmup, plan.Duration = time.Hour, time.Hour
		c := openControl(t)
		time.AfterFunc(50*time.Millisecond, c.hangUp)
		o := driveUntil(t, plan, c, nil)
		assert.Zero(t, o.Begun)
		assert.Zero(t, o.end)
		assert.NotZero(t, o.warmup.Begun)
	})
}

// Whoever closes first keeps the port for a minute: that shall be a server which means to close.
func TestAServedConnectionIsNotClosedAtOnce(t *testing.T) {
	for _, row := range []struct {
		name   string
		due    int64
		closed bool
	}{
		{"due soon", peerCloses / 2, false},
		{"due later", never, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, _ := idle(1)
			l.clock, l.control, l.end = NewClock(Monotonic()), -1, 2*peerCloses
			c := &l.clients[0]
			fd, err := syscall.Dup(0)
			require.NoError(t, err)
			c.served, c.due = fd, row.due
			assert.Equal(t, !row.closed, c.awaitDue())
			assert.Equal(t, row.closed, c.served < 0)
			c.drop()
		})
	}
}
