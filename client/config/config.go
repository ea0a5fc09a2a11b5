// Package config turns what a person typed into a plan, in the parent, once.
// Everything that can be wrong with a command line is found here, before a
// connection is opened or a file touched.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"horde/client"
	"horde/client/http1"
	"horde/client/target"
	"horde/stats"
)

// Values are the options as typed, by canonical name; cli.Context is one.
type Values interface {
	String(name string) string
	StringSlice(name string) []string
	Bool(name string) bool
	IsSet(name string) bool
}

// PerClient and Auto are the words for Run.Workers.
const (
	PerClient = "per-client"
	Auto      = "auto"
)

// Run is a run as asked for, checked.
type Run struct {
	Plan   client.Plan // without its address
	Facts  stats.PlanFacts
	Limits stats.Thresholds
	Learn  bool // what bodies have is to be found out before the run

	Host    string // to resolve: of the target, or of the proxy
	Port    uint16
	Family  target.Family
	Sources []netip.Addr // to connect from; empty = not asked for
	Given   []netip.Addr // addresses of Host, so that nobody is asked for them
	Socket  string       // path of the unix socket to connect to instead of Host and Port; "" = none

	Repeat int            // runs, one after another
	Pause  *time.Duration // between two of them; nil = until TIME_WAIT has drained

	Workers  int    // processes asked for
	Pin      string // "auto", "none" or a list
	Classic  bool
	Ceiling  bool // to be measured, after the run
	Output   Output
	Progress string // "auto", "plain" or "none"
}

const (
	mostClients = 10_000_000
	mostCount   = math.MaxInt64
)

// Read checks the options of a run against url. cpus is how many CPUs this
// process may use; userAgent names the program.
func Read(v Values, url string, cpus int, userAgent string) (*Run, error) {
	b := &builder{values: v}
	r := &Run{Pin: v.String("pin"), Classic: v.Bool("classic"), Ceiling: v.Bool("calibrate")}
	link, err := target.Parse(url)
	if err != nil {
		return nil, &Usage{Text: err.Error(), Hint: hintURL(url)}
	}
	r.Host, r.Port, r.Facts.URL = link.Host, link.Port, url
	r.Output = b.output()
	b.conflicts(link.Secure)
	b.load(r)
	b.series(r)
	b.workers(r, cpus)
	b.limits(r)
	b.shown(r)
	requests := b.requests(r, link, userAgent)
	r.Plan.TLS = b.tls(link)
	if r.Ceiling && link.Secure {
		b.wrong("calibrate", "leave it out, or measure http", "the target that does nothing does not speak TLS")
	}
	b.family(r)
	r.Sources = value(b, "source", nil, target.ParseSources)
	b.way(r)
	if b.err != nil {
		return nil, b.err
	}
	return r, b.encode(r, requests)
}

func hintURL(url string) string {
	if url == "" || strings.HasPrefix(url, "-") {
		return "give the URL to test, such as http://127.0.0.1:8080/"
	}
	return ""
}

// builder keeps the first mistake.
type builder struct {
	values Values
	err    error
}

func (b *builder) wrong(option, hint, format string, args ...any) {
	if b.err == nil {
		b.err = &Usage{Option: option, Text: fmt.Sprintf(format, args...), Hint: hint}
	}
}

// value reads one option by parse, or returns fallback if it was not given.
func value[T any](b *builder, option string, fallback T, parse func(string) (T, error)) T {
	if !b.values.IsSet(option) {
		return fallback
	}
	s := b.values.String(option)
	v, err := parse(s)
	if err != nil {
		b.wrong(option, "", "%q %v", s, err)
	}
	return v
}

func upTo(most uint64) func(string) (uint64, error) {
	return func(s string) (uint64, error) { return parseCount(s, most) }
}

