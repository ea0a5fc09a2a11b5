package target

import (
	"fmt"
	"net/netip"
	"strings"
)

// mostSources bounds a list of source addresses, which every worker gets.
const mostSources = 4096

// ParseSources reads a list of addresses and ranges such as
// "10.0.0.5,10.0.0.10-10.0.0.19".
func ParseSources(list string) ([]netip.Addr, error) {
	var addrs []netip.Addr
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := netip.ParseAddr(from)
		last := first
		if err == nil && isRange {
			last, err = netip.ParseAddr(to)
		}
		if err != nil || first.Is4() != last.Is4() || last.Less(first) {
			return nil, fmt.Errorf("holds %q, which is not an address or a range of addresses", part)
		}
		for a := first; ; a = a.Next() {
			if addrs = append(addrs, a); len(addrs) > mostSources {
				return nil, fmt.Errorf("it names more than %d addresses", mostSources)
			}
			if a == last {
				break
			}
		}
	}
	return addrs, nil
}

// LoopbackSources returns addresses of 127.0.0.0/8, enough for so many
// connections at once to one target of which each has perPort ports.
func LoopbackSources(connections, perAddress int) []netip.Addr {
	var addrs []netip.Addr
	a := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	for ; connections > 0 && len(addrs) < mostSources; connections -= perAddress {
		addrs = append(addrs, a)
		a = a.Next()
	}
	return addrs
}
