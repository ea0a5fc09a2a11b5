// Command horde is a fork-per-client HTTP stress tester: it re-executes itself
// into as many worker processes as there are clients, has all of them load one
// target at once, and says what became of every request.
//
// This file is the command line: options to a plan, a result to letters, and
// the exit code. A worker never comes here (see procs/worker.go).
package main

import (
	"bytes"
	"cmp"
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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"horde/client"
	"horde/client/config"
	"horde/client/nullserver"
	"horde/client/secure"
	"horde/client/target"
	"horde/procs"
	"horde/procs/ceiling"
	"horde/procs/doctor"
	_ "horde/procs/secured" // workers for https
	"horde/stats"
	"horde/stats/compare"
	"horde/stats/host"
	"horde/stats/report"
)

// version is the version of this source tree; a release build sets it.
var version = "0.1.0"

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

// run is the whole program but for the process it lives in.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, classicName: filepath.Base(args[0]) == "webbench"}
	app := p.app()
	p.command, args = []string{app.Name}, args[1:]
	c := command{options: config.RunOptions, help: runHelp}
	if len(args) > 0 && isCommand(args[0]) {
		c, app.Commands = commands[args[0]], p.commands(app)
		p.command, args = append(p.command, args[0]), args[1:]
	}
	permute := config.Permute
	if c.sides {
		permute = config.PermuteSides
	}
	var err error
	if p.line, err = permute(args, c.options); err != nil {
		return p.fail(err)
	}
	if o := p.line.Operands; app.Commands == nil && len(o) > 0 && isCommand(o[0]) {
		return p.fail(&config.Usage{Text: fmt.Sprintf("the command %q must stand first", o[0]), Hint: "horde " + o[0] + " [options]"})
	}
	switch {
	case p.line.Typed["help"] != "":
		c.help(stdout)
	case p.line.Typed["version"] != "":
		fmt.Fprintln(stdout, "horde", version)
	default:
		if err := app.Run(slices.Concat(p.command, p.line.Args)); err != nil {
			return p.fail(err)
		}
	}
	return p.code
}

// command is one of the smaller commands; it stands first on the line.
type command struct {
	options []config.Option
	act     func(*program, *cli.Context) error
	help    func(io.Writer)
	sides   bool // its operands are BEFORE... -- AFTER...
}

var commands = map[string]command{
	"demo":    {options: config.RunOptions, act: (*program).demo, help: runHelp},
	"serve":   {options: config.ServeOptions, act: (*program).serve, help: serveHelp},
	"report":  {options: config.ReportOptions, act: (*program).report, help: reportHelp},
	"compare": {options: config.CompareOptions, act: (*program).compare, help: compareHelp, sides: true},
	"doctor":  {options: config.RunOptions, act: (*program).doctor, help: doctorHelp},
}

func isCommand(word string) bool {
	_, is := commands[word]
	return is
}

// program is one call of horde.
type program struct {
	stdout, stderr io.Writer
	command        []string // "horde", and the command if there is one
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
			p.code = stats.ExitFailed
		}
		return p.code
	}
	text := usage.Text
	if usage.Other != "" {
		text += " " + p.typed(usage.Other)
	}
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
	if len(option) == 1 {
		return "-" + option
	}
	return "--" + option
}

// failure is an error with its exit code.
func (p *program) failure(code int, err error) error {
	p.code = code
	return err
}

func (p *program) app() *cli.App {
	app := &cli.App{
		Name:                      "horde",
		Usage:                     "load an HTTP server with as many processes as clients, and tell the truth about it",
		Version:                   version,
		Flags:                     flags(config.RunOptions),
		Action:                    p.load,
		Writer:                    p.stdout,
		ErrWriter:                 p.stderr,
		HideHelp:                  true, // help and version are options of the tables
		HideVersion:               true,
		DisableSliceFlagSeparator: true,                         // a comma may stand in a header
		ExitErrHandler:            func(*cli.Context, error) {}, // cli would end the process itself
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return err },
	}
	return app
}

// commands are the smaller commands as the library wants them.
func (p *program) commands(app *cli.App) []*cli.Command {
	var list []*cli.Command
	for name, c := range commands {
		list = append(list, &cli.Command{Name: name, Flags: flags(c.options), HideHelp: true, OnUsageError: app.OnUsageError,
			Action: func(ctx *cli.Context) error { return c.act(p, ctx) }})
	}
	return list
}

