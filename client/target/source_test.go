package target

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseSources(t *testing.T) {
	for _, row := range []struct {
		list        string
		count       int
		first, last string
	}{
		{"10.0.0.5", 1, "10.0.0.5", "10.0.0.5"},
		{"127.0.0.1-127.0.1.0,10.0.0.9", 257, "127.0.0.1", "10.0.0.9"},
		{"fe80::1-fe80::3", 3, "fe80::1", "fe80::3"},
	} {
		got, err := ParseSources(row.list)
		require.NoError(t, err, row.list)
		assert.Len(t, got, row.count, row.list)
		assert.Equal(t, row.first, got[0].String())
		assert.Equal(t, row.last, got[len(got)-1].String())
	}
	for _, list := range []string{"", ",", "10.0.0.5,", "host", "10.0.0.5-", "10.0.0.9-10.0.0.5", "10.0.0.1-::1",
		"10.0.0.0/8", "10.0.0.0-10.255.255.255", "::-ffff::", "255.255.255.255-255.255.255.254"} {
		_, err := ParseSources(list)
		assert.Error(t, err, list)
	}
}

func TestLoopbackSourcesAreEnough(t *testing.T) {
	assert.Len(t, LoopbackSources(67000, 9000), 8)
	assert.Len(t, LoopbackSources(1, 9000), 1)
	assert.Len(t, LoopbackSources(1000000, 9000), 112)
}

func TestASourceMustBeAnAddressOfThisHost(t *testing.T) {
	assert.NoError(t, CheckSource(netip.MustParseAddr("127.0.0.77")))
	assert.ErrorContains(t, CheckSource(netip.MustParseAddr("192.0.2.1")), "192.0.2.1")
}
