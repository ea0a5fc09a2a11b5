package config

// Option is one option of a command. The tables below are the one source of
// what the program accepts, of --help, of the man page and of the README.
type Option struct {
	Names   []string // without dashes, the canonical one first; one letter is a short option
	Value   string   // what stands for its value in the help, "" = it takes none
	Default string
	Repeat  bool   // every value counts, not the last one alone
	Group   string // heading it stands under
	Text    string
}

// The groups, in the order of the help.
const (
	groupLoad    = "Load"
	groupRequest = "Request"
	groupTarget  = "Target"
	groupSuccess = "Success and thresholds"
	groupWorkers = "Workers"
	groupOutput  = "Output"
)

// RunOptions are the options of a run.
var RunOptions = []Option{
	{Names: []string{"clients", "c"}, Value: "N", Default: "1", Group: groupLoad, Text: "clients at once"},
	{Names: []string{"time", "t"}, Value: "T", Default: "30", Group: groupLoad,
		Text: "length of the run: seconds (60, 0.5) or a duration (90s, 5m, 12h)"},
	{Names: []string{"requests", "n"}, Value: "N", Group: groupLoad,
		Text: "stop after N requests in all; alone it has no time limit, with -t whichever comes first"},
	{Names: []string{"keepalive", "k"}, Group: groupLoad, Text: "keep connections open instead of one connection per request"},
	{Names: []string{"rate", "R"}, Value: "R", Group: groupLoad,
		Text: "open loop: begin R requests per second in all (fractions allowed), evenly spaced, whatever became of those before; latency from the intended start"},
	{Names: []string{"ramp"}, Value: "T", Group: groupLoad,
		Text: "start the clients evenly over T instead of all at once; with --rate, let the rate grow evenly from 0 over T"},
	{Names: []string{"warmup"}, Value: "T", Group: groupLoad, Text: "load the target for T before the run: in the time line, and counted nowhere else"},
	{Names: []string{"repeat"}, Value: "N", Default: "1", Group: groupLoad,
		Text: "N runs one after another, each with files of its own: F-01, F-02, the number before the suffix; the exit code is that of the worst"},
	{Names: []string{"pause"}, Value: "T", Group: groupLoad,
		Text: "time between two runs of --repeat; without it until the connections in TIME_WAIT have drained, 65 s at most"},
	{Names: []string{"timeout"}, Value: "T", Default: "10s", Group: groupLoad, Text: "limit for a whole request"},
	{Names: []string{"connect-timeout"}, Value: "T", Default: "3s", Group: groupLoad, Text: "limit for the connect of a request, TLS handshake included"},
	{Names: []string{"force", "f"}, Group: groupLoad, Text: "do not wait for the answer: a request that was sent counts as succeeded"},

	{Names: []string{"method", "m"}, Value: "M", Default: "GET", Group: groupRequest, Text: "method; POST if there is a body"},
	{Names: []string{"get"}, Group: groupRequest, Text: "method GET"},
	{Names: []string{"head"}, Group: groupRequest, Text: "method HEAD"},
	{Names: []string{"options"}, Group: groupRequest, Text: "method OPTIONS"},
	{Names: []string{"trace"}, Group: groupRequest, Text: "method TRACE"},
	{Names: []string{"http09", "9"}, Group: groupRequest, Text: "speak HTTP/0.9"},
	{Names: []string{"http10", "1"}, Group: groupRequest, Text: "speak HTTP/1.0"},
	{Names: []string{"http11", "2"}, Group: groupRequest, Text: "speak HTTP/1.1, the default"},
	{Names: []string{"header", "H"}, Value: "'K: V'", Repeat: true, Group: groupRequest,
		Text: "add a header line, or replace a built-in one; repeatable"},
	{Names: []string{"reload", "r"}, Group: groupRequest, Text: "ask caches for a fresh copy (Pragma: no-cache)"},
	{Names: []string{"data"}, Value: "S", Group: groupRequest, Text: "request body"},
	{Names: []string{"body-file"}, Value: "F", Group: groupRequest, Text: "request body from a file, read once; - is standard input"},
	{Names: []string{"expect-continue"}, Group: groupRequest,
		Text: "send a body only when the target asks for it (Expect: 100-continue), or has said nothing for a second"},
	{Names: []string{"content-type", "T"}, Value: "T", Group: groupRequest,
		Text: "type of the body, application/x-www-form-urlencoded unless told"},
	{Names: []string{"auth", "A"}, Value: "U:P", Group: groupRequest, Text: "basic authentication as user U with password P"},
	{Names: []string{"cookie"}, Value: "S", Group: groupRequest, Text: "cookie line, such as a=1; b=2"},
	{Names: []string{"user-agent"}, Value: "S", Group: groupRequest, Text: "user agent line"},
	{Names: []string{"requests-file"}, Value: "F", Group: groupRequest,
		Text: "send the requests listed in a file (- is standard input): METHOD URL lines, JSON lines with method, url, headers, body, or a HAR document; the URL of the command line says where to"},
	{Names: []string{"requests-order"}, Value: "HOW", Default: "sequential", Group: groupRequest,
		Text: "way through the list: sequential, each process from a place of its own, or random"},
	{Names: []string{"seed"}, Value: "N", Default: "1", Group: groupRequest, Text: "of the random order: the same seed, the same requests"},

	{Names: []string{"proxy", "p"}, Value: "H:P", Group: groupTarget,
		Text: "send through the HTTP proxy at host H, port P (80 unless told); USER:PASSWORD@H:P if it asks who you are"},
	{Names: []string{"proxy-protocol"}, Value: "V", Group: groupTarget,
		Text: "tell a load balancer first on each connection whose it is: PROXY protocol v1 or v2"},
	{Names: []string{"unix-socket"}, Value: "PATH", Group: groupTarget,
		Text: "connect to this unix socket instead of the URL's host; @NAME for an abstract one"},
	{Names: []string{"resolve"}, Value: "H:P:A[,A]", Repeat: true, Group: groupTarget,
		Text: "take A for the address of host H at port P, as in curl; several are tried in turn"},
	{Names: []string{"source"}, Value: "A[,A]", Group: groupTarget,
		Text: "connect from these addresses and ranges (A-B) in turn; towards 127.0.0.0/8 more are taken by themselves when ports would run out"},
	{Names: []string{"insecure"}, Group: groupTarget, Text: "https: take any certificate"},
	{Names: []string{"cacert"}, Value: "F", Group: groupTarget,
		Text: "https: trust the authorities in this PEM file instead of those of the host"},
	{Names: []string{"cert"}, Value: "F", Group: groupTarget, Text: "https: our own certificate, PEM"},
	{Names: []string{"key"}, Value: "F", Group: groupTarget, Text: "https: the private key of --cert, PEM"},
	{Names: []string{"servername"}, Value: "N", Group: groupTarget,
		Text: "https: ask for this name, and hold the certificate to it, instead of the URL's (an address is never asked for)"},
	{Names: []string{"tls-resume"}, Group: groupTarget, Text: "https: resume sessions; otherwise each connection makes a full handshake"},
	{Names: []string{"4"}, Group: groupTarget, Text: "use IPv4 addresses only"},
	{Names: []string{"6"}, Group: groupTarget, Text: "use IPv6 addresses only"},

	{Names: []string{"expect"}, Value: "CODES", Default: "200-399", Group: groupSuccess,
		Text: "statuses that count as success, such as 200-299,304"},
	{Names: []string{"expect-body"}, Value: "WHAT", Group: groupSuccess,
		Text: "what the body of an answer must have to count as success: length:N, sha256:HEX, or first-length, first-sha256: that of the answer to one request before the run"},
	{Names: []string{"max-failed"}, Value: "P", Group: groupSuccess, Text: "exit with 4 if more than P percent of the requests failed"},
	{Names: []string{"max-p99"}, Value: "T", Group: groupSuccess, Text: "exit with 4 if the 99th percentile of the latency is above T"},
	{Names: []string{"min-rate"}, Value: "R", Group: groupSuccess, Text: "exit with 4 if fewer than R requests succeeded per second"},

	{Names: []string{"workers", "w"}, Value: "W", Default: PerClient, Group: groupWorkers,
		Text: "worker processes: per-client, auto (one for each allowed CPU) or a number; clients are shared out evenly"},
	{Names: []string{"pin"}, Value: "CPUS", Default: "auto", Group: groupWorkers,
		Text: "CPUs for the workers, round robin: auto (all that are allowed), none, or a list such as 0,2-3"},
	{Names: []string{"sched"}, Value: "HOW", Default: "auto", Group: groupWorkers,
		Text: "scheduling class of the workers: auto (SCHED_BATCH in a closed loop, unless many packed workers share a CPU) " +
			"or keep (that of horde itself)"},
	{Names: []string{"coalesce"}, Value: "HOW", Default: "auto", Group: groupWorkers,
		Text: "collect answers of kept-alive connections for a moment where that pays: auto or off"},
	{Names: []string{"calibrate"}, Group: groupWorkers,
		Text: "after the run, measure what this host can generate: the same clients for up to 5 s against a target that does nothing; remembered for later runs of the kind"},

	output, jsonOutput, csvOutput, gnuplotOutput, hdrOutput,
	{Names: []string{"classic"}, Group: groupOutput,
		Text: "exactly webbench 1.5: its request, its arithmetic, its two lines; also when called as webbench"},
	{Names: []string{"quiet", "q"}, Group: groupOutput, Text: "no live progress"},
	{Names: []string{"progress"}, Value: "HOW", Default: "auto", Group: groupOutput,
		Text: "live progress on stderr: auto (on a terminal), plain (a line a second) or none"},
	help, version,
}

