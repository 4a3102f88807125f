"""Model specifications: which coefficients a model has, for which answers and terms, and how they enter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.grids import is_numeric
from warner.designs.labels import all_labels
from warner.regression.families import Binary, Cumulative, Family, Identity, MeanNumber, Shares, Softmax
from warner.regression.links import LINKS
from warner.regression.terms import INTERCEPT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from warner.arrays import Array, Label
    from warner.regression.terms import Terms

EFFECT_DISTANCE = 0.25  # standard deviations between two effects that shares are averaged over
EFFECTS_TO_A_SIDE = 26  # of the median: up to 6.5 standard deviations
ROWS_WITH_EFFECTS = 2**12  # rows of columns for which shares under all effects are computed at a time
MODELS = ("multinomial", "ordered", "linear")
PENALTIES = ("jeffreys",)


class EffectLaw(NamedTuple):
    """Effects of groups, in standard deviations, that shares are averaged over, and their probabilities."""

    positions: Array
    probabilities: Array


MEDIAN_GROUP = EffectLaw(np.zeros(1), np.ones(1))


@cache
def all_groups() -> EffectLaw:
    """Give a standard normal law of effects as equally spaced ones, whose sums are integrals to ten digits."""
    farthest = EFFECTS_TO_A_SIDE * EFFECT_DISTANCE
    positions = np.linspace(-farthest, farthest, 2 * EFFECTS_TO_A_SIDE + 1)
    density = np.exp(-(positions**2) / 2)
    return EffectLaw(positions, density / density.sum())


class Coefficient(NamedTuple):
    """A coefficient: the answer whose share it is about, None if it is about all of them, and its term."""

    answer: Label | None
    term: str

    def __str__(self) -> str:
        return self.term if self.answer is None else f"{self.answer}: {self.term}"


@dataclass(frozen=True, eq=False)
class Specification:
    """What is estimated.

    Attributes
    ----------
    model, link : str
        The names of the model, and of the link of its shares.
    domain : sequence of labels
        The answers.
    reference : label, optional
        The answer that the others are compared with; None where answers are ordered.
    shares : Shares
        How shares follow from predictors.
    coefficients : tuple of Coefficient
        In the order of every result.
    mapping : array of shape (f * P, coefficients), optional
        How the coefficients enter the matrix B of predictors and columns; None if they are all of its entries.
    groups : mapping of str to tuple of int
        The coefficients of each term.
    cuts : int
        How many of the coefficients, the first ones, are cutpoints of ordered answers.
    empty : tuple of labels
        Ordered answers, none of them the first or the last, that nobody holds: the cutpoints on both sides are one.
    values : array of shape (answers,), optional
        The numbers that answers stand for, where their mean is modelled; None for shares.
    effects : EffectLaw, optional
        With random intercepts, the effects that shares are averaged over. The standard deviation of effects then comes
        after the coefficients, wherever these are taken.
    """

    model: str
    link: str
    domain: Sequence[Label]
    reference: Label | None
    shares: Shares
    coefficients: tuple[Coefficient, ...]
    groups: Mapping[str, tuple[int, ...]]
    mapping: Array | None = None
    cuts: int = 0
    empty: tuple[Label, ...] = ()
    values: Array | None = None
    effects: EffectLaw | None = None

    @property
    def of_number(self) -> bool:
        """Whether the mean of a number is modelled, and not shares of answers."""
        return self.values is not None

    @property
    def of_answers_themselves(self) -> bool:
        """Whether the numbers are those that the answers are."""
        own = all_labels(self.domain) if is_numeric(self.domain) else None  # type: ignore[arg-type]
        return self.values is not None and own is not None and bool((own.astype(np.float64) == self.values).all())

    @property
    def reference_place(self) -> int:
        """The number of the reference; that of the last answer where there is none."""
        answers: list[Label | None] = list(self.domain)
        return len(answers) - 1 if self.reference is None else answers.index(self.reference)

    @property
    def family(self) -> Family:
        """The family of the likelihood."""
        if not isinstance(self.shares, Family):
            raise TypeError(f"a {self.model} model has no likelihood")
        return self.shares

    def matrix(self, b: Array) -> Array:
        """Give B, a row for each predictor, from coefficients."""
        full = b if self.mapping is None else self.mapping @ b
        return np.asarray(full.reshape(self.shares.predictors, -1))

    def with_effects(self, x: Array) -> tuple[Array, Array | None]:
        """Give rows of columns once for each effect of a group, with the effect as one more column, and the mapping.

        The standard deviation is the coefficient of that column, in all predictors. Without random intercepts, all is
        as it was.
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
        """Give the shares of all answers for rows of columns: (n, k)."""

        def shares(x: Array, mapping: Array | None) -> Array:
            return self.shares.shares(self.predictors(b, x, mapping)).T

        return self._averaged(x, shares)

    def share_gradients(self, b: Array, x: Array) -> Array:
        """Give the derivatives of these shares in the coefficients: (n, k, coefficients)."""

        def gradients(x: Array, mapping: Array | None) -> Array:
            slopes = self.shares.slopes(self.predictors(b, x, mapping))
            full = np.einsum("kfn,np->nkfp", slopes, x).reshape(len(x), self.shares.k, -1)
            return full if mapping is None else np.asarray(full @ mapping)

        return self._averaged(x, gradients)

    def _averaged(self, x: Array, of: Callable[[Array, Array | None], Array]) -> Array:
        """Average something, (rows, ...), over the effects of groups: some rows at a time."""
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
        """Give the predictors, (f, n), of rows `with_effects`."""
        full = b if mapping is None else mapping @ b
        return np.asarray(full.reshape(self.shares.predictors, -1) @ x.T)


