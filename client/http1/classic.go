package http1

import (
	"cmp"
	"fmt"
	"strings"
)

// Classic returns the request that webbench 1.5 sends for r, byte for byte, and
// the version it really speaks: what 0.9 or 1.0 cannot carry raises it without
// a word. Of r it takes Method, Version, Target, Host and Reload; a port in Host
// is dropped. proxied says that the request goes to a proxy: then Target is the
// whole URL, no Host line is sent, not even in HTTP/1.1, and only then has
// Reload an effect.
//
// After a request in HTTP/0.9 webbench shuts its sending side; that is the
// caller's to do.
func Classic(r Request, proxied bool) ([]byte, Version, error) {
	version, err := r.classicVersion(proxied)
	if err != nil {
		return nil, 0, err
	}
	if err := cmp.Or(checkValue("target", r.Target), checkValue("host", r.Host)); err != nil {
		return nil, 0, err
	}
	line := r.Method + " " + r.Target
	if version == HTTP09 {
		return []byte(line + "\r\n"), version, nil
	}
	b := []byte(line + " " + version.String() + "\r\nUser-Agent: WebBench 1.5\r\n")
	if !proxied {
		b = append(b, "Host: "+withoutPort(r.Host)+"\r\n"...)
	}
	if proxied && r.Reload {
		b = append(b, "Pragma: no-cache\r\n"...)
	}
	if version == HTTP11 {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...), version, nil
}

func (r Request) classicVersion(proxied bool) (Version, error) {
	switch r.Method {
	case "OPTIONS", "TRACE":
		return HTTP11, nil
	case "GET", "HEAD":
	default:
		return 0, fmt.Errorf("webbench has no method %q, only GET, HEAD, OPTIONS and TRACE", r.Method)
	}
	if r.Version == HTTP09 && (r.Method == "HEAD" || r.Reload && proxied) {
		return HTTP10, nil
	}
	return r.Version, nil
}

func withoutPort(host string) string {
	colon := strings.LastIndexByte(host, ':')
	if colon < strings.LastIndexByte(host, ']') || colon < 0 {
		return host
	}
	return host[:colon]
}
