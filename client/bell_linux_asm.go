//go:build amd64 || arm64

package client

// ring is the handler: the kernel calls it.
//
//lint:ignore U1000 no Go code does
func ring()

// ringAddress is where ring is.
func ringAddress() uintptr