// exclusive groups of options: at most one of each may be given.
var exclusive = [...][]string{
	{"http09", "http10", "http11"},
	{"get", "head", "options", "trace", "method", "requests-file"},
	{"data", "body-file", "requests-file"},
	{"4", "6"},
	{"unix-socket", "4", "6"},
	{"unix-socket", "source"},
	{"unix-socket", "resolve"},
	{"unix-socket", "proxy"},
	{"force", "keepalive"},
	{"force", "expect-body"},
	{"force", "expect-continue"},
	{"http10", "expect-continue"},
	{"http09", "expect-continue"},
	{"http09", "keepalive"},
	{"http09", "requests-file"},
	{"classic", "calibrate"},
}

// unclassic options are those webbench does not have and that change what is
// sent or how it is judged.
var unclassic = [...]string{
	"keepalive", "requests", "method", "header", "data", "body-file", "content-type", "auth", "cookie",
	"user-agent", "expect", "expect-body", "expect-continue", "rate", "ramp", "warmup", "timeout", "connect-timeout", "requests-file",
}

func (b *builder) clash(option, other string) {
	if b.err == nil {
		b.err = &Usage{Option: option, Text: "cannot be used together with", Other: other, Hint: "leave one of them out"}
	}
}

// unsaid are the options whose word a request in HTTP/0.9 has no place for.
var unsaid = [...]string{
	"head", "options", "trace", "data", "body-file", "header", "auth", "cookie", "user-agent", "reload", "expect",
}

func (b *builder) conflicts(secure bool) {
	for _, group := range exclusive {
		first := ""
		for _, option := range group {
			switch {
			case !b.values.IsSet(option):
			case first == "":
				first = option
			default:
				b.clash(option, first)
			}
		}
	}
	hasList := b.values.IsSet("requests-file")
	if b.values.IsSet("content-type") && !b.values.IsSet("data") && !b.values.IsSet("body-file") && !hasList {
		b.wrong("content-type", "give one with --data or --body-file", "is the type of a body, and there is none")
	}
	if b.values.Bool("classic") && secure {
		b.wrong("classic", "leave out --classic", "webbench knows no https")
	}
	if b.values.IsSet("expect-continue") && !b.values.IsSet("data") && !b.values.IsSet("body-file") && !hasList {
		b.wrong("expect-continue", "give one with --data or --body-file", "asks for leave to send a body, and there is none")
	}
	for _, option := range []string{"requests-order", "seed"} {
		if b.values.IsSet(option) && !hasList {
			b.wrong(option, "give one with --requests-file", "is about a list of requests, and there is none")
		}
	}
	if !b.values.Bool("classic") {
		for _, option := range unsaid {
			if b.values.Bool("http09") && b.values.IsSet(option) {
				b.clash(option, "http09")
			}
		}
		return
	}
	for _, option := range unclassic {
		if b.values.IsSet(option) {
			b.wrong(option, "leave out --classic", "webbench has no such option, so --classic excludes it")
		}
	}
}

// load reads how much load, for how long, and the limits of one request.
func (b *builder) load(r *Run) {
	p := &r.Plan
	p.Clients = int(value(b, "clients", 1, upTo(mostClients)))
	p.Requests = value(b, "requests", 0, upTo(mostCount))
	p.Limited = p.Requests > 0
	fallback := 30 * time.Second
	if p.Limited {
		fallback = 0
	}
	p.Duration = value(b, "time", fallback, parseTime)
	p.Timeout = value(b, "timeout", 10*time.Second, parseTime)
	p.ConnectTimeout = value(b, "connect-timeout", 3*time.Second, parseTime)
	if r.Classic { // webbench has no limit but the kernel's
		p.Timeout, p.ConnectTimeout = longestTime, longestTime
	}
	b.pace(r)
	everyGood := func() client.StatusSet {
		var set client.StatusSet
		set.Add(200, 399)
		return set
	}
	p.Expect = value(b, "expect", everyGood(), parseStatuses)
	switch how := b.values.String("sched"); how {
	case "auto":
		p.Batch = !p.Pace.Open() // nothing may be late for it
	case "keep":
	default:
		b.wrong("sched", "", "%q is neither auto nor keep", how)
	}
	switch how := b.values.String("coalesce"); how {
	case "auto":
		p.Coalesce = !p.Pace.Open()
	case "off":
	default:
		b.wrong("coalesce", "", "%q is neither auto nor off", how)
	}
	p.Reuse, p.Force, p.Classic = b.values.Bool("keepalive"), b.values.Bool("force"), r.Classic
}

