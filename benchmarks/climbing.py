"""The most likely shares of reports that support sets: passes through the reports until they are proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from measuring import Line, faster, slower
from warner import HadamardResponse, LocalHashing, ProjectiveGeometry, SubsetSelection, UnaryEncoding, inv_p, simulate
from warner.estimators.maximum_likelihood import Blocks, _Search, projected_gradients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from warner.designs.contract import Design

MECHANISMS: dict[str, Callable[..., Design]] = {
    "PGR": ProjectiveGeometry,
    "HR": HadamardResponse,
    "linear hashing": LocalHashing,
    "affine hashing": LocalHashing.affine,
    "OUE": UnaryEncoding,
    "SS": SubsetSelection,
}
MOST_CELLS = 3 * 10**6  # reports times answers, of those that are not collapsed to a histogram


def climbing() -> Iterator[Line]:
    yield from passes()
    yield from against_em()
    yield against_the_interior_point()
    yield many_answers()


def made_up(design: Design, n: int, s: float) -> tuple[Blocks, NDArray[np.float64]]:
    """Draw reports of n people with Zipf's shares: as a block, and what inv_p says of them."""
    rng, truth = np.random.default_rng(1), simulate.zipf(design.k, s)
    if design.law.sufficient == "histogram":
        operator = design.law.likelihood()
        expected = operator.forward(truth)
        amounts = rng.multinomial(n, expected / expected.sum())
        sums = design.law.count(np.arange(len(amounts)), amounts)
    else:
        reports = design.draw(rng.choice(design.k, p=truth, size=n), rng.bytes)
        operator, amounts, sums = design.law.likelihood(reports), np.ones(n, dtype=np.int64), design.law.count(reports)
    return Blocks([(operator, amounts)]), inv_p(sums.counts, design, n=sums.n)


def passes() -> Iterator[Line]:
    for name, made in MECHANISMS.items():
        per_report, in_all = list[int](), list[int]()
        for k in (16, 256, 1024):
            for n in (10**4, 10**5, 10**6):
                for epsilon in (0.5, 1, 2, 4):
                    design = made(k, epsilon=epsilon)
                    if design.law.sufficient is None and n * k > MOST_CELLS:
                        continue
                    for s in (0.01, 1.3, 2.5):
                        reports, start = made_up(design, n, s)
                        for gap, found in ((1e-6 * n, per_report), (1e-6, in_all)):
                            fit = projected_gradients(reports, start, gap=gap)
                            found.append(fit.steps if fit.gap <= gap else 10**6)
        for words, most, found in (("per report", 60, per_report), ("in all", 120, in_all)):
            work = f"mle of {name}, 1e-6 nats {words}"
            shown = f"median {np.median(found):.0f} of {len(found)} settings"
            yield Line(work, "passes", f"<= {most}", max(found) <= most, f"{max(found)}", shown)


def against_em() -> Iterator[Line]:
    """EM goes on for a hundred times as many passes, and must not be there."""
    k, n = 256, 10**4
    for name, epsilon in (("PGR", 1), ("OUE", 1), ("SS", 4)):
        reports, start = made_up(MECHANISMS[name](k, epsilon=epsilon), n, 1.3)
        fit = projected_gradients(reports, start, gap=1e-6 * n)
        shares, used = np.full(k, 1 / k), 0
        while used < 100 * fit.steps:
            shares, used = shares * reports.evaluated(shares).growth, used + 1
        left = reports.evaluated(shares).gap / n
        work = f"mle of {name}, K = 256, N = 10^4, {fit.steps} passes"
        shown = f"EM's gap after {used:,} passes: {left:.1e} per report"
        yield Line(work, "passes of EM", ">= 100x fewer", left > 1e-6, "> 100x", shown)


def against_the_interior_point() -> Line:
    n = 10**5
    design = ProjectiveGeometry(1093, epsilon=1)  # (3^7 - 1) / 2 points
    reports, start = made_up(design, n, 1.3)
    ((operator, kinds),) = reports.blocks
    assert operator.matrix is not None
    matrix = np.ascontiguousarray(operator.matrix()[:, kinds > 0])
    observed = kinds[kinds > 0] / n
    work = "mle of PGR, K = 1,093, to 1e-6 nats"
    return faster(
        work,
        "an interior point on its matrix",
        20,
        lambda: _Search(matrix, observed, float(n)).interior_point(),
        lambda: projected_gradients(reports, start),
    )


def many_answers() -> Line:
    design = ProjectiveGeometry(797_161, epsilon=1)
    reports, start = made_up(design, 10**7, 1.3)
    ((_, kinds),) = reports.blocks
    work, types = "mle of PGR, K = 797,161, N = 10^7", design.law.types
    assert types is not None
    return slower(
        work,
        "a decoding",
        40,
        lambda: types.support(kinds),
        lambda: projected_gradients(reports, start, gap=10),
        3,
    )
