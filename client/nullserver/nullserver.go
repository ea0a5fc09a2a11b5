// Package nullserver is the embedded target behind `horde serve` and
// `horde demo`: the fastest answer this host can give, and, on request, every
// fault that a server can commit against a client.
//
// The target lives in processes of its own, so that its CPU time is never
// mixed with the tester's. The parent binds the listening sockets and starts
// the serving processes from /proc/self/exe:
//
//	parent                                serving process (one per listener)
//	  control pipe, write end   ------>   3: its hang-up means stop, or that the parent died
//	  counters, mapped          <------   4: one page of a memory file, written in place
//	  listening socket, closed  ------>   5: one of a SO_REUSEPORT group
//
// A serving process runs one loop on one OS thread: edge-triggered epoll,
// non-blocking sockets, raw system calls, no allocation per request.
//
// A request for /fault/SPEC is answered with that fault, one for /size/N with
// a body of N bytes, and any other with Options.Fault and Options.BodySize.
package nullserver

import (
	"fmt"
	"net/netip"
	"strings"
)

// Options says what to serve. The zero value serves a 12-byte answer on a free
// port of 127.0.0.1.
type Options struct {
	Listen    string // ADDRESS:PORT, an IP literal or localhost; "" = 127.0.0.1:0
	Processes int    // serving processes; 0 = half the allowed CPUs, at least 1
	BodySize  int64  // bytes of body per answer; 0 = 12. /size/0 gives an empty body
	Backlog   int    // of each listener; 0 = as long as the kernel allows
	Budget    uint64 // answers in all, then silence; 0 = no limit. Asks for one process
	Fault     Fault  // played for every path but /fault/SPEC
	Plain     bool   // no path asks for anything: /fault/SPEC and /size/N are paths like any other
}

// Counts is what the target itself saw, summed over its processes. Bytes are
// those that crossed its sockets, in either direction.
type Counts struct {
	Connections  uint64 // accepted
	Requests     uint64 // answered completely: the last byte was handed to the kernel
	Faults       uint64 // requests, or connections at accept, that met the fault and not the normal answer
	BytesRead    uint64
	BytesWritten uint64
}

const (
	defaultListen = "127.0.0.1:0"
	defaultSize   = 12
	maxBacklog    = 1<<16 - 1 // the kernel cuts it to net.core.somaxconn
)

// withDefaults fills in what was left zero and refuses what cannot be served.
func (o Options) withDefaults(cpus int) (Options, netip.AddrPort, error) {
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	if o.Processes == 0 {
		o.Processes = max(1, cpus/2)
	}
	if o.BodySize == 0 {
		o.BodySize = defaultSize
	}
	if o.Backlog == 0 {
		o.Backlog = maxBacklog
	}
	if o.Fault.backlog() > 0 {
		o.Backlog = o.Fault.backlog()
	}
	if o.Budget > 0 {
		o.Processes = 1 // a budget is spent in one place
	}
	if o.Processes < 0 || o.BodySize < 0 || o.Backlog < 0 {
		return o, netip.AddrPort{}, fmt.Errorf("processes %d, body size %d, backlog %d: none may be negative", o.Processes, o.BodySize, o.Backlog)
	}
	addr, err := parseListen(o.Listen)
	return o, addr, err
}

func parseListen(s string) (netip.AddrPort, error) {
	literal := s
	if port, ok := strings.CutPrefix(s, "localhost:"); ok {
		literal = "127.0.0.1:" + port
	}
	addr, err := netip.ParseAddrPort(literal)
	if err != nil || addr.Addr().Zone() != "" {
		return addr, fmt.Errorf("listen address %q is not an IP address and a port, as in 127.0.0.1:8080 or [::1]:8080", s)
	}
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()), nil
}
