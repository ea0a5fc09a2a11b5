package nullserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// patience bounds what must come; silence is how long nothing may come.
const (
	patience = 10 * time.Second
	silence  = 20 * time.Millisecond
)

// inlineServer serves from a goroutine of the test. stop ends it and returns the counts.
func inlineServer(t *testing.T, o Options) (addr string, stop func() Counts) {
	t.Helper()
	o, listenAddr, err := o.withDefaults(1)
	require.NoError(t, err)
	fd, err := listen(listenAddr, o.Backlog, false)
	require.NoError(t, err)
	port, err := localPort(fd)
	require.NoError(t, err)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	var counts Counts
	l, err := newLoop(fd, int(r.Fd()), o, &counts)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- l.run() }()
	stop = sync.OnceValue(func() Counts {
		w.Close()
		assert.NoError(t, <-ended)
		r.Close()
		unix.Close(fd)
		return counts
	})
	t.Cleanup(func() { stop() })
	return netip.AddrPortFrom(listenAddr.Addr(), port).String(), stop
}

func parse(t *testing.T, spec string) Fault {
	t.Helper()
	f, err := ParseFault(spec)
	require.NoError(t, err)
	return f
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return c.(*net.TCPConn)
}

// how a connection ends
const (
	fin   = "fin"
	rst   = "rst"
	open  = "open"
	other = "other"
)

// read takes what comes up to the end of the stream. Where want bytes of an
// answer are known to be all, a short silence behind them tells that the
// connection stays open.
func read(t *testing.T, c *net.TCPConn, want int) (got, end string) {
	t.Helper()
	var b bytes.Buffer
	_, err := io.CopyN(&b, c, int64(want))
	if err == nil {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(silence)))
		_, err = io.Copy(&b, c)
	}
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return b.String(), fin
	case errors.Is(err, syscall.ECONNRESET):
		return b.String(), rst
	case errors.Is(err, os.ErrDeadlineExceeded):
		return b.String(), open
	}
	return b.String(), other + ": " + err.Error()
}

// answerOf sends request on a connection of its own.
func answerOf(t *testing.T, addr, request string, want int) (got, end string) {
	t.Helper()
	c := dial(t, addr)
	_, err := io.WriteString(c, request)
	require.NoError(t, err)
	return read(t, c, want)
}

const (
	fieldLines = "Server: horde\r\nContent-Type: text/plain\r\n"
	ok         = "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 12\r\n\r\nhello horde\n"
	okClosing  = "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 12\r\nConnection: close\r\n\r\nhello horde\n"
	okStaying  = "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 12\r\nConnection: keep-alive\r\n\r\nhello horde\n"
	hint       = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
)

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

func TestAnswers(t *testing.T) {
	addr, _ := inlineServer(t, Options{})
	for _, c := range []struct{ name, request, want, end string }{
		{"a normal request", get("/"), ok, open},
		{"1.1 with close", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", okClosing, fin},
		{"1.0", "GET / HTTP/1.0\r\n\r\n", okClosing, fin},
		{"1.0 with keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", okStaying, open},
		{"0.9 is answered with the bare body", "GET /x\r\n", "hello horde\n", fin},
		{"HEAD has no body", "HEAD / HTTP/1.1\r\n\r\n", strings.TrimSuffix(ok, "hello horde\n"), open},
		{"empty lines before a request", "\r\n\n" + get("/"), ok, open},
		{"pipelined", get("/") + get("/x") + "GET / HTTP/1.0\r\n\r\n", ok + ok + okClosing, fin},
		{"nothing behind a close", "GET / HTTP/1.0\r\n\r\n" + get("/"), okClosing, fin},
		{"a body is dropped", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde" + get("/"), ok + ok, open},
		{"a chunked body is dropped", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkedBody + get("/"), ok + ok, open},
		{"an empty body", get("/size/0"), "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 0\r\n\r\n", open},
		{"a body of one size", get("/size/14"), "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 14\r\n\r\nhello horde\nhe", open},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, end := answerOf(t, addr, c.request, len(c.want))
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.end, end)
		})
	}
}

