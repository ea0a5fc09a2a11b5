package procs

import (
	"errors"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Whatever comes at whatever moment, the run ends and its ledger balances.
func TestSignalsAndDeathsAtAnyMoment(t *testing.T) {
	leaveNothing(t)
	s := serve(t)
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	moment := func() <-chan time.Time { return time.After(time.Duration(random.IntN(150)) * time.Millisecond) }
	for range rounds {
		signals := make(chan os.Signal, 2)
		over := make(chan struct{})
		first, second, death := moment(), moment(), moment()
		how := []unix.Signal{unix.SIGKILL, unix.SIGSTOP}[random.IntN(2)]
		mischief := make(chan struct{})
		go func() {
			defer close(mischief)
			for range 3 {
				select {
				case <-first:
					signals <- os.Interrupt
				case <-second:
					signals <- syscall.SIGTERM
				case <-death:
					for pid := range workerPIDs(os.Getpid()) {
						_ = unix.Kill(pid, how)
						break
					}
				case <-over:
					return
				}
			}
		}()
		r := newRun(Options{Plan: s.plan(8, 100*time.Millisecond), Workers: 4, Signals: signals})
		out, err := r.perform()
		close(over)
		<-mischief
		var interrupted *Interrupted
		if errors.As(err, &interrupted) {
			continue
		}
		require.NoError(t, err)
		assertBalance(t, r, out)
	}
	assert.Empty(t, workerPIDs(os.Getpid()), "no worker is left")
}