// pace reads when requests start, and over which time.
func (b *builder) pace(r *Run) {
	p, f := &r.Plan, &r.Facts
	p.Pace.Rate = value(b, "rate", 0, parseRate)
	p.Warmup = value(b, "warmup", 0, parseTime)
	f.RatePerSec, f.Warmup = p.Pace.Rate, p.Warmup
	f.Ramp = value(b, "ramp", 0, parseTime)
	switch {
	case p.Duration > 0 && f.Ramp > p.Warmup+p.Duration:
		b.wrong("ramp", "", "%v is longer than the run of %v", f.Ramp, p.Warmup+p.Duration)
	case p.Pace.Open():
		p.Pace.Ramp = f.Ramp
		b.someStart(p)
	default:
		p.StartGap = f.Ramp / time.Duration(max(p.Clients, 1))
	}
}

// someStart sees to it that a start is due in the window.
func (b *builder) someStart(p *client.Plan) {
	begin, end := int64(p.Warmup), int64(p.Warmup+p.Duration)
	if p.Duration > 0 && p.Pace.Before(begin) == p.Pace.Before(end) {
		b.wrong("rate", "make the run longer, with -t", "with %v requests per second none is due within the run", p.Pace.Rate)
	}
}

// mostRuns bounds a series; with a name for each run.
const mostRuns = 9999

func (b *builder) series(r *Run) {
	r.Repeat = int(value(b, "repeat", 1, upTo(mostRuns)))
	if !b.values.IsSet("pause") {
		return
	}
	pause := value(b, "pause", 0, parsePause)
	r.Pause = &pause
	if r.Repeat == 1 {
		b.wrong("pause", "give --repeat N", "is the time between two runs, and there is only one")
	}
}

func (b *builder) workers(r *Run, cpus int) {
	word := b.values.String("workers")
	r.Facts.Workers = word
	switch word {
	case PerClient:
		r.Workers = r.Plan.Clients
		return
	case Auto:
		r.Workers = min(cpus, r.Plan.Clients)
		return
	}
	n, err := parseCount(word, mostClients)
	if err != nil {
		b.wrong("workers", "", "%q is neither %s nor %s nor a number of processes", word, PerClient, Auto)
	}
	r.Workers = min(int(n), r.Plan.Clients)
}

func (b *builder) limits(r *Run) {
	if b.values.IsSet("max-failed") {
		share := value(b, "max-failed", 0, parseShare)
		r.Limits.MaxFailed = &share
	}
	if b.values.IsSet("max-p99") {
		p99 := value(b, "max-p99", 0, parseTime)
		r.Limits.MaxP99 = &p99
	}
	if b.values.IsSet("min-rate") {
		rate := value(b, "min-rate", 0, parseRate)
		r.Limits.MinRate = &rate
	}
}

func (b *builder) shown(r *Run) {
	r.Progress = b.values.String("progress")
	switch r.Progress {
	case "auto", "plain", "none":
	default:
		b.wrong("progress", "", "%q is none of auto, plain, none", r.Progress)
	}
	if b.values.Bool("quiet") {
		r.Progress = "none"
	}
}

func (b *builder) family(r *Run) {
	option := ""
	switch {
	case b.values.Bool("4"):
		r.Family, option = target.IPv4, "4"
	case b.values.Bool("6"):
		r.Family, option = target.IPv6, "6"
	}
	if !r.Family.Allows(r.Host) {
		b.wrong(option, "", "%s is an address of the other family", r.Host)
	}
}

// requests are all that the run sends: one, or a list of them.
func (b *builder) requests(r *Run, link target.URL, userAgent string) []http1.Request {
	q := b.request(r, link, userAgent)
	if b.values.IsSet("requests-file") {
		return b.list(r, q, link)
	}
	return []http1.Request{q}
}