func TestAPlainTargetHasNoSpecialPaths(t *testing.T) {
	addr, _ := inlineServer(t, Options{Plain: true})
	for _, path := range []string{"/", "/fault/reset:wait", "/size/0", "/fault/x"} {
		got, _ := answerOf(t, addr, get(path), len(ok))
		assert.Equal(t, ok, got, path)
	}
}

func TestRefusals(t *testing.T) {
	addr, _ := inlineServer(t, Options{})
	for _, c := range []struct{ name, request, why, end string }{
		{"not HTTP", "hello\r\n\r\n", "malformed request line", fin},
		{"a broken length", "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "malformed Content-Length", fin},
		{"a broken chunk", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed chunk", fin},
		{"a head without an end", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", maxHead), "the request head is too long", fin},
		{"a size that is none", get("/size/x"), `size "x" is not a number of bytes`, open},
		{"a fault that is none", get("/fault/x"), `fault "x": no fault has this name`, open},
		{"a fault of the whole server", get("/fault/refuse:1s-2s"), `fault "refuse:1s-2s" is only for a whole server, not for a path`, open},
		{"a fault path without bounds", get("/fault/" + strings.Repeat("x", 300)), "the path is too long to be a fault or a size", open},
	} {
		t.Run(c.name, func(t *testing.T) {
			closing := ""
			if c.end == fin {
				closing = "Connection: close\r\n"
			}
			want := fmt.Sprintf("HTTP/1.1 400 Bad Request\r\n%sContent-Length: %d\r\n%s\r\n%s\n", fieldLines, len(c.why)+1, closing, c.why)
			got, end := answerOf(t, addr, c.request, len(want))
			assert.Equal(t, want, got)
			assert.Equal(t, c.end, end)
		})
	}
}

func TestARequestMayBeCutAnywhere(t *testing.T) {
	addr, stop := inlineServer(t, Options{})
	request := "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkedBody
	c := dial(t, addr)
	for cut := range len(request) {
		for _, part := range []string{request[:cut], request[cut:]} {
			_, err := io.WriteString(c, part)
			require.NoError(t, err)
		}
		answer := make([]byte, len(ok))
		_, err := io.ReadFull(c, answer)
		require.NoError(t, err)
		require.Equal(t, ok, string(answer))
	}
	for i := range request { // and byte for byte
		_, err := io.WriteString(c, request[i:i+1])
		require.NoError(t, err)
	}
	got, _ := read(t, c, len(ok))
	assert.Equal(t, ok, got)
	n := uint64(len(request) + 1)
	assert.Equal(t, Counts{1, n, 0, n * uint64(len(request)), n * uint64(len(ok))}, stop())
}

func TestALongPathIsReadWhole(t *testing.T) {
	addr, stop := inlineServer(t, Options{})
	request := get("/" + strings.Repeat("a", 100_000))
	got, _ := answerOf(t, addr, request, len(ok))
	assert.Equal(t, ok, got)
	assert.Equal(t, Counts{1, 1, 0, uint64(len(request)), uint64(len(ok))}, stop())
}

func TestExpectIsAnsweredBeforeTheBody(t *testing.T) {
	addr, _ := inlineServer(t, Options{})
	c := dial(t, addr)
	_, err := io.WriteString(c, "POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	want := "HTTP/1.1 100 Continue\r\n\r\n"
	got := make([]byte, len(want))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
	_, err = io.WriteString(c, "abc")
	require.NoError(t, err)
	rest, _ := read(t, c, len(ok))
	assert.Equal(t, ok, rest)
}

func TestAClientThatHalfClosesGetsItsAnswer(t *testing.T) {
	addr, _ := inlineServer(t, Options{})
	c := dial(t, addr)
	_, err := io.WriteString(c, get("/fault/delay:20ms")+get("/"))
	require.NoError(t, err)
	require.NoError(t, c.CloseWrite())
	got, end := read(t, c, 2*len(ok))
	assert.Equal(t, ok+ok, got)
	assert.Equal(t, fin, end)
}

func TestALongBodyStreams(t *testing.T) {
	const size = 3<<20 + 5
	addr, stop := inlineServer(t, Options{BodySize: size})
	want := bytes.Repeat([]byte("hello horde\n"), size/12+1)[:size]
	for _, path := range []string{"/", "/fault/chunked"} {
		answer, err := http.Get("http://" + addr + path)
		require.NoError(t, err)
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), path)
	}
	http.DefaultClient.CloseIdleConnections()
	assert.Equal(t, uint64(2), stop().Requests)
}

// A client that does not read must not cost the others anything, and what it
// was sent in full is counted exactly.
func TestPipelinedAnswersToASlowReader(t *testing.T) {
	addr, stop := inlineServer(t, Options{BodySize: 4000})
	const n = 20_000
	c := dial(t, addr)
	var sending sync.WaitGroup
	sending.Go(func() { _, _ = io.WriteString(c, strings.Repeat(get("/"), n)) })
	got, _ := answerOf(t, addr, "GET /size/12 HTTP/1.0\r\n\r\n", len(okClosing))
	assert.Equal(t, okClosing, got)
	one := "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 4000\r\n\r\n"
	length, err := io.CopyN(io.Discard, c, n*int64(len(one)+4000))
	require.NoError(t, err)
	sending.Wait()
	counts := stop()
	assert.Equal(t, uint64(n+1), counts.Requests)
	assert.Equal(t, uint64(length)+uint64(len(okClosing)), counts.BytesWritten)
}

func TestFaultsByPath(t *testing.T) {
	half := strings.TrimSuffix(ok, "horde\n")
	noLength := "HTTP/1.1 200 OK\r\n" + fieldLines + "Connection: close\r\n\r\nhello horde\n"
	lower := "HTTP/1.1 200 OK\r\nserver: horde\r\ncontent-type: text/plain\r\ncontent-length: 12\r\n\r\nhello horde\n"
	early := "HTTP/1.1 413 Content Too Large\r\n" + fieldLines + "Content-Length: 12\r\nConnection: close\r\n\r\nhello horde\n"
	status := func(s string) string { return strings.Replace(ok, "200 OK", s, 1) }
	for _, c := range []struct {
		spec, want, end string
		whole           bool
	}{
		{"noread", "", open, false},
		{"empty", "", fin, false},
		{"reset:wait", "", rst, false},
		{"silence", "", open, false},
		{"delay:5ms", ok, open, true},
		{"half:5ms", ok, open, true},
		{"early:413", early, fin, true},
		{"early:413/5ms", early, fin, true},
		{"status:503", status("503 Service Unavailable"), open, true},
		{"status:599", status("599 "), open, true},
		{"status:304", "HTTP/1.1 304 Not Modified\r\n" + fieldLines + "\r\n", open, true},
		{"bare", status("200"), open, true},
		{"lower", lower, open, true},
		{"header", strings.Replace(ok, fieldLines, fieldLines+"X-Pad: "+strings.Repeat("p", 20_000)+"\r\n", 1), open, true},
		{"interim", hint + ok, open, true},
		{"interim:5ms", hint + ok, open, true},
		{"bad", "220 this is not the protocol you are looking for\r\n", fin, false},
		{"bad:chunk", "HTTP/1.1 200 OK\r\n" + fieldLines + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello horde\n", fin, false},
		{"bad:length", strings.Replace(ok, "Length: 12", "Length: twelve", 1), fin, false},
		{"chunked", "HTTP/1.1 200 OK\r\n" + fieldLines + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4;note=horde\r\nhell\r\n8\r\no horde\n\r\n0\r\nX-Sum: 12\r\n\r\n", open, true},
		{"eof", noLength, fin, true},
		{"eof:reset", noLength, rst, false},
		{"drip:50/1ms", ok, open, true},
		{"short", half, fin, false},
		{"reset:body", half, rst, false},
		{"silence:body", half, open, false},
		{"close:1", okClosing, fin, true},
		{"stale:1", ok, fin, true},
		{"open", ok, open, true},
		{"old", strings.Replace(ok, "1.1", "1.0", 1), open, true},
	} {
		t.Run(c.spec, func(t *testing.T) {
			addr, stop := inlineServer(t, Options{})
			request := get("/fault/" + c.spec + "@100%25?q")
			got, end := answerOf(t, addr, request, len(c.want))
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.end, end)
			want := Counts{Connections: 1, Faults: 1, BytesRead: uint64(len(request)), BytesWritten: uint64(len(c.want))}
			if c.whole {
				want.Requests = 1
			}
			assert.Equal(t, want, stop())

			byServer, _ := inlineServer(t, Options{Fault: parse(t, c.spec)})
			got, end = answerOf(t, byServer, get("/"), len(c.want))
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.end, end)
		})
	}
}

func TestFaultsOfNoBodyAndOfNoHead(t *testing.T) {
	addr, _ := inlineServer(t, Options{BodySize: 1})
	for _, c := range []struct{ name, request, want, end string }{
		{"half of one byte is one of two", get("/fault/short"), "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 2\r\n\r\nh", fin},
		{"a chunked body of one chunk", get("/fault/chunked"), "HTTP/1.1 200 OK\r\n" + fieldLines + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\nh\r\n0\r\nX-Sum: 1\r\n\r\n", open},
		{"HEAD of a chunked one", "HEAD /fault/chunked HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n" + fieldLines + "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n", open},
		{"0.9, dripping", "GET /fault/drip:1/1ms\r\n", "h", fin},
		{"HEAD, late", "HEAD /fault/delay:1ms HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n" + fieldLines + "Content-Length: 1\r\n\r\n", open},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, end := answerOf(t, addr, c.request, len(c.want))
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.end, end)
		})
	}
}

