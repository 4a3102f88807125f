r"""Predicted shares, or means of a number: for given covariates, or averaged over the sample; average marginal effects.

The interval of a profile's share is that of the profile likelihood of its log-odds (of the share itself for middle
answers of an ordered model), where that is used for coefficients (`profiles`). Wald intervals are computed on the scale
of the log-odds, where they are nearly symmetric: for two answers :math:`x'b \pm z\,\mathrm{se}`, for more
:math:`\operatorname{logit}\theta_k` with the error of the delta method.

The marginal effect of a number is the derivative of the mean share: all values are moved by h to either side, and the
formula is evaluated anew, so that squares and interactions move as well. For a factor, and for zeros and ones, it is
the difference of two mean shares: all respondents at this level, and all at the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from warner.arrays import Array, Counts, Label, objects
from warner.designs.facts import check_target
from warner.inference.comparisons import answers_of_interest, remainder
from warner.regression.families import BOUNDARY_SHARE, Binary, Cumulative, Link, Softmax
from warner.regression.formulas import Columns, by_name, columns_of, number_of_rows
from warner.regression.likelihood import Likelihood
from warner.regression.mean_shares import (
    GROUP_INTERVALS,
    MeanShare,
    MeanShares,
    at_the_boundary,
    boundary_notes,
    combined,
    mean_limits,
    mean_of_columns,
    mean_over_people,
    mean_share_limits,
)
from warner.regression.mixed_models import effect_notes
from warner.regression.profiles import (
    Combination,
    Coordinates,
    LogOdds,
    ProfileStart,
    Quantity,
    infinite_sign,
    interval_method,
    profile_start,
    quantity_limits,
    wald_agrees,
)
from warner.regression.standard_errors import small_sample_notes
from warner.regression.variance_floors import floor_notes
from warner.results import (
    NOT_COMPUTED,
    Column,
    Estimates,
    Limits,
    TableResult,
    TableRows,
    coefficients,
    critical_value,
    freedom_column,
)
from warner.runtime import steps
from warner.text import enumerated, level_text, quoted
from warner.typesetting import in_digits, labels

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.regression.regressions import Regression


# Predictions


WIDE_INTERVAL = 0.5  # of a share
TARGETS_IN_WORDS = {"realised": "these respondents", "population": "the population that they are a sample of"}


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(TableResult):
    """Predicted shares, or means of a number, with their intervals, a row for each profile."""

    profiles: Mapping[str, Counts]  # given values, as many as there are rows; none for the mean over all respondents
    averaged: tuple[str, ...]  # variables without values: shares are means over their values among the respondents
    domain: Sequence[Label]  # the answers; empty where the mean of a number is predicted
    shares: Array  # of all answers, (rows, k); of one column for means, in the unit of the numbers
    errors: Array
    low: Array
    high: Array
    methods: tuple[tuple[str, ...], ...]  # "wald", of log-odds (of shares in a linear model), "profile", or "none"
    level: float
    target: str  # of the intervals of means: "population" or "realised"
    people: int  # number of respondents
    freedom: Array | None = None  # degrees of freedom of Student's t; None without clusters
    notes: tuple[str, ...] = ()  # caveats: few clusters, or reports with little information

    @property
    def quantity(self) -> str:
        """Predicted quantity: "share", or "mean" of a number."""
        return "share" if len(self.domain) else "mean"

    _rows_key = ""  # in JSON, "shares" or "means"

    def _columns(self) -> list[Column]:
        """Return the columns, a row for each profile and answer; of two answers, readers see the first alone."""
        rows, k = self.shares.shape
        answers = {"answer": objects(list(self.domain) * rows)} if len(self.domain) else {}
        profiles = {name: np.repeat(np.asarray(column), k) for name, column in self.profiles.items()}
        table: dict[str, Counts] = {
            **profiles,
            **answers,
            self.quantity: self.shares.ravel(),
            "se": self.errors.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "interval": objects(method for row in self.methods for method in row),
            "freedom": freedom_column(self.freedom, rows * k),
        }
        kept = np.isin(np.arange(rows * k) % k, answers_of_interest(k))
        unit, heading = ("share", "interval (%)") if answers else ("number", "interval")
        estimates = Estimates.of_table(table, self.quantity, kept, unit)
        return [
            *starmap(Column, table.items()),
            *(Column(heading=name, texts=partial(_values, column[kept])) for name, column in profiles.items()),
            *(Column(heading=name, texts=partial(labels, column[kept])) for name, column in answers.items()),
            *estimates.shown(self.quantity, f"{level_text(self.level)} {heading}"),
        ]

    def _title(self) -> str:
        return f"Predicted {self.quantity}s"

    def _footnotes(self) -> list[str]:
        over = f", with {enumerated(list(self.averaged))} as they are" if self.profiles else ""
        respondents = f"{self.people:,} respondents"
        if self.averaged or not self.profiles:
            about = f"means over {respondents}{over}; intervals are for {TARGETS_IN_WORDS[self.target]}"
        else:
            about = f"N = {respondents}"
        rest = [remainder(self.domain)] if len(self.domain) == 2 else []
        return [about, *rest, *self.notes]

    def _facts(self) -> Document:
        about = {"level": self.level, "target": self.target, "averaged": list(self.averaged), "people": self.people}
        return {**about, "notes": list(self.notes), f"{self.quantity}s": TableRows(self.table())}


def _values(column: Counts) -> list[str]:
    return list(map(_shown, column.tolist()))


def _shown(value: object) -> str:
    return in_digits(value, 6).replace(",", "") if isinstance(value, float) else str(value)


def predict_shares(fit: Regression, profiles: Any, level: float, target: str, interval: str) -> Prediction:
    method = interval_method(fit, interval)
    check_target(target)
    variables = fit.model_data.terms.variables
    given = {} if profiles is None else _profile_columns(profiles, variables)
    averaged = tuple(name for name in variables if name not in given)
    if profiles is not None and not averaged:
        predicted = for_profiles(fit, fit.model_data.terms.matrix(given), level, method)
    else:
        predicted = means(fit, given, target, level, interval if method != "none" else "none")
    domain, notes = _answers(fit), tuple(_notes(fit, given, predicted))
    low, high = (np.array([row[end] for row in predicted.limits]) for end in range(2))
    found = predicted.shares, predicted.errors, low, high, tuple(row.methods for row in predicted.limits)
    return Prediction(given, averaged, domain, *found, level, target, fit.people, predicted.freedom, notes)


def _answers(fit: Regression) -> Sequence[Label]:
    return () if fit.specification.of_number else fit.specification.domain


def _notes(fit: Regression, profiles: Columns, predicted: PredictedShares) -> list[str]:
    inside = ~np.isnan(predicted.errors[:, 0])
    rows = range(number_of_rows(profiles)) if profiles else ()
    names = [", ".join(f"{name} = {_shown(column[row])}" for name, column in profiles.items()) for row in rows]
    named = [name for name, known in zip(names or ["the mean"], inside.tolist(), strict=True) if known]
    notes = [] if inside.all() or fit.penalty is not None else boundary_notes(fit)
    shares = not fit.specification.of_number and not fit.model_data.observations.sampling.simple
    wide = shares and any((row.high - row.low > WIDE_INTERVAL).any() for row in predicted.limits)
    if wide and inside.all():
        notes.append(f"Some of these intervals are wider than {100 * WIDE_INTERVAL:.0f} points. {GROUP_INTERVALS}")
    some = f"some of these {'means' if fit.specification.of_number else 'shares'}"
    return _caveats(fit, notes, named, predicted.gradients[inside], predicted.freedom, [some] * predicted.floored)


def _caveats(
    fit: Regression, notes: list[str], names: list[str], slopes: Array, freedom: Array | None, floored: list[str]
) -> list[str]:
    """Return notes on what shares are, on intervals, and on small samples, clusters and floors."""
    clusters = [] if fit.clustered is None or freedom is None else fit.clustered.sentences(freedom)
    small = small_sample_notes(fit, names, slopes)
    return [*effect_notes(fit), *notes, *small, *clusters, *floor_notes(floored)]


def _profile_columns(profiles: Any, variables: Sequence[str]) -> Columns:
    """Columns of profiles: all variables of a frame or an array, the named ones of a mapping."""
    if isinstance(profiles, np.ndarray):
        return by_name(profiles, variables)
    if not isinstance(profiles, Mapping):
        return columns_of(profiles, variables)
    unknown = [name for name in profiles if name not in variables]
    if unknown or not profiles:
        raise ValueError(
            f"profiles must give variables of the model ({enumerated([repr(name) for name in variables], 8)}), "
            f"but got {enumerated([repr(name) for name in unknown]) or 'none'}"
        )
    return columns_of(profiles, list(profiles))


# Shares with their intervals


class PredictedShares(NamedTuple):
    """Shares, (rows, k), gradients of the first answer's share, intervals by row, and whether some rest on a floor."""

    shares: Array
    gradients: Array
    limits: list[Limits]
    floored: bool

    @property
    def errors(self) -> Array:
        return np.array([row.error for row in self.limits])

    @property
    def freedom(self) -> Array | None:
        return None if self.limits[0].freedom is None else np.array([row.freedom for row in self.limits])


