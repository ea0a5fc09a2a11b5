// Package host reads what a Linux host says of itself: the settings and traits
// that decide how fast it serves or loads (State), and what its kernel has
// counted. It only reads. Nothing it cannot find or read has a value; it never
// stands for 0 or for "fine". It lives in the parent.
package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"horde/stats"
)

// Tree is the directory that holds the proc, sys and etc of a host: "/" is this
// one, anything else a copy of another's.
type Tree string

func (t Tree) path(name string) string { return filepath.Join(string(t), name) }

// Read returns what a file holds without the white space around it, and with a
// space for each tab.
func (t Tree) Read(name string) stats.Fact {
	text, err := os.ReadFile(t.path(name))
	if err != nil {
		return stats.Lack(why(err))
	}
	return stats.Have(strings.ReplaceAll(strings.TrimSpace(string(text)), "\t", " "))
}

// why says in few words what kept a file from being read.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "this kernel has none"
	case errors.Is(err, fs.ErrPermission):
		return "not readable by this user"
	}
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// first is the first of several places that has a file: kernels have moved some.
func (t Tree) first(names ...string) stats.Fact {
	var f stats.Fact
	for _, name := range names {
		if f = t.Read(name); f.Known() || f != noFile {
			return f
		}
	}
	return f
}

var noFile = stats.Lack(why(fs.ErrNotExist))

// names are the entries of a directory, in the order of the numbers in them.
func (t Tree) names(dir string) []string {
	entries, _ := os.ReadDir(t.path(dir))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.SortFunc(names, func(a, b string) int {
		if n := len(a) - len(b); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return names
}

// numbered are the entries of a directory that are prefix and a number.
func (t Tree) numbered(dir, prefix string) []string {
	return slices.DeleteFunc(t.names(dir), func(name string) bool {
		number, found := strings.CutPrefix(name, prefix)
		_, err := strconv.ParseUint(number, 10, 32)
		return !found || err != nil
	})
}

// Field is what stands behind a name in a file of such lines: "name : value",
// "name=value", "name   value".
func (t Tree) Field(file, name string) stats.Fact {
	f := t.Read(file)
	if !f.Known() {
		return f
	}
	for line := range strings.Lines(f.Value) {
		rest, found := strings.CutPrefix(strings.TrimSpace(line), name)
		value := strings.TrimLeft(rest, " :=")
		if found && value != rest {
			return stats.Have(strings.Trim(strings.Join(strings.Fields(value), " "), `"`))
		}
	}
	return stats.Lack("/" + file + " has no " + name)
}

// spread says in one value what each of several has: the value where they
// agree, else each of those who have it and what, "0-2=a 3=b".
func spread(who []string, facts []stats.Fact) stats.Fact {
	if len(facts) == 0 {
		return noFile
	}
	var values []string // in order of appearance
	of := map[string][]string{}
	for i, f := range facts {
		if !f.Known() {
			return f
		}
		if of[f.Value] == nil {
			values = append(values, f.Value)
		}
		of[f.Value] = append(of[f.Value], who[i])
	}
	if len(values) == 1 {
		return stats.Have(values[0])
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = strings.Join(of[v], ",") + "=" + v
	}
	return stats.Have(strings.Join(parts, " "))
}
