package stats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func set[T any](v T) *T { return &v }

// happy is a run of 1,000 requests in 10 s by 4 workers, all well.
func happy() *Run {
	r := &Run{Measured: 10 * time.Second, Plan: PlanFacts{Duration: 10 * time.Second}, Workers: Workers{Asked: 4, Started: 4}}
	r.Tally.Begun, r.Tally.Succeeded = 1000, 1000
	for range 1000 {
		r.Tally.Total.Record(20e6)
	}
	for i := range 4 {
		r.Workers.List = append(r.Workers.List, Worker{ID: i, Exit: "exit 0"})
	}
	return r
}

func failing(r *Run, class Class, n int) {
	for range n {
		r.Tally.Fail(class, Connecting, 0, 0, 0)
	}
	r.Tally.Begun += uint64(n)
}

func lose(r *Run, exits ...string) {
	for i, exit := range exits {
		r.Workers.List[i].Lost, r.Workers.List[i].Exit = true, exit
	}
	r.Workers.Lost = len(exits)
}

func nothingSucceeded(r *Run) {
	r.Tally = Tally{}
	r.Unfinished.Count[Waiting] = 4
	r.Unfinished.Oldest = 9.99e9
	r.Tally.Begun = 4
}

var judgements = []struct {
	name    string
	happens func(*Run)
	limits  Thresholds
	exit    int
	valid   bool
	partial bool
	reasons string // joined by " | "
}{
	{name: "a clean run has nothing to say", happens: func(*Run) {}, exit: 0, valid: true},
	{
		name: "starts that were not made", exit: 0, valid: true,
		happens: func(r *Run) { r.Plan.RatePerSec, r.Scheduled = 1000, 10000 },
		reasons: "9,000 of the 10,000 starts that were due were not made, for want of a free client: 100 requests/s were begun, not 1,000; hint: use more clients (-c), if the target is to be asked that often",
	},
	{
		name: "one start in a thousand that was not made", exit: 0, valid: true,
		happens: func(r *Run) { r.Plan.RatePerSec, r.Scheduled = 100, 1001 },
	},
	{
		name:    "failed requests alone do not change the exit code",
		happens: func(r *Run) { failing(r, Refused, 900) }, exit: 0, valid: true,
	},
	{
		name: "one worker lost", happens: func(r *Run) { lose(r, "signal: killed") }, exit: 3, valid: true, partial: true,
		reasons: "1 of 4 workers lost (signal: killed); what they did after their last report is not in these numbers",
	},
	{
		name: "workers lost by several causes", happens: func(r *Run) { lose(r, "exit 2", "signal: killed", "signal: killed") },
		exit: 3, valid: true, partial: true,
		reasons: "3 of 4 workers lost (2 x signal: killed, 1 x exit 2); what they did after their last report is not in these numbers",
	},
	{
		name:    "more lost workers than the list knows",
		happens: func(r *Run) { lose(r, "signal: killed"); r.Workers.Lost = 3 }, exit: 3, valid: true, partial: true,
		reasons: "3 of 4 workers lost (2 x cause unknown, 1 x signal: killed); what they did after their last report is not in these numbers",
	},
	{
		name: "fewer workers than asked", happens: func(r *Run) { r.Workers.Asked, r.Workers.Started = 200, 17 },
		exit: 3, valid: true, partial: true, reasons: "200 workers asked, 17 started",
	},
	{
		name: "the run's own reasons come last", happens: func(r *Run) { r.Reasons = []string{"not pinned"}; r.Workers.Asked = 5 },
		exit: 3, valid: true, partial: true, reasons: "5 workers asked, 4 started | not pinned",
	},
	{
		name: "SIGINT", happens: func(r *Run) { r.Interrupted, r.Measured = "SIGINT", 2*time.Second }, exit: 130, valid: true, partial: true,
		reasons: "interrupted by SIGINT after 2.000 s of the 10s asked; rates are over the time that was measured",
	},
	{
		name: "SIGTERM in a run without a time limit", happens: func(r *Run) { r.Interrupted, r.Plan.Duration = "SIGTERM", 0 },
		exit: 143, valid: true, partial: true,
		reasons: "interrupted by SIGTERM after 10.000 s; rates are over the time that was measured",
	},
	{
		name: "local ports at 0.1 % are told and no more", happens: func(r *Run) { r.Tally.Begun, r.Tally.Succeeded = 999, 999; failing(r, LocalPorts, 1) },
		exit: 0, valid: true,
		reasons: "local ports used up 1 times (0.1 % of the requests begun): a limit of this host, not of the target; hint: keep connections open with -k, or widen net.ipv4.ip_local_port_range",
	},
	{
		name: "local ports above 0.1 %, connections kept open", happens: func(r *Run) { r.Plan.KeepAlive = true; failing(r, LocalPorts, 1234) },
		exit: 5, reasons: "local ports used up 1,234 times (55.24 % of the requests begun): a limit of this host, not of the target; hint: widen net.ipv4.ip_local_port_range, or use fewer clients (-c)",
	},
	{
		name: "descriptors and memory together", happens: func(r *Run) { failing(r, LocalMem, 1); failing(r, LocalFDs, 1) },
		exit: 5, reasons: "local file descriptors used up 1 times (0.1 % of the requests begun): a limit of this host, not of the target; hint: raise the limit of open files (ulimit -Hn, fs.file-max), or use fewer clients (-c)" +
			" | local memory or buffers used up 1 times (0.1 % of the requests begun): a limit of this host, not of the target; hint: use fewer clients (-c), or give this host more memory for sockets (net.ipv4.tcp_mem)",
	},
	{
		name: "time-outs that may be this host's own", happens: func(r *Run) {
			failing(r, TimeoutTTFB, 7)
			r.Tally.Overslept = 4
			r.Workers.List = append(r.Workers.List, Worker{Lag: 1500 * time.Millisecond}, Worker{Lag: 38 * time.Second}, Worker{})
		},
		exit: 0, valid: true,
		reasons: "4 of the time-outs may be this host's own: what the client waited for was there, but its worker got a CPU only when the time was up (at worst 38.0 s late); hint: use fewer clients per CPU (-c), or fewer processes (-w auto)",
	},
	{
		name: "an unbalanced ledger", happens: func(r *Run) { r.Tally.Begun++ }, exit: 5,
		reasons: "THE LEDGER DOES NOT BALANCE: 1001 begun, but 1000 succeeded + 0 failed + 0 unfinished + 0 lost make 1000; this is a defect of horde, do not use these numbers",
	},
	{
		name: "a target out of reach started no worker, and meant to", happens: func(r *Run) {
			*r = Run{Unreachable: "connection refused", Workers: Workers{Asked: 4}}
		},
		limits: Thresholds{MinRate: set(1.0)}, exit: 1, reasons: "the target could not be reached: connection refused",
	},
	{
		name: "everything hung", happens: nothingSucceeded, exit: 1, valid: true,
		reasons: "no request succeeded: 0 failed, 4 unfinished (the oldest for 9.99 s)",
	},
	{
		name: "everything failed", happens: func(r *Run) { r.Tally = Tally{}; failing(r, Refused, 3); failing(r, HTTP5xx, 40) },
		exit: 1, valid: true, reasons: "no request succeeded: 43 failed (most: status 5xx, 40), 0 unfinished",
	},
	{
		name: "nothing was begun", happens: func(r *Run) { r.Tally = Tally{} }, exit: 1, valid: true, reasons: "no request was begun",
	},
	{
		name: "all thresholds crossed", happens: func(r *Run) { failing(r, Refused, 32) },
		limits: Thresholds{MaxFailed: set(0.007), MaxP99: set(10 * time.Millisecond), MinRate: set(1e7)}, exit: 4, valid: true,
		reasons: "--max-failed 0.7 % crossed: 3.1 % failed (32 of 1,032 that ended)" +
			" | --max-p99 10ms crossed: 99 % of the requests that succeeded took up to 20ms" +
			" | --min-rate 10000000 crossed: 100.00 requests/s succeeded",
	},
	{
		name: "a target that hung after good answers", happens: func(r *Run) {
			r.Tally.Begun += 50
			r.Unfinished.Count[Waiting] = 50
			times(&r.Unfinished.Ages, 50, 9*time.Second)
		},
		limits: Thresholds{MaxP99: set(time.Second)}, exit: 4, valid: true,
		reasons: "--max-p99 1s crossed: with the 50 unfinished requests the 99th percentile is 9s at least",
	},
	{
		name: "thresholds met exactly are not crossed", happens: func(r *Run) { r.Tally.Begun++; r.Tally.Fail(Refused, Connecting, 0, 0, 0) },
		limits: Thresholds{MaxFailed: set(1.0 / 1001), MaxP99: set(20 * time.Millisecond), MinRate: set(100.0)}, valid: true,
	},
	{
		name: "a threshold of zero allows none", happens: func(r *Run) { failing(r, Refused, 1) },
		limits: Thresholds{MaxFailed: set(0.0)}, exit: 4, valid: true,
		reasons: "--max-failed 0 % crossed: 0.1 % failed (1 of 1,001 that ended)",
	},
	{
		name: "without an answer a percentile crosses nothing", happens: nothingSucceeded,
		limits: Thresholds{MaxFailed: set(0.0), MaxP99: set(time.Nanosecond)}, exit: 1, valid: true,
		reasons: "no request succeeded: 0 failed, 4 unfinished (the oldest for 9.99 s)",
	},
}

