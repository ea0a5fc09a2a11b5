package procs

import (
	"io"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How exactly a sleep ends, in nanoseconds. The workers inherit parentSlack
// over exec: with it their runtime's monitor thread, which would wake up dozens
// of times for each blocking call of the thread that does the work, sleeps on
// (prctl(2), PR_SET_TIMERSLACK). That one thread sets its own back.
const (
	monitorSlack = uint64(time.Hour)
	workerSlack  = uint64(50 * time.Microsecond)
)

func restoreTimerSlack() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(workerSlack), 0, 0, 0) }

// cpuTime is what this process has used of its CPUs.
func cpuTime() time.Duration {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// runDelay is how long the threads of this process were ready to run and had
// no CPU, -1 if the kernel does not say. The process's own schedstat holds the
// first thread alone, so all are summed.
func runDelay() time.Duration {
	tasks := taskNames()
	if len(tasks) == 0 {
		return -1
	}
	var sum time.Duration
	for _, task := range tasks {
		delay, ok := schedDelay("/proc/self/task/" + task + "/schedstat")
		if !ok {
			return -1
		}
		sum += delay
	}
	return sum
}

// Note: the files below are read by bare system calls, because the os package
// would set up the runtime's network poller for them.

func taskNames() []string {
	fd, err := unix.Open("/proc/self/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var buf [1024]byte // a worker has a handful of threads
	n, err := unix.ReadDirent(fd, buf[:])
	if err != nil {
		return nil
	}
	_, _, names := unix.ParseDirent(buf[:n], -1, nil)
	return names
}

// schedDelay reads the second of the three numbers of a schedstat file.
func schedDelay(path string) (time.Duration, bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var buf [128]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return 0, false
	}
	field, delay := 0, int64(0)
	for _, c := range buf[:n] {
		switch {
		case c == ' ':
			field++
		case field == 1:
			delay = delay*10 + int64(c-'0')
		}
	}
	return time.Duration(delay), field == 2
}

// The pipes, too, are waited for without leave of the scheduler: it would start
// a further thread meanwhile.

// writeAll writes b to a pipe. A parent that has gone shows as EPIPE.
func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			b = b[n:]
		case unix.EINTR:
		default:
			return os.NewSyscallError("write to parent", errno)
		}
	}
	return nil
}

// awaitInput waits until a pipe has something or has hung up. A signal ends it,
// unlike a read, which the kernel takes up again: so a worker inside a test does
// not hold up that program's garbage collector. It reports whether to read now.
func awaitInput(fd int) bool {
	fds := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	_, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, 0, 0, 0, 0)
	return errno == 0
}

// readMore appends what a pipe has to b, waiting until it has something.
func readMore(fd int, b []byte) ([]byte, error) {
	if cap(b)-len(b) < 512 {
		b = append(make([]byte, 0, 2*cap(b)+4096), b...)
	}
	for {
		if !awaitInput(fd) {
			continue
		}
		free := b[len(b):cap(b)]
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(free))), uintptr(len(free)))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return b, os.NewSyscallError("read from parent", errno)
		case n == 0:
			return b, io.EOF
		}
		return b[:len(b)+int(n)], nil
	}
}

// workerPath is the program to start workers from: this one. Its name in the
// file system gives the workers a name in the process list, as long as it still
// is the same file.
func workerPath() string {
	const self = "/proc/self/exe"
	path, err := os.Readlink(self)
	if err != nil {
		return self
	}
	named, err1 := os.Stat(path)
	running, err2 := os.Stat(self)
	if err1 != nil || err2 != nil || !os.SameFile(named, running) {
		return self
	}
	return path
}

// workerArgs is the command line of a worker; one for https begins its life later.
func workerArgs(id int, secured bool) []string {
	args := []string{workerName, strconv.Itoa(id)}
	if secured {
		args = append(args, "tls")
	}
	return args
}
