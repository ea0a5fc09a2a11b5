package wire

import (
	"encoding/binary"

	"horde/client"
	"horde/stats"
)

// appendEntries writes what was counted of those entries of a list of which
// anything was.
func appendEntries(b []byte, entries *stats.Entries) []byte {
	list := entries.All()
	b = binary.AppendUvarint(b, uint64(len(list)))
	for i := range list {
		e := &list[i]
		for _, n := range [...]uint64{uint64(e.Number), e.Succeeded, e.Failed, e.BytesRead, uint64(e.ClientTime)} {
			b = binary.AppendUvarint(b, n)
		}
		b = appendStatuses(b, e.Statuses)
		b = appendHistogram(b, &e.Total)
	}
	return b
}

// entries reads them. Where there is a list, every request belongs to an entry.
func (d *decoder) entries(t *stats.Tally) {
	length := d.length()
	var succeeded, failed uint64
	for range length {
		e := d.entry(&t.Entries)
		if e == nil {
			return
		}
		succeeded += e.Succeeded
		failed += e.Failed
	}
	if length > 0 && (succeeded != t.Succeeded || failed != t.Failed) {
		d.fail("the entries do not add up to the whole")
	}
}

// entry reads one; it returns nil if it cannot be.
func (d *decoder) entry(into *stats.Entries) *stats.EntryTally {
	n := d.int()
	if n >= client.MostEntries || into.Find(n) != nil {
		d.fail("number of an entry")
	}
	if d.err != nil {
		return nil
	}
	e := into.At(n)
	e.Succeeded, e.Failed, e.BytesRead, e.ClientTime = d.count(), d.count(), d.count(), int64(d.int())
	e.Statuses = d.statuses(e.Statuses)
	d.histogram(&e.Total)
	if e.Total.Count() != e.Succeeded {
		d.fail("succeeded of an entry is not the number of its latencies")
	}
	return e
}
