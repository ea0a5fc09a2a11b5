package e2e

import (
	"regexp"
	"strconv"

	"github.com/stretchr/testify/require"
)

// The two lines of the text report that scripts may parse.
var (
	speedLine    = regexp.MustCompile(`(?m)^Speed=(\d+) pages/min, (\d+) bytes/sec\.$`)
	requestsLine = regexp.MustCompile(`(?m)^Requests: (\d+) succeeded, (\d+) failed, (\d+) unfinished(?:, (\d+) lost)?\.$`)
)

// headline holds the numbers of the two fixed lines.
type headline struct{ pages, bytes, succeeded, failed, unfinished, lost int }

// headline requires both lines, once each and next to each other.
func (o *outcome) headline() headline {
	o.t.Helper()
	speed := speedLine.FindAllStringSubmatchIndex(o.stdout, -1)
	requests := requestsLine.FindAllStringSubmatchIndex(o.stdout, -1)
	require.Len(o.t, speed, 1, "lines of speed")
	require.Len(o.t, requests, 1, "lines of requests")
	require.Equal(o.t, speed[0][1]+1, requests[0][0], "the lines do not follow each other")
	s := speedLine.FindStringSubmatch(o.stdout)
	r := requestsLine.FindStringSubmatch(o.stdout)
	return headline{number(s[1]), number(s[2]), number(r[1]), number(r[2]), number(r[3]), number(r[4])}
}

// counts is the headline without its rates, which depend on the window.
func (h headline) counts() headline {
	h.pages, h.bytes = 0, 0
	return h
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