func TestFaultsOfAWholeConnection(t *testing.T) {
	two := get("/") + get("/") + get("/") + get("/")
	for _, c := range []struct{ name, spec, request, want, end string }{
		{"stale closes without notice", "stale:3", two, ok + ok + ok, fin},
		{"close gives notice", "close:3", two, ok + ok + okClosing, fin},
		{"half lets a client alone that can send", "half:1ms", two, ok + ok + ok + ok, open},
		{"open does not follow the client", "open", "GET / HTTP/1.0\r\n\r\n" + get("/"), ok + ok, open},
		{"a share leaves the others alone", "status:503@50%", two, strings.Repeat(ok+strings.Replace(ok, "200 OK", "503 Service Unavailable", 1), 2), open},
		{"a size keeps the fault", "lower", get("/size/0"), "HTTP/1.1 200 OK\r\nserver: horde\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n", open},
		{"a path outdoes the server's fault", "empty", get("/fault/none"), ok, open},
		{"noread at accept", "noread", two, "", open},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr, _ := inlineServer(t, Options{Fault: parse(t, c.spec)})
			got, end := answerOf(t, addr, c.request, len(c.want))
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.end, end)
		})
	}
}

func TestResetAtAccept(t *testing.T) {
	addr, stop := inlineServer(t, Options{Fault: parse(t, "reset:accept")})
	c, err := net.Dial("tcp", addr) // which may see the reset itself
	if err == nil {
		_, err = c.Read(make([]byte, 1))
		c.Close()
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)
	assert.Equal(t, Counts{Connections: 1, Faults: 1}, stop())
}

