// Package list reads lists of requests: files of lines, each METHOD URL or a
// JSON object, and HAR documents (HTTP Archive 1.2), which are one JSON object
// with a log in it. It runs in the parent, before anything is sent.
package list

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"horde/client"
	"horde/client/http1"
)

// Request is one request as the list has it.
type Request struct {
	Where   string // in the file, such as "line 3"
	Method  string
	URL     string // not looked into
	Headers []http1.Header
	Body    []byte
	HasBody bool // Body is to be sent even where it is empty
}

// headerLines are written as {"K": "V"}, with a list of strings for a header of
// several lines, or as HAR does: [{"name": "K", "value": "V"}]. Their order is kept.
type headerLines []http1.Header

// UnmarshalJSON reads either form.
func (h *headerLines) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]http1.Header)(h))
	}
	lines := json.NewDecoder(bytes.NewReader(data))
	if start, err := lines.Token(); err != nil || start != json.Delim('{') {
		return errors.New("headers are no object of strings")
	}
	for lines.More() {
		name, _ := lines.Token()
		var value json.RawMessage
		if err := lines.Decode(&value); err != nil {
			return err
		}
		if err := h.add(name.(string), value); err != nil {
			return err
		}
	}
	return nil
}

func (h *headerLines) add(name string, value json.RawMessage) error {
	var several []string
	var one string
	if json.Unmarshal(value, &several) != nil {
		if json.Unmarshal(value, &one) != nil {
			return fmt.Errorf("the value of header %q is neither a string nor a list of strings", name)
		}
		several = []string{one}
	}
	for _, v := range several {
		*h = append(*h, http1.Header{Name: name, Value: v})
	}
	return nil
}

// Parse reads what a file holds, from 1 to client.MostEntries requests. An error
// begins with where it is.
func Parse(data []byte) ([]Request, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	list, isArchive, err := readArchive(data)
	if !isArchive {
		list, err = readLines(data)
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, errors.New("there is no request in it")
	case len(list) > client.MostEntries:
		return nil, fmt.Errorf("it has %d requests, and %d is the most", len(list), client.MostEntries)
	}
	return list, nil
}

func readLines(data []byte) ([]Request, error) {
	var list []Request
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		read := readWords
		if line[0] == '{' {
			read = readObject
		}
		l, err := read(line)
		l.Where = fmt.Sprintf("line %d", number)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Where, err)
		}
		list = append(list, l)
	}
	return list, nil
}

// readWords reads METHOD URL, or a URL alone.
func readWords(line []byte) (Request, error) {
	words := strings.Fields(string(line))
	switch len(words) {
	case 1:
		return Request{Method: "GET", URL: words[0]}, nil
	case 2:
		return Request{Method: words[0], URL: words[1]}, nil
	}
	return Request{}, fmt.Errorf("%q is not METHOD URL", shorten(string(line)))
}

func shorten(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

// object is a request as a line of JSON.
type object struct {
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Headers headerLines `json:"headers"`
	Body    *string     `json:"body"`
	Binary  *[]byte     `json:"body_base64"`
}

func readObject(line []byte) (Request, error) {
	var o object
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&o)
	switch {
	case err != nil:
		return Request{}, fmt.Errorf("no request as JSON: %w", err)
	case decoder.More():
		return Request{}, errors.New("something follows the JSON object")
	case o.Body != nil && o.Binary != nil:
		return Request{}, errors.New("it has two bodies")
	}
	return o.request(), nil
}

func (o *object) request() Request {
	l := Request{Method: cmp.Or(o.Method, "GET"), URL: o.URL, Headers: o.Headers, HasBody: o.Body != nil || o.Binary != nil}
	switch {
	case o.Body != nil:
		l.Body = []byte(*o.Body)
	case o.Binary != nil:
		l.Body = *o.Binary
	}
	if l.HasBody && o.Method == "" {
		l.Method = "POST"
	}
	return l
}
