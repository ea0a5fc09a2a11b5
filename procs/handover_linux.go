package procs

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// handover brings the parent's ends of the workers' pipes from the descriptors
// of the thread that starts the workers to those of the parent.
//
// A process inherits a copy of its starter's descriptors and drops them on exec.
// Were the pipes of thousands of workers among them, that would cost more than
// all the rest of a start: so a starter has descriptors of its own, and passes
// these on (unix(7), SCM_RIGHTS).
type handover struct {
	from, to int // two sockets: the starters' and the parent's
	order    sync.Mutex
	sent     chan *child // those whose pipes are on their way, in this order
	full     atomic.Bool // the parent has no room for more
}

func (h *handover) open() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	h.from, h.to, h.sent = pair[0], pair[1], make(chan *child, 1)
	return nil
}

// close closes the parent's descriptors.
func (h *handover) close() {
	_ = unix.Close(h.from)
	_ = unix.Close(h.to)
}

// send passes a worker's pipes on from a starter, whose they are no more.
func (h *handover) send(c *child) error {
	h.order.Lock()
	defer h.order.Unlock()
	err := unix.Sendmsg(h.from, []byte{0}, unix.UnixRights(c.control, c.report), nil, 0)
	if err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	c.closeEnds()
	h.sent <- c
	return nil
}

// receive takes the pipes of all workers that are started, until sent is closed.
// Those it has no room for are abandoned; it returns what became of the first.
func (h *handover) receive() (err error) {
	for c := range h.sent {
		var failed error
		if c.control, c.report, failed = receivePair(h.to); failed == nil {
			continue
		}
		h.full.Store(true)
		c.abandon()
		if err == nil {
			err = fmt.Errorf("start worker %d: %w", c.id, failed)
		}
	}
	return err
}

func receivePair(socket int) (first, second int, err error) {
	var data [1]byte
	oob := make([]byte, unix.CmsgSpace(2*4))
	_, n, _, _, err := unix.Recvmsg(socket, data[:], oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, -1, os.NewSyscallError("recvmsg", err)
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(oob[:n]); err == nil && len(messages) == 1 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	if len(fds) != 2 { // the kernel installs as many as there is room for
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		return -1, -1, os.NewSyscallError("recvmsg", unix.EMFILE)
	}
	return fds[0], fds[1], nil
}

// ownDescriptors gives the calling thread descriptors of its own: the standard
// ones, those of the runtime and keep. Where the kernel refuses, the thread goes
// on with the process's, which costs time only.
func ownDescriptors(keep ...int) {
	// A container may forbid the second call, and an old kernel not know the first.
	beyond := uint(slices.Max(keep) + 1)
	if unix.CloseRange(beyond, math.MaxUint32, unix.CLOSE_RANGE_UNSHARE) != nil && unix.Unshare(unix.CLONE_FILES) != nil {
		return
	}
	const own = "/proc/thread-self/fd"
	names, err := os.ReadDir(own)
	if err != nil {
		return
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= 2 || slices.Contains(keep, fd) {
			continue
		}
		// The runtime may use its epoll instance and its eventfd on any thread.
		if target, err := os.Readlink(own + "/" + name.Name()); err == nil && !strings.HasPrefix(target, "anon_inode:") {
			_ = unix.Close(fd)
		}
	}
}
