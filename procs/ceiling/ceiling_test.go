package ceiling

import (
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client"
	"horde/stats"
)

func plan(d time.Duration) client.Plan {
	p := client.Plan{
		Entries: []client.Entry{{Request: []byte("GET /fault/reset:wait HTTP/1.1\r\nHost: x\r\n\r\n"), Resend: true}},
		Reuse:   true, Clients: 4, Duration: d, Timeout: time.Second, ConnectTimeout: time.Second,
	}
	p.Expect.Add(404, 404)
	return p
}

func TestACeilingIsMeasuredWhateverTheRealTargetAnswers(t *testing.T) {
	c, err := Measure(plan(200*time.Millisecond), 2, nil, 100, nil)
	require.NoError(t, err)
	assert.Greater(t, c.PerSecond, 100.0)
	assert.Equal(t, 200*time.Millisecond, c.Span)
	assert.WithinDuration(t, time.Now(), c.At, time.Minute)
}

func TestAnInterruptedCeilingIsNone(t *testing.T) {
	signals := make(chan os.Signal, 1)
	time.AfterFunc(300*time.Millisecond, func() { signals <- syscall.SIGINT })
	_, err := Measure(plan(30*time.Second), 2, nil, 0, signals)
	require.Error(t, err)
}

func TestAPlanIsMeasuredAsAClosedLoopForAWhile(t *testing.T) {
	address := netip.MustParseAddrPort("127.0.0.1:80")
	p := plan(time.Hour)
	p.Requests, p.Limited, p.StartGap, p.FirstStart = 10, true, time.Second, time.Second
	p.Sources = []client.Address{{1}}
	got := closed(p, address)
	assert.Equal(t, longest, got.Duration)
	assert.Zero(t, got.StartGap+got.FirstStart)
	assert.False(t, got.Limited)
	assert.Empty(t, got.Sources, "those towards the real target are of no use here")
	assert.True(t, got.Expect.Has(200))
	assert.Equal(t, p.Entries, got.Entries)

	p = plan(0)
	p.Clients = 20_000
	got = closed(p, address)
	assert.Equal(t, longest, got.Duration, "a run that ends with its requests")
	assert.Len(t, got.Sources, 3)
}

func run() *stats.Run {
	r := &stats.Run{Tool: stats.Tool{Version: "1"}, Generator: &stats.Generator{Quota: 1.5}}
	r.Host.Begin = &stats.HostState{Facts: map[string]stats.Fact{"kernel.osrelease": {Value: "6.1"}, "cpuinfo/model name": {Value: "Z80"}}}
	r.Tally.Succeeded, r.Tally.BytesRead, r.Tally.BytesBody = 10, 2000, 1000
	return r
}

func shape() Shape {
	p := plan(time.Second)
	return ShapeOf(run(), &p, []int{0, 1}, []int{1}, 3)
}

func TestWhatShapesARun(t *testing.T) {
	assert.Equal(t, Shape{
		Version: "1", Kernel: "6.1", CPUModel: "Z80", CPUs: []int{0, 1}, Quota: 1.5,
		Clients: 4, Processes: 4, Pinned: []int{1}, KeepAlive: true, Request: 64, Answer: 256,
	}, shape())
	assert.EqualValues(t, 100, BodySize(run()))
	empty := stats.Run{}
	assert.NotPanics(t, func() { ShapeOf(&empty, &client.Plan{}, nil, nil, 0) })
	assert.Zero(t, BodySize(&empty))
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1000: 1024} {
		assert.Equal(t, want, roundUp(n), n)
	}
}

func TestACeilingIsRememberedForItsShape(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, err := Recall(shape())
	require.NoError(t, err)
	assert.Nil(t, c)

	want := &stats.Ceiling{PerSecond: 41203.25, Span: 5 * time.Second, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	require.NoError(t, Remember(shape(), &stats.Ceiling{PerSecond: 1, Span: 1, At: want.At}))
	require.NoError(t, Remember(shape(), want), "the later one stands")
	c, err = Recall(shape())
	require.NoError(t, err)
	assert.Equal(t, want, c)

	for name, change := range map[string]func(*Shape){
		"version": func(s *Shape) { s.Version = "2" },
		"kernel":  func(s *Shape) { s.Kernel = "6.2" },
		"CPUs":    func(s *Shape) { s.CPUs = []int{0} },
		"quota":   func(s *Shape) { s.Quota = 0 },
		"clients": func(s *Shape) { s.Clients = 8 },
		"kept":    func(s *Shape) { s.KeepAlive = false },
		"answer":  func(s *Shape) { s.Answer = 512 },
	} {
		other := shape()
		change(&other)
		c, err = Recall(other)
		require.NoError(t, err)
		assert.Nil(t, c, name)
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "horde", "*"))
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing is left beside it")
}

func TestAMemoryThatIsNoneIsSaid(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	require.NoError(t, Remember(shape(), &stats.Ceiling{PerSecond: 1, Span: time.Second}))
	files, err := filepath.Glob(filepath.Join(dir, "horde", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for _, text := range []string{"", "{}", string(whole[:len(whole)/2]), `{"schema":"horde.ceiling/1","requests_per_sec":-1,"measured_ns":5}`} {
		require.NoError(t, os.WriteFile(files[0], []byte(text), 0o644))
		c, err := Recall(shape())
		assert.ErrorContains(t, err, files[0])
		assert.Nil(t, c)
	}
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o644))
	assert.ErrorContains(t, Remember(shape(), &stats.Ceiling{PerSecond: 1, Span: 1}), "the ceiling could not be remembered")
}
