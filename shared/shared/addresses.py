"""Network addresses of clients, as limits count them."""

import ipaddress
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

IPV6_CLIENT_BITS = 64  # what one household gets; single addresses in it cost nothing
UNKNOWN = "unknown"


def parse_address(host: str | None) -> Address | None:
    """Read an address; an IPv4 one in IPv6's clothes is IPv4. None if it is no address."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def client_of(address: Address | None) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 network of an IPv6 one."""
    if address is None:
        return UNKNOWN
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(address), IPV6_CLIENT_BITS), strict=False))
    return str(address)
