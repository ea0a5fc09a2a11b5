package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSeries(t *testing.T) {
	one := mustRead(t)
	assert.Equal(t, 1, one.Repeat)
	assert.Nil(t, one.Pause)
	ten := mustRead(t, "--repeat", "10", "--pause", "1.5")
	assert.Equal(t, 10, ten.Repeat)
	require.NotNil(t, ten.Pause)
	assert.Equal(t, 1500*time.Millisecond, *ten.Pause)
	none := mustRead(t, "--repeat=2", "--pause=0")
	require.NotNil(t, none.Pause)
	assert.Zero(t, *none.Pause)
	for _, bad := range [][]string{
		{"--repeat", "0"}, {"--repeat", "-1"}, {"--repeat", "x"}, {"--repeat", "1.5"}, {"--repeat", "10000"}, {"--repeat", ""},
		{"--repeat", "2", "--pause", "-1"}, {"--repeat", "2", "--pause", "x"}, {"--pause", "1"}, {"--repeat", "1", "--pause", "1"},
	} {
		_, err := read(t, bad...)
		var usage *Usage
		assert.ErrorAs(t, err, &usage, bad)
	}
}

func TestTheFilesOfASeriesAreNumbered(t *testing.T) {
	for _, c := range []struct {
		name      string
		index, of int
		want      string
	}{
		{"r.json", 7, 10, "r-07.json"}, {"r.json", 3, 5, "r-03.json"}, {"r", 1, 100, "r-001"},
		{"a.b/r.tar.gz", 12, 12, "a.b/r.tar-12.gz"}, {"a.b/r", 1, 2, "a.b/r-01"},
	} {
		o := Output{Files: []File{{"output", c.name}}}
		assert.Equal(t, []File{{"output", c.want}}, o.Numbered(c.index, c.of).Files)
		assert.Equal(t, c.name, o.Files[0].Name, "the one asked for stays")
	}
}
