package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"horde/stats"
)

// Read reads a result file. It refuses another schema, a file cut short, and
// one whose histograms do not add up; fields it does not know are passed over.
func Read(from io.Reader) (*Document, error) {
	data, err := readDocument(from)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(data, &sections); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	var schema string
	if err := json.Unmarshal(sections["schema"], &schema); err != nil || schema != Schema {
		return nil, fmt.Errorf("read result: the schema is %.40q, not %q", schema, Schema)
	}
	for _, name := range required {
		if s := sections[name]; s == nil || bytes.Equal(s, []byte("null")) {
			return nil, fmt.Errorf("read result: no %q in it", name)
		}
	}
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	return &d, nil
}

// readDocument returns the one JSON value in from. Where it is cut short the
// error is io.ErrUnexpectedEOF, be it at the very first byte.
func readDocument(from io.Reader) (json.RawMessage, error) {
	decoder := json.NewDecoder(from)
	var data json.RawMessage
	if err := decoder.Decode(&data); errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the document")
	}
	return data, nil
}

// required are the sections without which a file is not a result.
var required = []string{"plan", "window", "requests", "throughput", "latency", "workers", "verdicts"}

func (d *Document) check() error {
	for _, kind := range d.kinds(new(stats.Run)) {
		if err := kind.check(); err != nil {
			return fmt.Errorf("latency %q: %w", kind.name, err)
		}
	}
	return nil
}

// kind is one distribution by its name, and where it belongs in a run.
type kind struct {
	name string
	*Latency
	of *stats.Histogram
}

// kinds are all distributions of a document.
func (d *Document) kinds(r *stats.Run) []kind {
	kinds := append(d.Latency.kinds(&r.Tally), kind{"unfinished", &d.Unfinished.Ages, &r.Unfinished.Ages})
	if d.PerClient.Count > 0 {
		kinds = append(kinds, kind{"per_client", d.PerClient.latency(), &r.PerClient})
	}
	if d.Pace != nil {
		kinds = append(kinds, kind{"send_lag", &d.Pace.SendLag, &r.Tally.SendLag})
	}
	return kinds
}

func (l *Latencies) kinds(t *stats.Tally) []kind {
	kinds := []kind{
		{"total", &l.Total, &t.Total}, {"connect", &l.Connect, &t.Connect}, {"first_byte", &l.FirstByte, &t.FirstByte},
		{"processing", &l.Processing, &t.Processing}, {"waiting", &l.Waiting, &t.Waiting}, {"failed", &l.Failed, &t.FailedAfter},
	}
	if l.Handshake != nil {
		kinds = append(kinds, kind{"handshake", l.Handshake, &t.Handshake})
	}
	if l.Service != nil {
		kinds = append(kinds, kind{"service", l.Service, &t.Service})
	}
	return kinds
}

func (l *Latency) check() error {
	sum := l.Histogram.Over
	for i, b := range l.Histogram.Buckets {
		if i > 0 && b[0] <= l.Histogram.Buckets[i-1][0] {
			return fmt.Errorf("bucket %d is out of order", b[0])
		}
		sum += b[1]
	}
	switch {
	case sum != l.Count:
		return fmt.Errorf("the buckets hold %d values, not %d", sum, l.Count)
	case l.Count > 0 && (l.MinNS == nil || l.MaxNS == nil || *l.MinNS < 0 || *l.MinNS > *l.MaxNS):
		return errors.New("min_ns and max_ns do not belong together")
	}
	return nil
}

// UnmarshalJSON insists on two elements; encoding/json takes any number of them.
func (b *Bucket) UnmarshalJSON(data []byte) error {
	var pair []uint64
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) != len(b) {
		return fmt.Errorf("bucket %s is not a pair", data)
	}
	copy(b[:], pair)
	return nil
}
