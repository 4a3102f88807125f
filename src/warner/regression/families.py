r"""Response families: shares as functions of linear predictors, the likelihood of one report, links, specifications.

A family defines the log-likelihood of one report, :math:`\log\mu = \log\sum_k L_k\,\theta_k(\eta)`, as a function of a
few predictors :math:`\eta`, with its first and second derivatives (page "Regression on covariates"). Everything else
follows from these, for every family and every design. The curvature of a row can be negative, for an unexpected report.

A link has two forms. `plain` has the share :math:`F(\eta)`, the rest, the density f and :math:`f'/f`: enough where
every report is possible after every answer. `sides` has the logarithms of F and of :math:`1 - F`, and the ratios
:math:`f/F` and :math:`f/(1-F)`, which are accurate where a share comes near 0 or 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr, logit, ndtr, ndtri

from warner.designs.labels import all_labels
from warner.designs.ordered import is_numeric
from warner.regression.formulas import INTERCEPT, Terms
from warner.text import check_choice, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from warner.arrays import Array, Integers, Label


# Families


BOUNDARY_SHARE = 1e-6  # below which a share is on the boundary: its log-odds are as good as infinite


class Contributions(NamedTuple):
    """Log-likelihoods of rows, (n,), their gradients in the predictors, (f, n), and minus their Hessians, (f, f, n)."""

    log_likelihood: Array
    score: Array
    curvature: Array


class Shares(ABC):
    """Shares of k answers as functions of linear predictors."""

    k: int

    @property
    @abstractmethod
    def predictors(self) -> int:
        """Number f of linear predictors."""

    @abstractmethod
    def shares(self, eta: Array) -> Array:
        """Return the share of each answer, (k, n), at predictors (f, n)."""

    @abstractmethod
    def slopes(self, eta: Array) -> Array:
        """Return the derivatives of the shares in the predictors, (k, f, n)."""


class Family(Shares):
    """Shares that have a likelihood.

    `longest_step` is the largest change of a predictor in one step of Newton's method. `latent_sign` is -1 for
    cutpoints, which rise when an answer becomes less likely, and otherwise 1.
    """

    longest_step: float
    latent_sign: int = 1

    @abstractmethod
    def contributions(self, eta: Array, likelihood: Array) -> Contributions:
        """Log-likelihood of reports with derivatives; `likelihood` has the shape (k, n)."""

    @abstractmethod
    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        """Log-likelihood of reports; minus infinity where the predictors are out of bounds."""

    @abstractmethod
    def predictors_of(self, shares: Array) -> Array:
        """Return the predictors that lead to shares, (k, n)."""

    def rises(self) -> Array:
        """Return changes of the predictors that raise one answer against all others, a row for each."""
        return np.ones((1, self.predictors))

    def slopes(self, eta: Array) -> Array:
        r"""Return the derivatives of the shares: :math:`\theta_k` times the score of a true answer k."""
        truths = np.eye(self.k)
        shares = self.shares(eta)
        rows = [
            self.contributions(eta, np.repeat(truths[:, [k]], eta.shape[1], axis=1)).score * shares[k]
            for k in range(self.k)
        ]
        return np.array(rows)


@dataclass(frozen=True)
class Identity(Shares):
    """Shares that are linear themselves, of each answer but the reference; without one, the mean of a number."""

    k: int
    reference: int | None = None

    @property
    def predictors(self) -> int:
        return self.k - (self.reference is not None)

    def shares(self, eta: Array) -> Array:
        return eta if self.reference is None else np.insert(eta, self.reference, 1 - eta.sum(axis=0), axis=0)

    def slopes(self, eta: Array) -> Array:
        steps = np.eye(self.predictors)
        steps = steps if self.reference is None else np.insert(steps, self.reference, -1.0, axis=0)
        return np.repeat(steps[:, :, np.newaxis], eta.shape[1], axis=2)


@dataclass(frozen=True)
class Softmax(Family):
    """The multinomial logit: log-odds of each answer against the reference are linear.

    >>> family = Softmax(3, reference=2)
    >>> family.shares(np.array([[np.log(2.0)], [0.0]])).ravel()
    array([0.5 , 0.25, 0.25])
    """

    k: int
    reference: int
    longest_step: float = 3.0

    @property
    def predictors(self) -> int:
        return self.k - 1

    @cached_property
    def free(self) -> Integers:
        """Answers that have a predictor."""
        return np.delete(np.arange(self.k), self.reference)

    def rises(self) -> Array:
        """Return each answer in turn; the reference gains where all others lose, so that no answer is special."""
        return np.concatenate([np.eye(self.predictors), -np.ones((1, self.predictors))])

    def _all(self, eta: Array) -> Array:
        every = np.zeros((self.k, eta.shape[1]))
        every[self.free] = eta
        return every

    def shares(self, eta: Array) -> Array:
        every = self._all(eta)
        every -= every.max(axis=0)
        np.exp(every, out=every)
        every /= every.sum(axis=0)
        return every

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        if likelihood.min() > 0:  # then mu lies within [min L, max L], and plain arithmetic is safe
            return np.asarray(np.log((likelihood * self.shares(eta)).sum(axis=0)))
        return self._posterior(eta, likelihood)[1]

    def _posterior(self, eta: Array, likelihood: Array) -> tuple[Array, Array]:
        """Return r and log mu by sums of exponentials: correct also for direct answers, with L of 0 and 1."""
        every = self._all(eta)
        with np.errstate(divide="ignore"):
            joint = every + np.log(likelihood)
        top, total = joint.max(axis=0), every.max(axis=0)
        joint = np.exp(joint - top)
        mass = joint.sum(axis=0)
        return joint / mass, top + np.log(mass) - total - np.log(np.exp(every - total).sum(axis=0))

    def contributions(self, eta: Array, likelihood: Array) -> Contributions:
        shares = self.shares(eta)
        if likelihood.min() > 0:
            joint = likelihood * shares
            probability = joint.sum(axis=0)
            posterior, value = joint / probability, np.log(probability)
        else:
            posterior, value = self._posterior(eta, likelihood)
        theta, r = shares[self.free], posterior[self.free]
        curvature = r[:, np.newaxis] * r - theta[:, np.newaxis] * theta
        diagonal = np.arange(self.k - 1)
        curvature[diagonal, diagonal] += theta - r
        return Contributions(value, r - theta, curvature)

    def predictors_of(self, shares: Array) -> Array:
        logs = np.log(shares)
        return np.asarray(logs[self.free] - logs[self.reference])


class Direct(Softmax):
    r"""Corrected score: the debiased indicators z of the answers replace the likelihoods of the reports.

    :math:`z'\eta - \log\sum_k e^{\eta_k}` is the log-likelihood of direct answers, linear in their indicators. Because
    z sums to one it is concave, with score :math:`z - \theta` and curvature :math:`V(\theta)`.
    """

    def __init__(self, k: int) -> None:
        super().__init__(k, k - 1)

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        return self.contributions(eta, likelihood).log_likelihood

    def contributions(self, eta: Array, likelihood: Array) -> Contributions:
        top = np.maximum(eta.max(axis=0), 0.0)
        odds = np.exp(eta - top)
        total = odds.sum(axis=0) + np.exp(-top)
        theta = odds / total
        indicators = likelihood[:-1]
        curvature = -theta[:, np.newaxis] * theta
        diagonal = np.arange(len(theta))
        curvature[diagonal, diagonal] += theta
        value = (indicators * eta).sum(axis=0) - top - np.log(total)
        return Contributions(value, indicators - theta, curvature)


@dataclass(frozen=True)
class Binary(Family):
    r"""Two answers and a link: the share of the answer that is not the reference is :math:`F(\eta)`.

    With a and b the likelihoods of the report after this answer and after the other one, the score is
    :math:`s = (a - b) f/\mu`, and the curvature :math:`s^2 - s f'/f`.
    """

    link: Link
    reference: int = 1
    k: int = 2
    longest_step: float = 5.0

    @property
    def predictors(self) -> int:
        return 1

    def shares(self, eta: Array) -> Array:
        share, rest = self.link.plain(eta[0])[:2]
        return np.array([share, rest] if self.reference == 1 else [rest, share])

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        return self._evaluated(eta, likelihood)[0]

    def _evaluated(self, eta: Array, likelihood: Array) -> tuple[Array, Array, Array]:
        """Log-likelihood, score and f'/f."""
        a, b = likelihood[1 - self.reference], likelihood[self.reference]
        if likelihood.min() > 0:
            share, rest, density, bend = self.link.plain(eta[0])
            probability = a * share + b * rest
            return np.log(probability), (a - b) * density / probability, bend
        log_share, log_rest, over_share, over_rest, bend = self.link.sides(eta[0])
        with np.errstate(divide="ignore"):
            value = np.logaddexp(np.log(a) + log_share, np.log(b) + log_rest)
            posterior = np.exp(np.log(a) + log_share - value)  # of the answer, after the report
            other = np.exp(np.log(b) + log_rest - value)
        return value, posterior * over_share - other * over_rest, bend

    def contributions(self, eta: Array, likelihood: Array) -> Contributions:
        value, score, bend = self._evaluated(eta, likelihood)
        return Contributions(value, score[np.newaxis], (score * (score - bend))[np.newaxis, np.newaxis])

    def predictors_of(self, shares: Array) -> Array:
        return np.asarray(self.link.inverse(shares[[1 - self.reference]]))


