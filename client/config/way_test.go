package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
)

// pemFiles writes a certificate and its key.
func pemFiles(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
	return certificate, key
}

func TestReadTLS(t *testing.T) {
	for _, row := range []struct {
		args []string
		want *client.TLS
	}{
		{[]string{"http://h/"}, nil},
		{[]string{"https://h/"}, &client.TLS{ServerName: "h", Host: "h"}},
		{[]string{"https://SHOP.test./"}, &client.TLS{ServerName: "shop.test", Host: "shop.test"}},
		{[]string{"https://127.0.0.1/"}, &client.TLS{Host: "127.0.0.1"}},
		{[]string{"https://[::1]/"}, &client.TLS{Host: "::1"}},
		{[]string{"https://[fe80::1%25lo]/"}, &client.TLS{Host: "fe80::1"}},
		{[]string{"-H", "Host: other", "https://h/"}, &client.TLS{ServerName: "h", Host: "h"}},
		{[]string{"--servername", "other", "https://127.0.0.1/"}, &client.TLS{ServerName: "other", Host: "other"}},
		{[]string{"--insecure", "--tls-resume", "https://h/"}, &client.TLS{ServerName: "h", Host: "h", Insecure: true, Resume: true}},
		{[]string{"--unix-socket", "/s", "https://h/"}, &client.TLS{ServerName: "h", Host: "h"}},
		{[]string{"-p", "proxy", "https://h/"}, &client.TLS{ServerName: "h", Host: "h"}},
	} {
		assert.Equal(t, row.want, mustRead(t, row.args...).Plan.TLS, "%v", row.args)
	}
	r := mustRead(t, "https://h/")
	assert.EqualValues(t, 443, r.Port)
	assert.Contains(t, string(r.Plan.Entries[0].Request), "Host: h\r\n")
	r = mustRead(t, "https://h:80/")
	assert.Contains(t, string(r.Plan.Entries[0].Request), "Host: h:80\r\n")
}

func TestReadCertificates(t *testing.T) {
	certificate, key := pemFiles(t)
	r := mustRead(t, "--cacert", certificate, "--cert", certificate, "--key", key, "https://h/")
	for file, got := range map[string][]byte{certificate: r.Plan.TLS.Certificate, key: r.Plan.TLS.Key} {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, r.Plan.TLS.Certificate, r.Plan.TLS.Roots)
}

func TestReadProxies(t *testing.T) {
	r := mustRead(t, "-p", "me:se@cret@proxy.test:3128", "http://h/")
	assert.Contains(t, string(r.Plan.Entries[0].Request), "\r\nProxy-Authorization: Basic bWU6c2VAY3JldA==\r\n")
	assert.Empty(t, r.Plan.Connect)
	assert.Equal(t, "proxy.test:3128", r.Facts.Proxy)
	r = mustRead(t, "-p", "me:secret@proxy.test:3128", "https://[::1]/x")
	assert.Equal(t, "proxy.test", r.Host)
	assert.True(t, strings.HasPrefix(string(r.Plan.Entries[0].Request), "GET /x HTTP/1.1\r\nHost: [::1]\r\n"))
	assert.NotContains(t, string(r.Plan.Entries[0].Request), "Proxy-")
	head, rest, _ := strings.Cut(string(r.Plan.Connect), "\r\n")
	assert.Equal(t, "CONNECT [::1]:443 HTTP/1.1", head)
	assert.Contains(t, rest, "Host: [::1]:443\r\n")
	assert.Contains(t, rest, "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n")
	assert.True(t, strings.HasSuffix(rest, "\r\n\r\n"))
	assert.NotContains(t, rest, "Content-Length")
}

