package procs

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"horde/client"
	"horde/procs/wire"
	"horde/stats"
)

// run is one run under way, in the parent. One goroutine owns it: it waits on
// all report pipes at once, and every way a run can end is a branch of its loop.
type run struct {
	options  Options
	children []*child
	poll     int // epoll: report pipes by worker number, and signal
	signal   int // eventfd: a signal has come
	signals  atomic.Int32
	first    atomic.Pointer[os.Signal]
	done     chan struct{} // closed when no signal is wanted any more
	deaf     chan struct{} // closed when none is listened for
	buf      []byte
	events   []unix.EpollEvent

	alive     int // workers that are watched
	waiting   int // of them, those that are not ready
	lastSign  time.Time
	readyIn   time.Duration // from the first start until all were ready
	released  time.Duration // on the monotonic clock; 0 = not yet
	startedAt time.Time
	stopping  bool      // told to stop before their time
	cutShort  bool      // before its time was up
	endSeen   time.Time // when the run was first seen to be over
	killed    bool

	tally      stats.Tally
	interval   stats.Tally // of the frame at hand
	unfinished stats.Unfinished
	warmup     stats.Warmup
	perClient  stats.Histogram // requests of each client that succeeded
	coalescing stats.Coalescing
	lost       uint64
	series     stats.Series
	measured   time.Duration
	reasons    []string
	progress   progress
	looks      looks
}

const signalSlot = -1

func (r *run) open() error {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	signal, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(poll)
		return os.NewSyscallError("eventfd", err)
	}
	r.poll, r.signal = poll, signal
	r.series.Warmup = r.options.Plan.Warmup
	r.buf = make([]byte, 64<<10)
	r.events = make([]unix.EpollEvent, 256)
	r.done, r.deaf = make(chan struct{}), make(chan struct{})
	r.watch(signal, unix.EPOLLIN, signalSlot)
	go r.listen()
	return nil
}

func (r *run) close() {
	close(r.done)
	<-r.deaf // or it would write to whatever gets the number next
	_ = unix.Close(r.poll)
	_ = unix.Close(r.signal)
}

