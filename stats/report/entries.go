package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"horde/stats"
	"horde/stats/units"
)

// List is the list of requests that was asked for. Seed is nil where the order
// is not random.
type List struct {
	File  string  `json:"file"`
	Order string  `json:"order"`
	Seed  *uint64 `json:"seed"`
}

// Entry is what came of one request of the list. Where is its place in the
// file; BytesRead and ClientTimeNS are those of requests that ended.
type Entry struct {
	Where        string            `json:"where"`
	Method       string            `json:"method"`
	URL          string            `json:"url"`
	Succeeded    uint64            `json:"succeeded"`
	Failed       uint64            `json:"failed"`
	BytesRead    uint64            `json:"bytes_read"`
	ClientTimeNS int64             `json:"client_time_ns"`
	Status       map[string]uint64 `json:"status"`
	Latency      Latency           `json:"latency"`
}

func newList(l *stats.ListFacts) *List {
	if l == nil {
		return nil
	}
	list := &List{File: l.File, Order: l.Order}
	if l.Order == "random" {
		list.Seed = &l.Seed
	}
	return list
}

func newEntries(r *stats.Run) []Entry {
	out := []Entry{}
	for _, e := range entriesOf(r) {
		out = append(out, Entry{
			Where: e.Where, Method: e.Method, URL: e.URL, Succeeded: e.Succeeded, Failed: e.Failed, BytesRead: e.BytesRead,
			ClientTimeNS: e.ClientTime, Status: statuses(e.Statuses), Latency: newLatency(&e.Total),
		})
	}
	return out
}

// entry is a request of the list and what was counted of it.
type entry struct {
	stats.EntryFacts
	*stats.EntryTally
}

// entriesOf are all entries of the list, in its order.
func entriesOf(r *stats.Run) []entry {
	if r.Plan.List == nil {
		return nil
	}
	var out []entry
	for i, facts := range r.Plan.List.Entries {
		tally := r.Tally.Entries.Find(i)
		if tally == nil {
			tally = &stats.EntryTally{Number: i}
		}
		out = append(out, entry{facts, tally})
	}
	return out
}

// loadEntries is the reverse of newList and newEntries.
func (d *Document) loadEntries(r *stats.Run) error {
	if d.Plan.List == nil {
		return nil
	}
	list := &stats.ListFacts{File: d.Plan.List.File, Order: d.Plan.List.Order, Seed: zero(d.Plan.List.Seed)}
	for i := range d.Entries {
		e := &d.Entries[i]
		list.Entries = append(list.Entries, stats.EntryFacts{Where: e.Where, Method: e.Method, URL: e.URL})
		if err := e.load(r.Tally.Entries.At(i)); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	r.Plan.List = list
	return nil
}

func (e *Entry) load(t *stats.EntryTally) error {
	t.Succeeded, t.Failed, t.BytesRead, t.ClientTime = e.Succeeded, e.Failed, e.BytesRead, e.ClientTimeNS
	var err error
	if t.Statuses, err = statusCounts(e.Status); err != nil {
		return err
	}
	if err := e.Latency.check(); err != nil {
		return err
	}
	return e.Latency.load(&t.Total)
}

// statusCounts is the reverse of statuses.
func statusCounts(counts map[string]uint64) ([]stats.StatusCount, error) {
	var out []stats.StatusCount
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		status, err := strconv.ParseUint(code, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("the status %.40q is no number", code)
		}
		out = append(out, stats.StatusCount{Status: int(status), Count: counts[code]})
	}
	return out, nil
}

// mostEntries bounds the table; the result file has all.
const mostEntries = 10

// entries is the table of the list: what failed comes first, then what took
// clients the most time.
func (p *page) entries(r *stats.Run) {
	all := entriesOf(r)
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.ClientTime, a.ClientTime))
	})
	shown := all[:min(len(all), mostEntries)]
	p.line("Entries (most failed first, then most time of clients; latency of succeeded requests only)")
	rows := [][]string{{"succeeded", "failed", "read", "mean", "50 %", "99 %", "<status", "<request"}}
	for _, e := range shown {
		rows = append(rows, []string{
			units.Count(e.Succeeded), units.Count(e.Failed), units.Bytes(float64(e.BytesRead)),
			latencyOf(&e.Total, e.Total.Mean()), latencyOf(&e.Total, float64(e.Total.Quantile(0.5))), latencyOf(&e.Total, float64(e.Total.Quantile(0.99))),
			entryStatus(e.Statuses), shorten(ascii(e.Method+" "+e.URL), 40),
		})
	}
	p.table(rows)
	p.restOfEntries(all[len(shown):])
	p.line("")
}

func (p *page) restOfEntries(rest []entry) {
	if len(rest) == 0 {
		return
	}
	var succeeded, failed, never uint64
	for _, e := range rest {
		succeeded += e.Succeeded
		failed += e.Failed
		if e.Succeeded+e.Failed == 0 {
			never++
		}
	}
	words := fmt.Sprintf("and %s: %s succeeded, %s failed", plural(len(rest), "more entry", "more entries"), requests(succeeded), units.Count(failed))
	if never > 0 {
		words += fmt.Sprintf("; %s of them ended no request", units.Count(never))
	}
	p.wrapped("  ", "  ", words+"; all of them are in the result file (-o)")
}

func latencyOf(h *stats.Histogram, ns float64) string {
	if h.Count() == 0 {
		return units.None
	}
	return units.Duration(ns)
}

// entryStatus names the statuses of an entry, most of which have one.
func entryStatus(counts []stats.StatusCount) string {
	switch len(counts) {
	case 0:
		return units.None
	case 1:
		return strconv.Itoa(counts[0].Status)
	}
	most := slices.MaxFunc(counts, func(a, b stats.StatusCount) int {
		return cmp.Or(cmp.Compare(a.Count, b.Count), cmp.Compare(b.Status, a.Status))
	})
	return fmt.Sprintf("%d +%d", most.Status, len(counts)-1)
}

// shorten cuts the middle out of a text longer than most bytes.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const gap = "..."
	half := (most - len(gap)) / 2
	return s[:most-len(gap)-half] + gap + s[len(s)-half:]
}

// listWords says what is walked, and how; "" where there is no list.
func listWords(l *stats.ListFacts) string {
	if l == nil {
		return ""
	}
	s := fmt.Sprintf("%s of %s, ", plural(len(l.Entries), "entry", "entries"), ascii(l.File))
	if l.Order == "random" {
		return s + fmt.Sprintf("at random (seed %d): ", l.Seed)
	}
	return s + "in order: "
}
