package doctor

import (
	"net/netip"

	"horde/client/config"
)

// For is what matters of a run as asked for, towards a target that is not
// known yet.
func For(asked *config.Run) Plan {
	return Plan{
		Clients: asked.Plan.Clients, Workers: asked.Workers, PerClient: asked.Facts.Workers == config.PerClient,
		Pinned: asked.Pin != "none", BodySize: asked.Plan.Size(),
		Requests: asked.Plan.Requests, Rate: asked.Facts.RatePerSec, Duration: asked.Plan.Duration,
		Ramp: asked.Facts.Ramp, KeepAlive: asked.Facts.KeepAlive, Sources: max(1, len(asked.Sources)),
	}
}

// Towards names the target, where it is, and how many addresses connect to it.
func (p *Plan) Towards(target string, address netip.AddrPort, here bool, sources int) {
	p.Target, p.Port, p.Local, p.Sources = target, int(address.Port()), here, max(1, sources)
}