// listen turns signals into events of the loop.
func (r *run) listen() {
	defer close(r.deaf)
	for {
		select {
		case s := <-r.options.Signals:
			r.first.CompareAndSwap(nil, &s)
			r.signals.Add(1)
			_, _ = unix.Write(r.signal, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		case <-r.done:
			return
		}
	}
}

func (r *run) interrupted() bool { return r.signals.Load() > 0 }

func (r *run) reason(format string, args ...any) {
	r.reasons = append(r.reasons, fmt.Sprintf(format, args...))
}

func (r *run) watch(fd int, events uint32, slot int) {
	ev := unix.EpollEvent{Events: events, Fd: int32(slot)}
	if err := unix.EpollCtl(r.poll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		panic(fmt.Sprintf("procs: internal error: epoll_ctl: %v", err))
	}
}

func (r *run) planFor(c *child) []byte {
	plan := r.options.Plan
	plan.Clients = c.clients
	plan.Sources = rotate(plan.Sources, c.id*plan.Clients)
	plan.FirstStart = time.Duration(c.id) * r.options.Plan.StartGap
	plan.StartGap *= time.Duration(len(r.children))
	plan.First = r.firstTurn(c)
	plan.Pace.First, plan.Pace.Step = uint64(c.id), uint64(len(r.children))
	plan.Requests = share(plan.Requests, len(r.children), c.id)
	return wire.AppendPlan(nil, &plan)
}

// firstTurn is where a worker's walk through the list of requests begins. With
// a limit the walks join into one, so that each entry is sent equally often;
// without one they begin at places spread evenly over the list.
func (r *run) firstTurn(c *child) uint64 {
	plan, id, workers := &r.options.Plan, uint64(c.id), uint64(len(r.children))
	switch {
	case plan.Order == client.AtRandom:
		return id
	case plan.Limited:
		return id*(plan.Requests/workers) + min(id, plan.Requests%workers)
	}
	return id * uint64(len(plan.Entries)) / workers
}

func (r *run) watchAll() {
	for _, c := range r.children {
		if c.pid != 0 {
			r.alive++
			r.waiting++
			r.watch(c.report, unix.EPOLLIN, c.id)
			r.push(c)
		}
	}
}

// push writes what the control pipe has room for. While something is left, that
// room is an event too: a worker that has not got its whole plan sends nothing
// that would wake the loop.
func (r *run) push(c *child) {
	c.push()
	owed := len(c.out) > 0
	switch {
	case owed == c.owed:
		return
	case owed:
		r.watch(c.control, unix.EPOLLOUT, c.id)
	default:
		_ = unix.EpollCtl(r.poll, unix.EPOLL_CTL_DEL, c.control, nil)
	}
	c.owed = owed
}

// prepare waits until every worker is ready, or the rest has been silent for
// too long and is given up.
func (r *run) prepare() {
	r.lastSign = time.Now()
	for r.waiting > 0 && !r.interrupted() {
		sign := r.lastSign
		left := readyLimit - time.Since(sign)
		r.wait(left)
		if left <= 0 && r.lastSign == sign {
			break
		}
	}
	interrupted := r.interrupted() // a signal from here on finds a run to stop
	for _, c := range r.children {
		switch {
		case c.pid == 0 || c.report < 0:
		case interrupted:
			c.kill()
		case c.state == starting:
			r.giveUp(c, fmt.Sprintf("was not ready within %v", readyLimit))
		}
	}
	for r.waiting > 0 || interrupted && r.alive > 0 { // those killed now
		r.wait(readyLimit)
	}
}

// release tells all workers when the window begins, and so when to begin
// themselves: then, or with a warm-up so much before.
func (r *run) release() {
	lead := leadTime(r.alive) + r.options.Plan.Warmup
	r.progress.at = -r.options.Plan.Warmup
	r.released = monotonicTime() + lead
	r.startedAt = time.Now().Add(lead)
	frame := wire.AppendGo(nil, int64(r.released))
	for _, c := range r.children {
		switch {
		case c.state != prepared:
		case c.problem != "": // given up, and ready too late
			c.kill()
		default:
			c.state = running
			c.out = append(c.out, frame...)
			r.push(c)
		}
	}
	if r.looks.look = r.options.Look; r.options.Plan.Warmup == 0 {
		r.looks.begin()
	}
	if r.interrupted() {
		r.stop()
	}
}

// elapsed is the time since the release, below 0 in the warm-up.
func (r *run) elapsed() time.Duration { return monotonicTime() - r.released }

// collect reads reports until the last worker is gone.
func (r *run) collect() {
	for r.alive > 0 {
		if !r.wait(r.patience()) && r.stopping {
			r.callAgain()
		}
		r.looks.again(r.elapsed(), r.over())
		r.showProgress()
		if r.interrupted() {
			r.stop()
		}
		switch {
		case r.signals.Load() > 1:
			r.killAll("killed by a second signal")
		case r.overdue():
			r.killAll("did not report its end in time")
		}
		r.rest()
	}
	r.looks.again(r.elapsed(), true)
}

// rest lets reports pile up for a moment: to wake for each of thousands would
// take from the workers' CPUs. Nothing is looked at later than a person would see.
func (r *run) rest() {
	const many, moment = 64, 20 * time.Millisecond
	if r.alive >= many && !r.over() && !r.interrupted() {
		time.Sleep(min(moment, max(r.patience(), 0)))
	}
}

// over reports whether the workers should be sending their last.
func (r *run) over() bool {
	limit := r.options.Plan.Duration
	return r.stopping || limit > 0 && r.elapsed() >= limit
}

// overdue reports whether the run is over and no worker has given a sign of
// life for too long since.
func (r *run) overdue() bool {
	if !r.over() {
		return r.silent()
	}
	if r.endSeen.IsZero() {
		r.endSeen = time.Now()
		r.lastSign = r.endSeen
	}
	if time.Since(r.lastSign) <= finalLimit {
		return false
	}
	return time.Since(r.endSeen) > starvedLimit(len(r.children), r.options.Plan.Clients) || !r.starved()
}

// silent reports whether a run without a limit of time has been without a report
// for longer than requests can take: its workers are stopped or stuck.
func (r *run) silent() bool {
	plan := &r.options.Plan
	limit := plan.Timeout + plan.ConnectTimeout + readyLimit
	if plan.Pace.Open() {
		limit += time.Duration(plan.Pace.At(1)) // between two starts it is never longer
	}
	return plan.Duration == 0 && time.Since(r.lastSign) > limit
}

// starved reports whether some of the workers that have not ended are at work: a
// few of them stand for all.
func (r *run) starved() bool {
	looks := 16
	for _, c := range r.children {
		if c.report < 0 {
			continue
		}
		if atWork(c.pid) {
			return true
		}
		if looks--; looks == 0 {
			break
		}
	}
	return false
}

// patience is how long the loop may wait for the next report.
func (r *run) patience() time.Duration {
	if r.over() {
		return finalLimit / 4
	}
	limit := time.Second
	if at := r.elapsed(); at < 0 {
		limit = min(limit, -at)
	}
	if d := r.options.Plan.Duration; d > 0 {
		limit = min(limit, d-r.elapsed())
	}
	return limit
}

// stop asks the workers to end now.
func (r *run) stop() {
	if r.stopping {
		return
	}
	r.cutShort = !r.over()
	r.stopping = true
	for _, c := range r.children {
		c.closeControl()
	}
}

// callAgain wakes workers that may have missed their control pipe's hang-up: its
// signal can come just before the call that it is to end (client.bell).
func (r *run) callAgain() {
	for _, c := range r.children {
		if c.report >= 0 {
			_ = unix.Kill(c.pid, unix.SIGIO)
		}
	}
}

func (r *run) killAll(why string) {
	if r.killed {
		return
	}
	r.killed = true
	for _, c := range r.children {
		if c.report >= 0 {
			r.giveUp(c, why)
		}
	}
}

// giveUp kills a worker; its pipe's end then takes it off the books.
func (r *run) giveUp(c *child, why string) {
	if c.problem == "" && c.state != finished {
		c.problem = " " + why
	}
	c.kill()
}

// wait handles what comes within limit, and reports whether anything did.
func (r *run) wait(limit time.Duration) bool {
	n, err := unix.EpollWait(r.poll, r.events, int(max(limit, 0)/time.Millisecond)+1)
	if err != nil && err != unix.EINTR {
		panic(fmt.Sprintf("procs: internal error: epoll_wait: %v", err))
	}
	for i := range max(n, 0) {
		if slot := int(r.events[i].Fd); slot == signalSlot {
			_, _ = unix.Read(r.signal, r.buf[:8])
		} else {
			r.handle(r.children[slot])
		}
	}
	return n > 0
}

func (r *run) handle(c *child) {
	if c.report < 0 { // buried by an earlier event of the same batch
		return
	}
	r.push(c)
	ended := c.pull(r.buf)
	if err := r.decode(c); err != nil {
		c.garbled = true // nothing it sends is counted any more
		if c.problem == "" {
			c.problem = fmt.Sprintf(" sent garbage: %v", err)
		}
		c.kill()
	}
	if ended {
		r.bury(c)
	}
}

// bury takes a worker that has ended off the books. One that has only closed
// its pipe is ended now; one that is on its way out keeps its exit code.
func (r *run) bury(c *child) {
	c.closeControl()
	c.closeReport()
	c.kill()
	c.reap()
	r.alive--
	r.lastSign = time.Now()
	if c.state == starting {
		r.waiting--
	}
	if c.state == finished {
		return
	}
	if c.state == running && c.begun == 0 && r.elapsed() > 0 {
		// Released, and dead before its first report: what it began is not known,
		// but that its clients, as far as they were due, did begin is.
		c.begun = r.firstRequests(c)
		r.tally.Begun += c.begun
		r.series.Add(0, &stats.Tally{Begun: c.begun})
	}
	if c.state == running { // it has loaded the target until now
		r.measured = max(r.measured, r.within(r.elapsed()))
	}
	c.state = lost
	r.lost += c.underWay()
	r.warmup.Unfinished += c.warmup.underWay()
	if under := c.underWay() + c.warmup.underWay(); under > 0 {
		r.series.Lose(r.second(), under)
	}
}

// firstRequests is how many requests a worker begins at once: one for each of
// its clients, unless its share of all requests, or of those due, is smaller.
func (r *run) firstRequests(c *child) uint64 {
	plan, n := &r.options.Plan, uint64(0)
	for i := range c.clients {
		if plan.StartGap*time.Duration(c.id+i*len(r.children)) <= r.elapsed()+plan.Warmup {
			n++
		}
	}
	if plan.Pace.Open() {
		n = min(n, share(r.scheduled(r.elapsed()), len(r.children), c.id))
	}
	if plan.Limited {
		n = min(n, share(plan.Requests, len(r.children), c.id))
	}
	return n
}

// second is the second of the run it is now, the last one if its time is over.
func (r *run) second() int {
	at := r.elapsed()
	if d := r.options.Plan.Duration; d > 0 {
		at = min(at, d-1)
	}
	return stats.SecondOf(at)
}

// scheduled is how many starts of an open loop are due in the window before t.
func (r *run) scheduled(t time.Duration) uint64 {
	plan := &r.options.Plan
	if !plan.Pace.Open() {
		return 0
	}
	n := plan.Pace.Before(int64(plan.Warmup+t)) - plan.Pace.Before(int64(plan.Warmup))
	if plan.Limited {
		n = min(n, plan.Requests)
	}
	return n
}

// decode takes the whole frames of what a worker has sent.
func (r *run) decode(c *child) error {
	if c.garbled {
		c.in = nil
		return nil
	}
	b := c.in
	if !c.greeted {
		n := min(len(b), len(wire.Magic))
		if string(b[:n]) != wire.Magic[:n] {
			return wire.ErrMagic
		}
		if n < len(wire.Magic) {
			return nil
		}
		c.greeted, b = true, b[n:]
	}
	for {
		kind, payload, rest, ok, err := wire.Next(b, wire.MaxReport)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := r.take(c, kind, payload); err != nil {
			return err
		}
		b = rest
	}
	c.in = append(c.in[:0], b...)
	return nil
}

// take acts on one frame.
func (r *run) take(c *child, kind wire.Kind, payload []byte) error {
	switch {
	case kind == wire.KindError:
		c.problem = fmt.Sprintf(": %s", payload)
		return nil
	case kind == wire.KindReady && c.state == starting:
		c.state = prepared
		r.waiting--
		r.lastSign = time.Now()
		return nil
	case kind == wire.KindInterval && c.state == running:
		return r.takeInterval(c, payload)
	case kind == wire.KindFinal && c.state == running:
		return r.takeFinal(c, payload)
	}
	return fmt.Errorf("frame of kind %d out of place", kind)
}

// longestRun bounds the number of a second that is believed: about 30 years.
const longestRun = 1e9

func (r *run) takeInterval(c *child, payload []byte) error {
	r.interval.Reset()
	second, err := wire.ReadInterval(payload, &r.interval)
	if err != nil {
		return err
	}
	if second > int(r.elapsed()/time.Second)+1 || second > longestRun {
		return fmt.Errorf("second %d has not come", second)
	}
	if err := r.enter(c, second); err != nil {
		return err
	}
	r.lastSign = time.Now()
	r.series.Add(second, &r.interval)
	return nil
}

// enter adds the interval at hand to the window's ledger or to the warm-up's.
func (r *run) enter(c *child, second int) error {
	t := &r.interval
	switch {
	case second < stats.SecondOf(-r.options.Plan.Warmup):
		return fmt.Errorf("second %d was before the start", second)
	case second < 0:
		if err := c.warmup.add(t); err != nil {
			return err
		}
		r.warmup.Add(t)
		return nil
	}
	if err := c.counts.add(t); err != nil {
		return err
	}
	r.tally.Add(t)
	return nil
}

func (r *run) takeFinal(c *child, payload []byte) error {
	final, err := wire.ReadFinal(payload)
	if err != nil {
		return err
	}
	if under := c.underWay(); under != final.Unfinished.Sum() {
		return fmt.Errorf("%d requests under way, %d of them accounted for", under, final.Unfinished.Sum())
	}
	if under := c.warmup.underWay(); under != final.WarmingUp {
		return fmt.Errorf("%d requests of the warm-up under way, %d of them accounted for", under, final.WarmingUp)
	}
	if n := final.PerClient.Count(); n > uint64(c.clients) {
		return fmt.Errorf("%d clients, %d of them accounted for", c.clients, n)
	}
	if final.End > max(r.elapsed(), 0)+time.Second {
		return fmt.Errorf("its end after %v has not come", final.End)
	}
	c.state, c.final = finished, final
	r.lastSign = time.Now()
	r.unfinished.Add(&final.Unfinished)
	r.perClient.Add(&final.PerClient)
	r.warmup.Unfinished += final.WarmingUp
	r.coalescing.Slept += final.Coalesced
	r.coalescing.Longest = max(r.coalescing.Longest, final.LongestMoment)
	r.measured = max(r.measured, final.End)
	return nil
}

// within is t, but not beyond the run.
func (r *run) within(t time.Duration) time.Duration {
	if d := r.options.Plan.Duration; d > 0 {
		t = min(t, d)
	}
	return max(t, 0)
}

func (r *run) outcome() *Outcome {
	out := &Outcome{
		StartedAt: r.startedAt, Measured: r.measured, Tally: r.tally, Unfinished: r.unfinished,
		Lost: r.lost, Scheduled: r.scheduled(r.measured), Warmup: r.warmup, Coalescing: r.coalescing,
		PerClient: r.perClient, Workers: r.workers(), ParentCPU: r.looks.used,
	}
	out.Reasons = r.reasons // what the workers said of their ends is in
	out.Series = r.series.Seconds(out.Measured)
	out.Stalls = r.series.Stalls(out.Measured, r.tally.Succeeded)
	if s := r.first.Load(); s != nil && r.cutShort {
		out.Signal = *s
	}
	return out
}

// sayProblems says what workers were given up for, once for each cause.
func (r *run) sayProblems() {
	ids := map[string][]int{}
	var causes []string
	for _, c := range r.children {
		if c.problem == "" {
			continue
		}
		if ids[c.problem] == nil {
			causes = append(causes, c.problem)
		}
		ids[c.problem] = append(ids[c.problem], c.id)
	}
	for _, cause := range causes {
		r.reason("%s%s", nameWorkers(ids[cause]), cause)
	}
}

// nameWorkers names one worker, or counts many and names the first of them.
func nameWorkers(ids []int) string {
	const named = 8
	switch {
	case len(ids) == 1:
		return fmt.Sprintf("worker %d", ids[0])
	case len(ids) <= named:
		return fmt.Sprintf("%d workers %v", len(ids), ids)
	}
	return fmt.Sprintf("%d workers, the first %v,", len(ids), ids[:named])
}

// sayUnbound says once why workers are not bound to their CPUs.
func (r *run) sayUnbound() {
	n := 0
	var why error
	for _, c := range r.children {
		if c.unbound != nil {
			n, why = n+1, c.unbound
		}
	}
	if n > 0 {
		r.reason("%d workers could not be pinned to a CPU: %v", n, why)
	}
}

func (r *run) workers() stats.Workers {
	host, _ := os.Hostname()
	w := stats.Workers{Asked: len(r.children), ReadyIn: r.readyIn}
	r.sayUnbound()
	r.sayProblems()
	for _, c := range r.children {
		if c.pid == 0 {
			continue
		}
		w.Started++
		if c.cpu >= 0 {
			w.Pinned++
		}
		if c.batch {
			w.Batch++
		}
		if c.state == lost {
			w.Lost++
		}
		w.List = append(w.List, stats.Worker{
			ID: c.id, Host: host, PID: c.pid, CPU: c.cpu, Clients: c.clients,
			Succeeded: c.succeeded, Failed: c.failed,
			StartCPU: c.final.StartCPU, CPUTime: c.final.CPUTime, RunDelay: c.final.RunDelay, Lag: c.final.Lag,
			Exit: c.exit, Lost: c.state == lost,
		})
	}
	return w
}

// progress remembers what the last snapshot showed.
type progress struct {
	at        time.Duration
	succeeded uint64
}

// showProgress calls the caller about once a second, a little after the
// workers' reports of that second.
func (r *run) showProgress() {
	now := r.elapsed()
	if r.options.Progress == nil || now < r.progress.at+time.Second {
		return
	}
	span := (now - r.progress.at).Seconds()
	r.options.Progress(stats.Snapshot{
		Elapsed: now, Duration: r.options.Plan.Duration,
		Rate:      float64(r.tally.Succeeded-r.progress.succeeded) / span,
		Succeeded: r.tally.Succeeded, Failed: r.tally.Failed,
		Unfinished: r.tally.Begun - r.tally.Succeeded - r.tally.Failed - r.lost,
		Alive:      r.alive, Workers: len(r.children),
	})
	r.progress = progress{now, r.tally.Succeeded}
}
