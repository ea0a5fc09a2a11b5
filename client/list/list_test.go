package list

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
	"horde/client/http1"
)

func TestLines(t *testing.T) {
	got, err := Parse([]byte("\xef\xbb\xbf# what the shop is asked\r\n" +
		"GET /a?b=c\r\n" +
		"\r\n" +
		"  DELETE\thttp://shop.test/cart/1  \n" +
		"/alone\n" +
		`{"url": "/json", "body": "x=1", "headers": {"X-B": "2", "X-A": ["1", ""]}}` + "\n" +
		`{"method": "PUT", "url": "/raw", "body_base64": "AAE=", "headers": [{"name": "X-C", "value": "3"}]}` + "\n" +
		`{"url": "/empty", "body": ""}` + "\n" +
		`{"url": "/none"}`))
	require.NoError(t, err)
	assert.Equal(t, []Request{
		{Where: "line 2", Method: "GET", URL: "/a?b=c"},
		{Where: "line 4", Method: "DELETE", URL: "http://shop.test/cart/1"},
		{Where: "line 5", Method: "GET", URL: "/alone"},
		{Where: "line 6", Method: "POST", URL: "/json", Body: []byte("x=1"), HasBody: true,
			Headers: []http1.Header{{Name: "X-B", Value: "2"}, {Name: "X-A", Value: "1"}, {Name: "X-A", Value: ""}}},
		{Where: "line 7", Method: "PUT", URL: "/raw", Body: []byte{0, 1}, HasBody: true, Headers: []http1.Header{{Name: "X-C", Value: "3"}}},
		{Where: "line 8", Method: "POST", URL: "/empty", Body: []byte{}, HasBody: true},
		{Where: "line 9", Method: "GET", URL: "/none"},
	}, got)
}

// A HAR document as browsers write it.
const document = `{
  "log": {
    "version": "1.2",
    "creator": {"name": "browser"},
    "entries": [
      {"startedDateTime": "2026-01-01T00:00:00Z", "time": 12.5,
       "request": {"method": "GET", "url": "http://shop.test/", "httpVersion": "HTTP/2.0", "headersSize": -1,
         "headers": [{"name": ":authority", "value": "shop.test"}, {"name": "Host", "value": "shop.test"},
                     {"name": "accept", "value": "text/html", "comment": ""}, {"name": "Connection", "value": "keep-alive"}]}},
      {"request": {"method": "POST", "url": "http://shop.test/buy", "headers": [{"name": "content-length", "value": "7"}],
         "postData": {"mimeType": "text/plain", "text": "a\u00e9=%20"}}},
      {"request": {"method": "POST", "url": "http://shop.test/bin", "headers": [], "postData": {"text": "AAE=", "encoding": "base64"}}},
      {"request": {"method": "POST", "url": "http://shop.test/form", "headers": [],
         "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "c&d"}, {"name": "e"}]}}}
    ]
  }
}`

func TestArchive(t *testing.T) {
	got, err := Parse([]byte(document))
	require.NoError(t, err)
	assert.Equal(t, []Request{
		{Where: "entry 1", Method: "GET", URL: "http://shop.test/", Headers: []http1.Header{{Name: "accept", Value: "text/html"}}},
		{Where: "entry 2", Method: "POST", URL: "http://shop.test/buy", Headers: []http1.Header{}, Body: []byte("a\u00e9=%20"), HasBody: true},
		{Where: "entry 3", Method: "POST", URL: "http://shop.test/bin", Headers: []http1.Header{}, Body: []byte{0, 1}, HasBody: true},
		{Where: "entry 4", Method: "POST", URL: "http://shop.test/form", Headers: []http1.Header{}, Body: []byte("a+b=c%26d&e="), HasBody: true},
	}, got)
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"nothing", "", "no request in it"},
		{"comments alone", "# GET /\n\n", "no request in it"},
		{"a log without entries", `{"log": {"entries": []}}`, "no request in it"},
		{"three words", "GET /\nGET /a b\n", `line 2: "GET /a b" is not METHOD URL`},
		{"JSON cut short", "GET /\n\n{\"url\": ", "line 3: no request as JSON"},
		{"an unknown field", `{"uri": "/"}`, `line 1: no request as JSON: json: unknown field "uri"`},
		{"two objects on a line", `{"url": "/"} {"url": "/"}`, "line 1: something follows"},
		{"two bodies", `{"url": "/", "body": "", "body_base64": ""}`, "line 1: it has two bodies"},
		{"a number in a header", `{"url": "/", "headers": {"X-A": 1}}`, `header "X-A" is neither`},
		{"headers that are none", `{"url": "/", "headers": "X-A: 1"}`, "headers are no object"},
		{"a body that is no base64", `{"url": "/", "body_base64": "?"}`, "line 1"},
		{"base64 in a log", `{"log": {"entries": [{"request": {"url": "/", "postData": {"text": "?", "encoding": "base64"}}}]}}`, "entry 1: illegal base64"},
		{"too many", strings.Repeat("GET /\n", client.MostEntries+1), "10000 is the most"},
	} {
		_, err := Parse([]byte(row.text))
		assert.ErrorContains(t, err, row.want, row.name)
	}
	longest, err := Parse([]byte(strings.Repeat("GET /\n", client.MostEntries)))
	require.NoError(t, err)
	assert.Len(t, longest, client.MostEntries)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte("GET /\n# no\n{\"url\": \"/\", \"headers\": {\"a\": [\"b\"]}, \"body\": \"\"}\n/x"))
	f.Add([]byte(`{"url": "/", "headers": [{"name": "a", "value": "b"}], "body_base64": "AA=="}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Parse(data)
		if err != nil {
			require.Empty(t, list)
			return
		}
		require.NotEmpty(t, list)
		seen := map[string]bool{}
		for _, l := range list {
			require.False(t, seen[l.Where], "each has a place of its own")
			seen[l.Where] = true
			require.True(t, l.HasBody || len(l.Body) == 0)
		}
	})
}
