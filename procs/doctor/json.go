package doctor

import (
	"encoding/json"
	"io"
)

// Schema names the layout of the findings in JSON. Fields are only ever added to it.
const Schema = "horde.doctor/1"

type document struct {
	Schema string      `json:"schema"`
	Checks []checkJSON `json:"checks"`
}

// checkJSON has null where there is no value, no limit or nothing to mend.
type checkJSON struct {
	ID    string  `json:"id"`
	Level string  `json:"level"`
	Side  Side    `json:"side"`
	Value *string `json:"value"`
	Limit *string `json:"limit"`
	Why   string  `json:"why"`
	Fix   *string `json:"fix"`
}

// JSON writes the findings for scripts.
func JSON(w io.Writer, checks []Check) error {
	d := document{Schema: Schema, Checks: []checkJSON{}}
	for _, c := range checks {
		out := checkJSON{c.ID, c.Level.String(), c.Side, &c.Value, some(c.Limit), c.Why, some(c.Fix)}
		if c.Level == Unknown {
			out.Value = nil
		}
		d.Checks = append(d.Checks, out)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // a fix is to be copied
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
