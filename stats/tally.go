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

	Statuses []StatusCount
	Failures []Failure

	// Latencies of succeeded requests count from when they were due: in a closed
	// loop that is when they begin.
	Total     Histogram // to the answer complete
	FirstByte Histogram // to its first byte
	Connect   Histogram // connections established
	Handshake Histogram // TLS handshakes made

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
	for i, h := range o.Histograms() {
		t.Histograms()[i].Add(h)
	}
	t.Entries.add(&o.Entries)
}

// Histograms are all that a tally holds, always in the same order.
func (t *Tally) Histograms() [6]*Histogram {
	return [...]*Histogram{&t.Total, &t.Connect, &t.Handshake, &t.FirstByte, &t.Service, &t.SendLag}
}

// Reset empties the tally and keeps its memory.
func (t *Tally) Reset() {
	kept := *t
	for _, h := range kept.Histograms() {
		h.Reset()
	}
	kept.Entries.reset()
	*t = Tally{
		Statuses: t.Statuses[:0], Failures: t.Failures[:0],
		Total: kept.Total, Connect: kept.Connect, Handshake: kept.Handshake, FirstByte: kept.FirstByte,
		Service: kept.Service, SendLag: kept.SendLag,
		Entries: kept.Entries,
	}
}

// Unfinished is the snapshot of the requests still under way when time ran out.
type Unfinished struct {
	Count  [PhaseCount]uint64 // by phase; Idle is not used
	Oldest int64              // ns since the oldest of them began

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
func (u *Unfinished) Add(o Unfinished) {
	for i := range u.Count {
		u.Count[i] += o.Count[i]
	}
	u.Oldest = max(u.Oldest, o.Oldest)
	u.ClientTime += o.ClientTime
}