// flags turns a table of options into what the library reads.
func flags(options []config.Option) []cli.Flag {
	list := make([]cli.Flag, len(options))
	for i, o := range options {
		switch name, aliases := o.Names[0], o.Names[1:]; {
		case o.Repeat:
			list[i] = &cli.StringSliceFlag{Name: name, Aliases: aliases, Usage: o.Text}
		case o.Value != "":
			list[i] = &cli.StringFlag{Name: name, Aliases: aliases, Usage: o.Text, Value: o.Default}
		default:
			list[i] = &cli.BoolFlag{Name: name, Aliases: aliases, Usage: o.Text}
		}
	}
	return list
}

const usage = `Usage:
  horde [options] URL            load URL and report what happened
  horde demo [options] [PATH]    the same against an embedded target on loopback
  horde serve [options]          the embedded target alone
  horde doctor [options] [URL]   what of this host stands in the way of that run
  horde report [options] FILE    a saved result again
  horde compare [options] BEFORE... -- AFTER...
                                 what changed between two sets of results

  horde -c 100 -t 10 http://127.0.0.1:8080/
`

func runHelp(w io.Writer) {
	fmt.Fprint(w, usage)
	config.WriteHelp(w, config.RunOptions)
}

func serveHelp(w io.Writer) {
	fmt.Fprint(w, "Usage:\n  horde serve [options]\n\nPrints the address it listens on and answers until it is interrupted.\n")
	config.WriteHelp(w, config.ServeOptions)
	fmt.Fprint(w, "\nFaults, by --fault SPEC (then * too) or by the request path /fault/SPEC:\n")
	for _, f := range nullserver.Faults() {
		mark := " "
		if f.ServerOnly {
			mark = "*"
		}
		fmt.Fprintf(w, " %s %-22s  %s\n", mark, f.Form, f.Meaning)
	}
}

func doctorHelp(w io.Writer) {
	fmt.Fprint(w, `Usage:
  horde doctor [options of a run] [URL]

Holds this host against the run that the options ask for, and says what would make
its numbers wrong (FAIL), surprising (WARN), or impossible to compare (NOTE), what
it cannot see (UNKNOWN), and how to mend it. With a URL on this host, or none, the
host is looked at as a server, too. It only reads: no connection is opened, nothing
is changed or written. Of the options for output only --json counts.

Exit code 0, 1 if there is a FAIL, 2 for bad usage.
`)
	config.WriteHelp(w, config.RunOptions)
}

func reportHelp(w io.Writer) {
	fmt.Fprint(w, "Usage:\n  horde report [options] FILE\n\nRenders the result file FILE (- is stdin) again, as the text report unless told otherwise.\n")
	config.WriteHelp(w, config.ReportOptions)
}

func compareHelp(w io.Writer) {
	fmt.Fprint(w, "Usage:\n  horde compare [options] BEFORE... -- AFTER...\n\nJudges the result files AFTER against those BEFORE; a directory stands for all\n*.json in it. A verdict needs five runs a side, ten are better.\n")
	config.WriteHelp(w, config.CompareOptions)
}

// load is the main job.
func (p *program) load(c *cli.Context) error {
	if c.NArg() != 1 {
		return needOne(c.Args().Slice(), "URL", "horde [options] URL")
	}
	return p.measure(c, c.Args().First())
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
	err = p.measure(c, "http://"+server.Addr().String()+path)
	if _, e := server.Stop(); e != nil {
		p.say("warning", fmt.Sprintf("the embedded target failed: %v", e))
	}
	return err
}

