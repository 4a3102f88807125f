"""Small experiments that put the paper's theorems and formulas to the test, each on random cases.

A check is a function of a number of cases and a generator, and gives named numbers; `theory_claims` judges them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from experiments.pinzon2026.methods import ESTIMATORS
from experiments.pinzon2026.repetition import generator
from warner import RandomizedResponse, certificate, ibu, inv, inv_n, inv_p, mle
from warner.metrics import kl_divergence, negative_log_likelihood, squared_error_sum, total_variation
from warner.simulate import reports_of_people, reports_of_population, zipf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from experiments.pinzon2026.repetition import Columns
    from experiments.pinzon2026.scale import Scale

Numbers: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class TheoremCheck:
    """One configuration: a statement of the paper, and the number of random cases that it is tried on."""

    name: str
    cases: int

    experiment = "checks"

    @property
    def cost(self) -> float:
        """About how many milliseconds it takes."""
        return float(self.cases)

    def numbers(self) -> Numbers:
        """Try all cases."""
        return CHECKS[self.name](self.cases, generator(self.experiment, self.name))

    def columns(self) -> Columns:
        """Try all cases, and list the numbers with their names."""
        numbers = self.numbers()
        return {
            "quantity": np.array(list(numbers), dtype=object),
            "value": np.array(list(numbers.values()), dtype=np.float64),
        }

    def parsed(self, columns: Columns) -> Numbers:
        """Return the numbers by their names again."""
        return dict(zip(columns["quantity"].tolist(), columns["value"].tolist(), strict=True))


def theorem_checks(scale: Scale) -> list[TheoremCheck]:
    """List all checks."""
    return [TheoremCheck(name, scale.cases) for name in CHECKS]


def vertex(cases: int, rng: np.random.Generator) -> Numbers:
    """Assign the first answer to every respondent, and compare mean estimates and mean reports."""
    design = RandomizedResponse(10, epsilon=1)
    people = np.array([1_000] + [0] * 9)
    counts = reports_of_people(people, design, rng=rng, size=10 * cases)
    numbers = {"p": design.p, "p - q": design.p - design.q, "reported": float(counts[:, 0].mean()) / 1_000}
    for name, estimator in ESTIMATORS.items():
        shares = estimator(counts, design)[:, 0]
        numbers[f"{name} mean"] = float(shares.mean())
        numbers[f"{name} error"] = float(shares.std(ddof=1)) / (10 * cases) ** 0.5
    return numbers


def variance(cases: int, rng: np.random.Generator) -> Numbers:
    """Compare the variance of INV for a share of one half with the formulas: people given, and people drawn."""
    theta = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    n, design = 400, RandomizedResponse(5, epsilon=1.2)
    q, kappa = design.q, design.p - design.q
    size = 50 * cases
    drawn = inv(reports_of_population(theta, n, design, rng=rng, size=size), design)[:, 0]
    given = inv(reports_of_people((n * theta).astype(int), design, rng=rng, size=size), design)[:, 0]
    top = q * (1 - q) + theta[0] * kappa * (1 - 2 * q - kappa)
    reported = q + kappa * theta[0]
    return {
        "people drawn": float(drawn.var(ddof=1)),
        "people given": float(given.var(ddof=1)),
        "printed": float(top / (n * kappa)),
        "repaired": float(top / (n * kappa**2)),
        "multinomial": float(reported * (1 - reported) / (n * kappa**2)),
        "relative error": (2 / size) ** 0.5,
    }


def consistency(cases: int, rng: np.random.Generator) -> Numbers:
    """Follow the errors as people, and then as answers, grow in number."""
    numbers = {}
    design, theta = RandomizedResponse(100, epsilon=1), zipf(100, 1.3)
    size = max(10, cases // 20)
    for exponent in range(4, 13, 2):
        counts = reports_of_population(theta, 10**exponent, design, rng=rng, size=size)
        for name, estimator in ESTIMATORS.items():
            shares = estimator(counts, design)
            numbers[f"{name} squared error at N=1e{exponent}"] = float(squared_error_sum(shares, theta).mean())
            numbers[f"{name} total variation at N=1e{exponent}"] = float(total_variation(shares, theta).mean())
    for k in (10, 100, 1_000, 10_000):
        wide = RandomizedResponse(k, epsilon=1)
        counts = reports_of_population(zipf(k, 1.3), 10**9, wide, rng=rng, size=10)
        for name in ("inv", "inv_p"):
            error = squared_error_sum(ESTIMATORS[name](counts, wide), zipf(k, 1.3)).mean()
            numbers[f"{name} squared error at K={k}"] = float(error)
    return numbers


def continuity(cases: int, rng: np.random.Generator) -> Numbers:
    """Move one report to another answer, and see by how much the estimate moves against the bound 2/(N (p-q))."""
    largest = dict.fromkeys(ESTIMATORS, 0.0)
    for design, counts in random_histograms(cases, rng):
        n = int(counts.sum())
        moved = counts.copy()
        moved[rng.choice(np.flatnonzero(counts))] -= 1
        moved[rng.integers(design.k)] += 1
        for name, estimator in ESTIMATORS.items():
            change = np.abs(estimator(moved, design) - estimator(counts, design)).sum()
            largest[name] = max(largest[name], float(change) * n * (design.p - design.q) / 2)
    return largest


def divergence(cases: int, rng: np.random.Generator) -> Numbers:
    """Rank distributions by likelihood and by Kullback-Leibler divergence."""
    disagreements, largest = 0, 0.0
    for design, counts in random_histograms(cases, rng):
        observed = counts / counts.sum()
        tried = [estimator(counts, design) for estimator in (mle, inv_p, inv_n)]
        tried += list(rng.dirichlet(np.ones(design.k), size=3))
        likelihoods = np.array([negative_log_likelihood(theta, counts, design) for theta in tried])
        expected = [design.q + (design.p - design.q) * theta for theta in tried]
        divergences = np.array([kl_divergence(observed, reported) for reported in expected])
        entropy = -np.sum(observed[observed > 0] * np.log(observed[observed > 0]))
        largest = max(largest, float(np.abs(likelihoods - divergences - entropy).max()))
        apart = np.abs(likelihoods[:, np.newaxis] - likelihoods) > 1e-12
        signs = (likelihoods[:, np.newaxis] < likelihoods) != (divergences[:, np.newaxis] < divergences)
        disagreements += int((signs & apart).any())
    return {"cases": cases, "disagreements": disagreements, "largest difference": largest}


def collinearity(cases: int, rng: np.random.Generator) -> Numbers:
    """Draw histograms as the theorem on collinearity wants them, and test its conclusion."""
    used, residual, smallest_t = 0, 0.0, np.inf
    while used < cases:
        design = RandomizedResponse(int(rng.integers(3, 21)), epsilon=float(np.round(rng.uniform(0.5, 3), 3)))
        k, n = design.k, 10**9
        smallest = design.q * rng.random()
        second = (k * design.q - smallest) / (k - 1)
        rest = second + (design.p - design.q) * rng.dirichlet(np.ones(k - 1))
        counts = np.rint(n * np.concatenate([[smallest], rest])).astype(np.int64)
        shares = counts / counts.sum()
        if not (shares[0] < design.q and shares[1:].min() >= (k * design.q - shares[0]) / (k - 1)):
            continue
        used += 1
        projected, most_likely, rescaled = (estimator(counts, design) for estimator in (inv_p, mle, inv_n))
        t = (1 - shares[0]) / (design.p - shares[0])
        residual = max(residual, float(np.abs(rescaled - projected - t * (most_likely - projected)).max()))
        smallest_t = min(smallest_t, float(t))
    return {"cases": used, "residual": residual, "smallest t": smallest_t}


def uniqueness(cases: int, rng: np.random.Generator) -> Numbers:
    """Start IBU from random distributions, and see where it ends."""
    design = RandomizedResponse(20, epsilon=2)
    counts = reports_of_population(zipf(20, 1.3), 3_000, design, rng=rng)
    exact = mle(counts, design)
    starts = max(5, cases // 100)
    ends = np.array(
        [
            ibu(counts, design, prior=rng.dirichlet(np.ones(20)), iterations=20_000, gap=1e-9).shares
            for _ in range(starts)
        ]
    )
    apart = squared_error_sum(ends[:, np.newaxis], ends).max()
    return {
        "starts": starts,
        "zeros": float((exact == 0).sum()),
        "largest squared distance to MLE*": float(squared_error_sum(ends, exact).max()),
        "largest squared distance apart": float(apart),
    }


def likelihood(cases: int, rng: np.random.Generator) -> Numbers:
    """Certify MLE* as the maximum, and compare it with the published algorithm."""
    excess, difference, boundary = 0.0, 0.0, 0
    for design, counts in random_histograms(cases, rng):
        shares = mle(counts, design)
        boundary += int((shares == 0).any())
        excess = max(excess, float(certificate(shares, counts, design).excess))
        difference = max(difference, float(np.abs(algorithm_1(counts / counts.sum(), design)[0] - shares).max()))
    return {"cases": cases, "with zeros": boundary, "largest excess": excess, "largest difference": difference}


def threshold(cases: int, rng: np.random.Generator) -> Numbers:
    """Test which observed share is the threshold: that of the last answer dropped, or of the first one kept."""
    used, as_printed, as_sketched = 0, 0, 0
    for design, counts in random_histograms(cases, rng):
        observed = counts / counts.sum()
        shares, dropped = algorithm_1(observed, design)
        if dropped == 0:
            continue
        used += 1
        ordered = np.sort(observed)
        for which, tau in (("printed", ordered[dropped - 1]), ("sketched", ordered[dropped])):
            kept = observed >= tau
            scaled = np.where(kept, observed * (1 - design.q * (~kept).sum()) / observed[kept].sum(), design.q)
            same = np.allclose((scaled - design.q) / (design.p - design.q), shares, rtol=0, atol=1e-9)
            as_printed += same and which == "printed"
            as_sketched += same and which == "sketched"
    return {"cases": used, "as printed": as_printed, "as sketched": as_sketched}


def order(cases: int, rng: np.random.Generator) -> Numbers:
    """Test if estimates are in the order of the counts, and indifferent to the names of the answers."""
    out_of_order, apart, tied, moved = 0, 0, 0, 0
    for design, counts in random_histograms(cases, rng):
        shares = mle(counts, design)
        more = counts[:, np.newaxis] > counts
        out_of_order += int((more & (shares[:, np.newaxis] < shares)).any())
        equal = counts[:, np.newaxis] == counts
        apart += int((equal & (shares[:, np.newaxis] != shares)).any())
        tied += int((more & (shares[:, np.newaxis] == shares)).any())
        renamed = rng.permutation(design.k)
        moved += int((mle(counts[renamed], design) != shares[renamed]).any())
    return {
        "cases": cases,
        "out of order": out_of_order,
        "apart, though counts are equal": apart,
        "tied, though counts differ": tied,
        "moved": moved,
    }


def smallest(cases: int, rng: np.random.Generator) -> Numbers:
    """Drop the n smallest, for every n that leaves a distribution: the smallest such n should be the best."""
    steps, worse, negative = 0, 0, 0
    for design, counts in random_histograms(cases, rng):
        observed = np.sort(counts / counts.sum())
        p, q = design.p, design.q
        before = None
        for n in range(design.k):
            factor = (p - q) * observed[n:].sum() / (1 - n * q)
            shares = np.concatenate([np.zeros(n), observed[n:] / factor - q / (p - q)])
            if shares.min() < 0:
                continue
            expected = q + (p - q) * shares
            if before is not None:
                steps += 1
                used = observed > 0
                logs = observed[used] * np.log(before[used] / expected[used])
                worse += int(logs.sum() < -1e-12)
                later = np.flatnonzero(used) >= n
                negative += int((logs[later] < -1e-15).any())
            before = expected
    return {"steps": steps, "worse": worse, "with a negative term": negative}


def random_histograms(cases: int, rng: np.random.Generator) -> Iterator[tuple[RandomizedResponse, NDArray[np.int64]]]:
    """Draw small surveys of all kinds: K from 2 to 30, epsilon from 0.1 to 5, from a report each to thousands."""
    for _ in range(cases):
        k = int(rng.integers(2, 31))
        design = RandomizedResponse(k, epsilon=float(np.round(10 ** rng.uniform(-1, 0.7), 4)))
        n = int(k * 10 ** rng.uniform(0, 4))
        yield design, reports_of_population(rng.dirichlet(np.full(k, 0.3)), n, design, rng=rng)


def algorithm_1(observed: NDArray[np.float64], design: RandomizedResponse) -> tuple[NDArray[np.float64], int]:
    """Algorithm 1 of the paper, as it stands there; and the number of answers that it drops."""
    p, q = design.p, design.q
    ranked = np.argsort(observed)
    dropped, rest = 0, 1.0
    while dropped < design.k and q * rest > observed[ranked[dropped]] * (1 - dropped * q):
        rest -= observed[ranked[dropped]]
        dropped += 1
    shares = np.zeros(design.k)
    kept = ranked[dropped:]
    shares[kept] = (observed[kept] * (1 - dropped * q) - rest * q) / (rest * (p - q))
    return shares, dropped


CHECKS: dict[str, Callable[[int, np.random.Generator], Numbers]] = {
    check.__name__: check
    for check in (
        vertex,
        variance,
        consistency,
        continuity,
        divergence,
        collinearity,
        uniqueness,
        likelihood,
        threshold,
        order,
        smallest,
    )
}
