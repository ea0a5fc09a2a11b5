package nullserver

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Server is the parent's handle on the serving processes. Its methods may be
// called from any goroutine.
type Server struct {
	addr      netip.AddrPort
	processes []*process
	done      chan struct{}
	gone      chan struct{} // closed when all processes have been reaped
	first     sync.Once     // closes done
	stop      func() error

	mu    sync.Mutex
	pages []byte // one per process; nil once stopped
	final Counts
}

// process is the parent's handle on one serving process.
type process struct {
	process *os.Process
	control *os.File      // closing it means stop
	ended   chan struct{} // closed when it is reaped
	state   *os.ProcessState
	err     error // of reaping it
}

// stopGrace is for a process that somebody stopped, or that does not get a CPU.
const stopGrace = 5 * time.Second

// Start starts the serving processes. When it returns they listen: the sockets
// were opened here, so a connection made now waits for its process to be up.
// The processes end with Stop and with the parent, however that ends.
func Start(o Options) (*Server, error) {
	o, addr, err := o.withDefaults(runtime.NumCPU())
	if err != nil {
		return nil, err
	}
	s := &Server{addr: addr, done: make(chan struct{}), gone: make(chan struct{})}
	s.stop = sync.OnceValue(s.end)
	if err := s.startHeld(o); err != nil {
		_, _ = s.Stop()
		return nil, err
	}
	return s, nil
}

// startHeld starts the processes from a thread that stays until they are gone:
// Pdeathsig is tied to the thread that started a process (prctl(2)), and any
// other may end while the parent lives on.
func (s *Server) startHeld(o Options) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		started <- s.start(o)
		<-s.gone
	}()
	return <-started
}

// Addr is where the server listens, with the port the kernel chose if port 0
// was asked for.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// Done is closed when the first serving process has ended: by Stop, or before
// its time, and then Stop returns why.
func (s *Server) Done() <-chan struct{} { return s.done }

// Counts is what the serving processes have counted so far, and after Stop
// the last word. Before, an answer may have arrived that is not counted yet.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		return s.final
	}
	var sum Counts
	for i := range len(s.pages) / pageSize {
		c := countsAt(s.pages, i)
		sum.Connections += atomic.LoadUint64(&c.Connections)
		sum.Requests += atomic.LoadUint64(&c.Requests)
		sum.Faults += atomic.LoadUint64(&c.Faults)
		sum.BytesRead += atomic.LoadUint64(&c.BytesRead)
		sum.BytesWritten += atomic.LoadUint64(&c.BytesWritten)
	}
	return sum
}

// Stop ends the serving processes, reaps them and returns what they counted.
// The error names those that ended otherwise than asked; their counts are in
// the sum all the same.
func (s *Server) Stop() (Counts, error) {
	err := s.stop()
	return s.Counts(), err
}

func (s *Server) start(o Options) error {
	file, err := unix.MemfdCreate("horde-counts", unix.MFD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("memfd_create", err)
	}
	defer unix.Close(file)
	if err := unix.Ftruncate(file, int64(o.Processes)*pageSize); err != nil {
		return os.NewSyscallError("ftruncate", err)
	}
	if s.pages, err = mapCounts(file, 0, o.Processes*pageSize); err != nil {
		return err
	}
	listeners, err := s.listen(o)
	defer func() {
		for _, fd := range listeners {
			unix.Close(fd)
		}
	}()
	if err != nil {
		return err
	}
	for i, fd := range listeners {
		p, err := startProcess(childArgs(i, s.addr.String(), o), file, fd)
		if err != nil {
			return fmt.Errorf("start serving process %d: %w", i, err)
		}
		s.processes = append(s.processes, p)
		go s.reap(p)
	}
	return nil
}

// listen opens one listener per process, all on the port that the first got.
func (s *Server) listen(o Options) (listeners []int, err error) {
	for range o.Processes {
		fd, err := listen(s.addr, o.Backlog, o.Processes > 1)
		if err != nil {
			return listeners, fmt.Errorf("listen on %q: %w", s.addr, err)
		}
		listeners = append(listeners, fd)
		port, err := localPort(fd)
		if err != nil {
			return listeners, err
		}
		s.addr = netip.AddrPortFrom(s.addr.Addr(), port)
	}
	return listeners, nil
}

// startProcess passes the descriptors on; the caller keeps its own.
func startProcess(args []string, counts, listener int) (*process, error) {
	stop, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stop.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		control.Close()
		return nil, err
	}
	defer null.Close()
	pid, err := startLazily(args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), null.Fd(), uintptr(syscall.Stderr), controlFD: stop.Fd(), countsFD: uintptr(counts), listenerFD: uintptr(listener)},
		// A session of its own, as a daemon has: Ctrl-C reaches the parent, which
		// decides; and where the scheduler groups by session (sched_autogroup),
		// the server does not share one group's CPU time with thousands of workers.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		control.Close()
		return nil, err
	}
	handle, err := os.FindProcess(pid)
	if err != nil { // never on Linux
		control.Close()
		return nil, err
	}
	return &process{process: handle, control: control, ended: make(chan struct{})}, nil
}

// startLazily starts a child whose threads inherit a timer slack of a second,
// from a thread that does nothing else. The loop leaves its processor to nobody,
// so the runtime's monitor would come round every 10 ms to take it away.
func startLazily(args []string, attr *syscall.ProcAttr) (pid int, err error) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1e9, 0, 0, 0)
	return syscall.ForkExec("/proc/self/exe", args, attr)
}

// reap waits for p to end.
func (s *Server) reap(p *process) {
	p.state, p.err = p.process.Wait()
	close(p.ended)
	s.first.Do(func() { close(s.done) })
}

// end is Stop without the counting.
func (s *Server) end() error {
	defer close(s.gone)
	for _, p := range s.processes {
		p.control.Close()
	}
	kill := time.AfterFunc(stopGrace, func() {
		for _, p := range s.processes {
			_ = p.process.Kill()
		}
	})
	defer kill.Stop()
	var errs []error
	for _, p := range s.processes {
		<-p.ended
		errs = append(errs, p.fate())
	}
	return errors.Join(append(errs, s.unmap())...)
}

func (p *process) fate() error {
	if p.err != nil || !p.state.Success() {
		return fmt.Errorf("serving process %d: %w", p.process.Pid, cmp.Or(p.err, errors.New(p.state.String())))
	}
	return nil
}

// unmap keeps the last word of the counters.
func (s *Server) unmap() error {
	final := s.Counts()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		return nil
	}
	err := unix.Munmap(s.pages)
	s.pages, s.final = nil, final
	return os.NewSyscallError("munmap", err)
}
