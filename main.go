// Command horde is a fork-per-client HTTP stress tester: it re-executes itself
// into as many worker processes as there are clients, has all of them load one
// target at once, and says what became of every request.
//
// This file is the command line: options to a plan, a result to letters, and
// the exit code. A worker never comes here (see procs/worker.go).
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"horde/client"
	"horde/client/config"
	"horde/client/nullserver"
	"horde/client/resolve"
	"horde/procs"
	"horde/stats"
	"horde/stats/report"
)

// version is the version of this source tree; a release build sets it.
var version = "0.1.0"

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

// run is the whole program but for the process it lives in.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, classicName: filepath.Base(args[0]) == "webbench"}
	app := p.app()
	command, rest := app.Name, args[1:]
	flags := app.Flags
	for _, c := range app.Commands {
		if len(rest) > 0 && rest[0] == c.Name {
			command, rest, flags = c.Name, rest[1:], c.Flags
		}
	}
	line, err := config.Permute(rest, optionsOf(flags))
	if err != nil {
		return p.fail(err)
	}
	p.line = line
	ordered := []string{app.Name}
	if command != app.Name {
		ordered = append(ordered, command)
	}
	if err := app.Run(append(ordered, line.Args...)); err != nil {
		return p.fail(err)
	}
	return p.code
}

// program is one call of horde.
type program struct {
	stdout, stderr io.Writer
	line           config.Line
	code           int
	classicName    bool // called as webbench
}

// fail says what went wrong, in one sentence and a hint where a fix is known.
func (p *program) fail(err error) int {
	var usage *config.Usage
	if !errors.As(err, &usage) {
		p.say("error", err.Error())
		if p.code == 0 {
			p.code = stats.ExitUsage
		}
		return p.code
	}
	text := usage.Text
	if usage.Option != "" {
		text = p.typed(usage.Option) + ": " + text
	}
	p.say("error", text)
	if usage.Hint != "" {
		p.say("hint", usage.Hint)
	}
	return stats.ExitUsage
}

func (p *program) say(kind, text string) { fmt.Fprintf(p.stderr, "horde: %s: %s\n", kind, text) }

// typed is an option as the user spelled it.
func (p *program) typed(option string) string {
	if typed, ok := p.line.Typed[option]; ok {
		return typed
	}
	return "--" + option
}

// failure is an error with its exit code.
func (p *program) failure(code int, err error) error {
	p.code = code
	return err
}

func (p *program) app() *cli.App {
	return &cli.App{
		Name: "horde", Usage: "a fork-per-client HTTP stress tester that tells the truth about what happened",
		UsageText:                 "horde [options] URL\nhorde demo [options] [PATH]\nhorde serve [options]",
		Version:                   version,
		Flags:                     runFlags(),
		Writer:                    p.stdout,
		ErrWriter:                 p.stderr,
		Action:                    p.load,
		HideHelpCommand:           true,
		ExitErrHandler:            func(*cli.Context, error) {}, // cli would end the process itself
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return err },
		DisableSliceFlagSeparator: true,
		Commands: []*cli.Command{
			{
				Name: "demo", Usage: "the same run against an embedded target on loopback", ArgsUsage: "[PATH]",
				Flags: runFlags(), Action: p.demo, HideHelpCommand: true,
			},
			{
				Name: "serve", Usage: "the embedded target alone: the fastest answer of this host, and faults on request",
				Flags: serveFlags(), Action: p.serve, HideHelpCommand: true, ArgsUsage: " ",
				Description: faultsHelp(),
			},
		},
	}
}

func init() {
	cli.HelpFlag = &cli.BoolFlag{Name: "help", Aliases: []string{"h", "?"}, Usage: "show this help"}
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "show the version"}
}