func TestHalfClosesOnAClientThatHalfClosed(t *testing.T) {
	addr, stop := inlineServer(t, Options{Fault: parse(t, "half:20ms")})
	c := dial(t, addr)
	_, err := io.WriteString(c, get("/"))
	require.NoError(t, err)
	require.NoError(t, c.CloseWrite())
	got, end := read(t, c, 1)
	assert.Equal(t, "", got)
	assert.Equal(t, fin, end)
	assert.Equal(t, uint64(0), stop().Requests)
}

func TestEarlyAnswerLeavesTheBodyUnread(t *testing.T) {
	body := strings.Repeat("x", 8<<20)
	for spec, all := range map[string]bool{"early:413": false, "early:413/5s": true} {
		t.Run(spec, func(t *testing.T) {
			addr, stop := inlineServer(t, Options{Fault: parse(t, spec)})
			c := dial(t, addr)
			head := fmt.Sprintf("POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n", len(body))
			_, err := io.WriteString(c, head+body)
			if all {
				require.NoError(t, err)
				require.NoError(t, c.CloseWrite())
				got, end := read(t, c, 1<<20)
				assert.Contains(t, got, "HTTP/1.1 413 ")
				assert.Equal(t, fin, end)
			} else {
				assert.Error(t, err)
			}
			assert.Equal(t, all, stop().BytesRead == uint64(len(head+body)))
		})
	}
}

