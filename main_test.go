package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client/config"
)

var update = flag.Bool("update", false, "write the documents' tables of options anew")

func TestDocumentsListTheOptionsTheProgramTakes(t *testing.T) {
	for _, document := range []struct {
		file, begin, end string
		write            func(io.Writer, []config.Option)
	}{
		{"README.md", "<!-- options: written by `go test . -update` -->\n", "<!-- end of options -->\n", config.WriteMarkdown},
		{"scripts/horde.1", ".\\\" options: written by go test . -update\n", ".\\\" end of options\n", config.WriteMan},
	} {
		t.Run(document.file, func(t *testing.T) {
			text, err := os.ReadFile(document.file)
			require.NoError(t, err)
			head, rest, found := strings.Cut(string(text), document.begin)
			require.True(t, found, "begin of the table")
			got, tail, found := strings.Cut(rest, document.end)
			require.True(t, found, "end of the table")
			var want bytes.Buffer
			document.write(&want, config.RunOptions)
			if *update {
				got = want.String()
				require.NoError(t, os.WriteFile(document.file, []byte(head+document.begin+got+document.end+tail), 0o644))
			}
			assert.Equal(t, want.String(), got)
		})
	}
}

// The rooms of the house: what each may import of the others, and what only it
// may import from outside.
func TestImportsRunOneWay(t *testing.T) {
	rank := map[string]int{"horde/stats": 0, "horde/client": 1, "horde/procs": 2, "horde": 3}
	for _, line := range list(t, "{{.ImportPath}} {{join .Imports \" \"}}", "./...") {
		from, imports, _ := strings.Cut(line, " ")
		if strings.HasPrefix(from, "horde/scripts") {
			continue
		}
		for _, to := range strings.Fields(imports) {
			switch {
			case to == "horde" || strings.HasPrefix(to, "horde/"):
				assert.LessOrEqual(t, rank[room(to)], rank[room(from)], "%s imports %s", from, to)
			case strings.HasPrefix(to, "github.com/urfave/cli"):
				assert.Equal(t, "horde", from, "only main.go reads the command line")
			}
		}
	}
}

func room(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func TestTheKernelIsTouchedInLinuxFilesOnly(t *testing.T) {
	for _, line := range list(t, "{{.Dir}}: {{join .GoFiles \" \"}}", "./...") {
		dir, files, _ := strings.Cut(line, ": ")
		for _, file := range strings.Fields(files) {
			text, err := os.ReadFile(dir + "/" + file)
			require.NoError(t, err)
			if bytes.Contains(text, []byte(`"golang.org/x/sys/unix"`)) {
				assert.True(t, strings.HasSuffix(file, "_linux.go"), "%s/%s imports x/sys/unix", dir, file)
			}
		}
	}
}

// A worker for plain http begins its life as soon as package procs and what it
// imports are initialised. So that it never pays for TLS, none of that may be
// what crypto/tls needs and is initialised late.
func TestAPlainWorkerDoesWithoutTLSAndNet(t *testing.T) {
	deps := list(t, "{{.ImportPath}}", "-deps", "./procs")
	for _, late := range []string{"crypto/tls", "crypto/x509", "net", "net/netip", "runtime/cgo", "github.com/urfave/cli/v2"} {
		assert.NotContains(t, deps, late)
	}
	all := list(t, "{{.ImportPath}}", "-deps", ".")
	assert.Contains(t, all, "crypto/tls", "or the above says nothing")
}

func list(t *testing.T, format string, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-f", format}, args...)...).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
