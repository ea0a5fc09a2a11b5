package procs

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// AllowedCPUs returns the numbers of the CPUs this process may run on, in
// rising order: those of its cpuset and affinity, not 0 to n-1.
func AllowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// ParseCPUs reads a list such as "0,2-3" and checks it against the allowed CPUs.
func ParseCPUs(list string, allowed []int) ([]int, error) {
	may := map[int]bool{}
	for _, cpu := range allowed {
		may[cpu] = true
	}
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.ParseUint(from, 10, 16)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || last < first {
			return nil, fmt.Errorf("%q is not a CPU number or range", part)
		}
		for cpu := int(first); cpu <= int(last); cpu++ {
			if !may[cpu] {
				return nil, fmt.Errorf("CPU %d is not among those this process may use", cpu)
			}
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// bindThread binds the calling thread to one CPU. A locked goroutine's thread
// passes the mask on to the processes it starts, and these to all their
// threads, because they have it before their runtime starts.
func bindThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &set))
}
