package client

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// rawAddress is an IPv4 address as the target package would hand it over (it
// imports this one).
func rawAddress(ap netip.AddrPort) Address {
	a := make(Address, unix.SizeofSockaddrInet4)
	binary.NativeEndian.PutUint16(a, unix.AF_INET)
	binary.BigEndian.PutUint16(a[2:], ap.Port())
	ip := ap.Addr().Unmap().As4()
	copy(a[4:], ip[:])
	return a
}
