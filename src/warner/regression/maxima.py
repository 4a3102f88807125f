r"""Global maximum of the likelihood: Newton's method from several starts, and all local maxima that they lead to.

The log-likelihood of randomized answers is not concave and can have several maxima. After all starts, further ones
near the best maxima follow, as long as better ones are found. The extent of the search depends on what is found:

1. One start, if its maximum is proven to be the highest (`proven_gap`).
2. The first starts: equal shares, the corrected score, and random ones. If all of them end at one maximum, the steep
   starts are left out. In 70 simulated samples with continuous covariates in which the first starts agreed (80 to
   3,000 respondents, 2 to 6 answers), the steep ones found no higher maximum.
3. All starts. Small samples often have a higher maximum at infinity, in about the direction of one that is found more
   easily. So the best maximum is made steeper and turned at random, and so is any better one that this leads to.

Cutpoints of ordered answers may not fall. Where the reports show no respondent with an answer in the middle, the most
likely cutpoints on both sides of the answer are the same. An ascent therefore keeps a set of pairs of cutpoints that
have met, and moves these together. A pair separates again where that raises the likelihood (an active-set method).

Jeffreys' penalty makes estimates finite, shrunk toward equal shares: :math:`\ell(b) + \tfrac12\log\det F(b)`, F the
expected information. It is a point estimate only: intervals around it are not valid.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.facts import ChannelOperator
from warner.estimators import channel_mle
from warner.regression.families import Direct, Specification, with_merged_cutpoints
from warner.regression.infinite_estimates import Infinity, infinity
from warner.regression.likelihood import Likelihood
from warner.regression.newton import (
    CONVERGED_GAIN,
    POSITIVE_EIGENVALUE,
    SAME_MAXIMUM_NATS,
    SHORTEST_STEP,
    LocalMaximum,
    Objective,
    eigensystem,
    newton_ascent,
)
from warner.regression.scores import debiased
from warner.regression.standard_errors import inverse_information
from warner.runtime import steps
from warner.text import enumerated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from warner.arrays import Array, Mask
    from warner.regression.data import Observations


# Starts


STEEP_SLOPE = 4.0  # slope of a standardized column, in logits
ROWS_TIMES_COEFFICIENTS = 10**6  # beyond which only two steep starts, and none at random, are tried
RANDOM_STARTS = 4
RANDOM_TURNS = 4  # at random, about the best maximum
STEEPER_FACTORS = (4.0, 16.0)  # times the coefficients of the best maximum
TURNED_PREDICTORS = 8.0, 0.3  # predictors of its steep form, in logits, and the part of it that a random turn has
START_SEED = 1965
START_GAP = 0.1  # nats that a corrected score may leave: it is a start only
FARTHEST_START = 10.0  # logits that a corrected score may reach before it is left out


class Start(NamedTuple):
    name: str
    coefficients: Array


def overall_shares(rows: Observations) -> Array:
    """Most likely shares of all respondents together, each at least half a respondent."""
    likelihoods, weights = rows.patterns()
    shares = channel_mle(weights, ChannelOperator.of_matrix(likelihoods.T)).shares
    shares = np.maximum(shares, 0.5 / max(rows.n, 1))
    return np.asarray(shares / shares.sum())


def all_starts(likelihood: Likelihood, *, at_random: int | None = None) -> Iterator[Start]:
    """Yield starting points: null, corrected score, steep slopes, and random ones; null alone for `at_random` 0."""
    shares = overall_shares(likelihood.rows)
    flat = _flat(likelihood, shares)
    yield Start("null", likelihood.coefficients(flat))
    if at_random == 0:
        return
    if (b := corrected(likelihood, shares)) is not None:
        yield Start("corrected score", b)
    many = _many(likelihood)
    mean, deviation = _standardized(likelihood)
    for number, start in enumerate(_steep(likelihood, flat, mean, deviation)):
        if not many or number < 2:
            yield start
    count = (0 if many else RANDOM_STARTS) if at_random is None else at_random
    rng = np.random.default_rng(START_SEED)
    # Where all predictors rise together, as those of ordered answers, random slopes are common: cutpoints do not fall.
    rises = likelihood.family.rises()
    ways = rises if len(rises) == 1 else np.eye(len(flat))
    for number in range(count):
        slopes = STEEP_SLOPE * (ways.T @ rng.standard_normal((len(ways), flat.shape[1]))) * (deviation > 0)
        yield Start(
            f"random {number + 1}", likelihood.coefficients(_with_slopes(likelihood, flat, slopes, mean, deviation))
        )


def _many(likelihood: Likelihood) -> bool:
    return len(likelihood.rows.x) * likelihood.size > ROWS_TIMES_COEFFICIENTS


def steeper(likelihood: Likelihood, peak: Array, *, at_random: int | None = None) -> Iterator[Start]:
    """Yield starting points that are steeper than a maximum, in its direction and, at random, near it."""
    if at_random == 0 or _many(likelihood) or likelihood.offset is not None:
        return
    for times in STEEPER_FACTORS:
        yield Start("steeper", times * peak)
    size, part = TURNED_PREDICTORS
    mean_square = (
        float(likelihood.rows.weight @ (likelihood.predictors(peak) ** 2).mean(axis=0)) / likelihood.total_weight
    )
    steep = peak * size / max(np.sqrt(mean_square), np.finfo(float).tiny)
    rng = np.random.default_rng(START_SEED)
    for _ in range(RANDOM_TURNS if at_random is None else at_random):
        b = steep + size * part * rng.standard_normal(len(peak)) / likelihood.scale
        if np.isfinite(likelihood.value(b)):  # cutpoints that fall are no place to begin
            yield Start("turned", b)


def _standardized(likelihood: Likelihood) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; 0 for a constant one."""
    weight = likelihood.rows.weight / likelihood.rows.weight.sum()
    mean = likelihood.columns @ weight
    deviation = np.sqrt((likelihood.columns - mean[:, np.newaxis]) ** 2 @ weight)
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0)


