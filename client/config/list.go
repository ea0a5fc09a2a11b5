package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"horde/client"
	"horde/client/http1"
	"horde/client/list"
	"horde/client/target"
	"horde/stats"
)

// list reads the list of requests and adds to each what the command line says
// of all.
func (b *builder) list(r *Run, base http1.Request, link target.URL) []http1.Request {
	const option = "requests-file"
	if link.Path != "/" {
		b.wrong(option, "give the URL without a path", "the paths are in the list, and the URL has one too")
	}
	listed := value(b, option, nil, readList)
	facts := &stats.ListFacts{File: b.values.String(option), Order: b.order(r), Seed: r.Plan.Seed}
	requests := make([]http1.Request, len(listed))
	for i, l := range listed {
		path, err := pathOn(link, l.URL)
		if err == nil && l.Method == "CONNECT" {
			err = errors.New("CONNECT asks for a tunnel, not for an answer")
		}
		if err != nil {
			b.wrong(option, "", "%q %s: %v", facts.File, l.Where, err)
		}
		requests[i] = b.listed(l, base, strings.TrimSuffix(base.Target, link.Path)+path)
		facts.Entries = append(facts.Entries, stats.EntryFacts{Where: l.Where, Method: l.Method, URL: l.URL})
	}
	r.Facts.List, r.Plan.ByEntry = facts, true
	return requests
}

// order reads how the list is walked.
func (b *builder) order(r *Run) string {
	word := b.values.String("requests-order")
	switch word {
	case "sequential":
	case "random":
		r.Plan.Order = client.AtRandom
		r.Plan.Seed = value(b, "seed", 1, parseSeed)
	default:
		b.wrong("requests-order", "", "%q is neither sequential nor random", word)
	}
	return word
}

// said are the headers that options set for every request of a list.
var said = map[string]string{
	"auth": "authorization", "cookie": "cookie", "user-agent": "user-agent", "content-type": "content-type", "reload": "pragma",
}

// listed is a request of the list with all that the command line says of every
// one. A header of the command line replaces those of its name in the list.
func (b *builder) listed(l list.Request, base http1.Request, whole string) http1.Request {
	q := base
	q.Method, q.Target, q.Body, q.HasBody = l.Method, whole, l.Body, l.HasBody
	replaced := func(h http1.Header) bool {
		for option, name := range said {
			if strings.EqualFold(h.Name, name) && b.values.IsSet(option) {
				return true
			}
		}
		return slices.ContainsFunc(base.Headers, func(own http1.Header) bool { return strings.EqualFold(own.Name, h.Name) })
	}
	q.Headers = append(slices.DeleteFunc(l.Headers, replaced), base.Headers...)
	return q
}

func readList(name string) ([]list.Request, error) {
	data, err := readInput(name)
	if err != nil {
		return nil, err
	}
	return list.Parse(data)
}

// pathOn is the path of a URL of the list, which is that path alone or has the
// host and port of the target before it.
func pathOn(link target.URL, text string) (string, error) {
	if strings.HasPrefix(text, "/") {
		u, err := target.Parse(link.Authority + text)
		return u.Path, err
	}
	if !strings.Contains(text, "://") {
		return "", fmt.Errorf("%.60q is neither a path that begins with / nor a whole URL", text)
	}
	u, err := target.Parse(text)
	if err == nil && (u.Host != link.Host || u.Port != link.Port || u.Secure != link.Secure) {
		err = fmt.Errorf("%.60q is not on the target of this run, %s", text, link.Authority)
	}
	return u.Path, err
}

// unsendable says which request could not be turned into bytes.
func (b *builder) unsendable(r *Run, i int, err error) error {
	if l := r.Facts.List; l != nil {
		return &Usage{Option: "requests-file", Text: fmt.Sprintf("%q %s: %v", l.File, l.Entries[i].Where, err)}
	}
	return &Usage{Text: err.Error()}
}
