package nullserver

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Fault is one way of misbehaving. Its zero value is none. It is plain data
// and travels to the serving processes as its text.
type Fault struct {
	spec  string
	kind  *kind
	value value
	share uint32 // of allShares: how many of the requests, or connections, meet it
}

// allShares is a share of 100 %.
const allShares = 1_000_000

// value is what stands behind a fault's colon.
type value struct {
	n        int64
	from, to time.Duration // a time alone is in from
}

// kind is a row of the table of faults.
type kind struct {
	name    string
	value   string // a word that belongs to the name, or in capitals what is to be filled in, [in brackets] if it may be left out
	example string
	meaning string
	where   where
	parse   func(string) (value, error) // nil for a word
	shape   func(*reply, value)         // turns the normal answer into the faulty one; nil if the fault is not an answer
}

// where says where a fault may be asked for.
type where uint8

const (
	anywhere    where = iota
	anyAccept         // from the whole server it strikes as a connection is accepted, by path as a request comes in
	onlyAccept        // at accept no path is known yet
	onlyProcess       // a state of the whole listener, with no share
)

// FaultHelp describes one fault for people.
type FaultHelp struct {
	Form       string // as it is written: "delay:TIME"
	Example    string
	Meaning    string
	ServerOnly bool // only for the whole server, not by the path /fault/SPEC
}

// Faults lists every fault there is, in the order of an exchange: from
// listening to the end of an answer.
func Faults() []FaultHelp {
	list := make([]FaultHelp, len(kinds))
	for i, k := range kinds {
		list[i] = FaultHelp{k.form(), k.example, k.meaning, k.where >= onlyAccept}
	}
	return list
}

func (k *kind) form() string {
	switch {
	case k.value == "":
		return k.name
	case k.value[0] == '[':
		return k.name + "[:" + k.value[1:]
	}
	return k.name + ":" + k.value
}

// ParseFault reads "name", "name:value" and either with "@share", the share a
// percentage of requests: "status:503@10%" is every tenth. "" and "none" are
// no fault.
func ParseFault(spec string) (Fault, error) {
	if spec == "" || spec == "none" {
		return Fault{}, nil
	}
	text, percent, shared := strings.Cut(spec, "@")
	name, arg, valued := strings.Cut(text, ":")
	k, err := findKind(name, arg, valued)
	if err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", spec, err)
	}
	f := Fault{spec: spec, kind: k, share: allShares}
	if k.parse != nil {
		if f.value, err = k.parse(arg); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w, as in %q", spec, err, k.example)
		}
	}
	if !shared {
		return f, nil
	}
	if k.where == onlyProcess {
		return Fault{}, fmt.Errorf("fault %q: %s is the state of a whole server and takes no share", spec, name)
	}
	if f.share, err = parseShare(percent); err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", spec, err)
	}
	return f, nil
}

// findKind looks for the row whose word is arg, else for the one that takes a value.
func findKind(name, arg string, valued bool) (*kind, error) {
	var near *kind
	for i := range kinds {
		k := &kinds[i]
		if k.name != name {
			continue
		}
		near = k
		switch {
		case k.parse == nil && k.value == arg && valued == (arg != ""):
			return k, nil
		case k.parse != nil && (valued || k.value[0] == '['):
			return k, nil
		}
	}
	if near == nil {
		return nil, errors.New("no fault has this name")
	}
	return nil, fmt.Errorf("it is written %s", strings.Join(formsOf(name), " or "))
}

func formsOf(name string) (forms []string) {
	for i := range kinds {
		if kinds[i].name == name {
			forms = append(forms, kinds[i].form())
		}
	}
	return forms
}

func parseShare(s string) (uint32, error) {
	digits, ok := strings.CutSuffix(s, "%")
	percent, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(percent > 0 && percent <= 100) {
		return 0, fmt.Errorf("share %q is not a percentage above 0%% and up to 100%%, as in 10%%", s)
	}
	return max(1, uint32(math.Round(percent*allShares/100))), nil
}

// String returns the fault as it was written, "none" for the zero value.
func (f Fault) String() string {
	if f.kind == nil {
		return "none"
	}
	return f.spec
}

// backlog is the length that the fault gives the accept queue, 0 if it is not
// that fault.
func (f Fault) backlog() int {
	if f.kind == nil || f.kind.name != "backlog" {
		return 0
	}
	return int(f.value.n)
}

func parseTime(s string) (v value, err error) {
	v.from, err = time.ParseDuration(s)
	if err != nil || v.from < 0 {
		return v, fmt.Errorf("%q is not a time", s)
	}
	return v, nil
}

func parseMaybeTime(s string) (value, error) {
	if s == "" {
		return value{}, nil
	}
	return parseTime(s)
}

func parseSpan(s string) (value, error) {
	from, to, _ := strings.Cut(s, "-")
	a, errA := parseTime(from)
	b, errB := parseTime(to)
	if errA != nil || errB != nil || a.from >= b.from {
		return value{}, fmt.Errorf("%q is not a span of time", s)
	}
	return value{from: a.from, to: b.from}, nil
}

func parseCount(s string) (v value, err error) {
	v.n, err = strconv.ParseInt(s, 10, 32)
	if err != nil || v.n < 1 {
		return v, fmt.Errorf("%q is not a count", s)
	}
	return v, nil
}

func parseWidth(s string) (value, error) {
	if s == "" {
		return value{n: 20_000}, nil
	}
	v, err := parseCount(s)
	if err == nil && v.n > 64<<20 {
		return v, fmt.Errorf("%q is more than 64 MiB", s)
	}
	return v, err
}

func parseStatus(s string) (value, error) {
	v, err := parseCount(s)
	if err != nil || v.n < 100 || v.n > 999 {
		return v, fmt.Errorf("%q is not a status of three digits", s)
	}
	return v, nil
}

func parseDrip(s string) (value, error) {
	count, every, _ := strings.Cut(s, "/")
	n, errN := parseCount(count)
	t, errT := parseTime(every)
	if errN != nil || errT != nil {
		return value{}, fmt.Errorf("%q is not a number of bytes and a time", s)
	}
	return value{n: n.n, from: t.from}, nil
}

func parseEarly(s string) (value, error) {
	code, after, timed := strings.Cut(s, "/")
	v, err := parseStatus(code)
	if err != nil || !timed {
		return v, err
	}
	t, err := parseTime(after)
	return value{n: v.n, from: t.from}, err
}
