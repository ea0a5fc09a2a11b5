package client

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hungBell is a bell for the test's thread, the control pipe it listens to, and
// a socket that stays silent.
func hungBell(t *testing.T) (*bell, *control, int) {
	t.Helper()
	if ringAddress() == 0 {
		t.Skip("no handler for this machine")
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	c := openControl(t)
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	var b bell
	require.NoError(t, b.hang(c.read))
	t.Cleanup(func() {
		b.takeDown()
		assert.False(t, b.hung)
		syscall.Close(fds[0])
		syscall.Close(fds[1])
	})
	return &b, c, fds[0]
}

func TestABellRingsInTimeAndUntilItIsSetAnew(t *testing.T) {
	b, _, silent := hungBell(t)
	clock := NewClock(Monotonic())
	b.set(30e6, clock.Now())
	for clock.Now() < 30e6 { // the runtime's own signals end the call, too
		_, errno := recvWaiting(silent, make([]byte, 1))
		require.Equal(t, syscall.EINTR, errno)
	}
	_, errno := recvWaiting(silent, make([]byte, 1))
	assert.Equal(t, syscall.EINTR, errno, "a ring that nobody heard is not the last")
}

func TestABellIsNotSetForEveryWait(t *testing.T) {
	var b bell // not hung: its timer is not there
	b.set(1000, 0)
	assert.EqualValues(t, 1000, b.next)
	b.set(1000+ringEarly-1, 10)
	assert.EqualValues(t, 1000, b.next, "early enough")
	b.set(1000+ringEarly, 10)
	assert.EqualValues(t, 1000+ringEarly, b.next, "too early")
	b.set(500, 10)
	assert.EqualValues(t, 500, b.next, "sooner")
	b.set(600, 500)
	assert.EqualValues(t, 600, b.next, "it has rung")
}

func TestABellRingsWhenControlHangsUp(t *testing.T) {
	_, c, silent := hungBell(t)
	begun := time.Now()
	hangUp := time.AfterFunc(20*time.Millisecond, c.hangUp)
	defer hangUp.Stop()
	for {
		_, errno := recvWaiting(silent, make([]byte, 1))
		require.Equal(t, syscall.EINTR, errno)
		if _, stop := pollTwo(-1, 0, c.read, 0); stop {
			break
		}
	}
	assert.GreaterOrEqual(t, time.Since(begun), 20*time.Millisecond)
}

func TestARingOutsideOfACallIsHeardOnce(t *testing.T) {
	b, c, _ := hungBell(t)
	c.hangUp()
	require.Eventually(t, b.heard, time.Second, time.Millisecond)
	assert.False(t, b.heard())
}

func TestABellThatCannotBeHung(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var b bell
	if ringAddress() == 0 {
		assert.ErrorIs(t, b.hang(-1), errors.ErrUnsupported)
	} else {
		assert.ErrorIs(t, b.hang(-1), syscall.EBADF)
	}
	assert.False(t, b.hung)
}

// A ring that came while the thread was elsewhere repeats itself, but a wait in
// poll is told its end and needs none.
func TestABellDoesNotKeepDisturbingAPoll(t *testing.T) {
	b, c, silent := hungBell(t)
	plan := Plan{Clients: 1, Entries: []Entry{{}}}
	l := newLoop(&plan, nil, NewClock(Monotonic()), c.read, nil)
	l.bell, l.tick, l.end = *b, 3600*second, never
	l.bell.set(1, l.readClock())
	alone := &l.clients[0]
	alone.fd = silent
	assert.Equal(t, late, alone.await(0, l.now+30e6))
	assert.Equal(t, l.tick+tickGrace, l.bell.next)
}
