package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// some are options of each kind.
var some = []Option{
	{Names: []string{"clients", "c"}, Value: "N"},
	{Names: []string{"keepalive", "k"}},
	{Names: []string{"quiet", "q"}},
	{Names: []string{"header", "H"}, Value: "K: V", Repeat: true},
	{Names: []string{"http09", "9"}},
	{Names: []string{"4"}},
	{Names: []string{"help", "h", "?"}},
}

func TestPermute(t *testing.T) {
	for _, row := range []struct {
		name  string
		args  []string
		want  []string // without the operands and the -- before them
		rest  []string
		typed map[string]string
	}{
		{name: "nothing"},
		{"options before the URL", []string{"-c", "5", "-k", "URL"}, []string{"--clients=5", "--keepalive"}, []string{"URL"}, nil},
		{"options after the URL", []string{"URL", "-c", "5", "-k"}, []string{"--clients=5", "--keepalive"}, []string{"URL"}, nil},
		{"options on both sides", []string{"-k", "URL", "-c", "5"}, []string{"--keepalive", "--clients=5"}, []string{"URL"}, nil},
		{"short options together", []string{"-kq"}, []string{"--keepalive", "--quiet"}, nil, map[string]string{"keepalive": "-k", "quiet": "-q"}},
		{"a value attached", []string{"-c5"}, []string{"--clients=5"}, nil, map[string]string{"clients": "-c"}},
		{"a value attached to options together", []string{"-kc5"}, []string{"--keepalive", "--clients=5"}, nil, nil},
		{"a value after options together", []string{"-kc", "5"}, []string{"--keepalive", "--clients=5"}, nil, nil},
		{"a value that looks like an option", []string{"-c", "-1"}, []string{"--clients=-1"}, nil, nil},
		{"a value that looks like more options", []string{"-ckq"}, []string{"--clients=kq"}, nil, nil},
		{"a long value attached", []string{"--clients=5"}, []string{"--clients=5"}, nil, map[string]string{"clients": "--clients"}},
		{"a long value apart", []string{"--clients", "5"}, []string{"--clients=5"}, nil, nil},
		{"a long value that looks like an option", []string{"--clients", "--quiet"}, []string{"--clients=--quiet"}, nil, nil},
		{"an empty value", []string{"--clients="}, []string{"--clients="}, nil, nil},
		{"an empty value apart", []string{"-c", ""}, []string{"--clients="}, nil, nil},
		{"an equals sign within a value", []string{"--header=a=b"}, []string{"--header=a=b"}, nil, nil},
		{"an equals sign after a short option is of its value", []string{"-c=5"}, []string{"--clients==5"}, nil, nil},
		{"an option again and again", []string{"-H", "a: 1", "--header", "b: 2"}, []string{"--header=a: 1", "--header=b: 2"}, nil, map[string]string{"header": "--header"}},
		{"the last spelling is remembered", []string{"-k", "--keepalive"}, []string{"--keepalive", "--keepalive"}, nil, map[string]string{"keepalive": "--keepalive"}},
		{"a short option of a canonical long one", []string{"-9"}, []string{"--http09"}, nil, nil},
		{"an option with a short name alone", []string{"-4"}, []string{"--4"}, nil, map[string]string{"4": "-4"}},
		{"a question mark", []string{"-?"}, []string{"--help"}, nil, nil},
		{"two dashes end the options", []string{"-k", "--", "-c", "--x"}, []string{"--keepalive"}, []string{"-c", "--x"}, nil},
		{"two dashes as a value", []string{"-c", "--", "URL"}, []string{"--clients=--"}, []string{"URL"}, nil},
		{"two dashes twice", []string{"--", "--"}, nil, []string{"--"}, nil},
		{"one dash is an operand", []string{"-", "-k"}, []string{"--keepalive"}, []string{"-"}, nil},
		{"an empty argument is an operand", []string{""}, nil, []string{""}, nil},
		{"operands keep their order", []string{"a", "-k", "b", "--", "c"}, []string{"--keepalive"}, []string{"a", "b", "c"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := Permute(row.args, some)
			require.NoError(t, err)
			want := append(append(append([]string{}, row.want...), "--"), row.rest...)
			assert.Equal(t, want, l.Args)
			assert.Equal(t, row.rest, l.Operands)
			if row.typed != nil {
				assert.Equal(t, row.typed, l.Typed)
			}
		})
	}
}

func TestPermuteRefuses(t *testing.T) {
	const all = "horde --help lists all options"
	for _, row := range []struct {
		name       string
		args       []string
		text, hint string
	}{
		{"an unknown short option", []string{"-x"}, "unknown option -x", all},
		{"an unknown option among known ones", []string{"-kx"}, "unknown option -x", all},
		{"an unknown long option", []string{"--frobnicate"}, "unknown option --frobnicate", all},
		{"an unknown option with a value", []string{"--frobnicate=1"}, "unknown option --frobnicate", all},
		{"a beginning of one", []string{"--client"}, "unknown option --client", "did you mean --clients?"},
		{"one and more", []string{"--headers=x"}, "unknown option --headers", "did you mean --header?"},
		{"a beginning too short to tell", []string{"--cl"}, "unknown option --cl", all},
		{"a short option with two dashes", []string{"--c", "5"}, "unknown option --c", all},
		{"a digit with two dashes", []string{"--4"}, "unknown option --4", all},
		{"no name", []string{"--=5"}, "unknown option --", all},
		{"a long option with one dash", []string{"-header"}, "unknown option -e", all},
		{"a value that is missing", []string{"URL", "-c"}, "option -c needs a value", ""},
		{"a value that is missing after options together", []string{"-kc"}, "option -c needs a value", ""},
		{"a long value that is missing", []string{"--clients"}, "option --clients needs a value", ""},
		{"a value too many", []string{"--quiet=yes"}, "option --quiet takes no value", ""},
		{"an empty value too many", []string{"--quiet="}, "option --quiet takes no value", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := Permute(row.args, some)
			assert.Equal(t, &Usage{Text: row.text, Hint: row.hint}, err)
			assert.Equal(t, Line{}, l)
		})
	}
}

func TestPermuteLeavesItsArgumentsAlone(t *testing.T) {
	args := []string{"a", "-c", "5", "--", "b"}
	_, err := Permute(args, some)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "-c", "5", "--", "b"}, args)
}

func FuzzPermute(f *testing.F) {
	for _, line := range []string{"-c 5 URL", "URL -kq -c5", "--clients=5 -- -x", "-H a:b -H", "--", "-", "--=", "-4k9?", "--quiet=1"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		l, err := Permute(args, some)
		if err != nil {
			var usage *Usage
			require.ErrorAs(t, err, &usage)
			assert.NotEmpty(t, usage.Text)
			return
		}
		assert.LessOrEqual(t, len(l.Operands), len(args))
		for option := range l.Typed {
			assert.NotNil(t, find(some, option))
		}
		// -4 has no long spelling to be read again.
		if _, ok := l.Typed["4"]; ok {
			return
		}
		again, err := Permute(l.Args, some)
		require.NoError(t, err, "what is in order is read as it is")
		assert.Equal(t, l.Args, again.Args)
		assert.Equal(t, l.Operands, again.Operands)
	})
}