func TestReadWhereToConnect(t *testing.T) {
	r := mustRead(t, "--resolve", "H:80:127.0.0.1,::1", "--resolve", "*:80:127.0.0.2", "http://h/")
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("127.0.0.2")}, r.Given)
	r = mustRead(t, "-6", "--resolve", "h:80:127.0.0.1,::1", "http://h/")
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("::1")}, r.Given)
	r = mustRead(t, "-p", "proxy:3128", "--resolve", "proxy:3128:127.0.0.1", "http://h/")
	assert.Len(t, r.Given, 1)
	r = mustRead(t, "--unix-socket", "/run/s", "--proxy-protocol", "v2", "http://h/")
	assert.Equal(t, "/run/s", r.Socket)
	assert.EqualValues(t, 2, r.Plan.ProxyProtocol)
	assert.EqualValues(t, 1, mustRead(t, "--proxy-protocol", "v1", "http://h/").Plan.ProxyProtocol)
}

func TestReadRefusesWays(t *testing.T) {
	certificate, key := pemFiles(t)
	_, otherKey := pemFiles(t)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no certificate"), 0o600))
	for _, row := range []struct {
		args         []string
		option, says string
	}{
		{[]string{"--insecure", "http://h/"}, "insecure", "is for https"},
		{[]string{"--tls-resume", "http://h/"}, "tls-resume", "is for https"},
		{[]string{"--servername", "h", "http://h/"}, "servername", "is for https"},
		{[]string{"--classic", "https://h/"}, "classic", "webbench knows no https"},
		{[]string{"--cacert", text, "https://h/"}, "cacert", "no certificate in it"},
		{[]string{"--cacert", text + "x", "https://h/"}, "cacert", "no such file"},
		{[]string{"--cacert", "/dev/null", "https://h/"}, "cacert", "is empty"},
		{[]string{"--cert", certificate, "https://h/"}, "cert", "no use without its key"},
		{[]string{"--key", key, "https://h/"}, "key", "no use without its certificate"},
		{[]string{"--cert", certificate, "--key", otherKey, "https://h/"}, "cert", "does not match"},
		{[]string{"--cert", text, "--key", key, "https://h/"}, "cert", "PEM"},
		{[]string{"--servername", "", "https://h/"}, "servername", "not a host name"},
		{[]string{"--servername", "127.0.0.1", "https://h/"}, "servername", "not a host name"},
		{[]string{"--servername", "a b", "https://h/"}, "servername", "not a host name"},
		{[]string{"-p", "me@proxy", "https://h/"}, "proxy", `"***@proxy"`},
		{[]string{"-p", "me:secret@proxy", "--classic", "http://h/"}, "proxy", "webbench has no user names"},
		{[]string{"--proxy-protocol", "v3", "http://h/"}, "proxy-protocol", "neither v1 nor v2"},
		{[]string{"--resolve", "h:80", "http://h/"}, "resolve", "HOST:PORT:ADDRESS"},
		{[]string{"--resolve", "h:80:x", "http://h/"}, "resolve", "not an address"},
		{[]string{"--resolve", "other:80:::1", "http://h/"}, "resolve", "is not about h:80"},
		{[]string{"--resolve", "h:81:::1", "http://h/"}, "resolve", "is not about h:80"},
		{[]string{"-4", "--resolve", "h:80:::1", "http://h/"}, "resolve", "family"},
		{[]string{"--unix-socket", "", "http://h/"}, "unix-socket", "not the path"},
		{[]string{"--unix-socket", "/s", "-4", "http://h/"}, "4", "together with"},
		{[]string{"--unix-socket", "/s", "--source", "127.0.0.1", "http://h/"}, "source", "together with"},
		{[]string{"--unix-socket", "/s", "--resolve", "h:80:::1", "http://h/"}, "resolve", "together with"},
		{[]string{"--unix-socket", "/s", "-p", "proxy", "http://h/"}, "proxy", "together with"},
	} {
		_, err := read(t, row.args...)
		var usage *Usage
		if assert.ErrorAs(t, err, &usage, "%v", row.args) {
			assert.Equal(t, row.option, usage.Option, "%v: %v", row.args, err)
			assert.Contains(t, err.Error(), row.says)
			assert.NotContains(t, err.Error(), "secret")
		}
	}
}
