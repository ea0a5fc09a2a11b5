package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One CPU for thirty processes, and a target that costs next to nothing. A busy
// machine cannot change the verdict: it only takes more of that CPU.
func TestAGeneratorShortOfCPUIsNamed(t *testing.T) {
	o := run(t, "demo", "-c", "30", "-t", "1", "--pin", "0", "--json").json()
	assert.Zero(t, o.code, "the verdict is not an error")
	g := o.result.Generator
	assert.Equal(t, true, o.result.Verdicts.GeneratorLimited)
	require.NotNil(t, g.CPUShare)
	require.NotNil(t, g.RunDelayShare)
	assert.Greater(t, *g.RunDelayShare, 0.2)
	assert.True(t, g.TargetHere)

	o = run(t, "demo", "-c", "30", "-t", "1", "--pin", "0")
	assert.Contains(t, o.stdout, "!! GENERATOR-LIMITED\n")
	assert.Regexp(t, `the workers used\s+[\d.]+ %\s+of`, o.stdout)
	assert.Contains(t, o.stdout, "\nGenerator    workers used ")
}

// A target that never answers leaves its clients asleep, however busy the machine.
func TestATargetThatHangsIsNotTheGeneratorsFault(t *testing.T) {
	o := run(t, "demo", "-c", "30", "-t", "1", "--json", "/fault/silence").json()
	assert.Equal(t, false, o.result.Verdicts.GeneratorLimited)
	require.NotNil(t, o.result.Generator.CPUShare)
	assert.Less(t, *o.result.Generator.CPUShare, 0.5)
}

func TestACeilingIsMeasuredOnceAndRemembered(t *testing.T) {
	l := launch{env: []string{"XDG_CACHE_HOME=" + t.TempDir()}}
	o := l.run(t, "demo", "-k", "-c", "4", "-w", "1", "-t", "0.3", "--json").json()
	assert.Nil(t, o.result.Generator.Ceiling)

	o = l.run(t, "demo", "-k", "-c", "4", "-w", "1", "-t", "0.3", "--calibrate")
	assert.Contains(t, o.stdout, "\nCeiling      you measured ")
	assert.Contains(t, o.stdout, "a target on this")

	o = l.run(t, "demo", "-k", "-c", "4", "-w", "1", "-t", "0.3", "--json").json()
	c := o.result.Generator.Ceiling
	require.NotNil(t, c)
	assert.EqualValues(t, 300e6, c.MeasuredNS)
	assert.InEpsilon(t, o.result.Throughput.RequestsPerSec/c.RequestsPerSec, c.Share, 1e-6)

	o = l.run(t, "demo", "-c", "4", "-w", "1", "-t", "0.3", "--json").json()
	assert.Nil(t, o.result.Generator.Ceiling, "one connection per request is another kind of run")
}

func TestACeilingThatCannotBeRememberedIsSaidAndShown(t *testing.T) {
	l := launch{env: []string{"XDG_CACHE_HOME=/dev/null"}}
	o := l.run(t, "demo", "-c", "2", "-t", "0.2", "--calibrate", "--json").json()
	assert.Zero(t, o.code)
	assert.NotNil(t, o.result.Generator.Ceiling)
	assert.Contains(t, o.everything(), "the ceiling could not be remembered")
}