// request gathers what one request consists of.
func (b *builder) request(r *Run, link target.URL, userAgent string) http1.Request {
	q := http1.Request{
		Method: b.method(), Target: link.Path, Host: link.HostHeader(), Version: b.version(r.Classic),
		KeepAlive: b.values.Bool("keepalive"), Reload: b.values.Bool("reload"),
		Continue: b.values.Bool("expect-continue"), ContentType: b.values.String("content-type"), Cookie: b.values.String("cookie"),
		UserAgent: userAgent, Auth: b.values.String("auth"),
	}
	if b.values.IsSet("user-agent") {
		q.UserAgent = b.values.String("user-agent")
	}
	if b.values.IsSet("auth") && !strings.Contains(q.Auth, ":") {
		b.wrong("auth", "give USER:PASSWORD", "there is no colon in it")
	}
	for _, text := range b.values.StringSlice("header") {
		h, err := http1.ParseHeader(text)
		if err != nil {
			b.wrong("header", "", "%v", err)
		}
		q.Headers = append(q.Headers, h)
	}
	b.body(&q)
	b.proxy(r, &q, link)
	b.sendable(q)
	return q
}

// sendable finds the option whose value cannot be sent: it asks for a request
// that holds nothing else that could be wrong.
func (b *builder) sendable(q http1.Request) {
	if q.Version == http1.HTTP09 {
		return
	}
	plain := http1.Request{Method: "GET", Target: "/", Host: "localhost"}
	for _, part := range [...]struct {
		option string
		set    func(*http1.Request)
	}{
		{"method", func(p *http1.Request) { p.Method = q.Method }},
		{"user-agent", func(p *http1.Request) { p.UserAgent = q.UserAgent }},
		{"cookie", func(p *http1.Request) { p.Cookie = q.Cookie }},
		{"auth", func(p *http1.Request) { p.Auth = q.Auth }},
		{"content-type", func(p *http1.Request) { p.ContentType, p.HasBody = q.ContentType, true }},
		{"header", func(p *http1.Request) {
			p.Headers, p.Body, p.HasBody, p.Method = q.Headers, q.Body, q.HasBody, q.Method
		}},
	} {
		p := plain
		part.set(&p)
		if _, err := p.Bytes(); err != nil {
			b.wrong(part.option, "", "%v", err)
		}
	}
}

func (b *builder) method() string {
	for option, method := range map[string]string{"get": "GET", "head": "HEAD", "options": "OPTIONS", "trace": "TRACE"} {
		if b.values.Bool(option) {
			return method
		}
	}
	switch {
	case b.values.IsSet("method"):
		if b.values.String("method") == "CONNECT" {
			b.wrong("method", "", "CONNECT asks for a tunnel, not for an answer")
		}
		return b.values.String("method")
	case b.values.IsSet("data"), b.values.IsSet("body-file"):
		return "POST"
	}
	return "GET"
}

func (b *builder) version(classic bool) http1.Version {
	switch {
	case b.values.Bool("http09"):
		return http1.HTTP09
	case b.values.Bool("http10"):
		return http1.HTTP10
	case classic && !b.values.Bool("http11"): // webbench's default
		return http1.HTTP10
	}
	return http1.HTTP11
}

func (b *builder) body(q *http1.Request) {
	switch {
	case b.values.IsSet("data"):
		q.Body, q.HasBody = []byte(b.values.String("data")), true
	case b.values.IsSet("body-file"):
		q.Body, q.HasBody = value(b, "body-file", nil, readInput), true
	}
}

func (b *builder) proxy(r *Run, q *http1.Request, link target.URL) {
	if !b.values.IsSet("proxy") {
		return
	}
	proxy, err := target.ParseProxy(b.values.String("proxy"))
	switch {
	case err != nil:
		b.wrong("proxy", "give HOST:PORT or USER:PASSWORD@HOST:PORT", "%q: %v", redactProxy(b.values.String("proxy")), err)
		return
	case proxy.Auth != "" && r.Classic:
		b.wrong("proxy", "leave out --classic", "webbench has no user names for a proxy")
	}
	r.Host, r.Port = proxy.Host, proxy.Port
	r.Facts.Proxy = hostPort(r)
	if link.Secure {
		r.Plan.Connect = b.tunnel(proxy, link, q.UserAgent)
		return
	}
	q.Target, q.ProxyAuth = "http://"+link.Authority+link.Path, proxy.Auth
}

