r"""Shares that a model predicts: for people with given covariates, or on average over the people of the sample.

The interval of the share of one profile is that of the profile likelihood of its log-odds (of the share itself for
answers between others in an order), where that is taken for coefficients (`limits`): near the noise floor nothing else
keeps its level. Wald's interval is found on the scale of the log-odds, where it is nearly symmetric: for two answers
:math:`x'b \pm z\,\mathrm{se}`, for more :math:`\operatorname{logit}\theta_k` with the error of the delta method. It is
taken where the reports tell much and the profile confirms both its ends; for means over people (`means`), where the
profile confirms them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from warner.arrays import objects
from warner.inference.two_answers import answers_of_interest, remainder
from warner.regression.cluster_robust import Accuracy
from warner.regression.covariates import columns_of, number_of_rows
from warner.regression.families import Binary, Cumulative, Softmax
from warner.regression.intervals import Coordinates, ends_of, infinite_in, summit, taken, wald_agrees
from warner.regression.likelihood import Likelihood
from warner.regression.mean_profiles import MeanShare
from warner.regression.mean_shares import boundary_notes, check_target, mean_ends, mean_limits, mean_over_people
from warner.regression.profiles import Combination, LogOdds
from warner.regression.small_samples import cautions
from warner.regression.terms import by_name
from warner.results import Result, critical_value, freedom_column, rows
from warner.typesetting import Printed, in_digits, labels, share_columns
from warner.words import counted, enumerated, level_text, percent, sentence, tabulated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from warner.arrays import Array, Counts, Label
    from warner.documents import Document
    from warner.regression.covariates import Columns
    from warner.regression.intervals import Summit
    from warner.regression.links import Link
    from warner.regression.profiles import Quantity
    from warner.regression.regressions import Regression

EMPTY = 1e-6  # a share below this is on the boundary: its log-odds are as good as infinite
LISTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Result):
    """Shares with their intervals, a row for each profile.

    Attributes
    ----------
    profiles : mapping of str to array
        The values that were given, as many as there are rows; none for the mean over all people.
    averaged : tuple of str
        The variables that were not given: shares are means over their values among the people.
    domain : sequence of labels
        The answers.
    shares, errors, low, high : arrays of shape (rows, k)
        Shares of all answers, their standard errors, and intervals.
    methods : tuple of tuple of str
        How each interval was found: "wald" on the scale of the log-odds (of the share itself for a linear model),
        "profile", or "none".
    level : float
        Their confidence level.
    target : str
        Whether means are for these people ("realised") or for the population that they are a sample of.
    people : int
        The number of people whose reports were used.
    freedom : array of shape (rows, k), or None
        Degrees of freedom of Student's t of each interval; None without clusters, for the normal distribution.
    notes : tuple of str
        What must be said wherever these numbers are used: that clusters are few, or that reports tell little.
    """

    profiles: Mapping[str, Counts]
    averaged: tuple[str, ...]
    domain: Sequence[Label]
    shares: Array
    errors: Array
    low: Array
    high: Array
    methods: tuple[tuple[str, ...], ...]
    level: float
    target: str
    people: int
    freedom: Array | None = None
    notes: tuple[str, ...] = ()

    def table(self) -> dict[str, Counts]:
        """Give columns as arrays, a row for each profile and answer.

        Returns
        -------
        dict of ndarray
            The columns of the profile; ``answer``, ``share``, ``se``, ``low``, ``high``, ``interval`` and ``freedom``,
            the degrees of freedom of Student's t with clusters, else infinite.
        """
        rows, k = self.shares.shape
        return {name: np.repeat(np.asarray(column), k) for name, column in self.profiles.items()} | {
            "answer": objects(list(self.domain) * rows),
            "share": self.shares.ravel(),
            "se": self.errors.ravel(),
            "low": self.low.ravel(),
            "high": self.high.ravel(),
            "interval": objects(method for row in self.methods for method in row),
            "freedom": freedom_column(self.freedom, rows * k),
        }

    def to_dict(self) -> Document:
        """Give what JSON can hold."""
        return {
            "level": self.level,
            "target": self.target,
            "averaged": list(self.averaged),
            "people": self.people,
            "notes": list(self.notes),
            "shares": rows(self.table()),
        }

    def of_interest(self) -> dict[str, Counts]:
        """Give the table as people read it: of two answers the first alone, since the other has the rest."""
        kept = np.isin(np.arange(self.shares.size) % len(self.domain), answers_of_interest(len(self.domain)))
        return {name: column[kept] for name, column in self.table().items()}

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: shares in percent."""
        del options  # the table has none
        table = self.of_interest()
        columns = {name: [_shown(value) for value in table[name].tolist()] for name in self.profiles}
        columns["answer"] = labels(table["answer"])
        columns |= share_columns(table, f"{level_text(self.level)} interval", {"se": "se (points)"})
        people = [f"N = {counted(self.people, 'person', 'people')}"] * (not self._remarks())
        return Printed(
            columns, "Predicted shares", tuple(map(sentence, [*people, *self._remarks(), *self._rest(), *self.notes]))
        )

    def _rest(self) -> list[str]:
        return [remainder(self.domain)] if len(self.domain) == 2 else []

    def text(self) -> str:
        """Write the shares as a table for people."""
        table = self.of_interest()
        columns = {name: [_shown(value) for value in table[name].tolist()] for name in self.profiles}
        columns["answer"] = [str(answer) for answer in table["answer"]]
        columns["share"] = [percent(share) for share in table["share"]]
        columns["se"] = ["-" if np.isnan(error) else percent(error) for error in table["se"]]
        columns[f"{level_text(self.level)} interval"] = [
            "-" if np.isnan(low) and np.isnan(high) else f"{_end(low)} to {_end(high)}"
            for low, high in zip(table["low"], table["high"], strict=True)
        ]
        return "\n".join(
            [*tabulated(columns, left=len(self.profiles) + 1), *self._rest(), *self._remarks(), *self.notes]
        )

    def _remarks(self) -> list[str]:
        """Say whom means are over."""
        if not self.averaged and self.profiles:
            return []
        over = f", with {enumerated(list(self.averaged), LISTED)} as they are" if self.profiles else ""
        whom = "these people" if self.target == "realised" else "the population that they are a sample of"
        return [f"Means over {counted(self.people, 'person', 'people')}{over}; intervals are for {whom}."]


