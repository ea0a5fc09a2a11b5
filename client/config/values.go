package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"horde/client"
)

// Usage is a mistake on the command line: a sentence that names what was
// typed, and a hint where a fix is known.
type Usage struct {
	Option string // canonical name of the option it is about, "" if none
	Text   string
	Other  string // canonical name of a second option, with which Text ends
	Hint   string
}

// Error returns the sentence, with options by their canonical names.
func (u *Usage) Error() string {
	text := u.Text
	if u.Other != "" {
		text += " --" + u.Other
	}
	if u.Option != "" {
		text = "--" + u.Option + ": " + text
	}
	return text
}

// longestTime bounds every duration, so that sums of them cannot overflow.
const longestTime = 10 * 365 * 24 * time.Hour

// parsePause reads a time that may be none.
func parsePause(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	return parseTime(s)
}

// parseTime reads seconds ("60", "0.5") or a duration ("90s", "1h30m"), above 0.
func parseTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if seconds, e := strconv.ParseFloat(s, 64); e == nil {
		if math.IsNaN(seconds) || seconds > longestTime.Seconds() {
			return 0, errors.New("is longer than ten years")
		}
		d, err = time.Duration(math.Round(seconds*1e9)), nil
	}
	switch {
	case err != nil:
		return 0, errors.New("is neither seconds (60, 0.5) nor a duration (90s, 5m, 12h)")
	case d <= 0:
		return 0, errors.New("must be above 0")
	case d > longestTime:
		return 0, errors.New("is longer than ten years")
	}
	return d, nil
}

// parseCount reads a whole number from 1 to most.
func parseCount(s string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n > most:
		return 0, errors.New("is above " + strconv.FormatUint(most, 10))
	case err != nil || n == 0:
		return 0, errors.New("must be a whole number above 0")
	}
	return n, nil
}

// parseSeed reads a whole number from 0 to 2^64-1.
func parseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

// parseShare reads a percentage from 0 to 100, with or without its sign, as a share.
func parseShare(s string) (float64, error) {
	p, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(p >= 0 && p <= 100) {
		return 0, errors.New("must be a percentage from 0 to 100")
	}
	return p / 100, nil
}

// parseRate reads a number of requests per second above 0.
func parseRate(s string) (float64, error) {
	r, err := strconv.ParseFloat(s, 64)
	if err != nil || !(r > 0 && r <= 1e9) {
		return 0, errors.New("must be a number of requests per second above 0")
	}
	return r, nil
}

// expected is what bodies are held against; learn if it is to be found out first.
type expected struct {
	check client.Check
	learn bool
	body  client.Body
}

// parseBody reads what a body must have.
func parseBody(s string) (expected, error) {
	switch s {
	case "first-length":
		return expected{check: client.BodyLength, learn: true}, nil
	case "first-sha256":
		return expected{check: client.BodySum, learn: true}, nil
	}
	word, figure, _ := strings.Cut(s, ":")
	switch word {
	case "length":
		n, err := strconv.ParseUint(figure, 10, 64)
		if err != nil {
			return expected{}, errors.New("must be length: and a number of bytes")
		}
		return expected{check: client.BodyLength, body: client.Body{Length: n}}, nil
	case "sha256":
		sum, err := hex.DecodeString(figure)
		if err != nil || len(sum) != sha256.Size {
			return expected{}, errors.New("must be sha256: and 64 hexadecimal digits")
		}
		return expected{check: client.BodySum, body: client.Body{Sum: sum}}, nil
	}
	return expected{}, errors.New("is none of length:N, sha256:HEX, first-length, first-sha256")
}

// parseStatuses reads a list such as "200-299,304".
func parseStatuses(s string) (client.StatusSet, error) {
	var set client.StatusSet
	wrong := errors.New("must be a list of statuses from 100 to 999 such as 200-299,304")
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := strconv.Atoi(from)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(to)
		}
		if err != nil || lo < 100 || hi > 999 || hi < lo {
			return set, wrong
		}
		set.Add(lo, hi)
	}
	return set, nil
}