def _flat(likelihood: Likelihood, shares: Array) -> Array:
    """Matrix B whose predictors are nearest to the same ones for all respondents."""
    eta = likelihood.family.predictors_of(shares[:, np.newaxis])
    return _fitted(likelihood, np.broadcast_to(eta, (len(eta), len(likelihood.rows.x))))


def _fitted(likelihood: Likelihood, eta: Array) -> Array:
    """Matrix B whose predictors are nearest to given ones, by weighted least squares."""
    if likelihood.offset is not None:
        eta = eta - likelihood.offset
    rows = likelihood.rows
    length = np.sqrt(likelihood.columns**2 @ rows.weight)  # of the columns, which have full rank
    gram = (likelihood.columns * rows.weight) @ rows.x / np.outer(length, length)
    return np.asarray(np.linalg.solve(gram, ((eta * rows.weight) @ rows.x / length).T).T / length)


def coefficients_near(likelihood: Likelihood, eta: Array) -> Array:
    return likelihood.coefficients(_fitted(likelihood, eta))


def _with_slopes(likelihood: Likelihood, flat: Array, slopes: Array, mean: Array, deviation: Array) -> Array:
    """Add slopes of standardized columns; where there is a constant column, they turn about the mean."""
    per_unit = np.divide(slopes, deviation, out=np.zeros_like(slopes), where=deviation > 0)
    matrix = flat + per_unit
    constant = np.flatnonzero((deviation == 0) & (mean != 0))
    if len(constant):
        matrix[:, constant[0]] -= per_unit @ mean / mean[constant[0]]
    return np.asarray(matrix)


def _steep(likelihood: Likelihood, flat: Array, mean: Array, deviation: Array) -> Iterator[Start]:
    """Yield a steep slope in each column, for each answer against the others, in both directions."""
    for column in np.flatnonzero(deviation > 0).tolist():
        for rise in likelihood.family.rises():
            for sign in (1, -1):
                slopes = np.zeros_like(flat)
                slopes[:, column] = sign * STEEP_SLOPE * rise
                matrix = _with_slopes(likelihood, flat, slopes, mean, deviation)
                yield Start(f"steep {column}", likelihood.coefficients(matrix))