// tunnel is what asks a proxy for a connection to the target.
func (b *builder) tunnel(proxy target.Proxy, link target.URL, userAgent string) []byte {
	request := http1.Request{
		Method: "CONNECT", Target: link.HostPort(), Host: link.HostPort(), KeepAlive: true,
		UserAgent: userAgent, ProxyAuth: proxy.Auth,
	}
	bytes, err := request.Bytes()
	if err != nil {
		b.wrong("proxy", "", "%v", err)
	}
	return bytes
}

// encode turns the requests into bytes, and what is to be known of them into facts.
func (b *builder) encode(r *Run, requests []http1.Request) error {
	p, f := &r.Plan, &r.Facts
	p.Reuse = false
	sum := sha256.New()
	var methods []string
	want := value(b, "expect-body", expected{}, parseBody)
	p.Check, r.Learn = want.check, want.learn
	for i, q := range requests {
		e, version, err := b.entry(r, q)
		if err != nil {
			return b.unsendable(r, i, err)
		}
		e.Body = want.body
		_, _ = sum.Write(e.Request)
		if !slices.Contains(methods, q.Method) {
			methods = append(methods, q.Method)
		}
		p.Entries = append(p.Entries, e)
		p.Reuse = p.Reuse || !e.Close
		f.HTTP = strings.TrimPrefix(version.String(), "HTTP/")
	}
	if p.Size() > mostSent {
		return &Usage{Text: fmt.Sprintf("the requests are %d bytes together, and %d is the most", p.Size(), mostSent)}
	}
	if b.err != nil {
		return b.err
	}
	f.Method = strings.Join(methods, ", ")
	f.Clients, f.KeepAlive, f.Force = p.Clients, p.Reuse, p.Force
	f.Duration, f.Requests = p.Duration, p.Requests
	if !r.Classic {
		f.Timeout, f.ConnectTimeout = p.Timeout, p.ConnectTimeout
	}
	f.RequestSHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// entry turns one request into bytes. It returns the version they really speak.
func (b *builder) entry(r *Run, q http1.Request) (client.Entry, http1.Version, error) {
	if r.Classic {
		bytes, version, err := http1.Classic(q, b.values.IsSet("proxy"))
		r.Plan.HalfSend = version == http1.HTTP09
		// An answer is whatever comes until the end of the stream.
		return client.Entry{Request: bytes, Answer: http1.AnswerTo(q.Method, http1.HTTP09), Resend: http1.Idempotent(q.Method), Close: true}, version, err
	}
	bytes, err := q.Bytes()
	return client.Entry{
		Request: bytes, Answer: http1.AnswerTo(q.Method, q.Version), Resend: http1.Idempotent(q.Method), Close: !q.Reuse(), Later: q.Later(),
	}, q.Version, err
}

// secrets are the options and header names whose values do not go into a result.
var secrets = map[string]bool{
	"--auth": true, "--cookie": true,
	"authorization": true, "proxy-authorization": true, "cookie": true,
}

// redactProxy strikes out as whom a proxy is used.
func redactProxy(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "***" + text[i:]
	}
	return text
}

// Redact strikes credentials out of a command line ordered by Permute.
func Redact(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		option, val, _ := strings.Cut(arg, "=")
		header, _, isHeader := strings.Cut(val, ":")
		switch {
		case option == "--proxy":
			arg = option + "=" + redactProxy(val)
		case secrets[option]:
			arg = option + "=***"
		case option == "--header" && isHeader && secrets[strings.ToLower(header)]:
			arg = option + "=" + header + ": ***"
		}
		out[i] = arg
	}
	return out
}
