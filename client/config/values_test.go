package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseTime(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"60": time.Minute, "0.5": 500 * time.Millisecond, ".5": 500 * time.Millisecond, "1.": time.Second, "+2": 2 * time.Second,
		"1e1": 10 * time.Second, "90s": 90 * time.Second, "5m": 5 * time.Minute, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute,
		"10ms": 10 * time.Millisecond, "0.000000001": 1, "87600h": longestTime, "315360000": longestTime,
	} {
		d, err := parseTime(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, d, s)
	}
	for s, says := range map[string]string{
		"": "neither seconds", "x": "neither seconds", "5 s": "neither seconds", "1d": "neither seconds", "1,5": "neither seconds", "s": "neither seconds",
		"0": "above 0", "0s": "above 0", "-1": "above 0", "-5m": "above 0", "-Inf": "above 0", "-1e300": "above 0", "1e-12": "above 0",
		"1e99": "ten years", "Inf": "ten years", "NaN": "ten years", "315360001": "ten years", "87601h": "ten years", "99999999999999999999": "ten years",
	} {
		_, err := parseTime(s)
		assert.ErrorContains(t, err, says, "%q", s)
	}
}

func TestParseCount(t *testing.T) {
	for s, want := range map[string]uint64{"1": 1, "007": 7, "1000": 1000} {
		n, err := parseCount(s, 1000)
		require.NoError(t, err, s)
		assert.Equal(t, want, n)
	}
	for s, says := range map[string]string{
		"": "whole number above 0", "0": "whole number above 0", "-1": "whole number above 0", "+1": "whole number above 0",
		"1.5": "whole number above 0", "1e3": "whole number above 0", "0x10": "whole number above 0", " 1": "whole number above 0", "ten": "whole number above 0",
		"1001": "is above 1000", "99999999999999999999": "is above 1000",
	} {
		_, err := parseCount(s, 1000)
		assert.ErrorContains(t, err, says, "%q", s)
	}
}

func TestParseShare(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "1": 0.01, "0.1%": 0.001, "100": 1, "50%": 0.5} {
		p, err := parseShare(s)
		require.NoError(t, err, s)
		assert.InDelta(t, want, p, 1e-12, s)
	}
	for _, s := range []string{"", "%", "-1", "100.1", "NaN", "Inf", "x", "5%%"} {
		_, err := parseShare(s)
		assert.Error(t, err, "%q", s)
	}
}

func TestParseRate(t *testing.T) {
	for s, want := range map[string]float64{"1": 1, "0.5": 0.5, "1e9": 1e9} {
		r, err := parseRate(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, r, s)
	}
	for _, s := range []string{"", "0", "-1", "1e10", "NaN", "Inf", "x"} {
		_, err := parseRate(s)
		assert.Error(t, err, "%q", s)
	}
}

func TestParseStatuses(t *testing.T) {
	for _, row := range []struct {
		s       string
		in, out []int
	}{
		{"200", []int{200}, []int{199, 201}},
		{"200-299,304", []int{200, 250, 299, 304}, []int{199, 300, 303, 305}},
		{" 200 , 404", []int{200, 404}, []int{201, 403}},
		{"100-999", []int{100, 999}, []int{99, 1000}},
		{"204-204", []int{204}, []int{203, 205}},
		{"200-300,250", []int{200, 250, 300}, nil},
	} {
		set, err := parseStatuses(row.s)
		require.NoError(t, err, row.s)
		for _, status := range row.in {
			assert.True(t, set.Has(status), "%q has %d", row.s, status)
		}
		for _, status := range row.out {
			assert.False(t, set.Has(status), "%q has not %d", row.s, status)
		}
	}
	for _, s := range []string{"", ",", "200,", "99", "1000", "200-1000", "300-200", "2xx", "-200", "200-", "200-299-300", "200;304", "999999999999999999999"} {
		_, err := parseStatuses(s)
		assert.Error(t, err, "%q", s)
	}
}

func TestUsageNamesItsOption(t *testing.T) {
	assert.Equal(t, "--clients: is wrong", (&Usage{Option: "clients", Text: "is wrong"}).Error())
	assert.Equal(t, "is wrong", (&Usage{Text: "is wrong"}).Error())
}
