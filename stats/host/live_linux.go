package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"horde/stats"
)

// Live reports whether the tree is this very host, which can be asked what no
// file says.
func (t Tree) Live() bool { return filepath.Clean(string(t)) == "/" }

var notLive = stats.Lack("only a running host tells")

// asked are the facts that no file holds: queueing disciplines, what network
// cards do for the kernel, and whether the clock is set by someone.
func (t Tree) asked() map[string]stats.Fact {
	facts := map[string]stats.Fact{"adjtimex": notLive}
	if !t.Live() {
		return facts
	}
	facts["adjtimex"] = clockState()
	maps.Copy(facts, t.qdiscs())
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return facts
	}
	defer unix.Close(fd)
	for _, name := range t.Interfaces() {
		maps.Copy(facts, cardFacts(fd, name))
	}
	return facts
}

// clockState asks adjtimex(2), and sets nothing.
func clockState() stats.Fact {
	state, err := unix.Adjtimex(&unix.Timex{})
	switch {
	case err != nil:
		return stats.Lack(err.Error())
	case state == unix.TIME_ERROR:
		return stats.Have("not synchronised")
	}
	return stats.Have("synchronised")
}

// Requests of ethtool, struct by struct a row of 32-bit words behind the command
// (linux/ethtool.h).
const (
	getCoalesce  = 0x0e
	getRings     = 0x10
	getRxSum     = 0x14
	getTxSum     = 0x16
	getTSO       = 0x1e
	getGSO       = 0x23
	getFlags     = 0x25
	getGRO       = 0x2b
	getChannels  = 0x3c
	flagLRO      = 1 << 15
	ethtoolWords = 23 // of the longest, ethtool_coalesce
)

// ethtool asks an interface (SIOCETHTOOL). The answer is its words, the command first.
func ethtool(fd int, name string, command uint32) (words [ethtoolWords]uint32, err error) {
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&words)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	words[0] = command
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		err = errno
	}
	return words, err
}

func cardFacts(fd int, name string) map[string]stats.Fact {
	facts := map[string]stats.Fact{}
	add := func(what string, command uint32, say func(w [ethtoolWords]uint32) string) {
		words, err := ethtool(fd, name, command)
		if err != nil {
			facts["net/"+name+"/"+what] = stats.Lack(err.Error())
			return
		}
		facts["net/"+name+"/"+what] = stats.Have(say(words))
	}
	add("channels", getChannels, func(w [ethtoolWords]uint32) string {
		return fmt.Sprintf("%d of %d combined, rx %d of %d, tx %d of %d", w[8], w[4], w[5], w[1], w[6], w[2])
	})
	add("rings", getRings, func(w [ethtoolWords]uint32) string {
		return fmt.Sprintf("rx %d of %d, tx %d of %d", w[5], w[1], w[8], w[4])
	})
	add("coalesce", getCoalesce, func(w [ethtoolWords]uint32) string {
		return fmt.Sprintf("rx %d us %d frames, tx %d us %d frames, adaptive %d %d", w[1], w[2], w[5], w[6], w[10], w[11])
	})
	facts["net/"+name+"/features"] = features(fd, name)
	return facts
}

func features(fd int, name string) stats.Fact {
	var parts []string
	for _, f := range [...]struct {
		name    string
		command uint32
		bit     uint32
	}{{"rx-checksum", getRxSum, ^uint32(0)}, {"tx-checksum", getTxSum, ^uint32(0)}, {"tso", getTSO, ^uint32(0)},
		{"gso", getGSO, ^uint32(0)}, {"gro", getGRO, ^uint32(0)}, {"lro", getFlags, flagLRO}} {
		words, err := ethtool(fd, name, f.command)
		if err != nil {
			return stats.Lack(err.Error())
		}
		state := "off"
		if words[1]&f.bit != 0 {
			state = "on"
		}
		parts = append(parts, f.name+" "+state)
	}
	return stats.Have(strings.Join(parts, ", "))
}

// dump asks the kernel for all there is of one kind over netlink(7).
func dump(protocol, kind int, request []byte) ([]syscall.NetlinkMessage, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		return nil, err
	}
	var message bytes.Buffer
	header := unix.NlMsghdr{Len: uint32(unix.SizeofNlMsghdr + len(request)), Type: uint16(kind), Flags: unix.NLM_F_REQUEST | unix.NLM_F_DUMP, Seq: 1}
	_ = binary.Write(&message, binary.NativeEndian, header)
	message.Write(request)
	if err := unix.Sendto(fd, message.Bytes(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var all []syscall.NetlinkMessage
	buffer := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if err != nil {
			return nil, err
		}
		messages, err := syscall.ParseNetlinkMessage(slices.Clone(buffer[:n]))
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				return all, nil
			case unix.NLMSG_ERROR:
				return nil, netlinkError(m.Data)
			}
			all = append(all, m)
		}
	}
}