@dataclass(frozen=True)
class Cumulative(Family):
    r"""Ordered answers: :math:`P(\text{answer} \le k) = F(\eta_k)`, with predictors that rise with k.

    The likelihood is linear in these, :math:`\mu = L_K + \sum_k (L_k - L_{k+1}) F(\eta_k)`, so that only
    derivatives of F are needed: :math:`g_k = (L_k - L_{k+1}) f(\eta_k)/\mu`, with curvature
    :math:`gg' - \operatorname{diag}(g f'/f)`.
    """

    k: int
    link: Link
    longest_step: float = 3.0
    latent_sign = -1

    @property
    def predictors(self) -> int:
        return self.k - 1

    def shares(self, eta: Array) -> Array:
        """Differences of F, on the side where they do not cancel."""
        share, rest = self.link.plain(eta)[:2]
        ends = np.zeros((1, eta.shape[1]))
        below = np.concatenate([ends, share, ends + 1])
        above = np.concatenate([ends + 1, rest, ends])
        low = np.concatenate([eta[:1], eta]) < 0
        return np.maximum(np.where(low, np.diff(below, axis=0), -np.diff(above, axis=0)), 0.0)

    def log_likelihood(self, eta: Array, likelihood: Array) -> Array:
        probability = (likelihood * self.shares(eta)).sum(axis=0)
        rising = (np.diff(eta, axis=0) >= 0).all(axis=0) & (probability > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rising, np.log(probability), -np.inf)

    def contributions(self, eta: Array, likelihood: Array) -> Contributions:
        plain = self.link.plain(eta)
        value = self.log_likelihood(eta, likelihood)
        probability = np.where(np.isfinite(value), np.exp(value), 1.0)
        score = (likelihood[:-1] - likelihood[1:]) * plain.density / probability
        curvature = score[:, np.newaxis] * score
        diagonal = np.arange(self.k - 1)
        curvature[diagonal, diagonal] -= score * plain.bend
        return Contributions(value, score, curvature)

    def predictors_of(self, shares: Array) -> Array:
        return np.asarray(self.link.inverse(shares.cumsum(axis=0)[:-1]))


