package nullserver

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childName is a serving process's argv[0]: no file has it, so nobody calls a
// program so, and it tells in a process list what the process is for.
const childName = "horde: null server"

// Descriptors of a serving process behind stdin, stdout and stderr.
const (
	controlFD = 3 + iota
	countsFD
	listenerFD
)

// pageSize holds the counters of one process. Mappings begin at multiples of
// the largest page there is.
const pageSize = 64 << 10

// The hook sits in init, so that every binary that links this package can
// start serving processes, test binaries too. It costs the others one
// comparison.
func init() {
	if len(os.Args) == 0 || os.Args[0] != childName {
		return
	}
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", childName, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childArgs is the command line of the process with that index.
func childArgs(index int, addr string, o Options) []string {
	return []string{
		childName, addr, strconv.Itoa(index),
		strconv.FormatInt(o.BodySize, 10), strconv.Itoa(o.Backlog), strconv.FormatUint(o.Budget, 10), strconv.FormatBool(o.Plain), o.Fault.String(),
	}
}

func parseChildArgs(args []string) (index int, o Options, err error) {
	if len(args) != 7 {
		return 0, o, fmt.Errorf("%d arguments", len(args))
	}
	if _, err = fmt.Sscan(strings.Join(args[1:6], " "), &index, &o.BodySize, &o.Backlog, &o.Budget, &o.Plain); err != nil {
		return 0, o, fmt.Errorf("arguments %q: %w", args, err)
	}
	o.Fault, err = ParseFault(args[6])
	return index, o, err
}

func serve(args []string) error {
	index, o, err := parseChildArgs(args)
	if err != nil {
		return err
	}
	if err := raiseDescriptorLimit(); err != nil {
		return err
	}
	// The runtime's threads keep the long slack that came with exec; see startLazily.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 50_000, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	page, err := mapCounts(countsFD, int64(index)*pageSize, pageSize)
	if err != nil {
		return err
	}
	l, err := newLoop(listenerFD, controlFD, o, countsAt(page, 0))
	if err != nil {
		return err
	}
	return l.run()
}

// raiseDescriptorLimit lets a process hold as many connections as it may. The
// runtime does so as well, but stops one short and promises nothing.
func raiseDescriptorLimit() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	limit.Cur = limit.Max
	return os.NewSyscallError("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
}

func mapCounts(fd int, offset int64, length int) ([]byte, error) {
	pages, err := unix.Mmap(fd, offset, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return pages, os.NewSyscallError("mmap", err)
}

func countsAt(pages []byte, index int) *Counts {
	return (*Counts)(unsafe.Pointer(&pages[index*pageSize]))
}
