package report

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	"horde/stats/compare"
)

// ComparisonSchema names the layout of a comparison. Fields are only ever added to it.
const ComparisonSchema = "horde.compare/1"

// comparison is a comparison for programs. Changes are after/before − 1; nil is
// null: there is no value.
type comparison struct {
	Schema      string             `json:"schema"`
	Comparable  bool               `json:"comparable"`
	Anyway      bool               `json:"anyway"` // compared although it is not comparable
	Reasons     []string           `json:"reasons"`
	Margin      float64            `json:"margin"`
	Order       string             `json:"order"`
	Together    bool               `json:"limited_together"` // by the generator, on both sides
	Before      comparisonSide     `json:"before"`
	After       comparisonSide     `json:"after"`
	Metrics     []comparisonMetric `json:"metrics"`
	Causes      []comparisonCause  `json:"causes"`
	Attribution *string            `json:"not_attributable"` // why a change cannot be put down to one end
	Notes       []string           `json:"notes"`
}

type comparisonSide struct {
	Files    []string          `json:"files"`
	Runs     int               `json:"runs"`
	Boots    *int              `json:"boots"`
	Failures map[string]uint64 `json:"failures"` // by class
}

type comparisonMetric struct {
	Name      string       `json:"name"`
	Unit      string       `json:"unit"`
	Verdict   string       `json:"verdict"`
	Text      string       `json:"text"`
	Direction *string      `json:"direction"` // "better", "worse" or "same"
	Change    *float64     `json:"change"`
	CI        *[2]float64  `json:"ci95"`
	P         *float64     `json:"p"` // of all metrics but the first adjusted for their number
	Ranks     *rankCheck   `json:"ranks"`
	Needed    *int         `json:"runs_needed"`
	Before    metricValues `json:"before"`
	After     metricValues `json:"after"`
}

type rankCheck struct {
	Verdict string      `json:"verdict"`
	CI      *[2]float64 `json:"ci95"`
}

type metricValues struct {
	Typical *float64   `json:"typical"` // geometric mean; of a share, that of all runs together
	Runs    []*float64 `json:"runs"`
}

type comparisonCause struct {
	Fact   string  `json:"fact"`
	Before string  `json:"before"`
	After  string  `json:"after"`
	Known  *string `json:"known_for"`
}

// ComparisonJSON writes what a comparison found, for programs.
func ComparisonJSON(w io.Writer, c *compare.Comparison) error {
	before, after := c.Classes()
	d := comparison{
		Schema: ComparisonSchema, Comparable: len(c.Refused) == 0, Anyway: c.Anyway, Reasons: filled(c.Refused),
		Margin: c.Margin, Order: string(c.Order), Together: c.Together,
		Before: newSide(c.Before, c.Boots.Before, before), After: newSide(c.After, c.Boots.After, after),
		Metrics: []comparisonMetric{}, Causes: []comparisonCause{},
		Attribution: some(c.Attribution), Notes: filled(c.Notes),
	}
	for i := range c.Metrics {
		d.Metrics = append(d.Metrics, newMetric(c, &c.Metrics[i]))
	}
	for _, cause := range c.Causes {
		d.Causes = append(d.Causes, comparisonCause{cause.Fact, cause.Before, cause.After, some(cause.Why)})
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(d)
}

func newSide(runs []compare.Run, boots int, failures []compare.Class) comparisonSide {
	s := comparisonSide{Runs: len(runs), Boots: some(boots), Failures: map[string]uint64{}}
	for i := range runs {
		s.Files = append(s.Files, runs[i].Name)
	}
	for _, f := range failures {
		s.Failures[f.Name] = f.Count
	}
	return s
}

var metricUnits = map[compare.Kind]string{compare.Rate: "per_sec", compare.Share: "share", compare.Duration: "ns"}

func newMetric(c *compare.Comparison, m *compare.Metric) comparisonMetric {
	out := comparisonMetric{
		Name: m.Name, Unit: metricUnits[m.Kind], Verdict: string(m.Verdict), Text: sentence(c, m),
		Direction: some(string(m.Direction)), CI: interval(m.Low, m.High),
		Needed: some(m.Needed), Before: newValues(m.Before), After: newValues(m.After),
	}
	if m.Change != nil {
		out.Change = number(*m.Change)
	}
	if m.Welch.Bounded {
		out.P = number(m.P)
		out.Ranks = &rankCheck{string(m.RankVerdict), interval(m.RankLow, m.RankHigh)}
	}
	return out
}

func interval(low, high *float64) *[2]float64 {
	if low == nil || high == nil {
		return nil
	}
	return &[2]float64{digits(*low), digits(*high)}
}

func newValues(v compare.Values) metricValues {
	out := metricValues{Typical: number(v.Typical)}
	for _, value := range v.Each {
		out.Runs = append(out.Runs, number(value))
	}
	return out
}

func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v = digits(v)
	return &v
}

// digits leaves out those that only differ from one machine's arithmetic to another's.
func digits(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	return rounded
}
