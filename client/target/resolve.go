package target

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Note: it asks getent(1), which answers as every other program of this host
// would (hosts file, DNS, mDNS, directory services, in the host's order and
// sorted by RFC 6724), with and without the C library linked.

// ResolveLimit is how long a look-up may take.
const ResolveLimit = 5 * time.Second

// Family restricts the addresses of a name.
type Family uint8

const (
	Any Family = iota
	IPv4
	IPv6
)

func (f Family) has(a netip.Addr) bool {
	return f == Any || a.Is4() == (f == IPv4)
}

// Allows reports whether host is of the family, as far as it is a literal.
func (f Family) Allows(host string) bool {
	a, err := netip.ParseAddr(host)
	return err != nil || f.has(a.Unmap())
}

// Resolve returns the addresses of a name or literal in the order to try them.
func Resolve(ctx context.Context, name string, family Family) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		a = a.Unmap()
		if !family.has(a) {
			return nil, fmt.Errorf("%s is not of the address family asked for", name)
		}
		return []netip.Addr{a}, nil
	}
	if strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%q is not a host name", name)
	}
	answer, err := ask(ctx, name)
	if err != nil {
		return nil, err
	}
	addrs := parse(answer, family)
	if len(addrs) == 0 {
		return nil, fmt.Errorf("host %q has no address of the family asked for", name)
	}
	return addrs, nil
}

func ask(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, ResolveLimit)
	defer cancel()
	getent := exec.CommandContext(ctx, "getent", "ahosts", name)
	getent.WaitDelay = time.Second // a process that it started may hold the pipe
	answer, err := getent.Output()
	var status *exec.ExitError
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() == context.DeadlineExceeded:
		return nil, fmt.Errorf("host %q: the resolver did not answer within %v", name, ResolveLimit)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &status):
		return nil, fmt.Errorf("host %q cannot be resolved", name)
	}
	return fromHostsFile(name, err)
}

// fromHostsFile serves systems without getent.
func fromHostsFile(name string, cause error) ([]byte, error) {
	hosts, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", name, cause)
	}
	var found bytes.Buffer
	for line := range strings.Lines(string(hosts)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		for i := 1; i < len(fields); i++ {
			if strings.EqualFold(fields[i], name) {
				fmt.Fprintln(&found, fields[0])
			}
		}
	}
	if found.Len() == 0 {
		return nil, fmt.Errorf("host %q is not in /etc/hosts, and getent is not there to ask further", name)
	}
	return found.Bytes(), nil
}

// parse reads the addresses off the beginning of each line, each once.
func parse(answer []byte, family Family) []netip.Addr {
	var addrs []netip.Addr
	seen := map[netip.Addr]bool{}
	lines := bufio.NewScanner(bytes.NewReader(answer))
	for lines.Scan() {
		first, _, _ := strings.Cut(lines.Text(), " ")
		a, err := netip.ParseAddr(first)
		if err != nil {
			continue
		}
		if a = a.Unmap(); !seen[a] && family.has(a) {
			seen[a] = true
			addrs = append(addrs, a)
		}
	}
	return addrs
}