def corrected(likelihood: Likelihood, shares: Array) -> Array | None:
    r"""Maximize the corrected score, :math:`\sum_n w_n (z_n'\eta_n - \log\sum_k e^{\eta_{nk}})`; None where it fails.

    z is unbiased for the true answer, so the maximum is near that of direct answers. As z sums to one, the function is
    concave. A family other than the multinomial logit starts at the predictors nearest to these shares.
    """
    z = debiased(likelihood.rows, shares)
    if z is None or likelihood.offset is not None:
        return None
    direct = Likelihood(replace(likelihood.rows, likelihood=z), Direct(likelihood.rows.k))
    peak = newton_ascent(direct, _flat(direct, shares).ravel(), gap=START_GAP)
    eta = direct.predictors(peak.coefficients)
    if not peak.converged or np.abs(eta).max() > FARTHEST_START:
        return None
    return coefficients_near(likelihood, likelihood.family.predictors_of(direct.family.shares(eta)))


# Identification


DEPENDENT_COLUMN = 1e-9  # part of a column that is left after the others, below which it depends on them
NAMED_PART = 1e-3  # part of a direction that is worth naming


def refuse_too_few(rows: Observations, coefficients: int) -> None:
    if rows.n < coefficients:
        raise ValueError(
            "the model must have at most as many coefficients as there are respondents, "
            f"but has {coefficients} for {rows.n}; leave some terms out"
        )


def refuse_dependent(rows: Observations, names: Sequence[str]) -> None:
    """Raise an error that names columns which are linear combinations of others."""
    from scipy.linalg import qr, solve_triangular

    columns = rows.x * np.sqrt(rows.weight)[:, np.newaxis]
    length = np.linalg.norm(columns, axis=0)
    empty = [name for name, size in zip(names, length, strict=True) if size == 0]
    if empty:
        raise ValueError(f"every column must have a value other than 0 in some row, but {enumerated(empty)} has none")
    triangle, order = qr(columns / length, mode="r", pivoting=True)
    size = np.abs(np.diagonal(triangle))
    rank = int((size > DEPENDENT_COLUMN * size[0]).sum())
    if rank == len(names):
        return
    others = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    relations = []
    for index, column in enumerate(order[rank:]):
        involved = [names[order[i]] for i in np.flatnonzero(np.abs(others[:, index]) > NAMED_PART)]
        relations.append(f"{names[column]} follows from {enumerated(involved)}")
    raise ValueError(f"no column may follow from the others, but {'; '.join(relations)}; leave one of them out")


def refuse_unidentified(likelihood: Likelihood, start: Array, names: Sequence[str]) -> None:
    """Raise an error that names coefficients which no number of reports identifies."""
    if any(table is None for table in likelihood.rows.tables):
        return  # a set of answers tells all shares
    values, vectors = eigensystem(likelihood.expected(start), likelihood)
    flat = vectors[values < POSITIVE_EIGENVALUE * max(float(values[-1]), POSITIVE_EIGENVALUE)] * likelihood.scale
    if not len(flat):
        return
    involved = [name for name, part in zip(names, np.abs(flat).max(axis=0), strict=True) if part > NAMED_PART]
    raise ValueError(
        f"these designs do not identify the coefficients {enumerated(involved)} with any number of reports; "
        "ask some of the respondents under another design, or model fewer answers"
    )


# Maxima


START_ROUNDS = 7  # of starts: the first ones, the rest, and those about the best maxima so far
PROVEN_NATS = 1e-5  # that other coefficients can add at most, below which a maximum is proven
MAXIMA_EXPLORED = 2  # the best ones, about which further starts are tried
DIFFERENT_PREDICTORS = 0.05  # between two maxima that are not the same
CUTPOINTS_MEET = 0.01  # between cutpoints at which an ascent ended, below which they have met
CHANGES_PER_CUTPOINT = 4  # of the set of pairs that have met, in one ascent
SEPARATING_GAIN = 1e-6  # nats that a pair gains, per unit of its cutpoints, above which it separates
SEPARATIONS = tuple(0.1 * 2.0**-halvings for halvings in range(17))  # of a pair, the first that raises the likelihood
LARGEST_FINITE_PREDICTOR = 12.0  # beyond which a predictor is as good as infinite


class Optimum(NamedTuple):
    """Maximum: its log-likelihood, and the number of starts that ended there."""

    log_likelihood: float
    starts: int


class NoMaximumError(ValueError):
    """No ascent ended at a maximum."""


class Maximum(NamedTuple):
    """Best maximum, and how it was found."""

    best: LocalMaximum
    optima: tuple[Optimum, ...]  # all maxima, the best first
    infinity: Infinity | None  # estimates that lie at infinity
    tried: int  # starts
    rivals: tuple[Array, ...] = ()  # coefficients of the other maxima, the best first
    search: str = "all"  # "proven" to be the highest, "first" if the first starts agreed, else "all"


