package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"horde/stats"
)

// scene is a run as it could have happened, with the limits it was judged by.
type scene struct {
	name   string
	run    stats.Run
	limits stats.Thresholds
}

func (s *scene) verdict() stats.Verdict { return stats.Judge(&s.run, s.limits) }

// newRun is 4 clients for 10 s against a local target, with nothing counted yet.
func newRun() stats.Run {
	r := stats.Run{
		Tool: stats.Tool{Version: "0.1.0", Commit: "0123abc", Go: "go1.26"},
		Plan: stats.PlanFacts{
			URL: "http://127.0.0.1:8080/a?b=1&c=2", Address: "127.0.0.1:8080", Method: "GET", HTTP: "1.1",
			Clients: 4, Workers: "per-client",
			Duration: 10 * time.Second, Timeout: 10 * time.Second, ConnectTimeout: 3 * time.Second,
			Argv:          []string{"horde", "-c", "4", "-t", "10", "http://127.0.0.1:8080/a?b=1&c=2"},
			RequestSHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		},
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
		Measured:  10*time.Second + 2*time.Millisecond,
		Workers:   stats.Workers{Asked: 4, Started: 4, Pinned: 4},
		Generator: &stats.Generator{
			Span: 10*time.Second + time.Millisecond, CPUs: 2, Busy: 0.85, Busiest: 0.86, Softirq: 0.11, Pressure: 0.07,
			TargetHere: true, ParentCPU: 3 * time.Millisecond,
			Workers: stats.WorkerLoad{CPUs: 2, CPU: 0.6, Busiest: 0.3, Delay: 0.002, Lag: 300 * time.Microsecond},
		},
	}
	for i := range 4 {
		r.Workers.List = append(r.Workers.List, stats.Worker{
			ID: i, Host: "local", PID: 1000 + i, CPU: i % 2, Clients: 1,
			CPUTime: 3 * time.Second, RunDelay: 20 * time.Millisecond, Exit: "exit 0",
		})
	}
	return r
}

// succeed counts n answers of 200 with latencies around median, spread over the seconds.
func succeed(r *stats.Run, n int, median time.Duration, from, to int) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	t := &r.Tally
	for range n {
		total := int64(float64(median) * (0.6 + rng.ExpFloat64()*0.6))
		t.Total.Record(total)
		t.FirstByte.Record(total * 9 / 10)
		t.Connect.Record(total / 10)
		t.Processing.Record(total - total/10)
		t.Waiting.Record(total*9/10 - total/10)
		t.Status(200)
	}
	t.Begun += uint64(n)
	t.Succeeded += uint64(n)
	t.Opened += uint64(n)
	t.BytesRead += uint64(n) * 243
	t.BytesBody += uint64(n) * 12
	t.BytesWritten += uint64(n) * 80
	for s := from; s < to; s++ {
		second(r, s).Succeeded += uint64(n / (to - from))
		second(r, s).Bytes += uint64(n / (to - from) * 243)
		second(r, s).P50, second(r, s).P99, second(r, s).Max = int64(median), int64(4*median), int64(6*median)
	}
	share(r, n, func(w *stats.Worker) *uint64 { return &w.Succeeded })
}

// fail counts n requests that failed between two seconds.
func fail(r *stats.Run, n int, class stats.Class, phase stats.Phase, errno syscall.Errno, spent time.Duration, from, to int) {
	first, last := int64(from)*1e9+5e6, int64(to)*1e9-7e6
	for i := range n {
		r.Tally.Fail(class, phase, int(errno), first+(last-first)*int64(i)/int64(max(n-1, 1)), int64(spent))
	}
	r.Tally.Begun += uint64(n)
	for s := from; s < to; s++ {
		second(r, s).Failed += uint64(n / (to - from))
		second(r, s).Classes = append(second(r, s).Classes, stats.ClassCount{Class: class, Count: uint64(n / (to - from))})
	}
	share(r, n, func(w *stats.Worker) *uint64 { return &w.Failed })
}

// answer counts n complete answers of an unexpected status.
func answer(r *stats.Run, n, status int, from, to int) {
	fail(r, n, stats.StatusClass(status), stats.Receiving, 0, time.Millisecond, from, to)
	for range n {
		r.Tally.Status(status)
	}
	r.Tally.Opened += uint64(n)
	r.Tally.BytesRead += uint64(n) * 160
}