def _end(share: float) -> str:
    return "?" if np.isnan(share) else percent(share)


def _shown(value: object) -> str:
    return in_digits(value, 6).replace(",", "") if isinstance(value, float) else str(value)


def predicted(
    fit: Regression, profiles: Any = None, *, level: float = 0.95, target: str = "realised", interval: str = "auto"
) -> Prediction:
    """Predict shares; see `Regression.predict`."""
    method = taken(fit, interval)
    check_target(target)
    variables = fit.model_data.terms.variables
    given = {} if profiles is None else _given(profiles, variables)
    averaged = tuple(name for name in variables if name not in given)
    if profiles is not None and not averaged:
        found = _of_profiles(fit, fit.model_data.terms.matrix(given), level, method)
    else:
        found = _of_means(fit, given, target, level, interval if method != "none" else "none")
    low, high, methods = zip(*found.ends, strict=True)
    errors, freedom = found.accuracy
    return Prediction(
        given,
        averaged,
        fit.specification.domain,
        found.shares,
        errors,
        np.array(low),
        np.array(high),
        methods,
        level,
        target,
        fit.people,
        freedom,
        tuple(_notes(fit, given, found)),
    )


def _notes(fit: Regression, given: Columns, found: _Found) -> list[str]:
    """Say where the reports tell too little, or clusters are few."""
    errors, freedom = found.accuracy
    inside = ~np.isnan(errors[:, 0])
    rows = range(number_of_rows(given)) if given else ()
    names = [", ".join(f"{name} = {_shown(column[row])}" for name, column in given.items()) for row in rows]
    named = [name for name, known in zip(names or ["the mean"], inside.tolist(), strict=True) if known]
    said = [] if inside.all() or fit.penalty is not None else boundary_notes(fit)
    said += cautions(fit, named, found.slopes[inside])
    return said + ([] if fit.clustered is None or freedom is None else fit.clustered.sentences(freedom))


def _given(profiles: Any, variables: Sequence[str]) -> Columns:
    """Read profiles: of a frame or an array all variables, of a mapping those that it has."""
    if isinstance(profiles, np.ndarray):
        return by_name(profiles, variables)
    if not isinstance(profiles, Mapping):
        return columns_of(profiles, variables)
    strange = [name for name in profiles if name not in variables]
    if strange or not profiles:
        raise ValueError(
            f"profiles must give variables of the model ({enumerated([repr(name) for name in variables], 8)}), "
            f"but got {enumerated([repr(name) for name in strange], LISTED) or 'none'}"
        )
    return columns_of(profiles, list(profiles))


# Intervals

Ends = tuple["Array", "Array", tuple[str, ...]]


class _Found(NamedTuple):
    """Shares, derivatives of those of the first answer in the coefficients, errors, and intervals."""

    shares: Array
    slopes: Array
    accuracy: Accuracy
    ends: list[Ends]


def _of_means(fit: Regression, given: Columns, target: str, level: float, method: str) -> _Found:
    """Give means over people, with some variables set to each row of values in turn."""
    rows = range(number_of_rows(given))
    means = [mean_over_people(fit, {name: column[row] for name, column in given.items()}) for row in rows]
    found = [mean_limits(fit, mean, target, method, level, partial(_around, fit)) for mean in means]
    freedom = None if fit.clustered is None else np.array([one.freedom for one in found])
    accuracy = Accuracy(np.array([one.errors for one in found]), freedom)
    shares, slopes = np.array([mean.shares for mean in means]), np.array([mean.slopes[0] for mean in means])
    return _Found(shares, slopes, accuracy, [(one.low, one.high, one.methods) for one in found])


