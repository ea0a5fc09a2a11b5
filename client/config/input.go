package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// How many bytes one file of bodies or requests may have, and how many all
// requests of a run together: each worker holds them.
const (
	mostInput = 256 << 20
	mostSent  = 2 * mostInput
)

// stdin is read once: asked for again, it is the same.
var stdin = sync.OnceValues(func() ([]byte, error) { return readAll(os.Stdin, mostInput) })

// readInput reads a file whole, or standard input where its name is "-".
func readInput(name string) ([]byte, error) {
	if name == "-" {
		return stdin()
	}
	return readFile(name, mostInput)
}

// readFile reads a file of at most most bytes. The error leaves its name to the
// caller.
func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	return readAll(f, most)
}

// readAll is readFile of an open file. What is no regular file has no size
// before it is read.
func readAll(f *os.File, most int64) ([]byte, error) {
	tooLarge := fmt.Errorf("is larger than %d bytes", most)
	if info, err := f.Stat(); err == nil && info.Size() > most {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case int64(len(data)) > most:
		return nil, tooLarge
	}
	return data, nil
}

func unreadable(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}