// compare draws a verdict between two sets of results.
func (p *program) compare(c *cli.Context) error {
	options, err := config.ReadCompare(c, p.line)
	if err != nil {
		return err
	}
	before, err := report.LoadRuns(p.line.Operands)
	if err != nil {
		return p.failure(stats.ExitUsage, err)
	}
	after, err := report.LoadRuns(p.line.After)
	if err != nil {
		return p.failure(stats.ExitUsage, err)
	}
	found := compare.Compare(before, after, options)
	switch {
	case !found.Comparable():
		p.code = stats.ExitFailed
	case c.Bool("fail-on-change") && found.Worse():
		p.code = stats.ExitThreshold
	}
	if c.Bool("json") {
		return report.ComparisonJSON(p.stdout, found)
	}
	return report.Comparison(p.stdout, found)
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
	var call *os.SyscallError
	switch {
	case errors.As(err, &call):
		return p.failure(stats.ExitFailed, err)
	case err != nil:
		return &config.Usage{Option: "listen", Text: err.Error()}
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
	var numbers [3]uint64
	for i, option := range [...]string{"size", "processes", "budget"} {
		n, err := strconv.ParseUint(c.String(option), 10, 48)
		if err != nil {
			return o, &config.Usage{Option: option, Text: fmt.Sprintf("%q must be a whole number", c.String(option))}
		}
		numbers[i] = n
	}
	if numbers[0] == 0 {
		return o, &config.Usage{Option: "size", Text: "must be above 0", Hint: "the path /size/0 has an empty body"}
	}
	o.BodySize, o.Processes, o.Budget = int64(numbers[0]), int(min(numbers[1], 4096)), numbers[2]
	if spec := c.String("fault"); spec != "" {
		fault, err := nullserver.ParseFault(spec)
		if err != nil {
			return o, &config.Usage{Option: "fault", Text: err.Error(), Hint: "horde serve --help lists the faults"}
		}
		o.Fault = fault
	}
	return o, nil
}

// doctor holds this host against the run that the options ask for.
func (p *program) doctor(c *cli.Context) error {
	if c.NArg() > 1 {
		return needOne(c.Args().Slice(), "URL", "horde doctor [options] [URL]")
	}
	url := c.Args().First()
	asked, err := p.read(c, cmp.Or(url, "http://target.invalid/"))
	if err != nil {
		return err
	}
	if err := checkSources(asked); err != nil {
		return err
	}
	plan := doctor.For(asked)
	if url != "" {
		p.locate(&plan, url, asked)
	}
	checks := doctor.Examine("/", plan)
	if doctor.Worst(checks) == doctor.Fail {
		p.code = stats.ExitFailed
	}
	if asked.Output.Stdout == "json" {
		return doctor.JSON(p.stdout, checks)
	}
	return doctor.Text(p.stdout, plan, checks)
}

// lookUp is how long doctor waits for the address of a name.
const lookUp = 150 * time.Millisecond

// locate finds out whether the target is on this host. It connects to nothing.
func (p *program) locate(plan *doctor.Plan, url string, asked *config.Run) {
	if asked.Socket != "" { // it takes no port
		plan.Towards(url, netip.AddrPort{}, true, asked.Plan.Clients)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookUp)
	defer cancel()
	addrs, err := asked.Given, error(nil)
	if len(addrs) == 0 {
		addrs, err = target.Resolve(ctx, asked.Host, asked.Family)
	}
	if err != nil {
		p.say("warning", fmt.Sprintf("%v; the target is taken for another host", err))
		plan.Towards(url, netip.AddrPortFrom(netip.Addr{}, asked.Port), false, len(asked.Sources))
		return
	}
	address := netip.AddrPortFrom(addrs[0], asked.Port)
	sources, _ := sourcesFor(asked, address)
	here := addrs[0].IsLoopback() || target.CheckSource(addrs[0]) == nil
	plan.Towards(url, address, here, len(sources))
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

// measure makes the run, or the runs, and prints what came of it.
func (p *program) measure(c *cli.Context, url string) error {
	asked, err := p.read(c, url)
	if err != nil {
		return err
	}
	if err := checkSources(asked); err != nil {
		return err
	}
	j := &job{Run: asked, signals: make(chan os.Signal, 4)}
	signal.Notify(j.signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(j.signals)
	if j.workers, j.reason, err = procs.Fit(asked.Workers, asked.Plan.Clients, asked.Plan.Size()); err != nil {
		return p.failure(stats.ExitWorkers, err)
	}
	if j.cpus, err = pinned(asked.Pin); err != nil {
		return err
	}
	cpus := len(j.cpus)
	if cpus == 0 {
		cpus = runtime.NumCPU()
	}
	j.Plan.Batch = j.Plan.Batch && procs.BatchSuits(j.workers, j.Plan.Clients, cpus)
	if asked.Repeat > 1 {
		return p.series(j)
	}
	_, err = p.once(j, asked.Output, stats.Repeat{})
	return err
}

// job is what is to be done, once or several times.
type job struct {
	*config.Run
	workers int    // processes that fit this host
	reason  string // why they are fewer than asked for
	cpus    []int
	signals chan os.Signal
}

// once makes one run and prints what came of it. The result is nil if it came
// to none.
func (p *program) once(j *job, output config.Output, place stats.Repeat) (*stats.Run, error) {
	sheets, err := create(output.Files)
	defer discard(sheets)
	if err != nil {
		return nil, err
	}
	result := &stats.Run{Tool: tool(), Plan: j.Facts}
	result.Plan.Repeat = place
	result.Plan.Argv = slices.Concat(p.command, config.Redact(p.line.Args))
	if err := p.perform(j.Run, j.workers, j.cpus, j.signals, result); err != nil {
		return nil, err
	}
	if j.reason != "" {
		result.Reasons = append([]string{j.reason}, result.Reasons...)
	}
	return result, p.judge(j.Run, output, result, sheets)
}

// series makes the runs one after another, each with files of its own. A signal
// ends it; the exit code is that of the worst run.
func (p *program) series(j *job) error {
	enough := procs.TimeWait() + procs.LocalPorts()/100 // what was there before, and a little
	codes, rates := []int{}, []float64{}
	text := j.Output.Stdout == "" && !j.Classic
	for place := (stats.Repeat{Index: 1, Of: j.Repeat}); place.Index <= place.Of; place.Index++ {
		if place.Index > 1 {
			if s := p.pause(j, &place, enough); s != nil {
				codes = append(codes, signalCode(s))
				break
			}
			if text {
				fmt.Fprintln(p.stdout)
			}
		}
		place.TimeWait = procs.TimeWait()
		result, err := p.once(j, j.Output.Numbered(place.Index, place.Of), place)
		codes = append(codes, p.code)
		if err != nil {
			p.code = stats.Worst(codes...)
			return err
		}
		rates = append(rates, result.PerSecond(result.Tally.Succeeded))
		if result.Interrupted != "" {
			break
		}
	}
	p.code = stats.Worst(codes...)
	if text {
		return report.Series(p.stdout, rates, j.Repeat)
	}
	return nil
}

// longestDrain is a little more than the minute that a connection stays in
// TIME_WAIT (Linux, TCP_TIMEWAIT_LEN).
const longestDrain = 65 * time.Second

// pause lets time pass between two runs, as long as asked for or until there
// are no more connections in TIME_WAIT than enough. It returns a signal that
// came.
func (p *program) pause(j *job, place *stats.Repeat, enough int) os.Signal {
	since := time.Now()
	defer func() { place.Paused = time.Since(since) }()
	if j.Pause != nil {
		return procs.Drain(func() int { return 1 }, 0, *j.Pause, j.signals)
	}
	if n := procs.TimeWait(); n > enough && j.Progress != "none" {
		p.say("note", fmt.Sprintf("run %d of %d waits until %d connections in TIME_WAIT have drained to %d, %v at most; --pause T waits T instead",
			place.Index, place.Of, n, enough, longestDrain))
	}
	return procs.Drain(procs.TimeWait, enough, longestDrain, j.signals)
}

// checkSources finds an address to connect from that this host does not have.
func checkSources(asked *config.Run) error {
	for _, a := range asked.Sources {
		if err := target.CheckSource(a); err != nil {
			return &config.Usage{Option: "source", Text: err.Error()}
		}
	}
	return nil
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
func (p *program) perform(asked *config.Run, workers int, cpus []int, signals chan os.Signal, result *stats.Run) error {
	result.Workers.Asked = asked.Workers
	place, err := reachUnless(signals, asked)
	var interrupted *procs.Interrupted
	var usage *config.Usage
	switch {
	case errors.As(err, &interrupted), errors.As(err, &usage):
		return p.notRun(err)
	case isLocal(err):
		return p.failure(stats.ExitGenerator, err)
	case err != nil:
		result.Unreachable = err.Error()
		return nil
	}
	plan := asked.Plan
	plan.Address = place.Raw()
	sources, why := sourcesFor(asked, place.AddrPort)
	for _, a := range sources {
		plan.Sources = append(plan.Sources, target.Address(netip.AddrPortFrom(a, 0)))
	}
	result.Plan.Address, result.Plan.Tried = place.String(), place.Names()
	if err := knock(&plan, result); err != nil {
		result.Unreachable = err.Error()
		return nil
	}
	if err := sampleUnless(signals, asked, &plan); err != nil {
		return p.notSampled(err)
	}
	show, clear := p.progress(asked.Progress)
	allowed, _ := procs.AllowedCPUs()
	meter := host.NewMeter(allowed)
	result.Host.Begin = host.Tree("/").State()
	outcome, err := procs.Run(procs.Options{
		Plan: plan, Workers: workers, CPUs: cpus, Signals: signals, Progress: show, Look: meter.Look,
	})
	clear()
	if err != nil {
		return p.notRun(err)
	}
	result.Host.End = host.Tree("/").StateAfter()
	fill(result, outcome)
	if g := meter.Generator(); g != nil {
		g.ParentCPU, g.Workers = outcome.ParentCPU, result.Workers.Load(len(allowed), result.Measured)
		g.TargetHere = place.Socket != "" || target.CheckSource(place.Addr()) == nil // it can be bound to
		result.Generator = g
	}
	if why != "" {
		result.Reasons = append(result.Reasons, why)
	}
	if result.Generator != nil {
		p.calibrate(asked, workers, cpus, allowed, signals, result)
	}
	return nil
}

// knock makes one TLS handshake, through the proxy if there is one, where the run
// is to make any. A certificate that is not accepted, or a tunnel that is not
// opened, would not be in the run either, so it is said once; what else may have
// gone wrong is for the run to count.
func knock(plan *client.Plan, result *stats.Run) error {
	if plan.TLS == nil {
		return nil
	}
	crypto, err := secure.New(plan.TLS)
	if err != nil {
		return err
	}
	trial := *plan
	trial.ConnectTimeout = min(preflight, plan.ConnectTimeout)
	class, reason := client.Knock(&trial, crypto)
	asked := *plan.TLS
	asked.Verified = crypto.Verified()
	plan.TLS, result.Plan.TLS = &asked, crypto.Facts()
	switch class {
	case stats.ClassNone:
	case stats.TLSVerify:
		return fmt.Errorf("TLS handshake with %s: %w; --insecure takes any, --cacert names whom to trust", result.Plan.Address, reason)
	case stats.ProxyRefused:
		return fmt.Errorf("tunnel through %s: %w", result.Plan.Address, reason)
	default:
		result.Reasons = append(result.Reasons, "the handshake before the run failed: "+handshakeWords(class, reason))
	}
	return nil
}

func handshakeWords(class stats.Class, reason error) string {
	if reason == nil {
		return class.Text()
	}
	return fmt.Sprintf("%s (%v)", class.Text(), reason)
}

// calibrate holds the run against what this host can generate: as measured now,
// if that is asked for, or by an earlier run of its shape. That it is not known
// is said, and changes nothing else.
func (p *program) calibrate(asked *config.Run, workers int, cpus, allowed []int, signals chan os.Signal, result *stats.Run) {
	shape := ceiling.ShapeOf(result, &asked.Plan, allowed, cpus, workers)
	var err error
	switch {
	case !asked.Ceiling:
		result.Generator.Ceiling, err = ceiling.Recall(shape)
	case result.Tally.Succeeded == 0 || result.Interrupted != "":
		err = errors.New("no ceiling was measured: the run before it has no answers to go by")
	default:
		result.Generator.Ceiling, err = p.measureCeiling(asked, workers, cpus, signals, result)
		if err == nil {
			err = ceiling.Remember(shape, result.Generator.Ceiling)
		}
	}
	if err != nil {
		result.Reasons = append(result.Reasons, err.Error())
	}
}

func (p *program) measureCeiling(asked *config.Run, workers int, cpus []int, signals chan os.Signal, result *stats.Run) (*stats.Ceiling, error) {
	if asked.Progress != "none" {
		p.say("note", "measuring what this host can generate, against a target that does nothing")
	}
	c, err := ceiling.Measure(asked.Plan, workers, cpus, ceiling.BodySize(result), signals)
	if err != nil {
		return nil, fmt.Errorf("no ceiling was measured: %w", err)
	}
	return c, nil
}

// portsPerSource is how many connections one source address takes well: the
// kernel looks ever longer for a free port once half of them are in use.
const portsPerSource = 9000

// sourcesFor are the addresses to connect from: those asked for, or on loopback
// as many as the clients need ports. why says so if they were not asked for.
func sourcesFor(asked *config.Run, address netip.AddrPort) (sources []netip.Addr, why string) {
	ports, clients := procs.LocalPorts(), asked.Plan.Clients
	if len(asked.Sources) > 0 || ports == 0 || !address.Addr().Is4() || !address.Addr().IsLoopback() || clients <= ports/2 {
		return asked.Sources, ""
	}
	sources = target.LoopbackSources(clients, min(portsPerSource, max(ports/3, 1)))
	return sources, fmt.Sprintf("clients connect from %v to %v: one address has %d ports for %d clients",
		sources[0], sources[len(sources)-1], ports, clients)
}

func (p *program) notRun(err error) error {
	var interrupted *procs.Interrupted
	var usage *config.Usage
	switch {
	case errors.As(err, &interrupted):
		return p.failure(signalCode(interrupted.Signal), err)
	case errors.As(err, &usage):
		return err
	}
	return p.failure(stats.ExitWorkers, err)
}

func signalCode(s os.Signal) int {
	if s == syscall.SIGTERM {
		return stats.ExitTerminated
	}
	return stats.ExitInterrupted
}

// sampleUnless has each request made once, so that its answers can be held
// against the first, and gives up at a signal.
func sampleUnless(signals <-chan os.Signal, asked *config.Run, plan *client.Plan) error {
	if !asked.Learn {
		return nil
	}
	var crypto client.Crypto
	if plan.TLS != nil {
		made, err := secure.New(plan.TLS)
		if err != nil {
			return err
		}
		crypto = made
	}
	sampled := make(chan error, 1)
	go func() { sampled <- client.Sample(plan, crypto) }()
	select {
	case err := <-sampled:
		return err
	case s := <-signals:
		return &procs.Interrupted{Signal: s}
	}
}

func (p *program) notSampled(err error) error {
	var interrupted *procs.Interrupted
	if errors.As(err, &interrupted) {
		return p.notRun(err)
	}
	return p.failure(stats.ExitFailed, fmt.Errorf("%s: %w", p.typed("expect-body"), err))
}

// preflight is how long the one connect before a run may take.
const preflight = time.Second

// reachUnless is reach, given up at a signal.
func reachUnless(signals <-chan os.Signal, asked *config.Run) (target.Place, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type answer struct {
		place target.Place
		err   error
	}
	reached := make(chan answer, 1)
	go func() {
		place, err := reach(ctx, asked)
		reached <- answer{place, err}
	}()
	select {
	case a := <-reached:
		return a.place, a.err
	case s := <-signals:
		return target.Place{}, &procs.Interrupted{Signal: s}
	}
}

func reach(ctx context.Context, asked *config.Run) (target.Place, error) {
	if asked.Socket != "" {
		return target.ReachSocket(asked.Socket)
	}
	addrs := asked.Given
	if len(addrs) == 0 {
		var err error
		if addrs, err = target.Resolve(ctx, asked.Host, asked.Family); err != nil {
			return target.Place{}, err
		}
	}
	var source netip.Addr
	if len(asked.Sources) > 0 {
		source = asked.Sources[0]
	}
	var candidates []netip.AddrPort
	for _, a := range addrs {
		if !source.IsValid() || source.Is4() == a.Is4() {
			candidates = append(candidates, netip.AddrPortFrom(a, asked.Port))
		}
	}
	if len(candidates) == 0 {
		return target.Place{}, &config.Usage{Option: "source", Text: fmt.Sprintf("%v cannot reach %v, an address of the other family", source, addrs[0])}
	}
	return target.ReachOne(candidates, source, min(preflight, asked.Plan.ConnectTimeout))
}

// isLocal reports whether a connect failed for want of something of this host.
func isLocal(err error) bool {
	for _, errno := range []error{syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func fill(result *stats.Run, o *procs.Outcome) {
	asked := result.Workers.Asked
	result.StartedAt, result.Measured = o.StartedAt, o.Measured
	result.Tally, result.Unfinished, result.PerClient, result.Lost = o.Tally, o.Unfinished, o.PerClient, o.Lost
	result.Series, result.Stalls, result.Workers = o.Series, o.Stalls, o.Workers
	result.Reasons = append(result.Reasons, o.Reasons...)
	result.Coalescing = o.Coalescing
	result.Scheduled, result.Warmup = o.Scheduled, o.Warmup
	result.Workers.Asked = asked
	switch o.Signal {
	case nil:
	case syscall.SIGTERM:
		result.Interrupted = "SIGTERM"
	default:
		result.Interrupted = "SIGINT"
	}
}

// judge draws the verdict, prints the result and sets the exit code.
func (p *program) judge(asked *config.Run, output config.Output, result *stats.Run, sheets []sheet) error {
	verdict := stats.Judge(result, asked.Limits)
	p.code = verdict.Exit
	if result.Unreachable != "" {
		p.say("error", result.Unreachable)
	}
	var text report.Renderer
	switch {
	case result.Unreachable != "":
	case asked.Classic:
		text = report.Classic
	default:
		text = report.Text
	}
	return p.print(output, text, result, verdict, sheets)
}

// report renders a saved result again.
func (p *program) report(c *cli.Context) error {
	if c.NArg() != 1 {
		return needOne(c.Args().Slice(), "FILE", "horde report [options] FILE")
	}
	output, err := config.ReadOutput(config.Values(c))
	if err != nil {
		return err
	}
	result, verdict, err := loadResult(c.Args().First())
	if err != nil {
		return &config.Usage{Text: err.Error()}
	}
	sheets, err := create(output.Files)
	defer discard(sheets)
	if err != nil {
		return err
	}
	return p.print(output, report.Text, result, verdict, sheets)
}

// loadResult reads a result file; "-" is stdin.
func loadResult(name string) (*stats.Run, stats.Verdict, error) {
	from := os.Stdin
	if name != "-" {
		var err error
		if from, err = os.Open(name); err != nil {
			return nil, stats.Verdict{}, err
		}
		defer from.Close()
	}
	result, verdict, err := report.Load(from)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return result, verdict, err
}

// sheet is a rendering that is wanted, and the file made ready for it.
type sheet struct {
	config.File
	file *report.File
}

// create makes the files ready before there is anything to write: a bad name
// costs nothing then.
func create(files []config.File) ([]sheet, error) {
	var sheets []sheet
	for _, f := range files {
		file, err := report.Create(f.Name)
		if err != nil {
			return sheets, &config.Usage{Option: f.Option, Text: err.Error()}
		}
		sheets = append(sheets, sheet{f, file})
	}
	return sheets, nil
}

// renderer is what writes the file, or stdout, that an option asks for.
func renderer(option, name string) report.Renderer {
	switch option {
	case "csv":
		return report.CSV
	case "gnuplot":
		return report.Gnuplot
	case "hdr":
		return report.HDR(name)
	}
	return report.JSON
}

func discard(sheets []sheet) {
	for _, s := range sheets {
		s.file.Discard()
	}
}

// write renders the result into its file.
func (s *sheet) write(result *stats.Run, verdict stats.Verdict) error {
	var text bytes.Buffer
	err := renderer(s.Option, s.Name)(&text, result, verdict)
	if err == nil {
		err = s.file.Commit(text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.Name, err)
	}
	return nil
}

// print writes the result to stdout, as text (nil = not at all) unless asked
// otherwise, and then its files. What cannot be written is said; the rest is
// written all the same.
func (p *program) print(output config.Output, text report.Renderer, result *stats.Run, verdict stats.Verdict, sheets []sheet) error {
	if output.Stdout != "" {
		text = renderer(output.Stdout, "")
	}
	var errs []error
	if text != nil {
		errs = append(errs, text(p.stdout, result, verdict))
	}
	for _, s := range sheets {
		errs = append(errs, s.write(result, verdict))
	}
	return errors.Join(errs...)
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