def means(fit: Regression, profiles: Columns, target: str, level: float, method: str) -> PredictedShares:
    """Mean shares over respondents, with some variables set to each row of values in turn."""
    rows = range(number_of_rows(profiles))
    averages = [mean_over_people(fit, {name: column[row] for name, column in profiles.items()}) for row in rows]
    wald = partial(_wald, fit)
    found = [mean_limits(fit, mean, target, method, level, wald) for mean in steps(averages, "predictions")]
    shares, gradients = (
        np.array(part) for part in zip(*((one.shares, one.slopes[0]) for one in averages), strict=True)
    )
    return PredictedShares(shares, gradients, [one for one, _ in found], bool(np.any([which for _, which in found])))


def for_profiles(fit: Regression, x: Array, level: float, method: str) -> PredictedShares:
    b = fit.finite_coefficients
    shares, gradients = fit.specification.shares_at(b, x), fit.specification.share_gradients(b, x)
    accuracy, k = fit.accuracy(gradients), shares.shape[1]
    errors, freedom, _ = accuracy
    if fit.infinity is not None or fit.specification.empty:  # on the boundary there is no standard error
        errors[(shares < BOUNDARY_SHARE) | (shares > 1 - BOUNDARY_SHARE)] = np.nan
    each = [None] * len(x) if freedom is None else freedom
    ends = _wald(fit, shares, accuracy.half_widths(level))
    rows = zip(*ends, errors, each, strict=True)
    limits = [Limits(low, high, error, ("wald",) * k, NOT_COMPUTED, df) for low, high, error, df in rows]
    if method == "none":
        nothing = np.full(k, np.nan)
        limits = [row._replace(low=nothing, high=nothing, methods=("none",) * k) for row in limits]
    else:
        start = None if method == "wald" else profile_start(fit, float(critical_value(level)) ** 2)
        intervals = _ProfileIntervals(fit, start, level, wald_where_confirmed=method == "either")
        limits = [intervals.limits(*row) for row in steps(list(zip(x, limits, strict=True)), "predictions")]
    return PredictedShares(shares, gradients[:, 0], limits, bool(accuracy.floored(level).any()))


