package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClientsStartOneAfterAnother(t *testing.T) {
	s := serve(t, answerAll)
	plan := planOf(s.address(), 5, 0)
	plan.Reuse = true
	plan.FirstStart, plan.StartGap, plan.Duration = 10*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond
	o := drive(t, plan)
	assert.GreaterOrEqual(t, o.Opened, uint64(1))
	assert.LessOrEqual(t, o.Opened, uint64(3), "those due at 10, 110 and 210 ms")
}

func TestAClientAloneStartsWhenItIsDue(t *testing.T) {
	s := serve(t, answerAll)
	plan := planOf(s.address(), 1, 0)
	plan.FirstStart, plan.Duration = time.Hour, 50*time.Millisecond
	o := drive(t, plan)
	assert.Zero(t, o.Begun)
	assert.Zero(t, s.accepted.Load())
}

func TestClientsNotYetDueEndWithTheRun(t *testing.T) {
	s := serve(t, answerAll)
	plan := planOf(s.address(), 300, 0)
	plan.Reuse, plan.StartGap, plan.Duration = true, time.Hour, 50*time.Millisecond
	o := drive(t, plan)
	assert.Equal(t, uint64(1), o.Opened)
}
