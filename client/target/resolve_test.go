package target

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func addrs(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func TestResolveTakesALiteralAsItIs(t *testing.T) {
	t.Setenv("PATH", "") // nobody is asked
	for _, row := range []struct {
		name, host string
		family     Family
		want       []netip.Addr
	}{
		{"IPv4", "127.0.0.1", Any, addrs("127.0.0.1")},
		{"IPv4 asked for", "127.0.0.1", IPv4, addrs("127.0.0.1")},
		{"IPv6", "::1", Any, addrs("::1")},
		{"IPv6 asked for", "::1", IPv6, addrs("::1")},
		{"IPv6 with a zone", "fe80::1%lo", IPv6, addrs("fe80::1%lo")},
		{"IPv4 in IPv6 is IPv4", "::ffff:127.0.0.1", IPv4, addrs("127.0.0.1")},
		{"IPv4 where IPv6 is asked for", "127.0.0.1", IPv6, nil},
		{"IPv6 where IPv4 is asked for", "::1", IPv4, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Resolve(t.Context(), row.host, row.family)
			if row.want == nil {
				require.ErrorContains(t, err, "not of the address family")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
		})
	}
}

func TestResolveAsksThisHost(t *testing.T) {
	got, err := Resolve(t.Context(), "localhost", Any)
	require.NoError(t, err)
	assert.Contains(t, got, netip.MustParseAddr("127.0.0.1"))
	for _, a := range got {
		assert.True(t, a.IsLoopback(), "%v", a)
	}
	got, err = Resolve(t.Context(), "localhost", IPv4)
	require.NoError(t, err)
	assert.Equal(t, addrs("127.0.0.1"), got)
}

// getent puts a script in place of getent(1), and returns its directory.
func getent(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "getent"), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return dir
}

func TestResolveKeepsTheOrderOfTheHost(t *testing.T) {
	getent(t, `[ "$1 $2" = "ahosts many.test" ] || exit 2
echo "2001:db8::1     STREAM many.test"
echo "2001:db8::1     DGRAM"
echo "192.0.2.7       STREAM"
echo "192.0.2.7       DGRAM"
echo "::ffff:192.0.2.7 STREAM"
echo "192.0.2.3       STREAM"
echo "not an address"
`)
	for family, want := range map[Family][]netip.Addr{
		Any:  addrs("2001:db8::1", "192.0.2.7", "192.0.2.3"),
		IPv4: addrs("192.0.2.7", "192.0.2.3"),
		IPv6: addrs("2001:db8::1"),
	} {
		got, err := Resolve(t.Context(), "many.test", family)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestResolveFails(t *testing.T) {
	for _, row := range []struct{ name, script, host, says string }{
		{"a name that does not exist", "exit 2", "no-such-host.invalid", `host "no-such-host.invalid" cannot be resolved`},
		{"a name without an address", "exit 0", "empty.test", "has no address"},
		{"a name that is an option", "echo 127.0.0.1", "--help", "not a host name"},
		{"a getent that is killed", "kill -9 $$", "h.test", "cannot be resolved"},
	} {
		t.Run(row.name, func(t *testing.T) {
			getent(t, row.script)
			_, err := Resolve(t.Context(), row.host, Any)
			assert.ErrorContains(t, err, row.says)
		})
	}
	t.Run("an address of the other family", func(t *testing.T) {
		getent(t, "echo 192.0.2.1 STREAM")
		_, err := Resolve(t.Context(), "h.test", IPv6)
		assert.ErrorContains(t, err, "no address of the family asked for")
	})
}

// A resolver that does not answer costs a stated time, no more: not even if
// another process holds the pipe.
func TestAResolverThatDoesNotAnswer(t *testing.T) {
	t.Run("itself", func(t *testing.T) {
		getent(t, "exec sleep 60")
		notAnswered(t)
	})
	t.Run("a process behind it", func(t *testing.T) {
		dir := getent(t, `sleep 60 & echo $! >"${0%/*}/pid"; wait`)
		notAnswered(t)
		pid, err := os.ReadFile(filepath.Join(dir, "pid"))
		require.NoError(t, err)
		assert.NoError(t, exec.Command("kill", strings.TrimSpace(string(pid))).Run())
	})
	t.Run("within the limit of its own", func(t *testing.T) {
		getent(t, "exec sleep 60")
		begin := time.Now()
		_, err := Resolve(t.Context(), "slow.test", Any)
		assert.ErrorContains(t, err, "did not answer within 5s")
		assert.Less(t, time.Since(begin), 30*time.Second)
	})
	t.Run("and somebody who gives up", func(t *testing.T) {
		getent(t, "exec sleep 60")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := Resolve(ctx, "slow.test", Any)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func notAnswered(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := Resolve(ctx, "slow.test", Any)
	assert.ErrorContains(t, err, "did not answer within")
	assert.Less(t, time.Since(begin), 30*time.Second)
}

func TestResolveWithoutGetentReadsTheHostsFile(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	got, err := Resolve(t.Context(), "LocalHost", IPv4)
	require.NoError(t, err)
	assert.Equal(t, addrs("127.0.0.1"), got)

	_, err = Resolve(t.Context(), "no-such-host.invalid", Any)
	assert.ErrorContains(t, err, "not in /etc/hosts, and getent is not there")
}

func FuzzAnswerOfGetent(f *testing.F) {
	f.Add([]byte("127.0.0.1       STREAM localhost\n127.0.0.1       DGRAM\n::1 RAW\n"))
	f.Add([]byte("fe80::1%lo STREAM\n\n \n::ffff:1.2.3.4\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		all := parse(answer, Any)
		seen := map[netip.Addr]bool{}
		for _, a := range all {
			assert.True(t, a.IsValid())
			assert.False(t, seen[a], "each once")
			seen[a] = true
		}
		assert.Len(t, all, len(parse(answer, IPv4))+len(parse(answer, IPv6)))
	})
}

func TestFamilyAllows(t *testing.T) {
	for _, row := range []struct {
		family Family
		host   string
		want   bool
	}{
		{Any, "::1", true}, {Any, "127.0.0.1", true}, {IPv4, "127.0.0.1", true}, {IPv4, "::1", false}, {IPv6, "::1", true},
		{IPv6, "127.0.0.1", false}, {IPv4, "::ffff:127.0.0.1", true}, {IPv6, "localhost", true}, {IPv4, "fe80::1%lo", false},
	} {
		assert.Equal(t, row.want, row.family.Allows(row.host), "%v %s", row.family, row.host)
	}
}
