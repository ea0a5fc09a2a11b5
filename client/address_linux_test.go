package client

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// rawAddress is an address as the target package would hand it over (it
// imports this one).
func rawAddress(ap netip.AddrPort) Address {
	ip := ap.Addr().Unmap()
	if ip.Is4() {
		a := sockaddr(unix.AF_INET, ap.Port(), unix.SizeofSockaddrInet4)
		copy(a[4:], ip.AsSlice())
		return a
	}
	a := sockaddr(unix.AF_INET6, ap.Port(), unix.SizeofSockaddrInet6)
	copy(a[8:], ip.AsSlice())
	return a
}

func sockaddr(family, port uint16, size int) Address {
	a := make(Address, size)
	binary.NativeEndian.PutUint16(a, family)
	binary.BigEndian.PutUint16(a[2:], port)
	return a
}
