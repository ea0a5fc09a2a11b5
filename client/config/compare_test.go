package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPermuteSides(t *testing.T) {
	for _, c := range []struct {
		name          string
		args          []string
		before, after []string
		ordered       []string
	}{
		{"options before", []string{"--json", "a", "b", "--", "c"}, []string{"a", "b"}, []string{"c"}, []string{"--json", "--", "a", "b"}},
		{"options on both sides", []string{"a", "--margin", "3", "--", "c", "--json", "d"}, []string{"a"}, []string{"c", "d"},
			[]string{"--margin=3", "--json", "--", "a"}},
		{"a file with a dash", []string{"a", "--", "b", "--", "-c"}, []string{"a"}, []string{"b", "-c"}, []string{"--", "a"}},
		{"nothing after", []string{"a", "--"}, []string{"a"}, nil, []string{"--", "a"}},
		{"nothing before", []string{"--", "a"}, nil, []string{"a"}, []string{"--"}},
		{"no sides", []string{"a", "b"}, []string{"a", "b"}, nil, []string{"--", "a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := PermuteSides(c.args, CompareOptions)
			require.NoError(t, err)
			assert.Equal(t, c.before, l.Operands)
			assert.Equal(t, c.after, l.After)
			assert.Equal(t, c.ordered, l.Args)
		})
	}
	for _, args := range [][]string{{"--no-such"}, {"a", "--", "b", "--no-such"}, {"--no-such", "--", "b"}, {"a", "--margin", "--", "b"}} {
		_, err := PermuteSides(args, CompareOptions)
		var usage *Usage
		assert.ErrorAs(t, err, &usage, args)
	}
}

func TestReadCompare(t *testing.T) {
	both := Line{Operands: []string{"a"}, After: []string{"b"}}
	o, err := ReadCompare(given{}, both)
	require.NoError(t, err)
	assert.Equal(t, 0.02, o.Margin)
	assert.False(t, o.Anyway)
	o, err = ReadCompare(given{"margin": {"5"}, "anyway": {""}}, both)
	require.NoError(t, err)
	assert.InDelta(t, 0.05, o.Margin, 1e-12)
	assert.True(t, o.Anyway)
	for _, bad := range []string{"0", "-1", "101", "x", ""} {
		_, err = ReadCompare(given{"margin": {bad}}, both)
		assert.ErrorContains(t, err, bad)
	}
	for _, line := range []Line{{}, {Operands: []string{"a", "b"}}, {After: []string{"a"}}} {
		_, err = ReadCompare(given{}, line)
		var usage *Usage
		require.ErrorAs(t, err, &usage)
		assert.Contains(t, usage.Hint, "BEFORE... -- AFTER...")
	}
}