def _wald(fit: Regression, shares: Array, half: Array) -> tuple[Array, Array]:
    """Wald intervals on the scale of the log-odds, or of linear shares themselves."""
    if fit.log_likelihood is None:
        return shares - half, shares + half
    inside = (shares > BOUNDARY_SHARE) & (shares < 1 - BOUNDARY_SHARE)
    safe = np.where(inside, shares, 0.5)
    half_width = half / (safe * (1 - safe))
    low, high = expit(logit(safe) - half_width), expit(logit(safe) + half_width)
    # On the boundary there are no log-odds: one limit is known, and the other one is not.
    low = np.where(inside, low, np.where(shares < 0.5, 0.0, np.nan))
    high = np.where(inside, high, np.where(shares < 0.5, np.nan, 1.0))
    return low, high


class _ProfileIntervals(NamedTuple):
    """Intervals of shares, by profile likelihood from `start`, or Wald's."""

    fit: Regression
    start: ProfileStart | None
    level: float
    wald_where_confirmed: bool

    def limits(self, x: Array, wald_limits: Limits) -> Limits:
        low, high, methods = wald_limits.low, wald_limits.high, list(wald_limits.methods)
        k = len(methods)
        for answer in range(1 if k == 2 else k):
            wald = low[answer], high[answer]
            low[answer], high[answer], methods[answer] = self._answer(x, answer, wald)
        if k == 2:  # the other answer has the rest
            low[1], high[1], methods[1] = 1 - high[0], 1 - low[0], methods[0]
        return wald_limits._replace(methods=tuple(methods))

    def _answer(self, x: Array, answer: int, wald: tuple[float, float]) -> tuple[float, float, str]:
        fit, specification, z = self.fit, self.fit.specification, float(critical_value(self.level))
        odds = None if fit.log_likelihood is None else _odds(fit, x, answer)
        two_answers = len(specification.domain) == 2
        if odds is not None and two_answers and not infinite_sign(fit, odds.quantity, odds.coordinates):
            b, quantity = fit.finite_coefficients, odds.quantity  # on the scale of the link
            middle, half = quantity.value(b), float(fit.accuracy(quantity.gradient(b)).half_widths(self.level))
            first, second = odds.share(middle - half), odds.share(middle + half)
            wald = min(first, second), max(first, second)
        if self.start is None or specification.domain[answer] in specification.empty:
            return *wald, "wald"
        share = MeanShare(specification, x[np.newaxis], np.ones(1), answer)
        if self.wald_where_confirmed and wald_agrees(fit, share.expansion, wald, z):
            return *wald, "wald"
        if odds is None:  # of an answer between others in an order
            return *mean_share_limits(fit, share, z**2, self.start), "profile"
        low, high = sorted(map(odds.share, quantity_limits(fit, odds.quantity, z**2, odds.coordinates, self.start)))
        return low, high, "profile"