# Links


LARGEST_PREDICTOR = 300.0  # of a predictor whose exponential is taken twice: its square is still a number
ROOT_TWO_PI = np.sqrt(2 * np.pi)


class Plain(NamedTuple):
    """F, 1 - F, f and f'/f at some predictors."""

    share: Array
    rest: Array
    density: Array
    bend: Array


class Sides(NamedTuple):
    """log F, log(1 - F), f/F, f/(1 - F) and f'/f at some predictors, accurate near 0 and 1."""

    log_share: Array
    log_rest: Array
    over_share: Array
    over_rest: Array
    bend: Array


class Link(NamedTuple):
    """Link function: its name, its values at predictors, and its inverse.

    >>> LINKS["cauchit"].plain(np.array([0.0, 1.0])).share
    array([0.5 , 0.75])
    """

    name: str
    plain: Callable[[Array], Plain]
    sides: Callable[[Array], Sides]
    inverse: Callable[[Array], Array]


def _logit(eta: Array) -> Plain:
    # One exponential for both sides: the smaller is e/(1 + e), the larger 1/(1 + e), with e = exp(-|eta|).
    small = np.exp(-np.abs(eta))
    large = 1 / (1 + small)
    small *= large
    above = eta >= 0
    share, rest = np.where(above, large, small), np.where(above, small, large)
    return Plain(share, rest, small * large, rest - share)


def _logit_sides(eta: Array) -> Sides:
    share, rest = expit(eta), expit(-eta)
    return Sides(log_expit(eta), log_expit(-eta), rest, share, rest - share)


def _probit(eta: Array) -> Plain:
    return Plain(ndtr(eta), ndtr(-eta), np.exp(-(eta**2) / 2) / ROOT_TWO_PI, -eta)


