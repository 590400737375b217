"""Sockets of which nobody knows yet whose they are: bounded, in all and by client address."""

import ipaddress
from collections import Counter
from collections.abc import Sequence

from realtime.connection import Connection
from shared.addresses import Address, client_of, parse_address


class Strangers:
    """Counts connections from their handshake until they are authenticated or gone."""

    def __init__(self, limit: int, limit_per_address: int) -> None:
        self._limit = limit
        self._limit_per_address = limit_per_address
        self._addresses: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()

    def admit(self, connection: Connection, address: str) -> bool:
        """Count a connection; False if it is one too many."""
        is_full = len(self._addresses) >= self._limit
        if is_full or self._counts[address] >= self._limit_per_address:
            return False
        self._addresses[connection] = address
        self._counts[address] += 1
        return True

    def forget(self, connection: Connection) -> None:
        """Stop counting a connection; one that is not counted changes nothing."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]


class Proxies:
    """Whose ``X-Forwarded-For`` counts.

    Args:
        listed: Addresses and networks, comma separated; ``*``: everybody's.
    """

    def __init__(self, listed: str) -> None:
        parts = {part.strip() for part in listed.split(",")}
        self._trusts_all = "*" in parts
        self._networks = [ipaddress.ip_network(part, strict=False) for part in parts - {"*", ""}]

    def client_of(self, peer: str | None, forwarded: Sequence[str]) -> str:
        """Return the address a socket counts for.

        Args:
            peer: Address of the other end.
            forwarded: Its ``X-Forwarded-For`` headers; only the last hop is the proxy's own word.
        """
        address = parse_address(peer)
        if forwarded and self._trusts(address):
            address = parse_address(forwarded[-1].rpartition(",")[2].strip())
        return client_of(address)

    def _trusts(self, peer: Address | None) -> bool:
        if self._trusts_all:
            return True
        return peer is not None and any(peer in network for network in self._networks)
