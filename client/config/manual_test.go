package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoTwoOptionsShareAName(t *testing.T) {
	for _, options := range [][]Option{RunOptions, ServeOptions, CompareOptions} {
		seen := map[string]bool{}
		for _, o := range options {
			assert.NotEmpty(t, o.Text, o.Names)
			assert.NotEmpty(t, o.Group, o.Names)
			for _, name := range o.Names {
				assert.False(t, seen[name], name)
				seen[name] = true
			}
		}
	}
}

var shown = []Option{
	{Names: []string{"clients", "c"}, Value: "N", Default: "1", Group: "Load", Text: "clients at once"},
	{Names: []string{"4"}, Group: "Target", Text: "use IPv4 addresses only"},
	{Names: []string{"connect-timeout"}, Value: "T", Group: "Target", Text: strings.Repeat("word ", 20)},
}

func TestWriteHelp(t *testing.T) {
	var b strings.Builder
	WriteHelp(&b, shown)
	assert.Equal(t, `
Load:
  -c, --clients N         clients at once [1]

Target:
  -4                      use IPv4 addresses only
  --connect-timeout T     word word word word word word word word word word word
                          word word word word word word word word word
`, b.String())
}

func TestTheHelpFitsATerminal(t *testing.T) {
	for _, options := range [][]Option{RunOptions, ServeOptions, CompareOptions} {
		var b strings.Builder
		WriteHelp(&b, options)
		for line := range strings.Lines(b.String()) {
			assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), helpWidth, line)
		}
		for _, o := range options {
			assert.Contains(t, b.String(), o.spelling(", "))
		}
	}
}

func TestAnOptionTooLongForItsColumnHasALineOfItsOwn(t *testing.T) {
	var b strings.Builder
	WriteHelp(&b, []Option{{Names: []string{"a-very-long-option-name"}, Value: "VALUE", Group: "Load", Text: "text"}})
	assert.Equal(t, "\nLoad:\n  --a-very-long-option-name VALUE\n                          text\n", b.String())
}

func TestWriteMarkdown(t *testing.T) {
	var b strings.Builder
	WriteMarkdown(&b, shown[:2])
	assert.Equal(t, "| option | meaning | default |\n| --- | --- | --- |\n"+
		"| `-c, --clients N` | clients at once | 1 |\n| `-4` | use IPv4 addresses only |  |\n", b.String())
}

func TestWriteMan(t *testing.T) {
	var b strings.Builder
	WriteMan(&b, append(shown[:2:2], Option{Names: []string{"x"}, Group: "Target", Text: `.a \ at the beginning`}))
	assert.Equal(t, ".SS Load\n.TP\n.B \\-c, \\-\\-clients N\nclients at once [1]\n"+
		".SS Target\n.TP\n.B \\-4\nuse IPv4 addresses only\n"+
		".TP\n.B \\-x\n\\&.a \\e at the beginning\n", b.String())
}
