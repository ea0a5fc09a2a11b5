package secure

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority signs certificates for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue makes a certificate for the names and addresses, signed by the
// authority, or by itself if there is none.
func (a *authority) issue(t testing.TB, adjust func(*x509.Certificate), hosts ...string) (tls.Certificate, *authority) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: len(hosts) == 0, BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if adjust != nil {
		adjust(template)
	}
	parent, signer := template, key
	if a != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, &authority{parsed, key}
}

func newAuthority(t testing.TB) *authority {
	_, a := (*authority)(nil).issue(t, nil)
	return a
}

// pem is the certificate for --cacert.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// keyPair is a certificate and its key as files have them.
func keyPair(t testing.TB, c tls.Certificate) (certificate, key []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// server plays a script on every connection, which it closes after that.
type server struct {
	listener net.Listener
	accepted atomic.Int64
	running  sync.WaitGroup
	stopped  chan struct{}
}

func listen(t testing.TB, script func(s *server, c *net.TCPConn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{listener: l, stopped: make(chan struct{})}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			over := make(chan struct{})
			s.running.Go(func() {
				select {
				case <-over:
				case <-s.stopped:
				}
				c.Close()
			})
			s.running.Go(func() {
				defer close(over)
				script(s, c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(s.stopped)
		s.running.Wait()
	})
	return s
}

func (s *server) address() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

// listenTLS plays a script inside of TLS; one that the client does not agree to
// is over with its handshake.
func listenTLS(t testing.TB, config *tls.Config, script func(*peer)) *server {
	return listen(t, func(s *server, c *net.TCPConn) {
		p := &peer{Conn: tls.Server(c, config), raw: c, stopped: s.stopped}
		if p.Handshake() == nil {
			p.in = bufio.NewReader(p.Conn)
			script(p)
		}
	})
}

// peer is the server's end of a session.
type peer struct {
	*tls.Conn
	raw     *net.TCPConn
	in      *bufio.Reader
	stopped <-chan struct{}
}

// request reads a request without a body; false at the end of the stream.
func (p *peer) request() bool {
	for {
		line, err := p.in.ReadString('\n')
		if err != nil || line == "\r\n" {
			return err == nil
		}
	}
}

func (p *peer) say(text string) { _, _ = io.WriteString(p.Conn, text) }

const (
	get   = "GET / HTTP/1.1\r\nHost: test\r\n\r\n"
	hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
)

// answerAll answers all requests and ends the session as it should be ended.
func answerAll(p *peer) {
	for p.request() {
		p.say(hello)
	}
	p.Close()
}
