package client

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"horde/stats"
)

// reserved is a plan whose requests ask for leave to send their body.
func reserved(s *server, clients int, n uint64, size int) Plan {
	plan := planOf(s.address(), clients, n)
	plan.Entries[0] = Entry{Request: post(size), Later: size}
	plan.Reuse = true
	return plan
}

func TestABodyWaitsForLeave(t *testing.T) {
	for _, size := range []int{1, 1 << 20} {
		bothShapes(t, func(t *testing.T, clients int) {
			s := serve(t, func(p *peer) {
				for p.head() != "" {
					_ = p.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
					_, err := p.in.Peek(1)
					assert.Error(t, err, "nothing of the body comes before it is asked for")
					_ = p.SetReadDeadline(time.Time{})
					p.say("HTTP/1.1 100 Continue\r\n\r\n")
					_, _ = io.CopyN(io.Discard, p.in, int64(size))
					p.say(hello)
				}
			})
			plan := reserved(s, clients, 8, size)
			o := drive(t, plan)
			assert.EqualValues(t, 8, o.Succeeded, o.endings())
			assert.EqualValues(t, 8*len(plan.Entries[0].Request), o.BytesWritten)
			assert.LessOrEqual(t, o.Opened, uint64(clients))
		})
	}
}

// A final answer makes the body needless, and its connection of no further use.
func TestABodyThatIsNotWantedIsNotSent(t *testing.T) {
	bothShapes(t, func(t *testing.T, clients int) {
		s := serve(t, func(p *peer) {
			for p.head() != "" {
				p.say("HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\n")
				p.say("large")
			}
		})
		plan := reserved(s, clients, 8, 1<<20)
		o := drive(t, plan)
		assert.Equal(t, map[ending]uint64{{stats.HTTP4xx, stats.Receiving, 0}: 8}, o.endings())
		assert.EqualValues(t, 8*(len(plan.Entries[0].Request)-1<<20), o.BytesWritten)
		assert.EqualValues(t, 8, o.Opened)
	})
}

func TestABodyIsSentWhereNobodyGivesLeave(t *testing.T) {
	s := serve(t, answerAll)
	o := drive(t, reserved(s, 4, 4, 100))
	assert.EqualValues(t, 4, o.Succeeded, o.endings())
	assert.GreaterOrEqual(t, o.Total.Min(), int64(leaveLimit))
	assert.Less(t, o.Total.Min(), int64(3*leaveLimit))
}

func TestLeaveIsWaitedForNoLongerThanARequestMayTake(t *testing.T) {
	s := serve(t, (*peer).hold)
	plan := reserved(s, 1, 1, 100)
	plan.Timeout = 100 * time.Millisecond
	assert.Equal(t, map[ending]uint64{{stats.TimeoutTTFB, stats.Waiting, 0}: 1}, drive(t, plan).endings())
}
