package stats

// Tally is what was counted: by one worker since its last report, or summed
// over workers and time in the parent. Adding tallies loses nothing. Times are
// nanoseconds since the release of the run; counts are 64 bit.
type Tally struct {
	Begun     uint64
	Succeeded uint64
	Failed    uint64

	BytesRead    uint64 // from sockets: status line, header, framing, body
	BytesWritten uint64
	BytesBody    uint64 // decoded: chunk framing taken off

	Opened uint64 // connections established
	Reused uint64 // requests sent on a connection that had served one before
	Resent uint64 // requests sent again once after a kept-alive connection had closed
	NoConn uint64 // connections that could not be established

	Resumed uint64 // TLS handshakes that took up an earlier session

	Paused uint64 // ns that clients paused after failed connects

	// Overslept counts the time-outs at which what was waited for was there when
	// the worker at last got a CPU to see it: this host was too late, perhaps
	// not the target.
	Overslept uint64

	// Queued counts the requests of an open loop that were due when no client was free.
	Queued uint64
	// The first and the last time at which bytes of an answer came; both are 0
	// if none did.
	FirstHeard, LastHeard int64

	Statuses []StatusCount
	Failures []Failure

	Connect   Histogram // connections established
	Handshake Histogram // TLS handshakes made

	// Latencies of succeeded requests count from when they were due, in a closed
	// loop that is when they begin, or from when they had their connection.
	Total      Histogram // due to last byte
	FirstByte  Histogram // due to first byte
	Processing Histogram // connected to last byte
	Waiting    Histogram // connected to first byte

	FailedAfter Histogram // begun to its failure, failed requests

	// An open loop alone has these two.
	Service Histogram // of succeeded requests, from when they did begin
	SendLag Histogram // by how much requests began too late

	Entries Entries // of a list of requests; empty where there is none
}

// StatusCount counts complete answers of one status, expected or not.
type StatusCount struct {
	Status int
	Count  uint64
}

// Failure counts failed requests of one class, phase and errno.
type Failure struct {
	Class      Class
	Phase      Phase
	Errno      int // 0 where no system call failed
	Count      uint64
	ClientTime int64 // ns that clients spent on these requests
	FirstAt    int64
	LastAt     int64
}

// Status counts one complete answer.
func (t *Tally) Status(status int) { t.Statuses = addStatus(t.Statuses, status, 1) }

func addStatus(counts []StatusCount, status int, n uint64) []StatusCount {
	for i := range counts {
		if counts[i].Status == status {
			counts[i].Count += n
			return counts
		}
	}
	return append(counts, StatusCount{status, n})
}

// Fail counts one failed request that ended at the time at after spent ns.
func (t *Tally) Fail(class Class, phase Phase, errno int, at, spent int64) {
	t.Failed++
	t.FailedAfter.Record(spent)
	t.addFailure(Failure{class, phase, errno, 1, spent, at, at})
}

func (t *Tally) addFailure(f Failure) {
	for i := range t.Failures {
		g := &t.Failures[i]
		if g.Class == f.Class && g.Phase == f.Phase && g.Errno == f.Errno {
			g.Count += f.Count
			g.ClientTime += f.ClientTime
			g.FirstAt = min(g.FirstAt, f.FirstAt)
			g.LastAt = max(g.LastAt, f.LastAt)
			return
		}
	}
	t.Failures = append(t.Failures, f)
}

// Heard notes that bytes of an answer came at the time at.
func (t *Tally) Heard(at int64) {
	if t.FirstHeard == 0 {
		t.FirstHeard = at
	}
	t.LastHeard = at
}

func (t *Tally) addHeard(o *Tally) {
	switch {
	case o.LastHeard == 0:
	case t.LastHeard == 0:
		t.FirstHeard, t.LastHeard = o.FirstHeard, o.LastHeard
	default:
		t.FirstHeard, t.LastHeard = min(t.FirstHeard, o.FirstHeard), max(t.LastHeard, o.LastHeard)
	}
}

// Add adds all that o counted.
func (t *Tally) Add(o *Tally) {
	t.Begun += o.Begun
	t.Succeeded += o.Succeeded
	t.Failed += o.Failed
	t.BytesRead += o.BytesRead
	t.BytesWritten += o.BytesWritten
	t.BytesBody += o.BytesBody
	t.Opened += o.Opened
	t.Reused += o.Reused
	t.Resent += o.Resent
	t.NoConn += o.NoConn
	t.Resumed += o.Resumed
	t.Overslept += o.Overslept
	t.Queued += o.Queued
	t.Paused += o.Paused
	for _, s := range o.Statuses {
		t.Statuses = addStatus(t.Statuses, s.Status, s.Count)
	}
	for _, f := range o.Failures {
		t.addFailure(f)
	}
	t.Entries.add(&o.Entries)
	t.addHeard(o)
	from := o.Histograms()
	for i, h := range t.Histograms() {
		h.Add(from[i])
	}
}

// Histograms are all that a tally holds, always in the same order.
func (t *Tally) Histograms() [9]*Histogram {
	return [...]*Histogram{
		&t.Total, &t.Connect, &t.Handshake, &t.FirstByte, &t.Processing, &t.Waiting, &t.FailedAfter, &t.Service, &t.SendLag,
	}
}

// Reset empties the tally and keeps its memory.
func (t *Tally) Reset() {
	for _, h := range t.Histograms() {
		h.Reset()
	}
	t.Entries.reset()
	*t = Tally{
		Statuses: t.Statuses[:0], Failures: t.Failures[:0],
		Total: t.Total, Connect: t.Connect, Handshake: t.Handshake, FirstByte: t.FirstByte,
		Processing: t.Processing, Waiting: t.Waiting, FailedAfter: t.FailedAfter,
		Service: t.Service, SendLag: t.SendLag, Entries: t.Entries,
	}
}

// Unfinished is the snapshot of the requests still under way when time ran out.
type Unfinished struct {
	Count  [PhaseCount]uint64 // by phase; Idle is not used
	Oldest int64              // ns since the oldest of them began
	Ages   Histogram          // and each of them: what it would have taken at least

	ClientTime int64 // ns since each of them began, in all
}

// Sum returns how many requests were unfinished.
func (u *Unfinished) Sum() uint64 {
	var n uint64
	for _, c := range u.Count {
		n += c
	}
	return n
}

// Add adds another worker's snapshot.
func (u *Unfinished) Add(o *Unfinished) {
	for i := range u.Count {
		u.Count[i] += o.Count[i]
	}
	u.Oldest = max(u.Oldest, o.Oldest)
	u.ClientTime += o.ClientTime
	u.Ages.Add(&o.Ages)
}
