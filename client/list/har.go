package list

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"horde/client/http1"
)

// archive is a HAR document, as far as a request is concerned.
type archive struct {
	Log *struct {
		Entries []struct {
			Request struct {
				Method   string         `json:"method"`
				URL      string         `json:"url"`
				Headers  []http1.Header `json:"headers"`
				PostData *postData      `json:"postData"`
			} `json:"request"`
		} `json:"entries"`
	} `json:"log"`
}

type postData struct {
	Text     *string        `json:"text"`
	Encoding string         `json:"encoding"`
	Params   []http1.Header `json:"params"`
}

func readArchive(data []byte) (list []Request, isArchive bool, err error) {
	var a archive
	if json.Unmarshal(data, &a) != nil || a.Log == nil {
		return nil, false, nil
	}
	for i, e := range a.Log.Entries {
		q := e.Request
		l := Request{Method: q.Method, URL: q.URL, Headers: captured(q.Headers), Where: fmt.Sprintf("entry %d", i+1)}
		if q.PostData != nil {
			body, err := q.PostData.body()
			if err != nil {
				return nil, true, fmt.Errorf("%s: %w", l.Where, err)
			}
			l.Body, l.HasBody = body, true
		}
		list = append(list, l)
	}
	return list, true, nil
}

func (p *postData) body() ([]byte, error) {
	switch {
	case p.Text != nil && p.Encoding == "base64":
		return base64.StdEncoding.DecodeString(*p.Text)
	case p.Text != nil:
		return []byte(*p.Text), nil
	}
	var pairs []string
	for _, param := range p.Params {
		pairs = append(pairs, url.QueryEscape(param.Name)+"="+url.QueryEscape(param.Value))
	}
	return []byte(strings.Join(pairs, "&")), nil
}

// ofConnection are the headers of a captured request that belong to the
// connection it was captured on (RFC 9110 section 7.6.1), or follow from its
// URL and body.
var ofConnection = []string{
	"host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "upgrade",
	"http2-settings",
}

// captured leaves those out, and HTTP/2's pseudo-headers.
func captured(headers []http1.Header) []http1.Header {
	return slices.DeleteFunc(headers, func(h http1.Header) bool {
		return strings.HasPrefix(h.Name, ":") || slices.Contains(ofConnection, strings.ToLower(h.Name))
	})
}
