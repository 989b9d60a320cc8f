package mediacheck

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// guard decides which addresses may be dialled. The table of special addresses is that of code.dny.dev/ssrf, which is
// generated from IANA's registries: in IPv4 everything private, loopback, link-local (with the metadata service), CGNAT,
// protocol assignments, documentation, benchmarking, multicast, reserved and unspecified; in IPv6 everything outside 2000::/3
// (so loopback, unspecified, IPv4-mapped, NAT64 in both prefixes, unique local, link-local, multicast, SRv6), and inside it
// Teredo, ORCHID, 6to4 and documentation.
type guard struct {
	special *ssrf.Guardian
	trusted []netip.Prefix
}

// azureWire is a public address at which machines in Azure reach their host: metadata, DNS, health. No registry lists it.
const azureWire = "168.63.129.16/32"

func newGuard(trusted []netip.Prefix) guard {
	return guard{
		special: ssrf.New(ssrf.WithPorts(443), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix(azureWire))),
		trusted: trusted,
	}
}

// public is the dialler's control function for https: the address is the one that is about to be connected to.
func (g guard) public(network, address string, conn syscall.RawConn) error {
	if g.trustedOnly(network, address, conn) == nil {
		return nil
	}
	if err := g.special.Safe(network, address, conn); err != nil {
		return fmt.Errorf("address refused: %w", err)
	}
	return nil
}

// trustedOnly is the control function for http.
func (g guard) trustedOnly(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address refused: %w", err)
	}
	if !g.trusts(a.Addr()) {
		return fmt.Errorf("address refused: %s is not trusted", a.Addr())
	}
	return nil
}

func (g guard) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(g.trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// allows tells whether a literal address in a URL can be dialled at all; the port is judged when it is dialled.
func (g guard) allows(a netip.Addr) bool { return g.trusts(a) || g.special.SafeAddr(a) == nil }