// ReportOptions are the options of a saved result's rendering.
var ReportOptions = []Option{output, jsonOutput, csvOutput, gnuplotOutput, hdrOutput, help, version}

// ServeOptions are the options of the embedded target.
var ServeOptions = []Option{
	{Names: []string{"listen"}, Value: "ADDR", Group: groupTarget, Default: "127.0.0.1:0", Text: "address and port to listen on"},
	{Names: []string{"fault"}, Value: "SPEC", Group: groupTarget, Text: "play a fault for every path but /fault/SPEC"},
	{Names: []string{"size"}, Value: "BYTES", Group: groupTarget, Default: "12", Text: "length of the body of an answer"},
	{Names: []string{"processes"}, Value: "N", Group: groupTarget, Default: "0", Text: "serving processes; 0 = half the allowed CPUs"},
	{Names: []string{"budget"}, Value: "N", Group: groupTarget, Default: "0", Text: "answer N requests in all, then stay silent; 0 = no limit"},
	help, version,
}

var (
	output     = Option{Names: []string{"output", "o"}, Value: "F", Group: groupOutput, Text: "write the result file (JSON)"}
	jsonOutput = Option{Names: []string{"json"}, Group: groupOutput, Text: "the result file on stdout instead of the report"}
	csvOutput  = Option{Names: []string{"csv"}, Value: "F", Group: groupOutput,
		Text: "write percentiles and time line as a table (CSV); - is stdout, instead of the report"}
	gnuplotOutput = Option{Names: []string{"gnuplot"}, Value: "F", Group: groupOutput,
		Text: "write the columns of ab's -g for gnuplot, made from the histograms; - is stdout"}
	hdrOutput = Option{Names: []string{"hdr"}, Value: "F", Repeat: true, Group: groupOutput,
		Text: "write the latency for HdrHistogram's tools: an encoded log if F ends in .hlog, else percentiles as text (.hgrm); repeatable, - is stdout"}
)

// CompareOptions are the options of a comparison.
var CompareOptions = []Option{
	{Names: []string{"margin"}, Value: "P", Group: groupSuccess, Default: "2",
		Text: "a change within P percent up or down is negligible; of a failed share it is 0.1 points, whatever P"},
	{Names: []string{"fail-on-change"}, Group: groupSuccess, Text: "exit with 4 if a metric changed for the worse, beyond the margin"},
	{Names: []string{"anyway"}, Group: groupSuccess,
		Text: "compare runs that are not comparable, too; what makes them so is said above the verdicts"},
	{Names: []string{"json"}, Group: groupOutput, Text: "the comparison as one JSON document"},
	help, version,
}

var (
	help    = Option{Names: []string{"help", "h", "?"}, Group: groupOutput, Text: "show the options"}
	version = Option{Names: []string{"version", "V"}, Group: groupOutput, Text: "show the version"}
)