func leave(r *stats.Run, phase stats.Phase, n uint64, oldest time.Duration) {
	r.Unfinished.Count[phase] += n
	r.Unfinished.Oldest = max(r.Unfinished.Oldest, int64(oldest))
	for i := range n {
		r.Unfinished.Ages.Record(int64(oldest) * int64(n-i) / int64(n))
	}
	r.Tally.Begun += n
	for i := range r.Series {
		r.Series[i].Unfinished += n
	}
}

func second(r *stats.Run, s int) *stats.Second {
	for len(r.Series) <= s {
		r.Series = append(r.Series, stats.Second{At: time.Duration(len(r.Series)) * time.Second, Length: time.Second})
	}
	return &r.Series[s]
}

func share(r *stats.Run, n int, count func(*stats.Worker) *uint64) {
	for i := range n {
		*count(&r.Workers.List[i%len(r.Workers.List)])++
	}
}

func set[T any](v T) *T { return &v }

func scenes() []scene {
	return []scene{
		clean(), keptAlive(), overload(), hung(), onlyErrors(), lostWorkers(), tooFewWorkers(), interrupted(),
		portsUsedUp(), oldProtocol(), openLoop(), unreachable(), crossed(), unbalanced(), noisyHost(), generatorLimited(), overTLS(),
		aList(),
	}
}

func perClient(r *stats.Run, succeeded ...int64) {
	for _, n := range succeeded {
		r.PerClient.Record(n)
	}
}

func clean() scene {
	r := newRun()
	succeed(&r, 40000, 800*time.Microsecond, 0, 10)
	leave(&r, stats.Waiting, 4, 900*time.Microsecond)
	perClient(&r, 9987, 10001, 10005, 10007)
	return scene{name: "clean", run: r}
}

func keptAlive() scene {
	r := newRun()
	r.Plan.KeepAlive, r.Plan.Workers, r.Plan.Requests, r.Plan.Duration = true, "auto", 40001, 0
	r.Plan.Tried, r.Plan.ProxyProtocol = []string{"[::1]:8080", "127.0.0.1:8080"}, 2
	r.Measured = 1234 * time.Millisecond
	r.Workers.Pinned, r.Workers.Started, r.Workers.Asked = 0, 2, 2
	succeed(&r, 40001, 90*time.Microsecond, 0, 2)
	r.Tally.Opened, r.Tally.Reused, r.Tally.Resent = 40, 39961, 36
	r.Tally.Connect.Reset()
	r.Tally.Connect.Record(35000)
	r.Reasons = []string{"workers are not pinned: sched_setaffinity: operation not permitted"}
	return scene{name: "kept_alive", run: r}
}

func overload() scene {
	r := newRun()
	r.Plan.Clients, r.Plan.Duration, r.Measured = 5000, time.Minute, 60*time.Second+time.Millisecond
	r.Workers.Asked, r.Workers.Started, r.Workers.Pinned = 5000, 5000, 5000
	succeed(&r, 60000, 3*time.Millisecond, 0, 20)
	succeed(&r, 50000, 8*time.Millisecond, 40, 60)
	fail(&r, 31234, stats.Refused, stats.Connecting, syscall.ECONNREFUSED, time.Millisecond, 38, 40)
	fail(&r, 9321, stats.TimeoutConnect, stats.Connecting, 0, 3*time.Second, 22, 40)
	fail(&r, 5000, stats.TimeoutTTFB, stats.Waiting, 0, 10*time.Second, 29, 31)
	fail(&r, 812, stats.ResetWait, stats.Waiting, syscall.ECONNRESET, 4*time.Second, 20, 41)
	fail(&r, 40, stats.ResetBody, stats.Receiving, syscall.ECONNRESET, 4*time.Second, 38, 39)
	fail(&r, 21, stats.EmptyReply, stats.Waiting, 0, 20*time.Millisecond, 38, 39)
	fail(&r, 3, stats.BodyShort, stats.Receiving, 0, 20*time.Millisecond, 38, 39)
	fail(&r, 1, stats.Other, stats.Connecting, syscall.EPROTO, 20*time.Millisecond, 38, 39)
	answer(&r, 1200, 503, 41, 50)
	answer(&r, 17, 404, 41, 50)
	r.Tally.NoConn = 40556
	r.Stalls = []stats.Stall{{From: 20*time.Second + 200*time.Millisecond, To: 40 * time.Second}}
	r.Tally.Overslept = 12
	r.Workers.List[0].Lag = 2500 * time.Millisecond
	leave(&r, stats.Connecting, 4000, 2900*time.Millisecond)
	leave(&r, stats.Waiting, 900, 9700*time.Millisecond)
	leave(&r, stats.Receiving, 12, 20*time.Millisecond)
	for i := range 5000 { // 22 each but for some
		perClient(&r, []int64{22, 22, 25, 19}[i%4]*int64(min(i, 1)))
	}
	return scene{name: "overload", run: r}
}

