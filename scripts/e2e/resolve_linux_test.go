package e2e

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Names: resolved once a run, with all their addresses tried. These tests have
// a network and name files of their own.

// nameServer answers on port 53 of the namespace: NXDOMAIN, or 127.0.0.1 for
// the names it knows, or nothing at all. It returns the count of its queries.
func nameServer(t *testing.T, mute bool, names ...string) *atomic.Int64 {
	t.Helper()
	replaceFile(t, "/etc/resolv.conf", "nameserver 127.0.0.1\n")
	pc, err := net.ListenPacket("udp", "127.0.0.1:53")
	require.NoError(t, err)
	t.Cleanup(func() { pc.Close() })
	queries := new(atomic.Int64)
	go func() {
		msg := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(msg)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			queries.Add(1)
			if answer := nameAnswer(msg[:n], names); !mute && answer != nil {
				_, _ = pc.WriteTo(answer, from)
			}
		}
	}()
	return queries
}

// nameAnswer answers a query of one question (RFC 1035 section 4.1).
func nameAnswer(query []byte, names []string) []byte {
	if len(query) < 12 {
		return nil
	}
	var labels []string
	end := 12
	for end < len(query) && query[end] != 0 {
		next := end + 1 + int(query[end])
		if next >= len(query) {
			return nil
		}
		labels = append(labels, string(query[end+1:next]))
		end = next
	}
	end += 5 // the root label, type and class
	if end > len(query) {
		return nil
	}
	known := false
	for _, name := range names {
		known = known || strings.EqualFold(name, strings.Join(labels, "."))
	}
	answer := append([]byte(nil), query[:end]...)
	answer[2], answer[3] = 0x81, 0x80 // an answer, recursion available
	clear(answer[6:12])
	answer[5] = 1 // one question
	if !known {
		answer[3] |= 3 // NXDOMAIN
		return answer
	}
	if query[end-3] == 1 { // A; for AAAA the name has no address
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
	}
	return answer
}

func TestNameWithAnAddressThatDoesNotListen(t *testing.T) {
	if !inNamespaces(t, "-rmn") {
		return
	}
	loopbackUp(t)
	replaceFile(t, "/etc/hosts", "::1 localhost\n127.0.0.1 localhost\n")
	s := serve(t, 40, keepOpen(ok5))
	o := run(t, "-c", "4", "-t", "2", "--json", "http://localhost:"+s.port()+"/")
	o.counts(40, 0, 4)
	assert.Equal(t, s.addr, o.Plan.Address, "the address in use")
	text := run(t, "-c", "1", "-n", "1", "--timeout", "1s", "http://localhost:"+s.port()+"/")
	assert.Contains(t, text.stdout, s.addr)
}

func TestNameIsResolvedOnceARun(t *testing.T) {
	if !inNamespaces(t, "-rmn") {
		return
	}
	loopbackUp(t)
	replaceFile(t, "/etc/hosts", "127.0.0.1 localhost\n")
	queries := nameServer(t, false, "shop.test")
	s := serve(t, 200, keepOpen(ok5))
	o := run(t, "-c", "4", "-t", "1", "--json", "http://shop.test:"+s.port()+"/")
	o.counts(200, 0, 4)
	assert.Positive(t, queries.Load())
	assert.LessOrEqual(t, queries.Load(), int64(4))
	assert.Equal(t, []string{"shop.test:" + s.port()}, fields(s.firstRequest(t).head, "host"))
}

func TestNameThatDoesNotExist(t *testing.T) {
	if !inNamespaces(t, "-rmn") {
		return
	}
	loopbackUp(t)
	replaceFile(t, "/etc/hosts", "127.0.0.1 localhost\n")
	nameServer(t, false)
	o := run(t, "-c", "4", "-t", "30", "http://no-such-host.invalid/")
	assert.Equal(t, 1, o.code)
	assert.Less(t, o.wall, time.Second+slack)
	assert.Contains(t, o.stderr, "no-such-host.invalid")
	assert.NotRegexp(t, speedLine, o.stdout)
}

func TestResolverThatDoesNotAnswer(t *testing.T) {
	if !inNamespaces(t, "-rmn") {
		return
	}
	loopbackUp(t)
	replaceFile(t, "/etc/hosts", "127.0.0.1 localhost\n")
	nameServer(t, true)
	o := run(t, "-c", "4", "-t", "1", "http://shop.test/")
	assert.Equal(t, 1, o.code)
	assert.Less(t, o.wall, 30*time.Second)
	assert.Contains(t, o.stderr, "shop.test")
}

func TestHostHeaderWithoutAPortAndWithoutAZone(t *testing.T) {
	if !inNamespaces(t, "-rn") {
		return
	}
	loopbackUp(t)
	t.Run("the default port", func(t *testing.T) {
		s := serveAt(t, "127.0.0.1:80", unlimited, keepOpen(ok5))
		for _, url := range []string{"http://127.0.0.1:80/", "http://127.0.0.1/"} {
			o := run(t, "-n", "1", url)
			assert.Zero(t, o.code)
			seen := s.seen()
			require.NotEmpty(t, seen)
			assert.Equal(t, []string{"127.0.0.1"}, fields(seen[len(seen)-1].head, "host"), url)
		}
	})
	t.Run("a zone", func(t *testing.T) {
		ip := need(t, "ip")
		out, err := exec.Command(ip, "address", "add", "fe80::1/64", "dev", "lo", "nodad").CombinedOutput()
		if err != nil {
			t.Skipf("no link-local address: %v %s", err, out)
		}
		s := serveAt(t, "[fe80::1%lo]:0", unlimited, keepOpen(ok5))
		head := headOf(t, s, "http://[fe80::1%25lo]:"+s.port()+"/")
		assert.Equal(t, []string{"[fe80::1]:" + s.port()}, fields(head, "host"))
	})
}
