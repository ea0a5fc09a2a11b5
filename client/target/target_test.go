package target

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	for _, row := range []struct {
		name, url  string
		host       string
		port       uint16
		path       string
		hostHeader string
	}{
		{"a port that is not the default goes into Host", "http://127.0.0.1:8080/", "127.0.0.1", 8080, "/", "127.0.0.1:8080"},
		{"the default port does not", "http://127.0.0.1:80/", "127.0.0.1", 80, "/", "127.0.0.1"},
		{"no port is the default", "http://example.test/", "example.test", 80, "/", "example.test"},
		{"an empty port is the default", "http://example.test:/x", "example.test", 80, "/x", "example.test"},
		{"the largest port", "http://h:65535/", "h", 65535, "/", "h:65535"},
		{"zeros before a port", "http://h:0080/", "h", 80, "/", "h"},
		{"an IPv6 literal keeps its brackets", "http://[::1]:8080/x", "::1", 8080, "/x", "[::1]:8080"},
		{"an IPv6 literal without a port", "http://[::1]", "::1", 80, "/", "[::1]"},
		{"an IPv6 literal with an empty port", "http://[::1]:/", "::1", 80, "/", "[::1]"},
		{"an IPv6 literal in capitals", "http://[2001:DB8::A]/", "2001:db8::a", 80, "/", "[2001:db8::a]"},
		{"an IPv4 address in an IPv6 literal", "http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", 80, "/", "[::ffff:127.0.0.1]"},
		{"a zone is not sent", "http://[fe80::1%25lo]:8080/", "fe80::1%lo", 8080, "/", "[fe80::1]:8080"},
		{"a zone as people type it", "http://[fe80::1%lo]:8080/", "fe80::1%lo", 8080, "/", "[fe80::1]:8080"},
		{"a zone keeps its case", "http://[FE80::1%25Eth0]/", "fe80::1%Eth0", 80, "/", "[fe80::1]"},
		{"a zone that is a number", "http://[fe80::1%253]/", "fe80::1%3", 80, "/", "[fe80::1]"},
		{"a name in capitals", "http://LOCALHOST:8080/", "localhost", 8080, "/", "localhost:8080"},
		{"a scheme in capitals", "HTTP://h/", "h", 80, "/", "h"},
		{"no path", "http://127.0.0.1:8080", "127.0.0.1", 8080, "/", "127.0.0.1:8080"},
		{"a query without a slash", "http://127.0.0.1:8080?key=val", "127.0.0.1", 8080, "/?key=val", "127.0.0.1:8080"},
		{"an empty query", "http://h?", "h", 80, "/?", "h"},
		{"nothing is decoded", "http://127.0.0.1:8080/a%2Fb?x=%20y&z", "127.0.0.1", 8080, "/a%2Fb?x=%20y&z", "127.0.0.1:8080"},
		{"line breaks that are encoded stay so", "http://h/a%0d%0aX-B:%202", "h", 80, "/a%0d%0aX-B:%202", "h"},
		{"nothing is tidied up", "http://h//a/../b/./c;p?", "h", 80, "//a/../b/./c;p?", "h"},
		{"bytes beyond ASCII", "http://h/bücher", "h", 80, "/bücher", "h"},
		{"bytes that are no UTF-8", "http://h/\xff\xfe", "h", 80, "/\xff\xfe", "h"},
		{"a fragment is not sent", "http://h/a?b#c?d", "h", 80, "/a?b", "h"},
		{"a fragment without a path", "http://h#c", "h", 80, "/", "h"},
		{"no scheme is http", "127.0.0.1:8080/", "127.0.0.1", 8080, "/", "127.0.0.1:8080"},
		{"no scheme, a name", "localhost", "localhost", 80, "/", "localhost"},
		{"no scheme, a literal", "[::1]:8080/x", "::1", 8080, "/x", "[::1]:8080"},
		{"a URL in the query", "h/?u=http://x/", "h", 80, "/?u=http://x/", "h"},
		{"a URL in the query of no path", "h?u=ftp://x/", "h", 80, "/?u=ftp://x/", "h"},
		{"a URL in the fragment", "h#http://x/", "h", 80, "/", "h"},
		{"an at sign in the path", "http://h/@me", "h", 80, "/@me", "h"},
		{"a colon in the path", "http://h/a:b", "h", 80, "/a:b", "h"},
		{"a percent sign in a name is not a zone", "http://ex%41mple/", "ex%41mple", 80, "/", "ex%41mple"},
		{"a host named like a scheme", "http/x", "http", 80, "/x", "http"},
		{"a path of 100,000 bytes is whole", "http://h/" + long, "h", 80, "/" + long, "h"},
	} {
		t.Run(row.name, func(t *testing.T) {
			u, err := Parse(row.url)
			require.NoError(t, err)
			assert.Equal(t, row.host, u.Host)
			assert.Equal(t, row.port, u.Port)
			assert.Equal(t, row.path, u.Path)
			assert.Equal(t, row.hostHeader, u.HostHeader())
			assert.Contains(t, row.url, u.Authority)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, row := range []struct{ name, url, says string }{
		{"nothing", "", "is empty"},
		{"a space", "http://h/a b", "byte 10"},
		{"a space before it", " http://h/", "byte 0"},
		{"a line break", "http://h/\r\nX: 1", "byte 9"},
		{"a NUL", "http://h/\x00", "byte 9"},
		{"a tab", "http://h/\t", "control character"},
		{"a DEL", "http://h/\x7f", "control character"},
		{"a line break in the host", "http://h\r\n/", "control character"},
		{"a line break in the fragment", "http://h/#\n", "control character"},
		{"a scheme of another kind", "ftp://127.0.0.1/", `"ftp" is not supported`},
		{"no scheme before the colon", "://h/", "not supported"},
		{"no host", "http://", "host is missing"},
		{"no host but a path", "http:///x", "host is missing"},
		{"no host but a query", "http://?x", "host is missing"},
		{"no host but a port", "http://:80/", "host is missing"},
		{"a path alone", "/x", "host is missing"},
		{"one slash", "http:/x", "two slashes"},
		{"one slash before a host", "http:/127.0.0.1:8080/", "two slashes"},
		{"one slash, in capitals", "HTTPS:/h/", "two slashes"},
		{"no slash", "http:127.0.0.1:8080", "must stand in brackets"},
		{"port 0", "http://h:0/", `"0" is not a port`},
		{"port 65536", "http://h:65536/", `"65536" is not a port`},
		{"a port with a sign", "http://h:+80/", `"+80" is not a port`},
		{"a port below 0", "http://h:-1/", `"-1" is not a port`},
		{"a port that is a word", "http://h:http/", `"http" is not a port`},
		{"a port in hexadecimal", "http://h:0x50/", "is not a port"},
		{"a port too long for any number", "http://h:99999999999999999999/", "is not a port"},
		{"a user name", "http://me@h/", "--auth"},
		{"a user name and password", "http://me:secret@h/", "--auth"},
		{"an IPv6 address without brackets", "http://::1:8080/", "brackets"},
		{"a bracket that is not closed", "http://[::1/", "not closed"},
		{"brackets around an IPv4 address", "http://[127.0.0.1]/", "not an IPv6 address"},
		{"brackets around a name", "http://[localhost]/", "not an IPv6 address"},
		{"brackets around nothing", "http://[]/", "not an IPv6 address"},
		{"a zone without a name", "http://[fe80::1%25]/", "not an IPv6 address"},
		{"a word after the brackets", "http://[::1]x/", "is not a port"},
		{"a number after the brackets", "http://[::1]80/", "is not a port"},
		{"two ports", "http://[::1]:80:81/", "is not a port"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Parse(row.url)
			require.Error(t, err)
			assert.Contains(t, err.Error(), row.says)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestAMessageAboutALongURLIsShort(t *testing.T) {
	_, err := Parse("http://h:0/" + strings.Repeat("a", 100_000))
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 150)
}

func TestParseProxy(t *testing.T) {
	for _, row := range []struct {
		text string
		want Proxy
	}{
		{"proxy:3128", Proxy{"proxy", 3128, ""}},
		{"proxy", Proxy{"proxy", 80, ""}},
		{"PROXY:3128", Proxy{"proxy", 3128, ""}},
		{"http://proxy:3128", Proxy{"proxy", 3128, ""}},
		{"127.0.0.1:8080", Proxy{"127.0.0.1", 8080, ""}},
		{"[::1]:8080", Proxy{"::1", 8080, ""}},
		{"[::1]", Proxy{"::1", 80, ""}},
		{"me:secret@proxy:3128", Proxy{"proxy", 3128, "me:secret"}},
		{"http://me:secret@[::1]:3128", Proxy{"::1", 3128, "me:secret"}},
		{"me:@proxy", Proxy{"proxy", 80, "me:"}},
		{"me:s/e:c@r?t#@proxy", Proxy{"proxy", 80, "me:s/e:c@r?t#"}},
	} {
		got, err := ParseProxy(row.text)
		require.NoError(t, err, row.text)
		assert.Equal(t, row.want, got)
	}
	for _, text := range []string{
		"", ":", ":80", "proxy:", "[::1]:", "::1", "proxy:0", "proxy:65536", "proxy:+80", "proxy:x", "pro xy:80", "proxy:80\r\n",
		"http://", "http://proxy/", "http://:80", "https://proxy:80", "user@proxy:80", ":word@proxy:80", "user:word@", "user:word@:80", "proxy/x", "proxy?x", "proxy#x", "[::1", "[x]:80",
	} {
		_, err := ParseProxy(text)
		assert.Error(t, err, "%q", text)
	}
}

func FuzzParse(f *testing.F) {
	for _, url := range []string{
		"", "http://127.0.0.1:8080/", "http://[fe80::1%25lo]:80?x#y", "h", "h:1", "ftp://h", "http:/x", "http://h:+8/", "http://a%0d%0ab/",
		"[::1]80", "h?u=http://x", "http://me@h", "#", "?", ":", "[", "]", "[]:", "http://\xff:1/\xff",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			assert.Equal(t, URL{}, u)
			return
		}
		assert.NotEmpty(t, u.Host)
		assert.NotZero(t, u.Port)
		assert.True(t, strings.HasPrefix(u.Path, "/"), u.Path)
		for _, sent := range []string{u.Path, u.Authority, u.Host, u.HostHeader()} {
			assert.Negative(t, strings.IndexFunc(sent, unsendable), "%q", sent)
		}
		assert.NotContains(t, u.Path, "#")
		assert.Contains(t, text, strings.TrimPrefix(u.Path, "/"), "bytes as typed")
		assert.NotContains(t, u.Authority, "/")

		again, err := Parse("http://" + u.Authority + u.Path)
		require.NoError(t, err, "what goes to a proxy is a URL")
		assert.Equal(t, u, again)
	})
}

func FuzzParseProxy(f *testing.F) {
	for _, text := range []string{"", "h", "h:1", "[::1]:80", "http://h:1", "h:", ":1", "[", "a@b:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProxy(text)
		if err != nil {
			return
		}
		assert.NotEmpty(t, p.Host)
		assert.NotZero(t, p.Port)
		assert.Negative(t, strings.IndexFunc(p.Host, unsendable))
	})
}