def _probit_sides(eta: Array) -> Sides:
    # f/F = sqrt(2/pi) / erfcx(-eta/sqrt 2), where the exponentials of f and of F have cancelled.
    with np.errstate(divide="ignore"):  # at infinity
        over_share, over_rest = (np.sqrt(2 / np.pi) / erfcx(side / np.sqrt(2)) for side in (-eta, eta))
    return Sides(log_ndtr(eta), log_ndtr(-eta), over_share, over_rest, -eta)


def _cloglog(eta: Array) -> Plain:
    # F = 1 - exp(-h), h = e^eta, with density f = h exp(-h).
    hazard = np.exp(np.clip(eta, -LARGEST_PREDICTOR, LARGEST_PREDICTOR))
    rest = np.exp(-hazard)
    return Plain(-np.expm1(-hazard), rest, hazard * rest, 1 - hazard)


def _cloglog_sides(eta: Array) -> Sides:
    hazard = np.exp(np.clip(eta, -LARGEST_PREDICTOR, LARGEST_PREDICTOR))
    share = -np.expm1(-hazard)
    return Sides(np.log(share), -hazard, hazard * np.exp(-hazard) / share, hazard, 1 - hazard)


def _cauchit(eta: Array) -> Plain:
    share, rest = np.arctan2(1.0, -eta) / np.pi, np.arctan2(1.0, eta) / np.pi
    return Plain(share, rest, 1 / (np.pi * (1 + eta**2)), -2 * eta / (1 + eta**2))


def _cauchit_sides(eta: Array) -> Sides:
    share, rest, density, bend = _cauchit(eta)
    return Sides(np.log(share), np.log(rest), density / share, density / rest, bend)


LINKS = {
    "logit": Link("logit", _logit, _logit_sides, logit),
    "probit": Link("probit", _probit, _probit_sides, ndtri),
    "cloglog": Link("cloglog", _cloglog, _cloglog_sides, lambda share: np.log(-np.log1p(-share))),
    "cauchit": Link("cauchit", _cauchit, _cauchit_sides, lambda share: np.tan(np.pi * (share - 0.5))),
}


# Specifications


EFFECT_DISTANCE = 0.25  # standard deviations between two effects that shares are averaged over
EFFECTS_TO_A_SIDE = 26  # of the median: up to 6.5 standard deviations
ROWS_WITH_EFFECTS = 2**12  # rows of columns for which shares under all effects are computed at a time
MODELS = ("multinomial", "ordered", "linear")
PENALTIES = ("jeffreys",)


class EffectLaw(NamedTuple):
    """Distribution of random effects, in standard deviations, that shares are averaged over."""

    positions: Array
    probabilities: Array


MEDIAN_GROUP = EffectLaw(np.zeros(1), np.ones(1))


@cache
def all_groups() -> EffectLaw:
    """Return a standard normal distribution as equally spaced points, whose sums are integrals to ten digits."""
    farthest = EFFECTS_TO_A_SIDE * EFFECT_DISTANCE
    positions = np.linspace(-farthest, farthest, 2 * EFFECTS_TO_A_SIDE + 1)
    density = np.exp(-(positions**2) / 2)
    return EffectLaw(positions, density / density.sum())


class Coefficient(NamedTuple):
    """Coefficient: its answer, None for all answers, and its term."""

    answer: Label | None
    term: str

    def __str__(self) -> str:
        return self.term if self.answer is None else f"{self.answer}: {self.term}"


