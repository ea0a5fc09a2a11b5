package config

import (
	"net/netip"
	"os"
	"strings"

	"horde/client"
	"horde/client/secure"
	"horde/client/target"
)

// secured are the options that say how to secure a connection.
var secured = [...]string{"insecure", "cacert", "cert", "key", "servername", "tls-resume"}

// tls reads how connections to link are to be secured, nil if they are not.
func (b *builder) tls(link target.URL) *client.TLS {
	if !link.Secure {
		for _, option := range secured {
			if b.values.IsSet(option) {
				b.wrong(option, "the URL must begin with https://", "is for https, and this URL is not")
			}
		}
		return nil
	}
	name := link.Host
	if b.values.IsSet("servername") {
		name = b.values.String("servername")
	}
	t := &client.TLS{
		ServerName: serverName(name), Host: withoutZone(name),
		Insecure: b.values.Bool("insecure"), Resume: b.values.Bool("tls-resume"),
		Roots: b.file("cacert"), Certificate: b.file("cert"), Key: b.file("key"),
	}
	switch {
	case b.values.IsSet("servername") && (t.ServerName == "" || strings.ContainsFunc(name, unfit)):
		b.wrong("servername", "", "%q is not a host name", name)
	case b.values.IsSet("cert") != b.values.IsSet("key"):
		b.pair()
	}
	b.readable(t)
	return t
}

func (b *builder) pair() {
	if b.values.IsSet("cert") {
		b.wrong("cert", "give its private key with --key", "is no use without its key")
		return
	}
	b.wrong("key", "give its certificate with --cert", "is no use without its certificate")
}

// readable finds the option whose file does not hold what it should.
func (b *builder) readable(t *client.TLS) {
	if b.err != nil {
		return
	}
	if _, err := secure.New(&client.TLS{Roots: t.Roots}); err != nil {
		b.wrong("cacert", "it must be PEM", "%q: %v", b.values.String("cacert"), err)
	}
	if _, err := secure.New(&client.TLS{Certificate: t.Certificate, Key: t.Key}); err != nil {
		b.wrong("cert", "certificate and key must be PEM", "%q with --key %q: %v", b.values.String("cert"), b.values.String("key"), err)
	}
}

// file reads what an option names; nil if it was not given.
func (b *builder) file(option string) []byte {
	if !b.values.IsSet(option) {
		return nil
	}
	data, err := os.ReadFile(b.values.String(option))
	switch {
	case err != nil:
		b.wrong(option, "", "%v", err)
	case len(data) == 0:
		b.wrong(option, "", "%q is empty", b.values.String(option))
	}
	return data
}

// serverName is the name for the server: none where it would be an address
// (RFC 6066 section 3), and without the dot of a full name.
func serverName(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return strings.TrimSuffix(host, ".")
}

func withoutZone(host string) string {
	host, _, _ = strings.Cut(host, "%")
	return strings.TrimSuffix(host, ".")
}

// unfit finds what no host name holds.
func unfit(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("/:@[]", r) }
