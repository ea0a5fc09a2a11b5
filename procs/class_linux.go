package procs

import "golang.org/x/sys/unix"

// BatchSuits reports whether workers are better off in SCHED_BATCH. Several to a
// CPU with many clients each are not: beside a target of as many processes, which
// are woken for a moment each, they hardly ran at all.
func BatchSuits(workers, clients, cpus int) bool { return workers >= clients || workers <= cpus }

// batchThread puts the calling thread into SCHED_BATCH, which the processes it
// starts inherit with all their threads: the same share of the CPU, but what
// wakes does not take it from what runs (sched(7)). A target on the same CPU then
// answers what it has before its clients go on, instead of being interrupted by
// the first of them. A thread in any other class than the usual one was put there
// on purpose, and stays. It reports whether the thread is in SCHED_BATCH.
func batchThread() bool {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return false
	}
	if a.Policy == unix.SCHED_NORMAL {
		a.Policy = unix.SCHED_BATCH
		if unix.SchedSetAttr(0, a, 0) != nil {
			return false
		}
	}
	return a.Policy == unix.SCHED_BATCH
}