// runFlags are the options of a run: the one source of --help, the man page and
// the README's table.
func runFlags() []cli.Flag {
	str := func(name, short, placeholder, value, usage string) cli.Flag {
		f := &cli.StringFlag{Name: name, Usage: strings.ReplaceAll(usage, "VALUE", "`"+placeholder+"`"), DefaultText: value}
		if value != "" {
			f.Value = value
		}
		if short != "" {
			f.Aliases = []string{short}
		}
		return f
	}
	yes := func(name, short, usage string) cli.Flag {
		f := &cli.BoolFlag{Name: name, Usage: usage}
		if short != "" {
			f.Aliases = []string{short}
		}
		return f
	}
	return []cli.Flag{
		str("clients", "c", "N", "1", "VALUE clients at once"),
		str("time", "t", "T", "30", "length of the run VALUE: seconds (60, 0.5) or a duration (90s, 5m, 12h)"),
		str("requests", "n", "N", "", "stop after VALUE requests in all; alone without a limit of time, with --time whichever comes first"),
		str("workers", "w", "W", config.PerClient, "worker processes VALUE: per-client, auto (one for each allowed CPU) or a number"),
		yes("keepalive", "k", "keep connections open; otherwise one connection per request"),
		str("timeout", "", "T", "10s", "limit VALUE for a whole request"),
		str("connect-timeout", "", "T", "3s", "limit VALUE for its connect"),
		yes("force", "f", "do not wait for the answer"),
		yes("reload", "r", "ask caches for a fresh copy (Pragma: no-cache)"),
		str("proxy", "p", "HOST:PORT", "", "send through the HTTP proxy VALUE"),
		yes("http09", "9", "speak HTTP/0.9"),
		yes("http10", "1", "speak HTTP/1.0"),
		yes("http11", "2", "speak HTTP/1.1 (the default)"),
		yes("get", "", "method GET (the default)"),
		yes("head", "", "method HEAD"),
		yes("options", "", "method OPTIONS"),
		yes("trace", "", "method TRACE"),
		str("method", "m", "M", "", "method VALUE"),
		&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Usage: "add or replace the header line `'K: V'`; repeatable"},
		str("data", "", "S", "", "request body VALUE; the method is POST unless told"),
		str("body-file", "", "F", "", "request body from the file VALUE, read once"),
		str("content-type", "T", "T", "", "type VALUE of the request body"),
		str("auth", "A", "U:P", "", "basic authentication as user and password VALUE"),
		str("cookie", "", "S", "", "send the cookie VALUE"),
		str("user-agent", "", "S", "", "send VALUE in place of horde's own name"),
		str("expect", "", "CODES", "200-399", "statuses VALUE that count as success, such as 200-299,304"),
		yes("4", "", "use IPv4 addresses only"),
		yes("6", "", "use IPv6 addresses only"),
		str("pin", "", "CPUS", "auto", "CPUs for the workers, round robin: VALUE is auto, none or a list such as 0,2-3"),
		str("output", "o", "F", "", "write the result file (JSON) to VALUE"),
		yes("json", "", "print the result file on stdout instead of the report"),
		str("max-failed", "", "P", "", "exit with 4 if more than VALUE percent of the requests failed"),
		str("max-p99", "", "T", "", "exit with 4 if the 99th percentile of the latency is above VALUE"),
		str("min-rate", "", "R", "", "exit with 4 if fewer than VALUE requests succeeded per second"),
		yes("classic", "", "be webbench 1.5: its request, its arithmetic, its two lines"),
		yes("quiet", "q", "no live progress"),
		str("progress", "", "HOW", "auto", "live progress on stderr VALUE: auto (on a terminal), plain or none"),
	}
}

func serveFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "listen", Usage: "listen on `ADDR`", Value: "127.0.0.1:0"},
		&cli.StringFlag{Name: "fault", Usage: "play `SPEC` for every path but /fault/SPEC"},
		&cli.StringFlag{Name: "size", Usage: "`BYTES` of body in an answer", Value: "12"},
		&cli.StringFlag{Name: "processes", Usage: "`N` serving processes; 0 = half the allowed CPUs", Value: "0"},
		&cli.StringFlag{Name: "budget", Usage: "answer `N` requests, then stay silent; 0 = no limit", Value: "0"},
	}
}

func faultsHelp() string {
	var b strings.Builder
	b.WriteString("Faults, by --fault SPEC or by the request path /fault/SPEC:\n")
	for _, f := range nullserver.Faults() {
		note := ""
		if f.ServerOnly {
			note = " (--fault only)"
		}
		fmt.Fprintf(&b, "  %-22s %s%s\n", f.Form, f.Meaning, note)
	}
	return b.String()
}

// optionsOf lists flags, with help and version, as the command line may hold them.
func optionsOf(flags []cli.Flag) []config.Option {
	var options []config.Option
	for _, f := range append(flags, cli.HelpFlag, cli.VersionFlag) {
		_, isBool := f.(*cli.BoolFlag)
		options = append(options, config.Option{Names: f.Names(), Value: !isBool})
	}
	return options
}

// load is the main job.
func (p *program) load(c *cli.Context) error {
	if c.NArg() != 1 {
		return needOne(c.Args().Slice(), "URL", "horde [options] URL")
	}
	return p.measure(c, c.Args().First(), nil)
}

func needOne(args []string, what, usage string) error {
	if len(args) == 0 {
		return &config.Usage{Text: "the " + what + " is missing", Hint: usage + "; horde --help lists all options"}
	}
	return &config.Usage{Text: fmt.Sprintf("%q is one %s too many", args[1], what), Hint: usage}
}