@dataclass(frozen=True, eq=False)
class Specification:
    """Model specification: the shares, and how coefficients enter them."""

    model: str
    link: str
    domain: Sequence[Label]
    reference: Label | None  # None for ordered answers
    shares: Shares  # as functions of predictors
    coefficients: tuple[Coefficient, ...]  # in the order of every result
    groups: Mapping[str, tuple[int, ...]]  # coefficients of each term
    mapping: Array | None = None  # from coefficients to the matrix B, (f * P, coefficients); None for the identity
    cuts: int = 0  # cutpoints of ordered answers, which are the first coefficients
    empty: tuple[Label, ...] = ()  # middle answers with a share of 0, since the cutpoints on both sides are merged
    values: Array | None = None  # numeric values of the answers, if their mean is modeled; None for shares
    effects: EffectLaw | None = None  # random intercepts, whose standard deviation comes after the coefficients

    @property
    def of_number(self) -> bool:
        return self.values is not None

    @property
    def of_answers_themselves(self) -> bool:
        """Return True if the answers are the numbers themselves."""
        numbers = all_labels(self.domain) if is_numeric(self.domain) else None  # type: ignore[arg-type]
        return (
            self.values is not None and numbers is not None and bool((numbers.astype(np.float64) == self.values).all())
        )

    @property
    def reference_index(self) -> int:
        """Index of the reference; of the last answer if there is none."""
        answers: list[Label | None] = list(self.domain)
        return len(answers) - 1 if self.reference is None else answers.index(self.reference)

    @property
    def family(self) -> Family:
        if not isinstance(self.shares, Family):
            raise TypeError(f"a {self.model} model has no likelihood")
        return self.shares

    def matrix(self, b: Array) -> Array:
        """Matrix B of the coefficients, with a row for each predictor."""
        full = b if self.mapping is None else self.mapping @ b
        return np.asarray(full.reshape(self.shares.predictors, -1))

    def with_effects(self, x: Array) -> tuple[Array, Array | None]:
        """Repeat rows of columns for each random effect, which is one more column, and extend the mapping.

        The standard deviation is the coefficient of that column, in all predictors.
        """
        if self.effects is None:
            return x, self.mapping
        assert self.mapping is not None
        positions, f = self.effects.positions, self.shares.predictors
        wide = np.column_stack([np.repeat(x, len(positions), axis=0), np.tile(positions, len(x))])
        mapping = np.zeros((f, x.shape[1] + 1, self.mapping.shape[1]))
        mapping[:, :-1] = self.mapping.reshape(f, x.shape[1], -1)
        mapping[:, -1, -1] = self.family.latent_sign
        return wide, mapping.reshape(f * (x.shape[1] + 1), -1)

    def shares_at(self, b: Array, x: Array) -> Array:
        """Return the shares of all answers for rows of columns, (n, k)."""

        def shares(x: Array, mapping: Array | None) -> Array:
            return self.shares.shares(self.predictors(b, x, mapping)).T

        return self._averaged(x, shares)

    def share_gradients(self, b: Array, x: Array) -> Array:
        """Return the derivatives of the shares in the coefficients, (n, k, coefficients)."""

        def gradients(x: Array, mapping: Array | None) -> Array:
            slopes = self.shares.slopes(self.predictors(b, x, mapping))
            full = np.einsum("kfn,np->nkfp", slopes, x).reshape(len(x), self.shares.k, -1)
            return full if mapping is None else np.asarray(full @ mapping)

        return self._averaged(x, gradients)

    def _averaged(self, x: Array, of: Callable[[Array, Array | None], Array]) -> Array:
        """Average a function of rows, (rows, ...), over the random effects, in blocks of rows."""
        if self.effects is None:
            return of(x, self.mapping)
        law = self.effects
        parts = []
        for start in range(0, len(x), ROWS_WITH_EFFECTS):
            values = of(*self.with_effects(x[start : start + ROWS_WITH_EFFECTS]))
            apart = values.reshape(-1, len(law.positions), *values.shape[1:])
            parts.append(np.tensordot(law.probabilities, apart, axes=(0, 1)))
        return np.concatenate(parts)

    def predictors(self, b: Array, x: Array, mapping: Array | None) -> Array:
        """Return the predictors, (f, n), of rows from `with_effects`."""
        full = b if mapping is None else mapping @ b
        return np.asarray(full.reshape(self.shares.predictors, -1) @ x.T)


def with_random_intercepts(specification: Specification) -> Specification:
    mapping = specification.mapping
    if mapping is None:
        mapping = np.eye(len(specification.coefficients))
    return replace(specification, mapping=np.column_stack([mapping, np.zeros(len(mapping))]), effects=all_groups())


def without_random_intercepts(specification: Specification) -> Specification:
    if specification.effects is None:
        return specification
    assert specification.mapping is not None
    return replace(specification, mapping=specification.mapping[:, :-1], effects=None)


def check_options(
    model: str,
    link: str,
    penalty: str | None,
    errors: str | None,
    starts: int | None = None,
    values: object = None,
    reference: object = None,
) -> None:
    """Raise an error for models, links and penalties that do not exist or do not go together."""
    if starts is not None and (not isinstance(starts, int | np.integer) or isinstance(starts, bool) or starts < 0):
        raise ValueError(f"starts must be a whole number, 0 or more, but got {starts!r}")
    check_choice("model", model, MODELS)
    check_choice("link", link, LINKS)
    if penalty is not None:
        check_choice("penalty", penalty, PENALTIES)
    if model == "linear" and (penalty is not None or link != "logit" or errors not in {None, "robust"}):
        raise ValueError(
            "a linear model has neither link nor penalty, and its errors are robust: leave link, penalty and errors out"
        )
    if values is not None and model != "linear":
        raise ValueError(f'values must come with model="linear", which models their mean, but the model is {model}')
    if values is not None and reference is not None:
        raise ValueError("reference must be left out with values: a mean has no answer that others are compared with")


