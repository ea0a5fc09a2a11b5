// Package secure is TLS for a client: crypto/tls, over whatever reads and
// writes. Only what runs against https links it into its path: a worker for
// plain http has begun its life before crypto/tls and net are initialised.
package secure

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"horde/client"
	"horde/stats"
)

// groups are the key exchanges offered, the first one with a share (RFC 8446
// section 4.2.7). crypto/tls would offer a post-quantum hybrid first, as
// browsers do; that doubles what a handshake costs this end, and few peers of
// this program offer it, so results would not compare.
var groups = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// Crypto makes the sessions of one worker, or those of the parent before a run.
type Crypto struct {
	config   *tls.Config
	asked    client.TLS
	roots    *x509.CertPool // nil until a chain is to be verified
	verified [][]byte
	last     *tls.Conn
}

// New reads the certificates and the key.
func New(asked *client.TLS) (*Crypto, error) {
	c := &Crypto{asked: *asked, verified: asked.Verified}
	c.config = &tls.Config{
		ServerName: asked.ServerName, NextProtos: []string{"http/1.1"}, CurvePreferences: groups,
		// Chains are verified below, one that has been found good not again.
		InsecureSkipVerify:          true,
		DynamicRecordSizingDisabled: true,
		SessionTicketsDisabled:      !asked.Resume,
	}
	if !asked.Insecure {
		c.config.VerifyPeerCertificate = c.verify
	}
	if asked.Resume {
		c.config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	if len(asked.Roots) > 0 {
		if c.roots = x509.NewCertPool(); !c.roots.AppendCertsFromPEM(asked.Roots) {
			return nil, errors.New("there is no certificate in it")
		}
	}
	if len(asked.Certificate) > 0 {
		own, err := tls.X509KeyPair(asked.Certificate, asked.Key)
		if err != nil {
			return nil, err
		}
		c.config.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// verify refuses a chain that does not lead to a trusted root, is out of date
// or stands for another host.
func (c *Crypto) verify(chain [][]byte, _ [][]*x509.Certificate) error {
	if slices.EqualFunc(chain, c.verified, bytes.Equal) {
		return nil
	}
	if c.roots == nil {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return fmt.Errorf("%w: %w", errVerify, err)
		}
		c.roots = roots
	}
	options := x509.VerifyOptions{DNSName: c.asked.Host, Roots: c.roots, Intermediates: x509.NewCertPool(), CurrentTime: time.Now()}
	leaf, err := parse(chain, options.Intermediates)
	if err == nil {
		_, err = leaf.Verify(options)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errVerify, err)
	}
	c.verified = chain
	return nil
}

// parse returns the first certificate and adds the others to a pool.
func parse(chain [][]byte, others *x509.CertPool) (leaf *x509.Certificate, err error) {
	for i := len(chain) - 1; i >= 0; i-- {
		if leaf, err = x509.ParseCertificate(chain[i]); err != nil {
			return nil, err
		}
		if i > 0 {
			others.AddCert(leaf)
		}
	}
	return leaf, nil
}

var errVerify = errors.New("certificate not accepted")

// Open begins a session.
func (c *Crypto) Open(connection io.ReadWriter) client.Session {
	c.last = tls.Client(wire{connection}, c.config)
	return session{c.last, c.asked.Resume}
}

// Verified returns the chain that was found good last, in DER.
func (c *Crypto) Verified() [][]byte { return c.verified }

// Facts says how the last session was secured.
func (c *Crypto) Facts() *stats.TLS {
	f := &stats.TLS{ServerName: c.asked.ServerName, Verified: !c.asked.Insecure, Resume: c.asked.Resume}
	for _, group := range groups {
		f.Offered = append(f.Offered, group.String())
	}
	if c.last == nil {
		return f
	}
	if s := c.last.ConnectionState(); s.HandshakeComplete {
		f.Version, f.Cipher, f.Protocol = tls.VersionName(s.Version), tls.CipherSuiteName(s.CipherSuite), s.NegotiatedProtocol
		if s.CurveID != 0 {
			f.Group = s.CurveID.String()
		}
	}
	return f
}

// Class says what an error of a session means. An alert of ours says what is
// wrong with the peer.
func (c *Crypto) Class(err error) stats.Class {
	var errno syscall.Errno
	var operation *net.OpError
	switch {
	case errors.Is(err, errVerify):
		return stats.TLSVerify
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &errno):
		return stats.TLSClosed
	case errors.As(err, &operation) && operation.Op == "remote error":
		return stats.TLSAlert
	}
	return stats.TLSBad
}

type session struct {
	*tls.Conn
	resume bool
}

func (s session) Handshake() (resumed bool, err error) {
	err = s.Conn.Handshake()
	return err == nil && s.resume && s.ConnectionState().DidResume, err
}

// wire is what crypto/tls takes for a connection. Who made it closes it, and
// knows when its time is up.
type wire struct{ io.ReadWriter }

func (wire) Close() error                     { return nil }
func (wire) LocalAddr() net.Addr              { return address{} }
func (wire) RemoteAddr() net.Addr             { return address{} }
func (wire) SetDeadline(time.Time) error      { return nil }
func (wire) SetReadDeadline(time.Time) error  { return nil }
func (wire) SetWriteDeadline(time.Time) error { return nil }

// address is the name under which sessions with the one server of a run are kept.
type address struct{}

func (address) Network() string { return "" }
func (address) String() string  { return "server" }
