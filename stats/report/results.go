package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"horde/stats/compare"
)

// LoadRuns reads the runs of one side of a comparison: result files, each of one
// document or more, and directories, which stand for the *.json in them.
func LoadRuns(operands []string) ([]compare.Run, error) {
	var runs []compare.Run
	for _, operand := range operands {
		files, err := resultFiles(operand)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			loaded, err := loadFile(file)
			if err != nil {
				return nil, err
			}
			runs = append(runs, loaded...)
		}
	}
	return runs, nil
}

func resultFiles(operand string) ([]string, error) {
	info, err := os.Stat(operand)
	if err != nil || !info.IsDir() {
		return []string{operand}, err
	}
	entries, err := os.ReadDir(operand)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if name := e.Name(); filepath.Ext(name) == ".json" && !strings.HasPrefix(name, ".") {
			files = append(files, filepath.Join(operand, name))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no *.json in this directory", operand)
	}
	return files, nil
}

func loadFile(name string) ([]compare.Run, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	documents, err := splitDocuments(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	runs := make([]compare.Run, len(documents))
	for i, document := range documents {
		label := name
		if len(documents) > 1 {
			label = fmt.Sprintf("%s (%d)", name, i+1)
		}
		if runs[i], err = loadRun(label, document); err != nil {
			return nil, fmt.Errorf("%s: %w", label, err)
		}
	}
	return runs, nil
}

// splitDocuments parts what `--repeat N --json` prints. One cut short is an error.
func splitDocuments(data []byte) ([]json.RawMessage, error) {
	var documents []json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(data)); ; {
		var document json.RawMessage
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF) && len(documents) > 0:
			return documents, nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		documents = append(documents, document)
	}
}

func loadRun(name string, data json.RawMessage) (compare.Run, error) {
	d, err := Read(bytes.NewReader(data))
	if err != nil {
		return compare.Run{}, err
	}
	plan, err := planOf(data, d)
	if err != nil {
		return compare.Run{}, err
	}
	r := compare.Run{
		Name: name, Tool: d.Tool.Version, Commit: d.Tool.Commit,
		Plan: plan, Clients: d.Plan.Clients, OpenLoop: d.Plan.RatePerSec != nil, OnLoopback: onLoopback(d.Plan.Address),
		Measured: time.Duration(d.Window.MeasuredNS), Succeeded: d.Requests.Succeeded, Failed: d.Requests.Failed,
		Opened: d.Connections.Opened, Classes: map[string]uint64{}, Latency: quantilesOf(&d.Latency.Total),
		Valid: d.Verdicts.Valid, Partial: d.Verdicts.Partial,
		GeneratorLimited: is(d.Verdicts.GeneratorLimited, true), Drifting: is(d.Verdicts.Stationary, false),
		Host: d.Host.Stats(),
	}
	if d.Window.StartedAt != nil {
		r.StartedAt = *d.Window.StartedAt
	}
	if d.Latency.Total.MeanNS != nil {
		r.Mean = float64(*d.Latency.Total.MeanNS)
	}
	if d.Plan.Repeat != nil {
		r.PlannedRuns = d.Plan.Repeat.Of
	}
	for _, f := range d.Failures {
		r.Classes[f.Class] += f.Count
	}
	return r, nil
}

func is(verdict *bool, value bool) bool { return verdict != nil && *verdict == value }

func onLoopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().IsLoopback()
}

func quantilesOf(l *Latency) map[string]float64 {
	known := map[string]float64{}
	for name, ns := range map[string]*int64{
		"50": l.Percentiles.P50, "75": l.Percentiles.P75, "90": l.Percentiles.P90,
		"99": l.Percentiles.P99, "99.9": l.Percentiles.P999, "max": l.MaxNS,
	} {
		if ns != nil {
			known[name] = float64(*ns)
		}
	}
	return known
}

// notAsked are the parts of a plan that two runs may differ in.
var notAsked = []string{"address", "argv", "repeat"}

// unplanned are options that change what is measured and that the plan's other
// fields do not hold: they are taken from the command line.
var unplanned = []string{"expect", "coalesce", "sched", "pin", "source", "force", "connect-timeout"}

// planOf is what was asked for, field by field as the file has it: so that what
// later versions add is compared, too.
func planOf(data []byte, d *Document) (map[string]string, error) {
	var file struct {
		Plan map[string]json.RawMessage `json:"plan"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	plan := map[string]string{}
	for key, value := range file.Plan {
		if !slices.Contains(notAsked, key) {
			plan[key] = asked(value)
		}
	}
	if slices.Contains(d.Plan.Argv, "demo") { // its port is another each time
		delete(plan, "url")
		delete(plan, "request_sha256")
	}
	for _, option := range unplanned {
		if _, has := plan[strings.ReplaceAll(option, "-", "_")]; !has {
			plan["--"+option] = argument(d.Plan.Argv, option)
		}
	}
	return plan, nil
}

// asked is a field of the plan as text; what says that nothing was asked is "".
func asked(value json.RawMessage) string {
	text := string(value)
	if slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, text) {
		return ""
	}
	var plain string
	if json.Unmarshal(value, &plain) == nil {
		return plain
	}
	return text
}

// argument is the value of an option on a command line in order, "" if it was
// not given.
func argument(argv []string, option string) string {
	for _, arg := range argv {
		name, value, attached := strings.Cut(arg, "=")
		if name != "--"+option {
			continue
		}
		if !attached {
			return "given"
		}
		return value
	}
	return ""
}