def _of_profiles(fit: Regression, x: Array, level: float, method: str) -> _Found:
    """Give the shares of people with each row of columns."""
    shares, slopes = fit.specification.shares_at(fit.point, x), fit.specification.slopes_at(fit.point, x)
    errors, freedom = fit.accuracy(slopes)
    reach = np.broadcast_to(critical_value(level, freedom), shares.shape)
    if fit.infinity is not None or fit.specification.empty:  # on the boundary there is no standard error
        errors[(shares < EMPTY) | (shares > 1 - EMPTY)] = np.nan
    top = summit(fit, float(critical_value(level)) ** 2) if method in {"profile", "either"} else None
    ends = [
        _of_profile(fit, row, share, error, times, method, top)
        for row, share, error, times in zip(x, shares, errors, reach, strict=True)
    ]
    return _Found(shares, slopes[:, 0], Accuracy(errors, freedom), ends)


def _around(fit: Regression, shares: Array, errors: Array, reach: Array) -> tuple[Array, Array]:
    """Give Wald's intervals: on the scale of the log-odds, or of the shares themselves where these are linear."""
    if fit.log_likelihood is None:
        return shares - reach * errors, shares + reach * errors
    inside = (shares > EMPTY) & (shares < 1 - EMPTY)
    safe = np.where(inside, shares, 0.5)
    half = reach * errors / (safe * (1 - safe))
    low, high = expit(logit(safe) - half), expit(logit(safe) + half)
    # On the boundary there are no log-odds: one end is known, and the other one is not.
    low = np.where(inside, low, np.where(shares < 0.5, 0.0, np.nan))
    high = np.where(inside, high, np.where(shares < 0.5, np.nan, 1.0))
    return low, high


class _Odds(NamedTuple):
    """A quantity that the share of an answer depends on alone, how, and the coefficients that it is a function of."""

    quantity: Quantity
    share: Callable[[float], float]
    coordinates: Coordinates


def _of_profile(
    fit: Regression, x: Array, shares: Array, errors: Array, reach: Array, method: str, top: Summit | None
) -> Ends:
    """Give the intervals of one profile: by profile likelihood from `top`, or Wald's."""
    k, empty = len(shares), fit.specification.empty
    if method == "none":
        nothing = np.full(k, np.nan)
        return nothing, nothing, ("none",) * k
    low, high = _around(fit, shares, errors, reach)
    methods = ["wald"] * k
    for answer in range(1 if k == 2 else k):
        odds = None if fit.log_likelihood is None else _odds(fit, x, answer)
        if odds is not None and k == 2 and not infinite_in(fit, odds.quantity, odds.coordinates):
            # On the scale of the link, whichever it is.
            gradient = odds.quantity.gradient(fit.point)
            middle, half = odds.quantity.value(fit.point), float(reach[answer] * fit.accuracy(gradient).errors)
            low[answer], high[answer] = sorted((odds.share(middle - half), odds.share(middle + half)))
        if top is None or fit.specification.domain[answer] in empty:
            continue
        times = float(reach[answer])
        share, wald = MeanShare(fit.specification, x[np.newaxis], np.ones(1), answer), (low[answer], high[answer])
        if method == "either" and wald_agrees(fit, share.at, wald, times):
            continue
        methods[answer] = "profile"
        if odds is None:  # of an answer between others in an order
            low[answer], high[answer] = mean_ends(fit, share, times**2, top)
        else:
            ends = ends_of(fit, odds.quantity, times**2, odds.coordinates, top)
            low[answer], high[answer] = sorted(map(odds.share, ends))
    if k == 2:  # the other answer has the rest
        low[1], high[1], methods[1] = 1 - high[0], 1 - low[0], methods[0]
    return low, high, tuple(methods)


def _odds(fit: Regression, x: Array, answer: int) -> _Odds | None:
    """Give what the share of an answer is a function of; None for answers between others in an order."""
    specification = fit.specification
    family, size = specification.family, len(fit.point)
    same = Coordinates(fit.likelihood, np.eye(size))
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
    """Give F or 1 - F."""
    return float(np.exp(link.sides(np.array([eta]))[side][0]))


def _weights(fit: Regression, x: Array, predictor: int) -> Array:
    """Give c with c'b the predictor at columns x."""
    full = np.zeros((fit.specification.shares.predictors, len(x)))
    full[predictor] = x
    mapping = fit.specification.mapping
    return full.ravel() if mapping is None else np.asarray(full.ravel() @ mapping)


def _referenced(fit: Regression, family: Softmax, answer: int) -> tuple[Coordinates, int]:
    """Compare the answers with another reference, so that the present one has a predictor, and give its number."""
    other = 0 if answer else 1
    columns = len(fit.model_data.terms.names)
    # Rows of B: those of all answers, less that of the new reference.
    every = np.insert(np.eye(family.predictors), family.reference, 0.0, axis=0)
    turn = np.delete(every - every[other], other, axis=0)
    likelihood = Likelihood(fit.model_data.observations, Softmax(family.k, other))
    return Coordinates(likelihood, np.kron(turn, np.eye(columns))), answer - (answer > other)
