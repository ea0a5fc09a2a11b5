package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secureServer is net/http over TLS, for localhost and its addresses.
type secureServer struct {
	addr, certificate string // where it listens, and the file of its certificate
	requests          atomic.Uint64
	resumed           atomic.Uint64
	names             sync.Map
}

func serveTLS(t *testing.T) *secureServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost", "shop.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	s := &secureServer{certificate: filepath.Join(t.TempDir(), "cert.pem")}
	require.NoError(t, os.WriteFile(s.certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.addr = l.Addr().String()
	own := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.requests.Add(1)
			_, _ = io.WriteString(w, "hello")
		}),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{own},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			s.names.Store(hello.ServerName, true)
			return nil, nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			if state.DidResume {
				s.resumed.Add(1)
			}
			return nil
		},
	}
	go func() { _ = server.Serve(tls.NewListener(l, config)) }()
	t.Cleanup(func() { server.Close() })
	return s
}

func (s *secureServer) url(host string) string {
	_, port, _ := net.SplitHostPort(s.addr)
	return "https://" + net.JoinHostPort(host, port) + "/"
}

func (s *secureServer) told() (names []string) {
	s.names.Range(func(name, _ any) bool {
		names = append(names, name.(string))
		return true
	})
	return names
}

// secureFacts are the fields of a result that only https has.
type secureFacts struct {
	Plan struct {
		Address, Proxy string
		TLS            *struct{ ServerName, Version, Cipher, KeyExchange *string }
	}
	Connections struct {
		Opened  uint64
		Resumed uint64 `json:"resumed_sessions"`
	}
	Latency struct{ Handshake *struct{ Count uint64 } }
}

func (o *outcome) secure() secureFacts {
	o.t.Helper()
	var facts secureFacts
	require.NoError(o.t, json.Unmarshal([]byte(o.stdout), &facts))
	require.NotNil(o.t, facts.Plan.TLS)
	require.NotNil(o.t, facts.Latency.Handshake)
	return facts
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, host string
		told       string // the name the server is told
		args       []string
		handshakes uint64
	}{
		{"a process for each client", "localhost", "localhost", []string{"-c", "6", "-n", "60"}, 60},
		{"one process, kept open", "localhost", "localhost", []string{"-c", "20", "-n", "400", "-w", "1", "-k"}, 20},
		{"a process for each client, kept open", "localhost", "localhost", []string{"-c", "4", "-n", "40", "-k"}, 4},
		{"an address is not told", "127.0.0.1", "", []string{"-c", "2", "-n", "10"}, 10},
		{"the Host line changes nothing", "localhost", "localhost", []string{"-c", "2", "-n", "10", "-H", "Host: a.test"}, 10},
		{"another name", "127.0.0.1", "shop.test", []string{"-c", "2", "-n", "10", "--servername", "shop.test"}, 10},
		{"any certificate", "localhost", "localhost", []string{"-c", "2", "-n", "10", "--insecure"}, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := serveTLS(t)
			args := append(row.args, "--json", "-4", s.url(row.host))
			if !strings.Contains(strings.Join(args, " "), "--insecure") {
				args = append(args, "--cacert", s.certificate)
			}
			o := run(t, args...)
			assert.Equal(t, 0, o.code)
			o.counts(s.requests.Load(), 0, 0)
			facts := o.secure()
			assert.Equal(t, row.handshakes, facts.Latency.Handshake.Count)
			assert.Equal(t, row.handshakes, facts.Connections.Opened)
			assert.Zero(t, facts.Connections.Resumed)
			assert.Zero(t, s.resumed.Load())
			assert.Equal(t, []string{row.told}, s.told())
			assert.Equal(t, "TLS 1.3", *facts.Plan.TLS.Version)
		})
	}
}

func TestResumedSessionsAreCountedOnBothSides(t *testing.T) {
	t.Parallel()
	s := serveTLS(t)
	o := run(t, "-c", "2", "-n", "40", "--tls-resume", "--json", "--cacert", s.certificate, s.url("127.0.0.1"))
	o.counts(40, 0, 0)
	facts := o.secure()
	assert.Equal(t, s.resumed.Load(), facts.Connections.Resumed)
	assert.EqualValues(t, 38, facts.Connections.Resumed, "all but the first of each process")
}

func TestCertificateThatIsNotAcceptedIsSaidOnce(t *testing.T) {
	t.Parallel()
	s := serveTLS(t)
	for _, row := range []struct{ host, says string }{{"localhost", "unknown authority"}, {"127.0.0.1", "unknown authority"}} {
		o := run(t, "-c", "10", "-t", "3", "-4", s.url(row.host))
		assert.Equal(t, 1, o.code)
		assert.Equal(t, 1, strings.Count(o.everything(), "certificate not accepted"), o.everything())
		assert.Contains(t, o.stderr, row.says)
		assert.Less(t, o.wall, 2*time.Second)
	}
	o := run(t, "-c", "2", "-t", "3", "--cacert", s.certificate, "--servername", "other.test", s.url("127.0.0.1"))
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stderr, "other.test")
	assert.Zero(t, s.requests.Load())
}

func TestPlainServerBehindAnHTTPSURL(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, thenClose("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
	o := run(t, "-c", "3", "-n", "12", "--json", "https://"+s.addr+"/")
	assert.Equal(t, 1, o.code)
	o.json()
	assert.Zero(t, o.Requests.Succeeded)
	for _, f := range o.Failures {
		assert.True(t, strings.HasPrefix(f.Class, "tls_"), f.Class)
		assert.Equal(t, "handshaking", f.Phase)
	}
	assert.EqualValues(t, 12, o.Requests.Failed)
}

// What a plain worker does not need is not initialised in it.
func TestPlainWorkerInitialisesNoTLS(t *testing.T) {
	t.Parallel()
	trace := func(args ...string) string {
		cmd := exec.Command(horde)
		cmd.Args = args
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var said bytes.Buffer
		cmd.Stderr = &said
		control, err := os.Open(os.DevNull)
		require.NoError(t, err)
		defer control.Close()
		report, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		require.NoError(t, err)
		defer report.Close()
		cmd.ExtraFiles = []*os.File{control, report} // a worker that is told nothing ends
		_ = cmd.Run()
		require.Contains(t, said.String(), "init runtime @")
		return said.String()
	}
	for _, late := range []string{"init net @", "init crypto/tls @", "init crypto/x509 @", "init github.com/urfave/cli/v2 @"} {
		assert.NotContains(t, trace("horde-worker", "0"), late)
	}
	assert.Contains(t, trace("horde-worker", "0", "tls"), "init crypto/tls @", "or the above says nothing")
}
