package procs

import (
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
	workerThreads     = 4 // three, and one more for moments of its start
	parentThreads     = 16
	workerMemory      = 750 << 10
	clientMemory      = 12 << 10 // a coroutine, and the socket in the kernel
	parentDescriptors = 2        // per worker: its two pipes
	spareDescriptors  = 32       // per process: what is open besides
)

// Limit is how many workers one resource of a host carries.
type Limit struct {
	Name    string // the kernel's
	Value   string // and what it is
	Workers int
	Why     string
}

func (l Limit) String() string { return l.Name + " " + l.Value + ": " + l.Why }

// Limits are those of the host whose proc and sys lie in the directory root, but
// for descriptors. What the host does not say is no limit.
func Limits(root string, clients, bodySize int) []Limit { return host(root).limits(clients, bodySize) }

// Descriptors is what the limit of each process must be for so many workers to
// drive so many clients: the parent has two for each worker, a worker one for
// each of its clients, and both have as much again to spare as Fit leaves them.
func Descriptors(clients, workers int) int {
	return max(parentDescriptors*workers, (clients+workers-1)/workers) + 2*spareDescriptors
}

// Fit says how many of the workers asked for this host carries, and why not
// all; with fewer, each drives more clients. bodySize is what each worker keeps
// of the request. The error says that clients cannot run at all, naming the limit.
func Fit(workers, clients, bodySize int) (fit int, reason string, err error) {
	n := descriptors()
	if l := descriptorLimit(n); l.Workers < 1 { // not even the files below can be opened
		return fitWithin(nil, n, workers, clients)
	}
	return fitWithin(host("/").limits(clients, bodySize), n, workers, clients)
}

// fitWithin is Fit on a host with these limits, where a process may hold so
// many descriptors.
func fitWithin(limits []Limit, descriptors, workers, clients int) (fit int, reason string, err error) {
	tightest := descriptorLimit(descriptors)
	for _, l := range limits {
		if l.Workers < tightest.Workers {
			tightest = l
		}
	}
	fit = min(workers, max(tightest.Workers, 0))
	if fit == 0 {
		return 0, "", fmt.Errorf("this host has no room for a worker: %v", tightest)
	}
	if fit < workers {
		reason = fmt.Sprintf("%d workers asked, %d fit: %v; each drives up to %d clients",
			workers, fit, tightest, (clients+fit-1)/fit)
	}
	room := descriptors - spareDescriptors // above 0, or not one worker would fit
	needed := (clients + room - 1) / room
	if needed > tightest.Workers {
		return 0, "", fmt.Errorf("%d clients need %d workers for their descriptors, and %d fit: %v",
			clients, needed, tightest.Workers, tightest)
	}
	if needed > fit {
		return needed, fmt.Sprintf("%d workers asked, %d started: one process may hold %d descriptors",
			workers, needed, descriptors), nil
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

func descriptorLimit(n int) Limit {
	return Limit{"nofile", strconv.Itoa(n), (n - spareDescriptors) / parentDescriptors,
		"the parent holds two pipes for each worker"}
}

// host is the directory that holds a host's proc and sys. What it does not say
// is no limit.
type host string

func (h host) limits(clients, bodySize int) []Limit {
	limits := h.threadLimits()
	perWorker := workerMemory + 2*bodySize
	for _, room := range h.memoryRooms() {
		left := room.left/5*4 - clients*clientMemory
		limits = append(limits, Limit{room.name, fmt.Sprintf("%d MiB free", room.left>>20), left / perWorker,
			fmt.Sprintf("a worker takes %d KiB and a client %d KiB, of four fifths of it", perWorker>>10, clientMemory>>10)})
	}
	return limits
}

// threadLimits are those that count threads: of the system, the user, and the
// control groups this process is in.
func (h host) threadLimits() []Limit {
	why := fmt.Sprintf("a worker has up to %d threads", workerThreads)
	var limits []Limit
	add := func(name string, most, used int) {
		limits = append(limits, Limit{name, fmt.Sprintf("%d, %d in use", most, used), (most - used - parentThreads) / workerThreads, why})
	}
	used := h.systemThreads()
	for _, name := range [...]string{"pid_max", "threads-max"} {
		if most, err := h.number("proc/sys/kernel", name); err == nil {
			add(name, most, used)
		}
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil && r.Cur < math.MaxInt32 && os.Geteuid() != 0 {
		add("nproc", int(r.Cur), h.userThreads(os.Geteuid()))
	}
	for _, dir := range h.cgroups("pids") {
		most, err1 := h.number(dir, "pids.max")
		used, err2 := h.number(dir, "pids.current")
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
func (h host) memoryRooms() []room {
	var rooms []room
	if kib, ok := h.field("proc/meminfo", "MemAvailable:"); ok {
		rooms = append(rooms, room{"MemAvailable", kib << 10})
	}
	for _, files := range [...]struct{ most, used, idle string }{
		{"memory.max", "memory.current", "inactive_file"},
		{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
	} {
		for _, dir := range h.cgroups("memory") {
			most, err1 := h.number(dir, files.most)
			used, err2 := h.number(dir, files.used)
			if err1 == nil && err2 == nil && most < math.MaxInt64/2 {
				// The page cache counts as used and is given back on demand.
				idle, _ := h.field(filepath.Join(dir, "memory.stat"), files.idle)
				rooms = append(rooms, room{files.most, most - max(used-idle, 0)})
			}
		}
	}
	return rooms
}

// cgroups are the directories of this process's control group for a controller
// and of those above it: version 2 and version 1, where mounted.
func (h host) cgroups(controller string) []string {
	var dirs []string
	for line := range strings.Lines(h.text("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root := "sys/fs/cgroup"
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

// text is what a file holds, "" if there is none.
func (h host) text(path string) string {
	text, _ := os.ReadFile(filepath.Join(string(h), path))
	return string(text)
}

func (h host) number(dir, name string) (int, error) {
	return strconv.Atoi(strings.TrimSpace(h.text(filepath.Join(dir, name))))
}

// field is the number behind a name in a file of such lines.
func (h host) field(path, name string) (int, bool) {
	for line := range strings.Lines(h.text(path)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == name {
			n, err := strconv.Atoi(fields[1])
			return n, err == nil
		}
	}
	return 0, false
}

// LocalPorts is how many ports this host gives out by itself to connections
// from one address, 0 if unknown (ip(7), ip_local_port_range).
func LocalPorts() int {
	text := host("/").text("proc/sys/net/ipv4/ip_local_port_range")
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return 0
	}
	first, err1 := strconv.Atoi(fields[0])
	last, err2 := strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil || last < first {
		return 0
	}
	return last - first + 1
}

// systemThreads is how many threads there are in all, 0 if unknown (proc_loadavg(5)).
func (h host) systemThreads() int {
	fields := strings.Fields(h.text("proc/loadavg"))
	if len(fields) < 4 {
		return 0
	}
	_, total, _ := strings.Cut(fields[3], "/")
	n, _ := strconv.Atoi(total)
	return n
}

// userThreads is how many threads belong to a user.
func (h host) userThreads(uid int) int {
	processes, _ := filepath.Glob(filepath.Join(string(h), "proc/[0-9]*"))
	sum := 0
	for _, dir := range processes {
		status := filepath.Join("proc", filepath.Base(dir), "status")
		owner, known := h.field(status, "Uid:")
		if threads, ok := h.field(status, "Threads:"); ok && known && owner == uid {
			sum += threads
		}
	}
	return sum
}