func TestEndlessHeadNeverEnds(t *testing.T) {
	addr, _ := inlineServer(t, Options{Fault: parse(t, "endless")})
	c := dial(t, addr)
	_, err := io.WriteString(c, get("/"))
	require.NoError(t, err)
	head := make([]byte, 1<<20)
	_, err = io.ReadFull(c, head)
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(head, []byte("HTTP/1.1 200 OK\r\nX-Endless: e")))
	assert.NotContains(t, string(head), "\r\n\r\n")
}

func TestSilenceNoticesThatTheClientIsGone(t *testing.T) {
	for _, spec := range []string{"silence", "silence:body", "noread", "delay:1h", "drip:1/1h", "empty@1%"} {
		t.Run(spec, func(t *testing.T) {
			addr, stop := inlineServer(t, Options{Fault: parse(t, spec)})
			before := descriptors(t)
			c := dial(t, addr)
			_, err := io.WriteString(c, get("/")+get("/"))
			require.NoError(t, err)
			_, _ = read(t, c, 0)
			require.NoError(t, c.SetLinger(0))
			require.NoError(t, c.Close())
			require.Eventually(t, func() bool { return descriptors(t) <= before }, patience, time.Millisecond)
			stop()
		})
	}
}

func TestABudgetEndsInSilence(t *testing.T) {
	addr, stop := inlineServer(t, Options{Budget: 3})
	got, end := answerOf(t, addr, strings.Repeat(get("/"), 5), 3*len(ok))
	assert.Equal(t, ok+ok+ok, got)
	assert.Equal(t, open, end)
	got, end = answerOf(t, addr, get("/"), 0)
	assert.Empty(t, got)
	assert.Equal(t, open, end)
	assert.Equal(t, uint64(3), stop().Requests)
}

func TestDelaysAreNeverShort(t *testing.T) {
	addr, _ := inlineServer(t, Options{})
	for _, c := range []struct {
		spec string
		want time.Duration
	}{{"delay:30ms", 30 * time.Millisecond}, {"interim:30ms", 30 * time.Millisecond}, {"drip:50/10ms", 20 * time.Millisecond}} {
		t.Run(c.spec, func(t *testing.T) {
			begin := time.Now()
			_, end := answerOf(t, addr, "GET /fault/"+c.spec+" HTTP/1.0\r\n\r\n", len(ok))
			assert.GreaterOrEqual(t, time.Since(begin), c.want)
			assert.Equal(t, fin, end)
		})
	}
}

