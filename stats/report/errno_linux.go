package report

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// errnoName returns the name in errno(3), "" for 0.
func errnoName(errno int) string {
	if errno == 0 {
		return ""
	}
	if name := unix.ErrnoName(syscall.Errno(errno)); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(errno)
}