class _Odds(NamedTuple):
    """Quantity that determines the share of an answer, the share as its function, and its coordinates."""

    quantity: Quantity
    share: Callable[[float], float]
    coordinates: Coordinates


def _odds(fit: Regression, x: Array, answer: int) -> _Odds | None:
    """Return the quantity that determines the share of an answer; None for middle answers and means over groups."""
    specification = fit.specification
    family, size = specification.family, len(fit.finite_coefficients)
    same = Coordinates(fit.profile_likelihood, np.eye(size))
    if specification.effects is not None and len(specification.effects.positions) > 1:  # a mean over groups
        return None
    if isinstance(family, Softmax):
        if specification.mapping is not None:
            return None
        coordinates, predictor = same, answer - (answer > family.reference)
        if answer == family.reference:
            coordinates, predictor = _referenced(fit, family, answer)
        return _Odds(LogOdds(x, predictor, family.predictors), expit, coordinates)
    if isinstance(family, Binary):
        weights, side = _weights(fit, x, 0), 0 if answer == 1 - family.reference else 1
    elif isinstance(family, Cumulative) and answer in {0, family.k - 1}:
        weights, side = _weights(fit, x, min(answer, family.k - 2)), 0 if answer == 0 else 1
    else:
        return None
    return _Odds(Combination(weights), partial(_share, family.link, side), same)


