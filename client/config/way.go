package config

import (
	"errors"
	"net/netip"

	"horde/client/target"
)

// way reads how to get to Host and Port. It comes after they are known.
func (b *builder) way(r *Run) {
	r.Socket = value(b, "unix-socket", "", func(path string) (string, error) { return path, target.CheckSocket(path) })
	r.Plan.ProxyProtocol = value(b, "proxy-protocol", 0, parseProxyProtocol)
	r.Facts.ProxyProtocol = int(r.Plan.ProxyProtocol)
	for _, text := range b.values.StringSlice("resolve") {
		g, err := target.ParseGiven(text)
		switch {
		case err != nil:
			b.wrong("resolve", "", "%q %v", text, err)
		case !g.For(r.Host, r.Port):
			b.wrong("resolve", "", "%q is not about %s, to which this run connects", text, hostPort(r))
		}
		r.Given = append(r.Given, ofFamily(r.Family, g.Addrs)...)
	}
	if b.values.IsSet("resolve") && len(r.Given) == 0 {
		b.wrong("resolve", "", "gives no address of the family asked for")
	}
}

func hostPort(r *Run) string { return target.URL{Host: r.Host, Port: r.Port}.HostPort() }

func ofFamily(family target.Family, all []netip.Addr) []netip.Addr {
	var some []netip.Addr
	for _, a := range all {
		if family.Allows(a.String()) {
			some = append(some, a)
		}
	}
	return some
}

func parseProxyProtocol(s string) (uint8, error) {
	switch s {
	case "v1", "1":
		return 1, nil
	case "v2", "2":
		return 2, nil
	}
	return 0, errors.New("is neither v1 nor v2")
}
