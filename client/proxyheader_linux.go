package client

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// appendProxyHeader appends the header that tells a load balancer on whose
// behalf a connection is made: on its own (PROXY protocol, versions 1 and 2,
// sections 2.1 and 2.2 of its specification). Both ends are told as they are.
func appendProxyHeader(b []byte, version uint8, to *address, fd int) []byte {
	from := ownAddress(fd)
	if version == 1 {
		return appendProxyLine(b, &from, to)
	}
	b = append(b, "\r\n\r\n\x00\r\nQUIT\n\x21"...) // signature; version 2, PROXY
	switch from.raw.Addr.Family {
	case unix.AF_INET:
		b = append(b, 0x11, 0, 2*4+2*2)
	case unix.AF_INET6:
		b = append(b, 0x21, 0, 2*16+2*2)
	default:
		return append(b, 0, 0, 0) // unspecified
	}
	b = append(append(b, from.ip()...), to.ip()...)
	return append(append(b, from.port()...), to.port()...)
}

func appendProxyLine(b []byte, from, to *address) []byte {
	switch from.raw.Addr.Family {
	case unix.AF_INET:
		b = append(b, "PROXY TCP4"...)
	case unix.AF_INET6:
		b = append(b, "PROXY TCP6"...)
	default:
		return append(b, "PROXY UNKNOWN\r\n"...)
	}
	for _, a := range [...]*address{from, to} {
		b = appendIP(append(b, ' '), a.ip())
	}
	for _, a := range [...]*address{from, to} {
		port := a.port()
		b = strconv.AppendUint(append(b, ' '), uint64(port[0])<<8|uint64(port[1]), 10)
	}
	return append(b, "\r\n"...)
}

// appendIP appends an address as text; eight groups, none left out, if it is IPv6.
func appendIP(b, ip []byte) []byte {
	for i := range ip {
		switch {
		case len(ip) == 4 && i > 0:
			b = append(b, '.')
		case len(ip) == 16 && i%2 == 1:
			continue
		case len(ip) == 16 && i > 0:
			b = append(b, ':')
		}
		if len(ip) == 4 {
			b = strconv.AppendUint(b, uint64(ip[i]), 10)
		} else {
			b = strconv.AppendUint(b, uint64(ip[i])<<8|uint64(ip[i+1]), 16)
		}
	}
	return b
}

// ownAddress is this end's; of no family if the kernel does not say.
func ownAddress(fd int) address {
	var a address
	size := uint32(unix.SizeofSockaddrAny)
	if _, _, errno := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd),
		uintptr(unsafe.Pointer(&a.raw)), uintptr(unsafe.Pointer(&size))); errno != 0 {
		return address{}
	}
	return a
}

func (a *address) bytes() []byte { return (*[unix.SizeofSockaddrAny]byte)(unsafe.Pointer(&a.raw))[:] }

// port is in network order, which IPv4 and IPv6 have in the same place.
func (a *address) port() []byte { return a.bytes()[2:4] }

func (a *address) ip() []byte {
	if a.raw.Addr.Family == unix.AF_INET {
		return a.bytes()[4:8]
	}
	return a.bytes()[8:24]
}