def _share(link: Link, side: int, eta: float) -> float:
    return float(np.exp(link.sides(np.array([eta]))[side][0]))


def _weights(fit: Regression, x: Array, predictor: int) -> Array:
    """Weights c with c'b the predictor at columns x."""
    full = np.zeros((fit.specification.shares.predictors, len(x)))
    full[predictor] = x
    mapping = fit.specification.mapping
    return full.ravel() if mapping is None else np.asarray(full.ravel() @ mapping)


def _referenced(fit: Regression, family: Softmax, answer: int) -> tuple[Coordinates, int]:
    """Coordinates with another reference, so that the present one has a predictor, and the index of the predictor."""
    other = 0 if answer else 1
    columns = len(fit.model_data.terms.names)
    # Rows of B: those of all answers, less that of the new reference.
    every = np.insert(np.eye(family.predictors), family.reference, 0.0, axis=0)
    turn = np.delete(every - every[other], other, axis=0)
    likelihood = Likelihood(fit.model_data.observations, Softmax(family.k, other))
    return Coordinates(likelihood, np.kron(turn, np.eye(columns))), answer - (answer > other)


# Margins


EFFECT_STRIDE = 1e-3  # of the standard deviation of a column
LONGEST_STRIDE = 1e-2  # that a predictor may move
# Weights of the values at -2, -1, 1 and 2 strides: the error is of the fourth order.
DIFFERENCE_WEIGHTS = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}


@dataclass(frozen=True, eq=False, repr=False)
class Margins(TableResult):
    """Average marginal effects, a row for each effect."""

    effects: tuple[str, ...]  # a variable of numbers, or a level against the first, as in "region: north - south"
    domain: Sequence[Label]  # the answers; empty where the mean of a number is modeled
    changes: Array  # of the shares of all answers, (effects, k); of one column for the mean of a number, in its unit
    errors: Array
    low: Array
    high: Array
    level: float
    target: str  # "population" or "realised"
    freedom: Array | None  # degrees of freedom of Student's t; None without clusters
    people: int  # number of respondents
    statistic: Array  # change over standard error; signed root of the likelihood ratio where the interval is a profile
    methods: tuple[tuple[str, ...], ...]  # of each interval: "wald", "profile", or "none"
    notes: tuple[str, ...] = ()  # caveats: few clusters, or reports with little information

    _rows_key = "effects"

    def _columns(self) -> list[Column]:
        """Return the columns, a row for each effect and answer; of two answers, readers see the first alone."""
        rows, k = self.changes.shape
        answers = {"answer": list(self.domain) * rows} if len(self.domain) else {}
        names = {"term": (effect for effect in self.effects for _ in range(k)), **answers}
        numbers = (self.changes, self.low, self.high, self.errors, self.statistic)
        change, low, high, error, statistic = map(np.ravel, numbers)
        freedom = None if self.freedom is None else self.freedom.ravel()
        methods = tuple(method for row in self.methods for method in row)
        table = coefficients(names, change, Limits(low, high, error, methods, statistic, freedom))
        kept = np.isin(np.arange(rows * k) % k, answers_of_interest(k))
        unit = "change" if answers else "number"
        interval = f"{level_text(self.level)} interval{' (points)' if answers else ''}"
        return [
            *starmap(Column, table.items()),
            *(Column(heading=name, texts=partial(labels, table[name][kept])) for name in names),
            *Estimates.of_table(table, rows=kept, unit=unit).shown("change", interval),
        ]

    def _title(self) -> str:
        return f"Average marginal effects on {'shares' if len(self.domain) else 'the mean'}"

    def _footnotes(self) -> list[str]:
        about = f"averages over {self.people:,} respondents; intervals are for {TARGETS_IN_WORDS[self.target]}"
        if len(self.domain) != 2:
            return [about, *self.notes]
        first, second = map(quoted, self.domain)
        return [about, f"the share of {second} changes by the opposite of that of {first}", *self.notes]

    def _facts(self) -> Document:
        return {"level": self.level, "target": self.target, "people": self.people, "notes": list(self.notes)}