func TestJudge(t *testing.T) {
	for _, row := range judgements {
		t.Run(row.name, func(t *testing.T) {
			r := happy()
			row.happens(r)
			v := Judge(r, row.limits)
			assert.Equal(t, row.exit, v.Exit, "exit code")
			assert.Equal(t, row.valid, v.Valid, "valid")
			assert.Equal(t, row.partial, v.Partial, "partial")
			assert.Equal(t, row.reasons, strings.Join(v.Reasons, " | "))
			assert.Nil(t, v.Stationary)
		})
	}
}

// Each event alone has its exit code; of two together the one listed first wins.
func TestExitCodePrecedence(t *testing.T) {
	limits := Thresholds{MinRate: set(1e9)}
	events := []struct {
		exit    int
		happens func(*Run)
	}{
		{130, func(r *Run) { r.Interrupted = "SIGINT" }},
		{3, func(r *Run) { lose(r, "signal: killed") }},
		{5, func(r *Run) { failing(r, LocalPorts, 500) }},
		{1, func(r *Run) { r.Tally.Failed += r.Tally.Succeeded; r.Tally.Succeeded = 0 }},
		{4, func(*Run) {}},
	}
	for i, first := range events {
		for _, second := range events[i:] {
			t.Run(fmt.Sprintf("%d before %d", first.exit, second.exit), func(t *testing.T) {
				r := happy()
				second.happens(r)
				first.happens(r)
				assert.Equal(t, first.exit, Judge(r, limits).Exit)
			})
		}
	}
}

func TestLostWorkersAreNamedToTheLast(t *testing.T) {
	r := happy()
	r.Workers = Workers{Asked: 500, Started: 500, Lost: 50}
	for i := range 500 {
		r.Workers.List = append(r.Workers.List, Worker{ID: i, Exit: "exit 0"})
	}
	for i := range 50 {
		r.Workers.List[i*10].Lost, r.Workers.List[i*10].Exit = true, "signal: killed"
	}
	assert.Contains(t, Judge(r, Thresholds{}).Reasons[0], "50 of 500 workers lost (signal: killed);")
}

func TestTheWorstOfSeveralRuns(t *testing.T) {
	assert.Equal(t, ExitOK, Worst())
	assert.Equal(t, ExitOK, Worst(0, 0))
	assert.Equal(t, ExitFailed, Worst(0, ExitThreshold, ExitFailed))
	assert.Equal(t, ExitGenerator, Worst(ExitFailed, ExitGenerator, 0))
	assert.Equal(t, ExitWorkers, Worst(ExitGenerator, ExitWorkers))
	assert.Equal(t, ExitInterrupted, Worst(ExitWorkers, 0, ExitInterrupted))
}
