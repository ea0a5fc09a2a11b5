package target

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Given is what --resolve says: the addresses of a host at a port, so that
// nobody is asked for them. The host may be *, any.
type Given struct {
	Host  string
	Port  uint16
	Addrs []netip.Addr
}

// ParseGiven reads HOST:PORT:ADDRESS[,ADDRESS], as curl does.
func ParseGiven(text string) (Given, error) {
	wrong := errors.New("must be HOST:PORT:ADDRESS[,ADDRESS]")
	host, rest, ok := strings.Cut(text, ":")
	if strings.HasPrefix(text, "[") {
		host, rest, ok = strings.Cut(text[1:], "]:")
	}
	port, list, found := strings.Cut(rest, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	if !ok || !found || host == "" || err != nil || n == 0 {
		return Given{}, wrong
	}
	g := Given{Host: lowerName(host), Port: uint16(n)}
	for part := range strings.SplitSeq(list, ",") {
		a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(part, "["), "]"))
		if err != nil {
			return Given{}, fmt.Errorf("holds %q, which is not an address", part)
		}
		g.Addrs = append(g.Addrs, a.Unmap())
	}
	return g, nil
}

// For reports whether it is about host at port.
func (g Given) For(host string, port uint16) bool {
	return g.Port == port && (g.Host == "*" || g.Host == host)
}