def marginal_effects(
    fit: Regression, variables: Iterable[str] | None, level: float, target: str, interval: str
) -> Margins:
    known = fit.model_data.terms.variables
    if isinstance(variables, str):
        raise TypeError(f"variables must be a list of names, but got the text {variables!r}; write [{variables!r}]")
    names = known if variables is None else tuple(variables)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise ValueError(
            f"variables must be some that the model uses ({enumerated([repr(name) for name in known], 8) or 'none'}), "
            f"but got {enumerated([repr(name) for name in unknown], 8) or 'none'}"
        )
    effects = [effect for name in names for effect in _effects(fit, name)]
    method = interval if interval_method(fit, interval) != "none" else "none"
    found = [
        mean_limits(fit, mean, target, method, level, lambda change, half: (change - half, change + half), tested=True)
        for _, mean in steps(effects, "marginal effects")
    ]
    low, high, errors, methods, statistic, freedoms = zip(*(limits for limits, _ in found), strict=True)
    freedom, floored = None if fit.clustered is None else np.array(freedoms), np.array([which for _, which in found])
    names, changes = tuple(name for name, _ in effects), np.array([mean.shares for _, mean in effects])
    numbers = changes, np.array(errors), np.array(low), np.array(high)
    inside = [(name, mean) for name, mean in effects if not at_the_boundary(fit, mean)]
    slopes = np.array([mean.slopes[0] for _, mean in inside]).reshape(-1, len(fit.finite_coefficients))
    boundary = boundary_notes(fit) if len(inside) < len(effects) else []
    some = [name for name, which in zip(names, floored.tolist(), strict=True) if any(which)]
    notes = tuple(_caveats(fit, boundary, [name for name, _ in inside], slopes, freedom, some))
    tests = np.array(statistic), methods
    return Margins(names, _answers(fit), *numbers, level, target, freedom, fit.people, *tests, notes)


def _effects(fit: Regression, name: str) -> Iterator[tuple[str, MeanShares]]:
    """Effects of a variable: one of a number, one for each further level of a factor."""
    model_data = fit.model_data
    values = model_data.covariates[name]
    levels = model_data.terms.levels.get(name)
    if levels is None and model_data.terms.kinds[name] != "number":
        levels = tuple(np.unique(values).tolist())
    if levels is None and np.isin(values, (0, 1)).all():
        levels = (0, 1)
    if levels is None:
        yield name, _derivative(fit, name)
        return
    first = mean_over_people(fit, {name: levels[0]})
    for level in levels[1:]:
        yield f"{name}: {level} - {levels[0]}", combined((1.0, -1.0), (mean_over_people(fit, {name: level}), first))


def _derivative(fit: Regression, name: str) -> MeanShares:
    columns = dict(fit.model_data.covariates)
    values = columns[name].astype(np.float64)
    stride = EFFECT_STRIDE * (float(values.std()) or 1.0)
    # Where slopes are steep, shorter ones: no predictor moves by more than that.
    ahead, here = (fit.model_data.terms.matrix(columns | {name: values + step}) for step in (stride, 0.0))
    moved = float(np.abs(fit.specification.matrix(fit.finite_coefficients) @ (ahead - here).T).max())
    stride *= min(1.0, LONGEST_STRIDE / moved) if moved > 0 else 1.0
    moved_means = [mean_of_columns(fit, columns | {name: values + strides * stride}) for strides in DIFFERENCE_WEIGHTS]
    return combined([weight / stride for weight in DIFFERENCE_WEIGHTS.values()], moved_means)
