package procs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimeWaitAsTheKernelWritesIt(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"today's", "sockets: used 280\nTCP: inuse 16 orphan 0 tw 32475 alloc 19 mem 60\nUDP: inuse 0 mem 0\n", 32475},
		{"of a namespace", "TCP: inuse 1 orphan 0 tw 0 alloc 2 mem 1\n", 0},
		{"without it", "TCP: inuse 16 orphan 0\n", -1},
		{"of another protocol", "UDP: inuse 1 tw 5\n", -1},
		{"no number", "TCP: inuse 1 tw many\n", -1},
		{"empty", "", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(root, "proc/net"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, "proc/net/sockstat"), []byte(c.text), 0o644))
			assert.Equal(t, c.want, host(root).timeWait())
		})
	}
	assert.Equal(t, -1, host(t.TempDir()).timeWait())
	assert.GreaterOrEqual(t, TimeWait(), 0, "of this host")
}

func TestDrain(t *testing.T) {
	left := 3
	count := func() int { left--; return left }
	assert.Nil(t, Drain(count, 0, time.Minute, nil))
	assert.Zero(t, left)
	assert.Nil(t, Drain(func() int { return -1 }, 0, time.Hour, nil), "unknown is not waited for")
	assert.Nil(t, Drain(func() int { return 5 }, 0, time.Millisecond, nil), "bounded")
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	assert.Equal(t, syscall.SIGTERM, Drain(func() int { return 5 }, 0, time.Hour, signals))
}
