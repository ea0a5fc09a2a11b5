// Package target is where a URL points: it is read, its name resolved and the
// address tried once per run, in the parent. Workers get an Address.
package target

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// URL is what to connect to and what to ask for. The bytes of Path are those
// the user typed.
type URL struct {
	Secure    bool   // https
	Authority string // host and port as typed
	Host      string // name or literal, lower case, without brackets and port
	Port      uint16
	Path      string // origin-form, with the query
}

// Parse reads an http or https URL (RFC 3986, RFC 9110 section 4.2.1). Without a
// scheme, http is assumed. The fragment is not sent. Nothing is decoded or
// encoded; bytes that cannot stand in a request line are refused.
func Parse(text string) (URL, error) {
	if text == "" {
		return URL{}, errors.New("the URL is empty")
	}
	if i := strings.IndexFunc(text, unsendable); i >= 0 {
		return URL{}, fmt.Errorf("URL %q holds a space or control character at byte %d", shorten(text), i)
	}
	var t URL
	rest, secure, err := trimScheme(text)
	if err != nil {
		return URL{}, err
	}
	t.Secure = secure
	rest, _, _ = strings.Cut(rest, "#")
	authority, path := rest, "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if path[0] == '?' {
		path = "/" + path
	}
	t.Authority, t.Path = authority, path
	if strings.Contains(authority, "@") {
		return URL{}, fmt.Errorf("URL %q holds a user name, which is sent with --auth", shorten(text))
	}
	t.Host, t.Port, err = splitHostPort(authority, t.defaultPort())
	if err != nil {
		return URL{}, fmt.Errorf("URL %q: %w", shorten(text), err)
	}
	return t, nil
}

func (t URL) defaultPort() uint16 {
	if t.Secure {
		return 443
	}
	return 80
}

func unsendable(r rune) bool { return r <= ' ' || r == 0x7f }

// shorten keeps a message readable when what was typed is very long.
func shorten(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}

func trimScheme(text string) (rest string, secure bool, err error) {
	i := strings.Index(text, "://")
	if i < 0 || strings.ContainsAny(text[:i], "/?#") {
		return text, false, checkSlashes(text)
	}
	switch scheme := text[:i]; strings.ToLower(scheme) {
	case "http":
		return text[i+3:], false, nil
	case "https":
		return text[i+3:], true, nil
	default:
		return "", false, fmt.Errorf("URL %q: scheme %q is not supported, only http and https are", shorten(text), scheme)
	}
}

// checkSlashes refuses http:/host, which would be a host named http.
func checkSlashes(text string) error {
	scheme, _, found := strings.Cut(text, ":/")
	if found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		return fmt.Errorf("URL %q: two slashes must follow %q", shorten(text), scheme+":")
	}
	return nil
}

// splitHostPort reads host, host:port, [v6] or [v6]:port.
func splitHostPort(s string, port uint16) (string, uint16, error) {
	host, rest := s, ""
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", 0, errors.New("a bracket is not closed")
		}
		host, rest = s[1:end], s[end+1:]
		if host = unescapeZone(host); !isIPv6(host) {
			return "", 0, fmt.Errorf("%q is not an IPv6 address", host)
		}
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, rest = s[:i], s[i:]
		if strings.Contains(rest[1:], ":") {
			return "", 0, errors.New("an IPv6 address must stand in brackets")
		}
	}
	if host == "" {
		return "", 0, errors.New("the host is missing")
	}
	if rest == "" || rest == ":" {
		return lowerName(host), port, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(rest, ":"), 10, 16)
	if err != nil || n == 0 || rest[0] != ':' || rest[1] == '+' {
		return "", 0, fmt.Errorf("%q is not a port", strings.TrimPrefix(rest, ":"))
	}
	return lowerName(host), uint16(n), nil
}

// unescapeZone accepts the zone as RFC 6874 writes it (%25) and as people do (%).
func unescapeZone(host string) string { return strings.Replace(host, "%25", "%", 1) }

// lowerName leaves the zone alone: interface names have a case.
func lowerName(host string) string {
	name, zone, found := strings.Cut(host, "%")
	if !found {
		return strings.ToLower(host)
	}
	return strings.ToLower(name) + "%" + zone
}

func isIPv6(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.Is6()
}

// HostHeader is the value of the Host field: without the default port, an IPv6
// literal in brackets and without its zone, which only this host knows.
func (t URL) HostHeader() string {
	host := t.Host
	if strings.Contains(host, ":") {
		host, _, _ = strings.Cut(host, "%")
		host = "[" + host + "]"
	}
	if t.Port != t.defaultPort() {
		host += ":" + strconv.Itoa(int(t.Port))
	}
	return host
}

// Proxy is where to send instead, and as whom: USER:PASSWORD, "" = nobody.
type Proxy struct {
	Host string
	Port uint16
	Auth string
}

// ParseProxy reads the [USER:PASSWORD@]HOST:PORT of a proxy; the port is 80 by
// default, as in webbench. Errors do not repeat the password.
func ParseProxy(text string) (p Proxy, err error) {
	if strings.IndexFunc(text, unsendable) >= 0 {
		return Proxy{}, errors.New("it holds a space or control character")
	}
	text = strings.TrimPrefix(text, "http://")
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		if p.Auth, text = text[:i], text[i+1:]; strings.IndexByte(p.Auth, ':') < 1 {
			return Proxy{}, errors.New("what stands before @ is not USER:PASSWORD")
		}
	}
	if strings.HasPrefix(text, ":") || strings.HasSuffix(text, ":") || strings.ContainsAny(text, "/?#") {
		return Proxy{}, errors.New("it is not HOST:PORT")
	}
	p.Host, p.Port, err = splitHostPort(text, 80)
	return p, err
}

// HostPort is the target as a proxy is asked to connect to it: always with the
// port, an IPv6 literal in brackets and without its zone.
func (t URL) HostPort() string {
	host, _, _ := strings.Cut(t.Host, "%")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(t.Port))
}
