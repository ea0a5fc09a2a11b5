package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseGiven(t *testing.T) {
	for _, row := range []struct {
		text string
		want Given
	}{
		{"shop.test:80:127.0.0.1", Given{"shop.test", 80, addrs("127.0.0.1")}},
		{"SHOP.test:443:127.0.0.1,127.0.0.2", Given{"shop.test", 443, addrs("127.0.0.1", "127.0.0.2")}},
		{"shop.test:80:::1", Given{"shop.test", 80, addrs("::1")}},
		{"shop.test:80:[::1],127.0.0.1", Given{"shop.test", 80, addrs("::1", "127.0.0.1")}},
		{"shop.test:80:[fe80::1%lo]", Given{"shop.test", 80, addrs("fe80::1%lo")}},
		{"shop.test:80:::ffff:127.0.0.1", Given{"shop.test", 80, addrs("127.0.0.1")}},
		{"[::1]:80:127.0.0.1", Given{"::1", 80, addrs("127.0.0.1")}},
		{"*:80:127.0.0.1", Given{"*", 80, addrs("127.0.0.1")}},
	} {
		got, err := ParseGiven(row.text)
		require.NoError(t, err, row.text)
		assert.Equal(t, row.want, got)
	}
	for _, text := range []string{
		"", ":", "::", "h", "h:80", "h:80:", "h:80:x", "h:0:127.0.0.1", "h:65536:127.0.0.1", "h:x:127.0.0.1", ":80:127.0.0.1",
		"h:80:127.0.0.1,", "h:80:,127.0.0.1", "[::1:80:127.0.0.1", "[]:80:127.0.0.1", "h:80:127.0.0.1:81", "h:80:localhost",
	} {
		_, err := ParseGiven(text)
		assert.Error(t, err, "%q", text)
	}
}

func TestGivenIsForItsHostAndPort(t *testing.T) {
	g := Given{Host: "shop.test", Port: 80}
	assert.True(t, g.For("shop.test", 80))
	assert.False(t, g.For("shop.test", 81))
	assert.False(t, g.For("test", 80))
	assert.True(t, Given{Host: "*", Port: 80}.For("any", 80))
	assert.False(t, Given{Host: "*", Port: 80}.For("any", 81))
}

func FuzzParseGiven(f *testing.F) {
	for _, text := range []string{"h:80:127.0.0.1", "[::1]:80:[::1],::2", "*:1:::", "[]:1:", "]:1:1", ":::"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseGiven(text)
		if err != nil {
			return
		}
		assert.NotEmpty(t, g.Host)
		assert.NotZero(t, g.Port)
		assert.NotEmpty(t, g.Addrs)
	})
}
