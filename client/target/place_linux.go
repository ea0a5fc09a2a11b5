package target

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"horde/client"
)

// Place is where a run connects to: an address, or a unix socket.
type Place struct {
	netip.AddrPort
	Socket string           // path of the unix socket, "" = it is the address
	Tried  []netip.AddrPort // the addresses of the name, in the order to try them
}

// String returns the address or the path as people write it.
func (p Place) String() string {
	if p.Socket != "" {
		return p.Socket
	}
	return p.AddrPort.String()
}

// Names are the addresses that were to be tried, as text.
func (p Place) Names() []string {
	var names []string
	for _, a := range p.Tried {
		names = append(names, a.String())
	}
	return names
}

// ReachOne is Reach, as a place.
func ReachOne(addresses []netip.AddrPort, source netip.Addr, limit time.Duration) (Place, error) {
	ap, err := Reach(addresses, source, limit)
	return Place{AddrPort: ap, Tried: addresses}, err
}

// Raw is the place in the kernel's own form.
func (p Place) Raw() client.Address {
	if p.Socket != "" {
		return socketAddress(p.Socket)
	}
	return Address(p.AddrPort)
}

// socketAddress is a struct sockaddr_un (unix(7)). A path that begins with @
// names an abstract socket: its first byte is 0 and no 0 ends it.
func socketAddress(path string) client.Address {
	raw := append(client.Address{unix.AF_UNIX, 0}, path...)
	if raw[2] == '@' {
		raw[2] = 0
		return raw
	}
	return append(raw, 0)
}

// longestPath is what a sockaddr_un has room for, with the 0 that ends it.
const longestPath = unix.SizeofSockaddrUnix - 2 - 1

// CheckSocket reports whether a path can be that of a unix socket.
func CheckSocket(path string) error {
	switch {
	case path == "" || path == "@":
		return errors.New("is not the path of a socket")
	case len(path) > longestPath:
		return fmt.Errorf("is longer than %d bytes, the most that a unix socket's path can be", longestPath)
	case strings.Contains(path, "\x00"):
		return errors.New("holds a NUL")
	}
	return nil
}

// ReachSocket makes the one connect before a run to a unix socket.
func ReachSocket(path string) (Place, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Place{}, fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	if err != nil && err != unix.EAGAIN { // its queue is full: it is there
		return Place{}, fmt.Errorf("connect to %s: %w", path, err)
	}
	return Place{Socket: path}, nil
}