// demo is a run against a target of its own.
func (p *program) demo(c *cli.Context) error {
	path := "/"
	if c.NArg() > 0 {
		path = c.Args().First()
	}
	if c.NArg() > 1 || !strings.HasPrefix(path, "/") {
		return &config.Usage{Text: fmt.Sprintf("%q is not a path of the embedded target", c.Args().Get(c.NArg()-1)),
			Hint: "horde demo [options] [/fault/SPEC]"}
	}
	// The options are checked before the target starts.
	if _, err := p.read(c, "http://127.0.0.1:1"+path); err != nil {
		return err
	}
	server, err := nullserver.Start(nullserver.Options{})
	if err != nil {
		return p.failure(stats.ExitFailed, fmt.Errorf("start the embedded target: %w", err))
	}
	defer server.Stop()
	return p.measure(c, "http://"+server.Addr().String()+path, server)
}

// serve is the embedded target alone.
func (p *program) serve(c *cli.Context) error {
	o, err := serveOptions(c)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	server, err := nullserver.Start(o)
	if err != nil {
		return p.failure(stats.ExitFailed, err)
	}
	fmt.Fprintln(p.stdout, server.Addr())
	select {
	case <-signals:
	case <-server.Done():
	}
	counts, err := server.Stop()
	fmt.Fprintf(p.stderr, "%d connections accepted, %d requests answered, %d faults played, %d bytes read, %d bytes written\n",
		counts.Connections, counts.Requests, counts.Faults, counts.BytesRead, counts.BytesWritten)
	if err != nil {
		return p.failure(stats.ExitFailed, err)
	}
	return nil
}

func serveOptions(c *cli.Context) (nullserver.Options, error) {
	o := nullserver.Options{Listen: c.String("listen")}
	if c.NArg() > 0 {
		return o, &config.Usage{Text: fmt.Sprintf("serve takes no operand, %q is one", c.Args().First())}
	}
	number := func(option string) (n uint64) {
		n, err := strconv.ParseUint(c.String(option), 10, 40)
		if err != nil {
			return 0
		}
		return n
	}
	o.BodySize, o.Processes, o.Budget = int64(number("size")), int(number("processes")), number("budget")
	if spec := c.String("fault"); spec != "" {
		fault, err := nullserver.ParseFault(spec)
		if err != nil {
			return o, &config.Usage{Option: "fault", Text: err.Error(), Hint: "horde serve --help lists the faults"}
		}
		o.Fault = fault
	}
	return o, nil
}

// read checks the options of a run.
func (p *program) read(c *cli.Context, url string) (*config.Run, error) {
	cpus, err := procs.AllowedCPUs()
	if err != nil {
		return nil, err
	}
	values := config.Values(c)
	if p.classicName {
		values = classicValues{c}
	}
	return config.Read(values, url, len(cpus), "horde/"+version)
}

// classicValues sets --classic, as the name webbench does.
type classicValues struct{ *cli.Context }

func (v classicValues) Bool(name string) bool  { return name == "classic" || v.Context.Bool(name) }
func (v classicValues) IsSet(name string) bool { return name == "classic" || v.Context.IsSet(name) }

// measure makes one run and prints what came of it. target is the embedded
// one, if it is that.
func (p *program) measure(c *cli.Context, url string, target *nullserver.Server) error {
	asked, err := p.read(c, url)
	if err != nil {
		return err
	}
	cpus, err := pinned(asked.Pin)
	if err != nil {
		return err
	}
	out, err := openOutput(asked.Output)
	if err != nil {
		return &config.Usage{Option: "output", Text: err.Error()}
	}
	defer out.discard()
	result := &stats.Run{Tool: tool(), Plan: asked.Facts}
	result.Plan.Argv = append([]string{"horde"}, config.Redact(p.line.Args)...)
	if err := p.perform(asked, cpus, result); err != nil {
		return err
	}
	return p.print(asked, result, out)
}

// pinned are the CPUs to bind workers to.
func pinned(word string) ([]int, error) {
	allowed, err := procs.AllowedCPUs()
	switch {
	case err != nil || word == "none":
		return nil, nil
	case word == "auto":
		return allowed, nil
	}
	cpus, err := procs.ParseCPUs(word, allowed)
	if err != nil {
		return nil, &config.Usage{Option: "pin", Text: err.Error(), Hint: fmt.Sprintf("allowed are %v", allowed)}
	}
	return cpus, nil
}

func tool() stats.Tool {
	t := stats.Tool{Version: version, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				t.Commit = s.Value
			}
		}
	}
	return t
}

