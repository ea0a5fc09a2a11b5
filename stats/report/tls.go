package report

import (
	"fmt"
	"strings"

	"horde/stats"
	"horde/stats/units"
)

// TLS is how connections were secured; what the handshake before the run did
// not come to agree on is nil.
type TLS struct {
	ServerName *string  `json:"servername"`
	Verified   bool     `json:"verified"`
	Resume     bool     `json:"resume"`
	Offered    []string `json:"key_exchanges_offered"` // the first with a key share
	Version    *string  `json:"version"`
	Cipher     *string  `json:"cipher"`
	Group      *string  `json:"key_exchange"`
	Protocol   *string  `json:"alpn"`
}

func newTLS(t *stats.TLS) *TLS {
	if t == nil {
		return nil
	}
	return &TLS{
		ServerName: some(t.ServerName), Verified: t.Verified, Resume: t.Resume, Offered: filled(t.Offered),
		Version: some(t.Version), Cipher: some(t.Cipher), Group: some(t.Group), Protocol: some(t.Protocol),
	}
}

// facts is the reverse of newTLS.
func (t *TLS) facts() *stats.TLS {
	if t == nil {
		return nil
	}
	return &stats.TLS{
		ServerName: zero(t.ServerName), Verified: t.Verified, Resume: t.Resume, Offered: t.Offered,
		Version: zero(t.Version), Cipher: zero(t.Cipher), Group: zero(t.Group), Protocol: zero(t.Protocol),
	}
}

// secured says what a handshake of the run was made of.
func (p *page) secured(r *stats.Run) {
	t := r.Plan.TLS
	if t == nil {
		return
	}
	var parts []string
	if t.Version == "" {
		parts = append(parts, "no handshake before the run")
	} else {
		parts = append(parts, t.Version, t.Cipher)
		if t.Group != "" {
			parts = append(parts, "key exchange "+t.Group)
		}
	}
	parts = append(parts, nameWords(t))
	if t.Verified {
		parts = append(parts, "certificate verified")
	} else {
		parts = append(parts, "any certificate taken")
	}
	p.row("TLS", "%s", ascii(strings.Join(parts, ", ")))
}

func nameWords(t *stats.TLS) string {
	if t.ServerName == "" {
		return "no server name sent"
	}
	return "server name " + t.ServerName
}

// handshakes counts the full ones and those that were spared.
func (p *page) handshakes(r *stats.Run) {
	if r.Plan.TLS == nil {
		return
	}
	t := &r.Tally
	made := fmt.Sprintf("%s made, %s of them resumed a session", units.Count(t.Handshake.Count()), units.Count(t.Resumed))
	if !r.Plan.TLS.Resume {
		made = fmt.Sprintf("%s made, all of them full", units.Count(t.Handshake.Count()))
	}
	p.row("Handshakes", "%s", made)
}