def with_random_intercepts(specification: Specification) -> Specification:
    """Add the standard deviation of groups' effects as a last coefficient; shares are averaged over all groups."""
    mapping = specification.mapping
    if mapping is None:
        mapping = np.eye(len(specification.coefficients))
    return replace(specification, mapping=np.column_stack([mapping, np.zeros(len(mapping))]), effects=all_groups())


def without_random_intercepts(specification: Specification) -> Specification:
    """Take the standard deviation of groups' effects away, if there is one."""
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
    """Refuse models, links and penalties that do not exist, or not together."""
    if starts is not None and (not isinstance(starts, int | np.integer) or isinstance(starts, bool) or starts < 0):
        raise ValueError(f"starts must be a whole number, 0 or more, but got {starts!r}")
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, but got {model!r}")
    if link not in LINKS:
        raise ValueError(f"link must be one of {', '.join(LINKS)}, but got {link!r}")
    if penalty is not None and penalty not in PENALTIES:
        raise ValueError(f"penalty must be one of {', '.join(PENALTIES)}, or be left out, but got {penalty!r}")
    if model == "linear" and (penalty is not None or link != "logit" or errors not in {None, "robust"}):
        raise ValueError(
            "a linear model has neither link nor penalty, and its errors are robust: leave link, penalty and errors out"
        )
    if values is not None and model != "linear":
        raise ValueError(f'values must come with model="linear", which models their mean, but the model is {model}')
    if values is not None and reference is not None:
        raise ValueError("reference must be left out with values: a mean has no answer that others are compared with")


def specified(terms: Terms, domain: Sequence[Label], model: str, link: str, reference: Label | None) -> Specification:
    """Give the specification of a model by its name."""
    if reference is None:
        reference = domain[-1]
    elif reference not in domain:
        raise ValueError(f"reference must be one of the answers, but got {reference!r}")
    if model == "linear":
        return linear(terms, domain, reference)
    if model == "ordered":
        return ordered(terms, domain, link)
    if link != "logit" and len(domain) > 2:
        raise ValueError(f'link must be "logit" for more than two answers, unless model="ordered", but got {link!r}')
    return multinomial(terms, domain, reference, link)


def multinomial(terms: Terms, domain: Sequence[Label], reference: Label, link: str = "logit") -> Specification:
    """Give a predictor to each answer but the reference; with two answers, any link will do."""
    place = list(domain).index(reference)
    shares = Binary(LINKS[link], place) if len(domain) == 2 else Softmax(len(domain), place)
    return _blocks("multinomial", link, terms, domain, place, shares)


def linear(terms: Terms, domain: Sequence[Label], reference: Label) -> Specification:
    """Give shares that are linear in the columns."""
    place = list(domain).index(reference)
    return _blocks("linear", "identity", terms, domain, place, Identity(len(domain), place))


def linear_mean(terms: Terms, domain: Sequence[Label], values: Array) -> Specification:
    """Give a mean number that is linear in the columns."""
    coefficients = tuple(Coefficient(None, name) for name in terms.names)
    groups = {term: tuple(columns) for term, columns in terms.groups.items()}
    return Specification("linear", "identity", domain, None, MeanNumber(), coefficients, groups, values=values)


def _blocks(
    model: str, link: str, terms: Terms, domain: Sequence[Label], reference: int, shares: Shares
) -> Specification:
    answers = [answer for place, answer in enumerate(domain) if place != reference]
    coefficients = tuple(Coefficient(answer, name) for answer in answers for name in terms.names)
    width = len(terms.names)
    groups = {
        term: tuple(block * width + column for block in range(len(answers)) for column in columns)
        for term, columns in terms.groups.items()
    }
    return Specification(model, link, domain, domain[reference], shares, coefficients, groups)


def ordered(terms: Terms, domain: Sequence[Label], link: str = "logit") -> Specification:
    r"""Give cutpoints and common slopes: :math:`P(\text{answer} \le k) = F(c_k - x'b)`.

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


def joined(specification: Specification, cut: int) -> Specification:
    """Join a cutpoint with the next one, so that nobody holds the answer between them."""
    assert specification.mapping is not None
    held = [answer for answer in specification.domain if answer not in specification.empty]
    empty = (*specification.empty, held[cut + 1])
    del held[cut + 1]
    mapping = np.delete(specification.mapping, cut + 1, axis=1)
    mapping[:, cut] += specification.mapping[:, cut + 1]
    names = [Coefficient(None, f"{low} | {high}") for low, high in pairwise(held)]
    return replace(
        specification,
        coefficients=(*names, *specification.coefficients[specification.cuts :]),
        groups={term: tuple(place - 1 for place in places) for term, places in specification.groups.items()},
        mapping=mapping,
        cuts=specification.cuts - 1,
        empty=empty,
    )