// perform reaches for the target and, if it is there, has the workers load it.
// A target that is not there is a result too.
func (p *program) perform(asked *config.Run, cpus []int, result *stats.Run) error {
	workers, reason, err := procs.Fit(asked.Workers, asked.Plan.Clients, len(asked.Plan.Request))
	if err != nil {
		return p.failure(stats.ExitWorkers, err)
	}
	result.Workers.Asked = asked.Workers
	address, err := reach(asked)
	if err != nil {
		result.Unreachable = err.Error()
		return nil
	}
	plan := asked.Plan
	plan.Address = address
	result.Plan.Address = address.String()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	show, clear := p.progress(asked.Progress)
	outcome, err := procs.Run(procs.Options{Plan: plan, Workers: workers, CPUs: cpus, Signals: signals, Progress: show})
	clear()
	if err != nil {
		return p.notRun(err)
	}
	fill(result, outcome)
	if reason != "" {
		result.Reasons = append([]string{reason}, result.Reasons...)
	}
	return nil
}

func (p *program) notRun(err error) error {
	var interrupted *procs.Interrupted
	if errors.As(err, &interrupted) {
		return p.failure(signalCode(interrupted.Signal), err)
	}
	return p.failure(stats.ExitWorkers, err)
}

func signalCode(s os.Signal) int {
	if s == syscall.SIGTERM {
		return stats.ExitTerminated
	}
	return stats.ExitInterrupted
}

// preflight is how long the one connect before a run may take.
const preflight = time.Second

func reach(asked *config.Run) (netip.AddrPort, error) {
	addrs, err := resolve.Host(context.Background(), asked.Host, asked.Family)
	if err != nil {
		return netip.AddrPort{}, err
	}
	targets := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		targets[i] = netip.AddrPortFrom(a, asked.Port)
	}
	return client.Reach(targets, min(preflight, asked.Plan.ConnectTimeout))
}

func fill(result *stats.Run, o *procs.Outcome) {
	asked := result.Workers.Asked
	result.StartedAt, result.Measured = o.StartedAt, o.Measured
	result.Tally, result.Unfinished, result.Lost = o.Tally, o.Unfinished, o.Lost
	result.Series, result.Workers, result.Reasons = o.Series, o.Workers, o.Reasons
	result.Workers.Asked = asked
	switch o.Signal {
	case nil:
	case syscall.SIGTERM:
		result.Interrupted = "SIGTERM"
	default:
		result.Interrupted = "SIGINT"
	}
}

// print renders the result and sets the exit code.
func (p *program) print(asked *config.Run, result *stats.Run, out *output) error {
	verdict := stats.Judge(result, asked.Limits)
	p.code = verdict.Exit
	var document bytes.Buffer
	if asked.JSON || asked.Output != "" {
		if err := report.JSON(&document, result, verdict); err != nil {
			return err
		}
	}
	if err := out.commit(document.Bytes()); err != nil {
		return p.failure(stats.ExitFailed, fmt.Errorf("write %s: %w", asked.Output, err))
	}
	if result.Unreachable != "" {
		p.say("error", result.Unreachable)
	}
	var err error
	switch {
	case asked.JSON:
		_, err = p.stdout.Write(document.Bytes())
	case result.Unreachable != "":
	case asked.Classic:
		err = report.Classic(p.stdout, result)
	default:
		err = report.Text(p.stdout, result, verdict)
	}
	return err
}

// output is the result file under way: written beside its place, then moved
// there, so that an earlier one is lost only to a whole new one.
type output struct {
	name string
	temp *os.File
}

func openOutput(name string) (*output, error) {
	if name == "" {
		return &output{}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &output{temp: f}, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	return &output{name: name, temp: f}, err
}

func (o *output) commit(document []byte) error {
	if o.temp == nil {
		return nil
	}
	_, err := o.temp.Write(document)
	err = errors.Join(err, o.temp.Close())
	if o.name == "" || err != nil {
		return err
	}
	if err := os.Chmod(o.temp.Name(), 0o644); err != nil {
		return err
	}
	defer func() { o.name = "" }()
	return os.Rename(o.temp.Name(), o.name)
}

// discard removes what was not committed.
func (o *output) discard() {
	if o.temp != nil && o.name != "" {
		_ = o.temp.Close()
		_ = os.Remove(o.temp.Name())
	}
}

// progress returns what shows a run going on, on stderr, and what clears it
// away at the end.
func (p *program) progress(how string) (show func(stats.Snapshot), clear func()) {
	switch {
	case how == "plain":
		return func(s stats.Snapshot) { fmt.Fprintln(p.stderr, report.Line(s)) }, func() {}
	case how == "auto" && isTerminal(p.stderr):
		return func(s stats.Snapshot) { fmt.Fprint(p.stderr, report.Live(s)) }, func() { fmt.Fprint(p.stderr, report.Clear) }
	}
	return nil, func() {}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