func netlinkError(data []byte) error {
	if len(data) < 4 {
		return unix.EPROTO
	}
	return unix.Errno(-int32(binary.NativeEndian.Uint32(data)))
}

const (
	tcMessageSize = 20 // struct tcmsg: the index of the interface stands at 4
	tcaKind       = 1
)

// qdiscs are the queueing disciplines of each interface, the root first.
func (t Tree) qdiscs() map[string]stats.Fact {
	facts := map[string]stats.Fact{}
	messages, err := dump(unix.NETLINK_ROUTE, unix.RTM_GETQDISC, make([]byte, tcMessageSize))
	kinds := map[string][]string{}
	for _, m := range messages {
		if len(m.Data) < tcMessageSize {
			continue
		}
		index := strconv.Itoa(int(binary.NativeEndian.Uint32(m.Data[4:])))
		if kind := attribute(m.Data[tcMessageSize:], tcaKind); !slices.Contains(kinds[index], kind) {
			kinds[index] = append(kinds[index], kind)
		}
	}
	for _, name := range t.Interfaces() {
		fact := stats.Have(strings.Join(kinds[t.Read(filepath.Join(netDir, name, "ifindex")).Value], " "))
		switch {
		case err != nil:
			fact = stats.Lack(err.Error())
		case fact.Value == "":
			fact = noFile
		}
		facts["net/"+name+"/qdisc"] = fact
	}
	return facts
}

// attribute is the text of an attribute: length, kind, value, each on four bytes.
func attribute(data []byte, kind uint16) string {
	for len(data) >= 4 {
		length := int(binary.NativeEndian.Uint16(data))
		if length < 4 || length > len(data) {
			break
		}
		if binary.NativeEndian.Uint16(data[2:]) == kind {
			return string(bytes.TrimRight(data[4:length], "\x00"))
		}
		data = data[min(len(data), (length+3)&^3):]
	}
	return ""
}

// Listening is what listens on a port of this host.
type Listening struct {
	Queue   int // connections that the accept queues of all its sockets hold
	Waiting int // that wait there now
	PID     int // of a process that has such a socket; 0 if that is not to be seen
}

const (
	diagRequestSize = 56 // struct inet_diag_req_v2
	diagAnswerSize  = 72 // struct inet_diag_msg
	listenState     = 10
)

// Listener asks what listens on a TCP port (sock_diag(7)), as ss -ltn does.
func (t Tree) Listener(port int) (Listening, stats.Fact) {
	var l Listening
	if !t.Live() {
		return l, notLive
	}
	inodes := map[string]bool{}
	for _, family := range [...]byte{unix.AF_INET, unix.AF_INET6} {
		request := make([]byte, diagRequestSize)
		request[0], request[1] = family, unix.IPPROTO_TCP
		binary.NativeEndian.PutUint32(request[4:], 1<<listenState)
		messages, err := dump(unix.NETLINK_SOCK_DIAG, unix.SOCK_DIAG_BY_FAMILY, request)
		if err != nil && family == unix.AF_INET {
			return l, stats.Lack(err.Error())
		}
		for _, m := range messages {
			if len(m.Data) < diagAnswerSize || int(binary.BigEndian.Uint16(m.Data[4:])) != port {
				continue
			}
			l.Waiting += int(binary.NativeEndian.Uint32(m.Data[56:]))
			l.Queue += int(binary.NativeEndian.Uint32(m.Data[60:]))
			inodes[fmt.Sprintf("socket:[%d]", binary.NativeEndian.Uint32(m.Data[68:]))] = true
		}
	}
	if len(inodes) == 0 {
		return l, stats.Lack("nothing listens on port " + strconv.Itoa(port))
	}
	l.PID = t.holder(inodes)
	return l, stats.Have("listening")
}

// holder is a process that has one of these sockets open, 0 if none is to be seen.
func (t Tree) holder(sockets map[string]bool) int {
	for _, pid := range t.numbered("proc", "") {
		dir := filepath.Join("proc", pid, "fd")
		for _, fd := range t.names(dir) {
			if target, _ := os.Readlink(t.path(filepath.Join(dir, fd))); sockets[target] {
				n, _ := strconv.Atoi(pid)
				return n
			}
		}
	}
	return 0
}