func TestStallHoldsEverything(t *testing.T) {
	begin := time.Now()
	addr, _ := inlineServer(t, Options{Fault: parse(t, "stall:0s-150ms")})
	got, _ := answerOf(t, addr, get("/"), len(ok))
	assert.Equal(t, ok, got)
	assert.GreaterOrEqual(t, time.Since(begin), 150*time.Millisecond)
}

func TestStallEndsWithTheServer(t *testing.T) {
	_, stop := inlineServer(t, Options{Fault: parse(t, "stall:0s-1h")})
	begin := time.Now()
	stop()
	assert.Less(t, time.Since(begin), time.Minute)
}

func TestRefuseClosesTheListenerForAWhile(t *testing.T) {
	addr, _ := inlineServer(t, Options{Fault: parse(t, "refuse:0s-300ms")})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	}, patience, time.Millisecond)
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, patience, time.Millisecond)
	got, _ := answerOf(t, addr, get("/"), len(ok))
	assert.Equal(t, ok, got)
}

func TestBacklogLetsConnectsHang(t *testing.T) {
	addr, stop := inlineServer(t, Options{Fault: parse(t, "backlog:1")})
	require.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", addr, silence)
		if err == nil {
			t.Cleanup(func() { c.Close() })
		}
		var netErr net.Error
		return errors.As(err, &netErr) && netErr.Timeout()
	}, patience, time.Millisecond)
	assert.Equal(t, Counts{}, stop())
}

// An accept that finds no descriptor left must not spin, and go on later.
func TestAcceptWithoutDescriptors(t *testing.T) {
	addr, stop := inlineServer(t, Options{})
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(client)
	answer := make([]byte, len(ok))
	withoutDescriptors(t, func() {
		assert.NoError(t, unix.Connect(client, sockaddr(netip.MustParseAddrPort(addr))))
		_, err := unix.Write(client, []byte(get("/")))
		assert.NoError(t, err)
		assert.NoError(t, unix.SetsockoptTimeval(client, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}))
		_, err = unix.Read(client, answer)
		assert.ErrorIs(t, err, unix.EAGAIN, "no descriptor was left to accept with")
	})
	require.NoError(t, unix.SetsockoptTimeval(client, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	n, err := unix.Read(client, answer)
	require.NoError(t, err)
	assert.Equal(t, ok, string(answer[:n]))
	assert.Equal(t, uint64(1), stop().Connections)
}

// withoutDescriptors runs f while this process holds every one it may have.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: limit.Max}))
	var held []int
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			break
		}
		held = append(held, fd)
	}
	f()
	for _, fd := range held {
		unix.Close(fd)
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
}

func TestARequestAllocatesNothing(t *testing.T) {
	var counts Counts
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	fd, err := listen(netip.MustParseAddrPort(defaultListen), 1, false)
	require.NoError(t, err)
	defer unix.Close(fd)
	l, err := newLoop(fd, int(r.Fd()), Options{BodySize: defaultSize}, &counts)
	require.NoError(t, err)
	defer l.release()
	answer := make([]byte, 1024)
	for _, path := range []string{"/", "/size/12", "/fault/status:503", "/fault/chunked", "/size/5000"} {
		requests := [][]byte{[]byte(get(path)), []byte("GET " + path + " HTTP/1.0\r\n\r\n")}
		serve := func(request []byte) {
			pair, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			_, _ = unix.Write(pair[0], request)
			l.welcome(pair[1])
			l.stir(l.conns[pair[1]], unix.EPOLLIN)
			_, _ = unix.Read(pair[0], answer)
			if c := l.conns[pair[1]]; c.alive {
				l.close(c)
			}
			unix.Close(pair[0])
		}
		for _, request := range requests {
			serve(request)
			assert.Zero(t, testing.AllocsPerRun(100, func() { serve(request) }), "%q", request)
		}
	}
	assert.NotZero(t, counts.Requests)
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
