package nullserver

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseFault(t *testing.T) {
	for _, c := range []struct {
		spec  string
		form  string
		value value
		share uint32
	}{
		{"delay:50ms", "delay:TIME", value{from: 50 * time.Millisecond}, allShares},
		{"status:503@10%", "status:CODE", value{n: 503}, allShares / 10},
		{"status:503@0.1%", "status:CODE", value{n: 503}, allShares / 1000},
		{"drip:10/5ms", "drip:BYTES/TIME", value{n: 10, from: 5 * time.Millisecond}, allShares},
		{"refuse:2s-4s", "refuse:FROM-TO", value{from: 2 * time.Second, to: 4 * time.Second}, allShares},
		{"early:413", "early:CODE[/TIME]", value{n: 413}, allShares},
		{"early:413/500ms", "early:CODE[/TIME]", value{n: 413, from: 500 * time.Millisecond}, allShares},
		{"header", "header[:BYTES]", value{n: 20_000}, allShares},
		{"header:5", "header[:BYTES]", value{n: 5}, allShares},
		{"interim", "interim[:TIME]", value{}, allShares},
		{"bad", "bad", value{}, allShares},
		{"bad:chunk@100%", "bad:chunk", value{}, allShares},
		{"reset:body", "reset:body", value{}, allShares},
	} {
		t.Run(c.spec, func(t *testing.T) {
			f, err := ParseFault(c.spec)
			require.NoError(t, err)
			assert.Equal(t, c.form, f.kind.form())
			assert.Equal(t, c.value, f.value)
			assert.Equal(t, c.share, f.share)
			assert.Equal(t, c.spec, f.String())
		})
	}
}

func TestParseFaultRefusesWithASentence(t *testing.T) {
	for spec, want := range map[string]string{
		"dealy:5ms":         `fault "dealy:5ms": no fault has this name`,
		"reset":             `fault "reset": it is written reset:accept or reset:wait or reset:body`,
		"reset:later":       `fault "reset:later": it is written reset:accept or reset:wait or reset:body`,
		"bad:":              `fault "bad:": it is written bad or bad:chunk or bad:length`,
		"delay":             `fault "delay": it is written delay:TIME`,
		"delay:5":           `fault "delay:5": "5" is not a time, as in "delay:50ms"`,
		"delay:-5ms":        `fault "delay:-5ms": "-5ms" is not a time, as in "delay:50ms"`,
		"drip:10":           `fault "drip:10": "10" is not a number of bytes and a time, as in "drip:10/20ms"`,
		"status:99":         `fault "status:99": "99" is not a status of three digits, as in "status:503"`,
		"stale:0":           `fault "stale:0": "0" is not a count, as in "stale:3"`,
		"header:1234567890": `fault "header:1234567890": "1234567890" is more than 64 MiB, as in "header:20000"`,
		"refuse:4s-2s":      `fault "refuse:4s-2s": "4s-2s" is not a span of time, as in "refuse:2s-4s"`,
		"empty@0%":          `fault "empty@0%": share "0%" is not a percentage above 0% and up to 100%, as in 10%`,
		"empty@NaN%":        `fault "empty@NaN%": share "NaN%" is not a percentage above 0% and up to 100%, as in 10%`,
		"empty@10":          `fault "empty@10": share "10" is not a percentage above 0% and up to 100%, as in 10%`,
		"backlog:1@10%":     `fault "backlog:1@10%": backlog is the state of a whole server and takes no share`,
	} {
		t.Run(spec, func(t *testing.T) {
			_, err := ParseFault(spec)
			assert.EqualError(t, err, want)
		})
	}
}

func TestFaultsAreAllExplainedAndTheirExamplesWork(t *testing.T) {
	forms := map[string]bool{}
	for _, h := range Faults() {
		assert.NotEmpty(t, h.Meaning)
		assert.False(t, forms[h.Form], "%s is there twice", h.Form)
		forms[h.Form] = true
		f, err := ParseFault(h.Example)
		require.NoError(t, err)
		assert.Equal(t, h.Form, f.kind.form())
		assert.Equal(t, h.ServerOnly, f.kind.where >= onlyAccept)
		name, _, _ := strings.Cut(h.Example, ":")
		assert.Equal(t, f.kind.name, name)
	}
}

func TestNoFault(t *testing.T) {
	for _, spec := range []string{"", "none"} {
		f, err := ParseFault(spec)
		require.NoError(t, err)
		assert.Equal(t, Fault{}, f)
	}
	assert.Equal(t, "none", Fault{}.String())
}

func TestASharedFaultStrikesAtEvenDistances(t *testing.T) {
	f, err := ParseFault("status:503@30%")
	require.NoError(t, err)
	r := newReplies(f, 12).fallback
	var struck string
	for range 20 {
		if r.draw() == r {
			struck += "x"
		} else {
			struck += "."
		}
	}
	assert.Equal(t, "...x..x..x...x..x..x", struck)
}

func FuzzParseFault(f *testing.F) {
	for _, h := range Faults() {
		f.Add(h.Example)
		f.Add(h.Example + "@12.5%")
	}
	block := []byte("hello horde\n")
	f.Fuzz(func(t *testing.T, spec string) {
		fault, err := ParseFault(spec)
		if err != nil {
			return
		}
		again, err := ParseFault(fault.String())
		require.NoError(t, err)
		assert.Equal(t, fault, again)
		if fault.value.n < 1<<20 {
			newFault(fault, block, 12)
		}
	})
}
