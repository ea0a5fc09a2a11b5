package procs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a worker takes of the host, as measured (ARCHITECTURE.md, "What a worker
// costs"), rounded up.
const (
	workerThreads     = 3
	workerMemory      = 750 << 10
	clientMemory      = 12 << 10 // a coroutine, and the socket in the kernel
	parentDescriptors = 2        // per worker: its two pipes
	spareDescriptors  = 32       // per process: what is open besides
)

// limit is how many workers one resource of this host carries.
type limit struct {
	workers int
	name    string // the kernel's, with its value
	why     string
}

// Fit says how many of the workers asked for this host carries, and why not
// all; with fewer, each drives more clients. bodySize is what each worker keeps
// of the request. The error says that clients cannot run at all, naming the limit.
func Fit(workers, clients, bodySize int) (fit int, reason string, err error) {
	tightest := limit{workers: math.MaxInt}
	for _, l := range append(hostLimits(clients, bodySize), descriptorLimit()) {
		if l.workers < tightest.workers {
			tightest = l
		}
	}
	fit = min(workers, max(tightest.workers, 0))
	if fit == 0 {
		return 0, "", fmt.Errorf("this host has no room for a worker: %s: %s", tightest.name, tightest.why)
	}
	if fit < workers {
		reason = fmt.Sprintf("%d workers asked, %d fit: %s: %s; each drives up to %d clients",
			workers, fit, tightest.name, tightest.why, (clients+fit-1)/fit)
	}
	needed, err := forDescriptors(clients)
	if err != nil {
		return 0, "", err
	}
	if needed > tightest.workers {
		return 0, "", fmt.Errorf("%d clients need %d workers for their descriptors, and %d fit: %s: %s",
			clients, needed, tightest.workers, tightest.name, tightest.why)
	}
	if needed > fit {
		return needed, fmt.Sprintf("%d workers asked, %d started: one process may hold %d descriptors",
			workers, needed, descriptors()), nil
	}
	return fit, reason, nil
}

// descriptors is how many one process of this host may hold. The runtime has
// raised the soft limit to it, or does so in a worker.
func descriptors() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 1024
	}
	return int(min(r.Max, math.MaxInt32))
}

func descriptorLimit() limit {
	n := descriptors()
	return limit{(n - spareDescriptors) / parentDescriptors, fmt.Sprintf("nofile %d", n),
		"the parent holds two pipes for each worker"}
}

// forDescriptors is how many workers it takes for each to hold its clients' sockets.
func forDescriptors(clients int) (int, error) {
	room := descriptors() - spareDescriptors
	if room < 1 {
		return 0, fmt.Errorf("nofile %d leaves a worker no descriptor for a connection", descriptors())
	}
	return (clients + room - 1) / room, nil
}

func hostLimits(clients, bodySize int) []limit {
	limits := threadLimits()
	perWorker := workerMemory + 2*bodySize
	for _, room := range memoryRooms() {
		left := room.left/5*4 - clients*clientMemory
		limits = append(limits, limit{left / perWorker, fmt.Sprintf("%s %d MiB free", room.name, room.left>>20),
			fmt.Sprintf("a worker takes %d KiB and a client %d KiB, of four fifths of it", perWorker>>10, clientMemory>>10)})
	}
	return limits
}

// threadLimits are those that count threads: of the system, the user, and the
// control groups this process is in.
func threadLimits() []limit {
	why := fmt.Sprintf("a worker has %d threads", workerThreads)
	var limits []limit
	add := func(name string, most, used int) {
		limits = append(limits, limit{(most - used) / workerThreads, fmt.Sprintf("%s %d, %d in use", name, most, used), why})
	}
	used := systemThreads()
	for _, name := range [...]string{"pid_max", "threads-max"} {
		if most, err := readNumber("/proc/sys/kernel/" + name); err == nil {
			add(name, most, used)
		}
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil && r.Cur < math.MaxInt32 && os.Geteuid() != 0 {
		add("nproc", int(r.Cur), userThreads(os.Geteuid()))
	}
	for _, dir := range cgroupDirs("pids") {
		most, err1 := readNumber(filepath.Join(dir, "pids.max"))
		used, err2 := readNumber(filepath.Join(dir, "pids.current"))
		if err1 == nil && err2 == nil { // "max" is no number: no limit
			add("pids.max", most, used)
		}
	}
	return limits
}

type room struct {
	name string
	left int
}

// memoryRooms are the amounts of memory left, of the host and of the control
// groups this process is in.
func memoryRooms() []room {
	var rooms []room
	if left, ok := memAvailable(); ok {
		rooms = append(rooms, room{"MemAvailable", left})
	}
	for _, files := range [...][2]string{{"memory.max", "memory.current"}, {"memory.limit_in_bytes", "memory.usage_in_bytes"}} {
		for _, dir := range cgroupDirs("memory") {
			most, err1 := readNumber(filepath.Join(dir, files[0]))
			used, err2 := readNumber(filepath.Join(dir, files[1]))
			if err1 == nil && err2 == nil && most < math.MaxInt64/2 {
				rooms = append(rooms, room{files[0], most - used})
			}
		}
	}
	return rooms
}

func memAvailable() (int, bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "MemAvailable:" {
			kib, err := strconv.Atoi(fields[1])
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// cgroupDirs are the directories of this process's control group for a
// controller and of those above it: version 2 and version 1, where mounted.
func cgroupDirs(controller string) []string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root := "/sys/fs/cgroup"
		if parts[0] != "0" {
			if !strings.Contains(","+parts[1]+",", ","+controller+",") {
				continue
			}
			root = filepath.Join(root, controller)
		}
		for dir := filepath.Join(root, parts[2]); len(dir) >= len(root); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

var errNotNumber = errors.New("not a number")

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, errNotNumber
	}
	return n, nil
}

// systemThreads is how many threads there are in all, 0 if unknown (proc_loadavg(5)).
func systemThreads() int {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 4 {
		return 0
	}
	_, total, _ := strings.Cut(fields[3], "/")
	n, _ := strconv.Atoi(total)
	return n
}

// userThreads is how many threads belong to a user.
func userThreads(uid int) int {
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	sum := 0
	for _, path := range statuses {
		text, err := os.ReadFile(path)
		if err != nil { // gone since
			continue
		}
		owner, threads := -1, 0
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			switch fields[0] {
			case "Uid:":
				owner, _ = strconv.Atoi(fields[1])
			case "Threads:":
				threads, _ = strconv.Atoi(fields[1])
			}
		}
		if owner == uid {
			sum += threads
		}
	}
	return sum
}