func hung() scene {
	r := newRun()
	for i := range 10 {
		second(&r, i)
	}
	r.Tally.Opened = 4
	leave(&r, stats.Waiting, 4, 10*time.Second)
	for range 4 {
		r.Tally.Connect.Record(52000)
	}
	return scene{name: "hung", run: r}
}

func onlyErrors() scene {
	r := newRun()
	answer(&r, 50000, 503, 0, 10)
	for range 50000 {
		r.Tally.Connect.Record(52000)
	}
	return scene{name: "only_5xx", run: r}
}

func lostWorkers() scene {
	r := newRun()
	succeed(&r, 30000, 800*time.Microsecond, 0, 10)
	leave(&r, stats.Waiting, 1, 900*time.Microsecond)
	r.Tally.Begun += 37
	r.Lost = 37
	r.Workers.Lost = 3
	for i, exit := range []string{"signal: killed", "signal: killed", "exit 2"} {
		r.Workers.List[i].Exit, r.Workers.List[i].Lost = exit, true
	}
	return scene{name: "lost_workers", run: r}
}

func tooFewWorkers() scene {
	r := newRun()
	r.Plan.Clients = 200
	r.Workers = stats.Workers{Asked: 200, Started: 17, Pinned: 17, List: r.Workers.List}
	succeed(&r, 30000, 800*time.Microsecond, 0, 10)
	r.Reasons = []string{"pids.max of this cgroup is 100; a worker takes 5 of them"}
	return scene{name: "too_few_workers", run: r}
}

func interrupted() scene {
	r := newRun()
	r.Plan.Duration, r.Measured, r.Interrupted = time.Minute, 2034*time.Millisecond, "SIGINT"
	succeed(&r, 8000, 800*time.Microsecond, 0, 2)
	leave(&r, stats.Waiting, 4, 900*time.Microsecond)
	return scene{name: "interrupted", run: r}
}

func portsUsedUp() scene {
	r := newRun()
	succeed(&r, 28232, 400*time.Microsecond, 0, 4)
	fail(&r, 1234, stats.LocalPorts, stats.Connecting, syscall.EADDRNOTAVAIL, 10*time.Millisecond, 4, 10)
	r.Tally.NoConn = 1234
	return scene{name: "ports_used_up", run: r}
}

