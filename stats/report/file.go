package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// File is a result file under way: written beside its place, then moved there,
// so that an earlier one gives way only to a whole new one.
type File struct {
	name string   // where it goes; "" once it is there, or if it is written in place
	temp *os.File // nil = no file is wanted
}

// Create makes ready to write the result file name, before anything is
// measured; what is no regular file, such as a pipe, is written in place. With
// an empty name there is no file, and nothing happens.
func Create(name string) (*File, error) {
	if name == "" {
		return &File{}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &File{temp: f}, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil { // the name made up for it would only confuse
		return nil, fmt.Errorf("create %s: %w", name, errors.Unwrap(err))
	}
	return &File{name: name, temp: f}, nil
}

// Commit writes the document and puts the file in its place.
func (f *File) Commit(document []byte) error {
	if f.temp == nil {
		return nil
	}
	_, err := f.temp.Write(document)
	if f.name != "" {
		err = errors.Join(err, f.temp.Chmod(0o644))
	}
	if err = errors.Join(err, f.temp.Close()); f.name == "" || err != nil {
		return err
	}
	if err := os.Rename(f.temp.Name(), f.name); err != nil {
		return err
	}
	f.name = ""
	return nil
}

// Discard removes what was not committed.
func (f *File) Discard() {
	if f.temp != nil && f.name != "" {
		_ = f.temp.Close()
		_ = os.Remove(f.temp.Name())
	}
}
