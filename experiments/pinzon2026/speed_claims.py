"""Claims on running time: how it grows with K, and how IBU and the solver for any channel compare with MLE*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.pinzon2026.iteration import REACHED_DISTANCE
from experiments.pinzon2026.methods import METHOD_LABELS
from experiments.pinzon2026.verdicts import Claim, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from experiments.pinzon2026.timing import Growth, Race


def growth_claims(growth: Growth | None) -> Iterator[Claim]:
    """Judge the complexities of the four estimators."""
    if growth is None:
        return
    powers = ", ".join(f"{METHOD_LABELS[name]} K^{power:.2f}" for name, power in growth.powers.items())
    yield Claim(
        "MLE* and INVP take O(K log K), INV and INVN O(K)",
        "Table 1; Theoretical comparison, Complexity (which has O(K) for INVP)",
        f"time grows as {powers}, from K = {growth.smallest:,} to {growth.largest:,}, here; counts are whole numbers, "
        "so no sort is needed, and all four are O(K)",
        verdict(holds=max(growth.powers.values()) < 1.3),
    )


def race_claims(races: Mapping[str, Race]) -> Iterator[Claim]:
    """Judge whether MLE* is faster than IBU."""
    if not races:
        return
    ratios = {title: race.ibu / race.mle for title, race in races.items()}
    title = max(ratios, key=ratios.__getitem__)
    smallest, largest = min(ratios.values()), ratios[title]
    yield Claim(
        "MLE* is significantly more efficient than IBU",
        "Introduction, contribution 2; The exact MLE vs. IBU’s approximation",
        f"IBU to a squared distance of {REACHED_DISTANCE:g} (or all its updates) takes {smallest:,.0f} to "
        f"{largest:,.0f} times as long as the exact MLE*: {races[title].ibu:.2f} s "
        f"against {1e6 * races[title].mle:,.0f} µs at {title}",
        verdict(holds=smallest > 1),
    )


def solver_findings(races: Mapping[str, Race]) -> Iterator[Claim]:
    """Measure the benefit of an interior-point solver where no closed form exists."""
    if not races:
        return
    gains = [race.ibu / race.channel for race in races.values()]
    prices = [race.channel / race.mle for race in races.values()]
    distance = max(race.channel_distance for race in races.values())
    yield Claim(
        "Is there something between MLE* and IBU for designs without a closed form?",
        "",
        "an interior-point solver that sees nothing but the matrix ends within a squared distance of "
        f"{distance:.1e} of MLE*. It takes {min(prices):,.0f} to {max(prices):,.0f} times as long as MLE*, and is "
        f"{min(gains):.2g} to {max(gains):.2g} times as fast as IBU to {REACHED_DISTANCE:g} (or all its updates), "
        "which has the short update for randomized response here, and no matrix",
        "yes" if distance < REACHED_DISTANCE and max(gains) > 1 else "no",
    )