func generatorLimited() scene {
	r := newRun()
	succeed(&r, 40000, 800*time.Microsecond, 0, 10)
	g := r.Generator
	g.Busy, g.Busiest, g.Full, g.Steal, g.Softirq, g.Pressure = 0.995, 1, 8*time.Second, 0.021, 0.24, 0.98
	g.Throttled, g.Quota, g.Dropped, g.Squeezed = 2*time.Second, 1.5, 7, 12
	g.Ceiling = &stats.Ceiling{PerSecond: 4444.5, Span: 5 * time.Second, At: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	g.Workers = stats.WorkerLoad{CPUs: 2, CPU: 0.48, Busiest: 0.25, Delay: 0.62, Lag: 300 * time.Millisecond}
	return scene{name: "generator_limited", run: r}
}

// openLoop is a rate that the target cannot carry, after a warm-up.
func openLoop() scene {
	r := newRun()
	r.Plan.RatePerSec, r.Plan.Warmup, r.Plan.Ramp = 100, 2*time.Second, 2*time.Second
	second(&r, 11)
	succeed(&r, 400, 100*time.Millisecond, 2, 12)
	for i := range r.Series {
		r.Series[i].At -= r.Plan.Warmup
	}
	r.Warmup = stats.Warmup{Begun: 90, Succeeded: 80, Failed: 6, Unfinished: 4}
	t := &r.Tally
	for i := range t.Succeeded {
		t.SendLag.Record(int64(i) * 15e6)
		t.Service.Record(100e6 + int64(i))
	}
	t.Queued = 396
	leave(&r, stats.Waiting, 4, 60*time.Millisecond)
	for range 4 {
		t.SendLag.Record(6e9)
	}
	r.Scheduled = 1000
	return scene{name: "open_loop", run: r}
}

func oldProtocol() scene {
	r := newRun()
	r.Plan.HTTP = "0.9"
	succeed(&r, 20000, 400*time.Microsecond, 0, 10)
	r.Tally.Statuses = nil
	return scene{name: "http_0.9", run: r}
}

func unreachable() scene {
	r := newRun()
	r.StartedAt, r.Measured, r.Workers, r.Generator = time.Time{}, 0, stats.Workers{Asked: 4}, nil
	r.Unreachable = "connect 127.0.0.1:8080: connection refused"
	return scene{name: "unreachable", run: r, limits: stats.Thresholds{MinRate: set(100.0)}}
}

func crossed() scene {
	r := newRun()
	succeed(&r, 9680, 20*time.Millisecond, 0, 10)
	answer(&r, 320, 500, 2, 5)
	limits := stats.Thresholds{MaxFailed: set(0.01), MaxP99: set(50 * time.Millisecond), MinRate: set(5000.0)}
	return scene{name: "thresholds", run: r, limits: limits}
}

func overTLS() scene {
	r := newRun()
	r.Plan.URL, r.Plan.Address, r.Plan.Proxy = "https://shop.test/", "127.0.0.1:3128", "localhost:3128"
	r.Plan.TLS = &stats.TLS{
		ServerName: "shop.test", Verified: true, Resume: true, Offered: []string{"X25519", "CurveP256"},
		Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", Group: "X25519", Protocol: "http/1.1",
	}
	succeed(&r, 9000, 3*time.Millisecond, 0, 10)
	for range 9000 {
		r.Tally.Handshake.Record(int64(1234 * time.Microsecond))
	}
	r.Tally.Resumed = 8990
	fail(&r, 12, stats.TLSClosed, stats.Handshaking, syscall.ECONNRESET, 2*time.Millisecond, 3, 7)
	fail(&r, 3, stats.TLSTimeout, stats.Handshaking, 0, 3*time.Second, 4, 5)
	leave(&r, stats.Handshaking, 3, 900*time.Microsecond)
	leave(&r, stats.Waiting, 1, 2*time.Millisecond)
	return scene{name: "https", run: r}
}

func unbalanced() scene {
	r := newRun()
	succeed(&r, 1000, 800*time.Microsecond, 0, 10)
	r.Tally.Begun += 3
	return scene{name: "unbalanced", run: r}
}

func noisyHost() scene {
	r := newRun()
	succeed(&r, 40000, 800*time.Microsecond, 0, 10)
	grow(&r, map[string]uint64{
		"netstat TcpExt ListenOverflows": 1234, "netstat TcpExt ListenDrops": 1240, "netstat TcpExt TCPSynRetrans": 1190,
		"snmp Tcp ActiveOpens": 70_000, "snmp Tcp OutSegs": 900_000, "snmp Tcp RetransSegs": 9000,
		"nf_conntrack all count": 39_000, "stat cpu user": 900, "stat cpu steal": 100,
		"softirqs NET_RX cpu0": 900_000, "softirqs NET_RX cpu1": 1000, "stat cpu0 user": 100, "stat cpu0 softirq": 900,
	})
	return scene{name: "noisy_host", run: r}
}

// aList is a run through a list, whose third entry fails now and then, and whose
// last was never sent.
func aList() scene {
	r := newRun()
	const entries, each = 13, 50
	r.Plan.Method = "GET, POST"
	r.Plan.List = &stats.ListFacts{File: "shop.txt", Order: "random", Seed: 7}
	for i := range entries {
		facts := stats.EntryFacts{Where: fmt.Sprintf("line %d", i+2), Method: "GET", URL: fmt.Sprintf("/page/%d", i)}
		if i == 1 {
			facts.Method, facts.URL = "POST", "http://127.0.0.1:8080/search?q="+strings.Repeat("long+", 20)+"end"
		}
		r.Plan.List.Entries = append(r.Plan.List.Entries, facts)
	}
	succeed(&r, (entries-1)*each, 2*time.Millisecond, 0, 10)
	for i := range entries - 1 {
		e := r.Tally.Entries.At(i)
		for n := range each {
			e.Status(200)
			e.Succeed(243, int64(i+1)*1e6+int64(n)*1e4)
		}
	}
	answer(&r, 5, 404, 0, 10)
	for range 5 {
		r.Tally.Entries.At(2).Status(404)
		r.Tally.Entries.At(2).Fail(160, 1e6)
	}
	return scene{name: "list", run: r}
}
