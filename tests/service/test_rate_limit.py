"""Rate limit by address: buckets refill, expire, and store no address."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warner.service import app as limits
from warner.service.app import Rate


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@given(st.integers(1, 50), st.lists(st.floats(0, 90), max_size=200))
def test_no_minute_takes_more_than_two_buckets(per_minute: int, pauses: list[float]) -> None:
    # A full bucket at the start of a minute, and what flows in during it: at most twice the rate, whatever is tried.
    clock = Clock()
    rate = Rate(per_minute, clock=clock)
    taken = []
    for pause in pauses:
        clock.now += pause / 10
        if rate.takes("192.0.2.1"):
            taken.append(clock.now)
    for start in taken:
        assert sum(start <= time < start + 60 for time in taken) <= 2 * per_minute


def test_a_bucket_refills_at_its_rate() -> None:
    clock = Clock()
    rate = Rate(60, clock=clock)
    assert [rate.takes("192.0.2.1") for _ in range(61)] == [True] * 60 + [False]
    clock.now += 2
    assert [rate.takes("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert rate.takes("192.0.2.2")


def test_addresses_of_one_subscriber_share_a_bucket() -> None:
    rate = Rate(1, clock=Clock())
    assert rate.takes("2001:db8:1:1::1")
    assert not rate.takes("2001:db8:1:1:ffff::2")
    assert rate.takes("2001:db8:1:2::1")
    assert rate.takes("192.0.2.1")
    assert not rate.takes("::ffff:192.0.2.1")  # the same, as a socket for both kinds of addresses writes it


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_this_computer_is_limited_as_all_others(address: str) -> None:
    rate = Rate(1, clock=Clock())
    assert [rate.takes(address) for _ in range(2)] == [True, False]


def test_no_limit() -> None:
    rate = Rate(0)
    assert all(rate.takes("192.0.2.1") for _ in range(1000))
    assert Rate(1).takes(None)
    assert not rate.buckets


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_BUCKETS", 100)
    clock = Clock()
    rate = Rate(1, clock=clock)
    for number in range(1000):
        rate.takes(f"192.0.{number // 250}.{number % 250}")
        assert len(rate.buckets) <= 100
    clock.now += 61  # all are full again
    rate.takes("192.0.2.1")
    assert len(rate.buckets) == 1


def test_buckets_hold_no_address_and_cannot_be_compared_from_hour_to_hour() -> None:
    clock = Clock()
    rate = Rate(5, clock=clock)
    rate.takes("192.0.2.1")
    (key,) = rate.buckets
    assert bytes([192, 0, 2, 1]) not in key
    assert not [value for value in gc.get_referents(rate.__dict__) if "192.0.2.1" in str(value)]
    clock.now += 3600
    rate.takes("192.0.2.1")
    assert list(rate.buckets) != [key]
    assert len(rate.buckets) == 1
    assert list(Rate(5, clock=clock).buckets) != [key]
