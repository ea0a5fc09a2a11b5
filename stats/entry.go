package stats

// EntryTally is what was counted of one request of a list.
type EntryTally struct {
	Number     int // in the list, from 0
	Succeeded  uint64
	Failed     uint64
	BytesRead  uint64 // of requests that ended
	ClientTime int64  // ns that clients spent on these
	Statuses   []StatusCount
	Total      Histogram // as a Tally's
}

// Status counts one complete answer.
func (e *EntryTally) Status(status int) { e.Statuses = addStatus(e.Statuses, status, 1) }

// Succeed counts a request that succeeded after spent ns.
func (e *EntryTally) Succeed(read uint64, spent int64) {
	e.Succeeded++
	e.BytesRead += read
	e.ClientTime += spent
	e.Total.Record(spent)
}

// Fail counts a request that failed after spent ns.
func (e *EntryTally) Fail(read uint64, spent int64) {
	e.Failed++
	e.BytesRead += read
	e.ClientTime += spent
}

func (e *EntryTally) add(o *EntryTally) {
	e.Succeeded += o.Succeeded
	e.Failed += o.Failed
	e.BytesRead += o.BytesRead
	e.ClientTime += o.ClientTime
	for _, s := range o.Statuses {
		e.Statuses = addStatus(e.Statuses, s.Status, s.Count)
	}
	e.Total.Add(&o.Total)
}

// Entries are the tallies of a list of requests. In a worker they hold those
// alone that ended since its last report: thousands of workers with hundreds of
// entries each use few of them in a second. The zero value is empty and ready to
// use, and stays empty where there is no list.
type Entries struct {
	list  []EntryTally // in the order of their first use
	place []uint32     // by number: where in list it is, if it is there
}

// All returns the tallies in no particular order.
func (e *Entries) All() []EntryTally { return e.list }

// At returns the tally of entry n, a new one if there is none yet. It is valid
// until the next call.
func (e *Entries) At(n int) *EntryTally {
	if t := e.Find(n); t != nil {
		return t
	}
	if missing := n + 1 - len(e.place); missing > 0 {
		e.place = append(e.place, make([]uint32, missing)...)
	}
	e.place[n] = uint32(len(e.list))
	return e.open(n)
}

// Find returns the tally of entry n, nil if nothing of it was counted.
func (e *Entries) Find(n int) *EntryTally {
	if n >= len(e.place) {
		return nil
	}
	// A place left over from before a reset leads to another entry, or to none.
	if i := int(e.place[n]); i < len(e.list) && e.list[i].Number == n {
		return &e.list[i]
	}
	return nil
}

// open begins one more tally, in the memory of one before the last reset if
// there is any.
func (e *Entries) open(n int) *EntryTally {
	i := len(e.list)
	if i == cap(e.list) {
		e.list = append(e.list, EntryTally{})
	}
	e.list = e.list[:i+1]
	t := &e.list[i]
	t.Total.Reset()
	*t = EntryTally{Number: n, Statuses: t.Statuses[:0], Total: t.Total}
	return t
}

func (e *Entries) add(o *Entries) {
	for i := range o.list {
		e.At(o.list[i].Number).add(&o.list[i])
	}
}

func (e *Entries) reset() { e.list = e.list[:0] }