def specified(terms: Terms, domain: Sequence[Label], model: str, link: str, reference: Label | None) -> Specification:
    if reference is None:
        reference = domain[-1]
    elif reference not in domain:
        raise ValueError(
            f"reference must be one of the answers, but got {reference!r}{did_you_mean(reference, domain)}"
        )
    if model == "linear":
        index = list(domain).index(reference)
        return _blocks("linear", "identity", terms, domain, index, Identity(len(domain), index))
    if model == "ordered":
        return ordered(terms, domain, link)
    if link != "logit" and len(domain) > 2:
        raise ValueError(f'link must be "logit" for more than two answers, unless model="ordered", but got {link!r}')
    return multinomial(terms, domain, reference, link)


def multinomial(terms: Terms, domain: Sequence[Label], reference: Label, link: str = "logit") -> Specification:
    index = list(domain).index(reference)
    shares = Binary(LINKS[link], index) if len(domain) == 2 else Softmax(len(domain), index)
    return _blocks("multinomial", link, terms, domain, index, shares)


def linear_mean(terms: Terms, domain: Sequence[Label], values: Array) -> Specification:
    coefficients = tuple(Coefficient(None, name) for name in terms.names)
    groups = {term: tuple(columns) for term, columns in terms.groups.items()}
    return Specification("linear", "identity", domain, None, Identity(1), coefficients, groups, values=values)


def _blocks(
    model: str, link: str, terms: Terms, domain: Sequence[Label], reference: int, shares: Shares
) -> Specification:
    answers = [answer for index, answer in enumerate(domain) if index != reference]
    coefficients = tuple(Coefficient(answer, name) for answer in answers for name in terms.names)
    width = len(terms.names)
    groups = {
        term: tuple(block * width + column for block in range(len(answers)) for column in columns)
        for term, columns in terms.groups.items()
    }
    return Specification(model, link, domain, domain[reference], shares, coefficients, groups)


def ordered(terms: Terms, domain: Sequence[Label], link: str = "logit") -> Specification:
    r"""Cutpoints and common slopes: :math:`P(\text{answer} \le k) = F(c_k - x'b)`.

    The cutpoints take the place of the intercept, the first column.
    """
    width, cuts = len(terms.names), len(domain) - 1
    if terms.names[:1] != (INTERCEPT,):
        raise ValueError("an ordered model has cutpoints instead of an intercept: leave '- 1' or '0 +' out")
    # B has a row (c_k, -b) for each cut.
    mapping = np.zeros((cuts, width, cuts + width - 1))
    mapping[np.arange(cuts), 0, np.arange(cuts)] = 1
    for column in range(1, width):
        mapping[:, column, cuts + column - 1] = -1
    names = [Coefficient(None, f"{low} | {high}") for low, high in pairwise(domain)]
    slopes = [Coefficient(None, name) for name in terms.names[1:]]
    groups = {
        term: tuple(cuts + column - 1 for column in columns)
        for term, columns in terms.groups.items()
        if columns != (0,)
    }
    return Specification(
        "ordered",
        link,
        domain,
        None,
        Cumulative(len(domain), LINKS[link]),
        (*names, *slopes),
        groups,
        mapping.reshape(cuts * width, -1),
        cuts,
    )


def with_merged_cutpoints(specification: Specification, cut: int) -> Specification:
    """Merge a cutpoint with the next one, so that the answer between them has a share of 0."""
    assert specification.mapping is not None
    answers = [answer for answer in specification.domain if answer not in specification.empty]
    empty = (*specification.empty, answers[cut + 1])
    del answers[cut + 1]
    mapping = np.delete(specification.mapping, cut + 1, axis=1)
    mapping[:, cut] += specification.mapping[:, cut + 1]
    names = [Coefficient(None, f"{low} | {high}") for low, high in pairwise(answers)]
    return replace(
        specification,
        coefficients=(*names, *specification.coefficients[specification.cuts :]),
        groups={term: tuple(index - 1 for index in indices) for term, indices in specification.groups.items()},
        mapping=mapping,
        cuts=specification.cuts - 1,
        empty=empty,
    )