class ModelMaximum(NamedTuple):
    """Maximum with its model, as specified or with merged cutpoints, and the starting points."""

    specification: Specification
    likelihood: Likelihood
    maximum: Maximum
    starts: tuple[Array, ...]


def maximum_likelihood(
    rows: Observations, specification: Specification, at_random: int | None = None, more: Sequence[Start] = ()
) -> ModelMaximum:
    """Maximize the likelihood of a model from all starts, and from further ones; cutpoints may meet."""
    likelihood = Likelihood(rows, specification.family, specification.mapping)
    starts = list(all_starts(likelihood, at_random=at_random))
    refuse_unidentified(likelihood, starts[0].coefficients, [str(name) for name in specification.coefficients])
    cutpoints = Cutpoints(likelihood, specification.cuts)
    maximum = cutpoints.maximum(starts, at_random, more)
    met = cutpoints.met(maximum.best.coefficients)
    for cut in np.flatnonzero(met)[::-1].tolist():
        specification = with_merged_cutpoints(specification, cut)
    begins = tuple(start.coefficients for start in starts)
    if not met.any():
        return ModelMaximum(specification, likelihood, maximum, begins)
    within, best = cutpoints.face(met), cutpoints.on_face(maximum.best, met)
    rivals, reduced = (tuple(cutpoints.reduced(b, met) for b in every) for every in (maximum.rivals, begins))
    maximum = _with_infinity(within, maximum._replace(best=best, rivals=rivals))
    return ModelMaximum(specification, within, maximum, reduced)


def global_maximum(
    likelihood: Likelihood, cuts: int = 0, at_random: int | None = None, more: Sequence[Start] = ()
) -> Maximum:
    return Cutpoints(likelihood, cuts).maximum(list(all_starts(likelihood, at_random=at_random)), at_random, more)


