package report

import (
	"fmt"
	"slices"

	"horde/stats"
)

// targetWords says what was loaded and how it was come to. Of several addresses
// of a name a run uses one, the first that took a connection.
func targetWords(p *stats.PlanFacts) string {
	s := ascii(p.URL)
	switch {
	case p.Proxy != "":
		s += " through the proxy " + ascii(p.Proxy)
		if p.Proxy != p.Address && p.Address != "" {
			s += " at " + ascii(p.Address)
		}
	default:
		s += " at " + ascii(p.Address)
	}
	if n := len(p.Tried); n > 1 {
		s += fmt.Sprintf(" (%d of %d addresses, the first to take a connection)", slices.Index(p.Tried, p.Address)+1, n)
	}
	if p.ProxyProtocol > 0 {
		s += fmt.Sprintf(", PROXY protocol v%d first", p.ProxyProtocol)
	}
	return s
}
