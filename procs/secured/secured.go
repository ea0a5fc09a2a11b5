// Package secured makes workers for https of this program: importing it is
// enough (see procs.Secured).
package secured

import (
	"horde/client"
	"horde/client/secure"
	"horde/procs"
)

func init() {
	procs.Secured(func(t *client.TLS) (client.Crypto, error) { return secure.New(t) })
}
