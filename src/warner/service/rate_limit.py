"""Rate limit: how many reports are taken from one address; a bucket of tokens for each, in memory only.

A bucket holds as many tokens as reports are allowed in a minute, and is refilled at that rate; a report takes one. The
buckets are kept under a hash of the address with a salt that is new every hour, so that not even the memory of the
server holds addresses, and nothing can be compared from one hour to the next.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RATE_SECONDS = 60  # reports of one address that are taken in this many seconds
SALT_SECONDS = 3600  # seconds
MOST_BUCKETS = 100_000  # addresses that are remembered at once
REPORTS_PER_MINUTE = 300  # reports per minute from one address: a classroom shares one


class Rate:
    """At most so many reports per minute from one address.

    Parameters
    ----------
    per_minute : int
        The number of reports; 0 for no limit.
    clock : callable
        Seconds that never go back.

    Examples
    --------
    >>> rate = Rate(2, clock=lambda: 0.0)
    >>> [rate.takes("192.0.2.1") for _ in range(3)], rate.takes("192.0.2.2")
    ([True, True, False], True)
    """

    def __init__(self, per_minute: int = REPORTS_PER_MINUTE, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute, self.clock = per_minute, clock
        self.buckets: dict[bytes, tuple[float, float]] = {}  # tokens, and when there were so many
        self.salt, self.salted = secrets.token_bytes(16), clock()

    @property
    def wait(self) -> int:
        """Seconds until an empty bucket holds a token again."""
        return math.ceil(RATE_SECONDS / self.per_minute) if self.per_minute else 1

    def takes(self, address: str | None) -> bool:
        """Take a token from the bucket of an address, if there is one."""
        if not self.per_minute or address is None:
            return True
        now = self.clock()
        if now - self.salted >= SALT_SECONDS:
            self.salt, self.salted = secrets.token_bytes(16), now
            self.buckets.clear()
        key = hashlib.blake2b(_network(address), key=self.salt, digest_size=16).digest()
        tokens, then = self.buckets.pop(key, (float(self.per_minute), now))
        tokens = min(self.per_minute, tokens + (now - then) * self.per_minute / RATE_SECONDS)
        taken = tokens >= 1
        self._remember(key, (tokens - taken, now))
        return taken

    def _remember(self, key: bytes, bucket: tuple[float, float]) -> None:
        # Those that were asked for longest ago stand first; after a minute a bucket is full, and need not be there.
        while self.buckets:
            oldest = next(iter(self.buckets))
            if len(self.buckets) < MOST_BUCKETS and bucket[1] - self.buckets[oldest][1] < RATE_SECONDS:
                break
            del self.buckets[oldest]
        self.buckets[key] = bucket


def _network(address: str) -> bytes:
    """Give what one subscriber has: an IPv4 address, or 64 bits of IPv6."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address.encode()
    if isinstance(read, ipaddress.IPv6Address):
        if read.ipv4_mapped is None:
            return read.packed[:8]
        read = read.ipv4_mapped
    return read.packed
