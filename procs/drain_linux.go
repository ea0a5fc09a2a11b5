package procs

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// TimeWait is how many connections of this network namespace are in TIME_WAIT,
// -1 if the kernel does not say (proc_pid_net(5), sockstat).
func TimeWait() int { return host("/").timeWait() }

func (h host) timeWait() int {
	for line := range strings.Lines(string(h.text("proc/net/sockstat"))) {
		rest, tcp := strings.CutPrefix(line, "TCP:")
		if !tcp {
			continue
		}
		fields := strings.Fields(rest)
		for i := 0; i+1 < len(fields); i += 2 {
			if n, err := strconv.Atoi(fields[i+1]); err == nil && fields[i] == "tw" {
				return n
			}
		}
	}
	return -1
}

// Drain waits until count is at most enough, or unknown, or the time is up, or a
// signal comes, which it returns.
func Drain(count func() int, enough int, atMost time.Duration, signals <-chan os.Signal) os.Signal {
	end := time.After(atMost)
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for count() > enough {
		select {
		case s := <-signals:
			return s
		case <-end:
			return nil
		case <-look.C:
		}
	}
	return nil
}