def proven_gap(likelihood: Likelihood, b: Array) -> float:
    r"""Return a bound on the log-likelihood that any other coefficients can add.

    With free shares for each distinct row of columns, the log-likelihood is concave in the shares. By its tangent, it
    can add at most :math:`\sum_c (\max_k g_{ck} - W_c)`, with g the derivatives in the shares of row c, W its weight.
    """
    rows = likelihood.rows
    _, cell = np.unique(rows.x, axis=0, return_inverse=True)
    shares = likelihood.family.shares(likelihood.predictors(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = rows.weight * likelihood.reports / (likelihood.reports * shares).sum(axis=0)
    sums = np.array([np.bincount(cell.ravel(), slope) for slope in slopes])
    return float((sums.max(axis=0) - np.bincount(cell.ravel(), rows.weight)).sum())


def _may_be_proven(likelihood: Likelihood) -> bool:
    """Return True if there are at most as many distinct rows of columns as columns."""
    if likelihood.mapping is not None or likelihood.offset is not None:
        return False
    x = likelihood.rows.x
    return all(len(np.unique(rows, axis=0)) <= x.shape[1] for rows in (x[: 10 * x.shape[1]], x))


class Cutpoints:
    """The likelihood of a model whose first coefficients are cutpoints, which may meet but not fall.

    Pairs of neighboring cutpoints that have met are a mask, (cuts - 1,), and the coefficients with these pairs equal a
    face. Without cutpoints, all is as for any other model.
    """

    def __init__(self, likelihood: Likelihood, cuts: int) -> None:
        self.likelihood, self.cuts = likelihood, cuts
        self._faces: dict[bytes, Likelihood] = {}

    def met(self, b: Array) -> Mask:
        return np.asarray(np.diff(b[: self.cuts]) == 0)

    def maximum(self, every: Sequence[Start], at_random: int | None, more: Sequence[Start]) -> Maximum:
        """Maximize from the usual starts and some more, and from further ones about the best maxima."""
        likelihood = self.likelihood
        if at_random is None and _may_be_proven(likelihood):
            with suppress(NoMaximumError):
                maximum = maximise(likelihood, every[:1])
                if abs(proven_gap(likelihood, maximum.best.coefficients)) < PROVEN_NATS:
                    return maximum._replace(search="proven")
        first, rest = list(every), []
        if at_random is None and not _many(likelihood):  # steep starts are left out if the first ones agree
            rest = [start for start in every if start.name.startswith("steep")]
            first = [start for start in every if not start.name.startswith("steep")]
        others = [start.coefficients for start in (*more, *every)]

        def further(peak: Array) -> Iterator[Start]:
            """Yield steeper starts, the neighboring faces and, if a face has a maximum, all starts on all faces."""
            yield from steeper(likelihood, peak, at_random=at_random)
            met = self.met(peak)
            yield from (self._joined(peak, pair) for pair in np.flatnonzero(~met).tolist())
            if met.any():
                yield from (self._joined(b, pair) for pair in range(self.cuts - 1) for b in others)
                others.clear()

        ascent = self.ascent if self.cuts > 1 else None
        return maximise(likelihood, [*first, *more], None if at_random == 0 else further, rest=rest, ascent=ascent)

    def _joined(self, b: Array, pair: int) -> Start:
        """Return a start at which one more pair of cutpoints has met."""
        met = self.met(b) | (np.arange(self.cuts - 1) == pair)
        return Start("met", self._spread(self.reduced(b, met), met))

    def ascent(
        self, likelihood: Objective, start: Array, *, known: Sequence[LocalMaximum], gap: float = CONVERGED_GAIN
    ) -> LocalMaximum:
        """Ascend to a maximum at which no pair of cutpoints that have met gains by separating."""
        del likelihood  # its faces take its place
        b, met, best = start, self.met(start), None
        for _ in range(CHANGES_PER_CUTPOINT * self.cuts):
            there = [self.on_face(one, met) for one in known if (self.met(one.coefficients) == met).all()]
            maximum = newton_ascent(self.objective(met), self.reduced(b, met), gap=gap, known=there)
            maximum = maximum._replace(coefficients=self._spread(maximum.coefficients, met))
            b = maximum.coefficients
            if maximum.converged:
                best = maximum
                if (pair := self._separating(best, met)) is None:
                    return best
                met = met & (np.arange(self.cuts - 1) != pair)
                if (separated := self._separated(best, met)) is None:
                    return best
                b = separated
            else:
                gaps = np.where(met, np.inf, np.diff(b[: self.cuts]))
                if not gaps.min() < CUTPOINTS_MEET:
                    break
                met = met | (gaps == gaps.min())
        return best or maximum

    def face(self, met: Mask) -> Likelihood:
        """Return the likelihood of the coefficients of a face, in which cutpoints that have met are one."""
        if not met.any():
            return self.likelihood
        if met.tobytes() not in self._faces:
            self._faces[met.tobytes()] = self.likelihood.within(self._inside(met))
        return self._faces[met.tobytes()]

    def objective(self, met: Mask) -> Objective:
        return self.face(met)

    def _inside(self, met: Mask) -> Array:
        """Return T with T a all coefficients, for a the coefficients of a face."""
        group = np.append(0, np.cumsum(~met))
        indices = np.append(group, group[-1] + 1 + np.arange(self.likelihood.size - self.cuts))
        return np.asarray(np.eye(int(indices[-1]) + 1)[indices])

    def reduced(self, b: Array, met: Mask) -> Array:
        """Return the coefficients of a face nearest to others: for cutpoints that have met, their mean."""
        if not met.any():
            return b
        inside = self._inside(met)
        return np.asarray(b @ inside / inside.sum(axis=0))

    def _spread(self, a: Array, met: Mask) -> Array:
        return self._inside(met) @ a if met.any() else a

    def on_face(self, maximum: LocalMaximum, met: Mask) -> LocalMaximum:
        return maximum._replace(coefficients=self.reduced(maximum.coefficients, met))

    def _separating(self, maximum: LocalMaximum, met: Mask) -> int | None:
        """Return the pair that gains most by separating: the cutpoints below it gain by falling, those above by rising.

        The gradients of cutpoints that move together sum to 0 at a maximum.
        """
        if not met.any():
            return None
        gradient = self._gradient(maximum.coefficients)[: self.cuts]
        group = np.append(0, np.cumsum(~met))
        below = np.cumsum(gradient) - np.append(0.0, np.cumsum(np.bincount(group, gradient)))[group]
        gains = np.where(met, -below[:-1], 0.0)
        return int(gains.argmax()) if gains.max() > SEPARATING_GAIN else None

    def _gradient(self, b: Array) -> Array:
        """Return the gradient of the log-likelihood, which sums to 0 over groups of cutpoints at a maximum."""
        return self.likelihood.expansion(b).gradient

    def _kept(self, b: Array) -> Array:
        """Return coefficients that also fulfill other constraints: here there are none."""
        return b

    def _separated(self, maximum: LocalMaximum, met: Mask) -> Array | None:
        """Separate two sets of cutpoints a little, as far as that raises the likelihood."""
        changed = np.flatnonzero(self.met(maximum.coefficients) & ~met)[0]
        group = np.append(0, np.cumsum(~met))
        side = np.where(group == group[changed], -1.0, np.where(group == group[changed + 1], 1.0, 0.0))
        way = np.append(side, np.zeros(self.likelihood.size - self.cuts))
        for size in SEPARATIONS:
            b = self._kept(maximum.coefficients + size * way)
            if self.likelihood.value(b) > maximum.value:
                return b
        return None


def maximise(
    likelihood: Objective,
    starts: Iterable[Start],
    further: Callable[[Array], Iterable[Start]] | None = None,
    *,
    rest: Iterable[Start] = (),
    ascent: Callable[..., LocalMaximum] | None = None,
) -> Maximum:
    """Maximize from starts and from further ones about the best maxima; then from the rest, unless all found the same.

    `further` returns starting points about a maximum. `ascent` leads from a start to a local maximum; Newton's method
    by default.
    """
    ascent = ascent or newton_ascent
    maxima: list[tuple[LocalMaximum, int]] = []
    explored: list[LocalMaximum] = []
    tried, best_start, search = 0, -np.inf, "first"
    queue, rest = list(starts), list(rest)
    for _ in range(START_ROUNDS):
        for start in steps(queue, "starts"):
            tried += 1
            maximum = ascent(likelihood, start.coefficients, known=[one for one, _ in maxima])
            if maximum.converged:  # no lower than its start
                _add(likelihood, maxima, maximum)
            else:
                best_start = max(best_start, likelihood.value(start.coefficients))
        highest = sorted((one for one, _ in maxima), key=lambda one: -one.value)[:MAXIMA_EXPLORED]
        new = [one for one in highest if not any(_same(likelihood, one, other) for other in explored)]
        explored += new
        queue = [start for one in new for start in further(one.coefficients)] if further is not None else []
        if not queue:
            if search == "all" or (len(maxima) == 1 and maxima[0][1] == tried and rest):
                break
            queue, search = rest, "all"
            if not queue:
                break
    # Where the likelihood is flat below a start, there is no maximum.
    if not maxima or max(one.value for one, _ in maxima) < best_start - SAME_MAXIMUM_NATS:
        raise NoMaximumError(
            f"no maximum of the likelihood was found from {tried} starts: the reports may carry too little information "
            "for these coefficients; leave terms out, or use another link"
        )
    maxima.sort(key=lambda item: -item[0].value)
    optima = tuple(Optimum(one.value, count) for one, count in maxima)
    rivals = tuple(one.coefficients for one, _ in maxima[1:])
    return _with_infinity(likelihood, Maximum(maxima[0][0], optima, None, tried, rivals, search))


def _with_infinity(likelihood: Objective, maximum: Maximum) -> Maximum:
    """Determine which estimates lie at infinity, with a best maximum no farther out than necessary."""
    best = maximum.best
    endless = infinity(likelihood, best)
    if endless is not None and endless.near.value > best.value - SAME_MAXIMUM_NATS:
        best = endless.near._replace(value=max(best.value, endless.near.value))
    return maximum._replace(best=best, infinity=endless)


def _add(likelihood: Objective, maxima: list[tuple[LocalMaximum, int]], maximum: LocalMaximum) -> None:
    for index, (other, count) in enumerate(maxima):
        if _same(likelihood, maximum, other):
            maxima[index] = (max(maximum, other, key=lambda one: one.value), count + 1)
            return
    maxima.append((maximum, 1))


def _same(likelihood: Objective, first: LocalMaximum, second: LocalMaximum) -> bool:
    if abs(first.value - second.value) > SAME_MAXIMUM_NATS + 1e-12 * abs(first.value):
        return False
    # Predictors far out may differ: the likelihood is flat there.
    far = LARGEST_FINITE_PREDICTOR
    one, other = (np.clip(likelihood.predictors(each.coefficients), -far, far) for each in (first, second))
    return bool(np.abs(one - other).max() < DIFFERENT_PREDICTORS) or infinity(likelihood, first) is not None


# Jeffreys' penalty


PENALISED_STEPS = 200
# The decrement below which Newton's own method takes over: rounding then hides whether the likelihood still rises.
POLISH_DECREMENT = 1e-8
PENALISED_POLISH_STEPS = 4
GRADIENT_STRIDE = 1e-5  # of a predictor, for differences of the gradient


def penalised_maximum(likelihood: Likelihood, start: Array) -> LocalMaximum:
    """Maximize the Jeffreys-penalized likelihood from a start; `value` is the unpenalized log-likelihood there."""
    b, height = start, _penalised_height(likelihood, start)
    for _ in range(PENALISED_STEPS):
        gradient, covariance = _penalised_slope(likelihood, b)
        step = covariance @ gradient
        left = float(gradient @ step) / 2
        if not left > POLISH_DECREMENT:
            break
        length = min(
            1.0, likelihood.family.longest_step / max(float(np.abs(likelihood.predictor_change(step)).max()), 1e-300)
        )
        while length > SHORTEST_STEP and not (there := _penalised_height(likelihood, b + length * step)) > height:
            length /= 2
        if length <= SHORTEST_STEP:
            break
        b, height = b + length * step, there
    # At the end Newton's method, with differences of the gradient for the second derivative.
    for _ in range(PENALISED_POLISH_STEPS):
        gradient = _penalised_slope(likelihood, b)[0]
        strides = np.diag(GRADIENT_STRIDE / likelihood.scale)
        rows = [_penalised_slope(likelihood, b + h)[0] - _penalised_slope(likelihood, b - h)[0] for h in strides]
        curvature = -np.array(rows) / (2 * np.diagonal(strides)[:, np.newaxis])
        step = np.linalg.solve((curvature + curvature.T) / 2, gradient).astype(np.float64)
        left = float(gradient @ step) / 2
        b = b + step
    return LocalMaximum(b, likelihood.value(b), abs(left), converged=abs(left) < POLISH_DECREMENT)


def _penalised_slope(likelihood: Likelihood, b: Array) -> tuple[Array, Array]:
    """Return the gradient of the penalized log-likelihood, and the inverse of the expected information."""
    covariance = inverse_information(likelihood.expected(b), likelihood)
    return likelihood.expansion(b).gradient + _pull_of_penalty(likelihood, b, covariance), covariance


def _penalised_height(likelihood: Likelihood, b: Array) -> float:
    sign, log_determinant = np.linalg.slogdet(likelihood.expected(b) / np.outer(likelihood.scale, likelihood.scale))
    return likelihood.value(b) + log_determinant / 2 if sign > 0 else -np.inf


def _pull_of_penalty(likelihood: Likelihood, b: Array, covariance: Array) -> Array:
    r"""Gradient of the penalty, :math:`\tfrac12\operatorname{tr}(F^{-1}\,\partial F/\partial b)`.

    With s and c the score and the curvature of a report in the predictors, the expected information of a row is
    :math:`E_{kl} = \sum_j \mu_j s_k s_l`, and from :math:`\partial s_k/\partial\eta_m = -c_{km}`

    .. math:: \frac{\partial E_{kl}}{\partial\eta_m} = \sum_j \mu_j\,(s_k s_l s_m - c_{km} s_l - c_{lm} s_k).
    """
    eta = likelihood.predictors(b)
    x = likelihood.rows.x
    f = likelihood.family.predictors
    full = covariance if likelihood.mapping is None else likelihood.mapping @ covariance @ likelihood.mapping.T
    blocks = full.reshape(f, x.shape[1], f, x.shape[1])
    # H_kl = x' (F^-1)_kl x: what a row's information is weighted by.
    leverage = np.einsum("np,kplq,nq->kln", x, blocks, x, optimize=True)
    pull = np.zeros_like(eta)
    for selected, _, (log_probability, s, c) in likelihood.of_all_reports(eta):
        h = leverage[:, :, selected]
        along = np.einsum("kln,ln->kn", h, s)
        turned = (along * s).sum(axis=0) * s - 2 * np.einsum("kmn,kn->mn", c, along)
        pull[:, selected] += np.exp(log_probability) * turned / 2
    return likelihood.reduced((likelihood.rows.weight * pull) @ x)
