package stats

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryClassHasItsOwnNameAndWords(t *testing.T) {
	seen := map[string]Class{}
	for class := HTTP1xx; class < classCount; class++ {
		assert.Regexp(t, `^[a-z0-9_]+$`, class.String())
		assert.NotContains(t, seen, class.String())
		assert.NotEmpty(t, class.Text())
		assert.Contains(t, []string{"server", "net", "client", "race"}, class.Side().String())
		assert.True(t, class.Valid())
		seen[class.String()] = class
		back, ok := ClassOf(class.String())
		assert.True(t, ok && back == class, class.String())
	}
	assert.False(t, ClassNone.Valid())
	assert.False(t, classCount.Valid())
	_, ok := ClassOf("none")
	assert.False(t, ok)
}

func TestOnlyLimitsOfThisHostAreTheClientsFault(t *testing.T) {
	for class := HTTP1xx; class < classCount; class++ {
		local := class == LocalPorts || class == LocalFDs || class == LocalMem
		assert.Equal(t, local, class.Side() == SideClient, class.String())
	}
}

func TestStatusClass(t *testing.T) {
	for status, want := range map[int]Class{
		100: HTTP1xx, 199: HTTP1xx, 200: HTTP2xx, 299: HTTP2xx, 304: HTTP3xx, 404: HTTP4xx, 499: HTTP4xx,
		500: HTTP5xx, 599: HTTP5xx, 600: HTTP5xx, 999: HTTP5xx, 99: HTTP5xx, 0: HTTP5xx, -1: HTTP5xx,
	} {
		assert.Equal(t, want, StatusClass(status), "status %d", status)
	}
}

func TestPhasesInTheOrderOfARequest(t *testing.T) {
	var names []string
	for phase := Idle; phase < PhaseCount; phase++ {
		names = append(names, phase.String())
		back, ok := PhaseOf(phase.String())
		assert.True(t, ok && back == phase, phase.String())
	}
	_, ok := PhaseOf("asleep")
	assert.False(t, ok)
	assert.Equal(t, []string{"idle", "connecting", "handshaking", "sending", "waiting", "receiving"}, names)
}
