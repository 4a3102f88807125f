r"""An outcome that may depend on an answer which was randomized, by equations that need not know the answer.

Each person has a row of the model for every answer that they may hold: with outcome :math:`o_n`, columns :math:`x_{nk}`
if the answer were k, and coefficients :math:`\gamma`, the linear predictor is :math:`\eta_{nk} = x_{nk}'\gamma`. If
answers were known, each person would add the score :math:`s_{nk}(\gamma)` of one row. With debiased indicators z of
the answers (`debiased`), :math:`E[z_{nk} \mid \text{answer}, o_n, x_n]` is one for the answer and zero for the others,
so that

.. math:: \sum_n w_n \sum_k z_{nk} s_{nk}(\gamma) = 0

has the right answer on average whatever the outcome's law is: a weighted fit on k stacked copies of the data, some of
whose weights are negative. It needs no model of who holds which answer and no normal errors; only that the device
depended on nothing but the answer. The errors are those of any estimating equation, :math:`A^{-1} B A^{-T}` with

.. math:: A = \sum_n w_n \sum_k z_{nk} v_{nk} x_{nk} x_{nk}', \qquad B = \sum_n u_n u_n', \quad
          u_n = w_n \sum_k z_{nk} s_{nk},

:math:`v = 1` for a mean and :math:`\pi(1-\pi)` for a logit. A estimates a positive matrix, but is only that on average:
where it is not positive, there is too little information for any answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner.arrays import Array, Integers

Regressed: TypeAlias = Literal["linear", "logit"]

POSITIVE = 1e-10  # the least eigenvalue of an information per person, in columns of unit size
STEPS = 100  # of Newton's method
FAR = 10.0  # how far a linear predictor is moved to see whether a maximum runs away
FLAT = 1e-6  # nats that such a move must cost at least
LARGEST_STEP = 5.0  # the most that one step may move a linear predictor
DECREMENT = 1e-22  # promised gain per person below which Newton's method has arrived
HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Rows of people: an outcome, and what would predict it after each answer.

    Attributes
    ----------
    outcome : array of shape (n,)
        What is explained; 0 or 1 for a logit.
    copies : array of shape (k, n, columns)
        The columns of the model if the answer were each of the k.
    likelihood : array of shape (n, k)
        How likely the report is after each answer, up to one positive factor for each row.
    indicators : array of shape (n, k), or None
        The debiased indicators of the answers; None where reports do not tell all answers.
    weight : array of shape (n,)
        The weight of each person.
    cluster, stratum : arrays of shape (n,), optional
        Numbers of the clusters and strata that people were sampled in.
    weighted : bool
        Whether weights are sampling weights.
    """

    outcome: Array
    copies: Array
    likelihood: Array
    indicators: Array | None
    weight: Array
    cluster: Integers | None = None
    stratum: Integers | None = None
    weighted: bool = False

    @property
    def n(self) -> int:
        """The number of people."""
        return len(self.outcome)

    @property
    def sampled(self) -> bool:
        """Whether people were sampled with weights, in clusters or in strata."""
        return self.weighted or self.cluster is not None or self.stratum is not None


class Corrected(NamedTuple):
    """A solution of the corrected score.

    `strength` is how many standard errors the information lies above zero in the direction in which it is smallest.
    """

    coefficients: Array
    covariance: Array
    strength: float


def terms_of(family: Regressed, eta: Array, outcome: Array) -> tuple[Array, Array, Array]:
    """Give the logarithm of the outcome's law, its derivative in eta, and minus the second one.

    Of the mean, half the square of the residual: a normal law with variance one, but for a constant.
    """
    if family == "linear":
        residual = outcome - eta
        return -(residual**2) / 2, residual, np.ones_like(eta)
    mean = expit(eta)
    # log P(o) = o eta - log(1 + e^eta) without overflow, and 1 - expit(eta) = expit(-eta).
    return outcome * eta - np.logaddexp(0, eta), outcome - mean, mean * expit(-eta)


def corrected(people: Outcomes, family: Regressed) -> Corrected:
    """Solve the corrected score: in closed form for a mean, by Newton's method for a logit."""
    indicators = people.indicators
    if indicators is None:
        raise ValueError(
            'method="corrected" needs reports that tell the share of every answer, but this design does not; '
            'method="ml" may still do, by a model of the answers'
        )
    size = np.sqrt(np.mean(people.copies**2, axis=(0, 1)))
    columns = people.copies / size
    weight = (people.weight[:, np.newaxis] * indicators).T
    total = float(people.weight.sum())

    def information(curvature: Array) -> Array:
        flat = columns.reshape(-1, columns.shape[-1])
        return np.asarray(flat.T @ (flat * (weight * curvature).reshape(-1, 1)))

    gamma = np.zeros(columns.shape[-1])
    _refuse_indefinite(information(np.ones_like(weight)), total)
    for _ in range(STEPS):
        value, slope, curvature = terms_of(family, columns @ gamma, people.outcome)
        score = np.einsum("kn,knp->p", weight * slope, columns)
        hessian = information(curvature)
        step = ascent(hessian, score)
        gain = float(score @ step)
        if family == "linear":
            gamma = gamma + step
            break
        if gain <= DECREMENT * total:
            break
        length = min(1.0, LARGEST_STEP / max(float(np.abs(columns @ step).max()), LARGEST_STEP))
        before = float((weight * value).sum())
        for _ in range(HALVINGS):
            after = float((weight * terms_of(family, columns @ (gamma + length * step), people.outcome)[0]).sum())
            if after >= before + 1e-4 * length * gain or length * gain < 1e-12 * abs(before):
                break
            length /= 2
        gamma = gamma + length * step
    else:
        _refuse_runaway()
    value, slope, curvature = terms_of(family, columns @ gamma, people.outcome)
    bread = information(curvature)
    if family == "logit":
        for direction in directions(bread, lambda v: float(np.abs(columns @ v).max())):
            moved = terms_of(family, columns @ (gamma + FAR * direction), people.outcome)[0]
            if float((weight * (moved - value)).sum()) > -FLAT:
                _refuse_runaway()
    _refuse_indefinite(bread, total)
    scores = np.einsum("kn,knp->np", weight * slope, columns)
    half = np.linalg.inv(bread)
    covariance = half @ spread(scores, people.cluster, people.stratum) @ half / np.outer(size, size)
    return Corrected(gamma / size, (covariance + covariance.T) / 2, _strength(columns, weight * curvature, bread))


def spread(scores: Array, cluster: Integers | None, stratum: Integers | None) -> Array:
    r"""Give the covariance B of the sum of the scores, of shape (n, columns), as it is between people or clusters.

    With G clusters, :math:`u_g` the sum of the scores in each, :math:`\frac{G}{G-1}\sum_g (u_g-\bar u)(u_g-\bar u)'`,
    in each stratum for itself where there are strata. Without either, :math:`\sum_n u_n u_n'`.
    """
    if cluster is None and stratum is None:
        return np.asarray(scores.T @ scores)
    if cluster is not None:
        first = np.unique(cluster, return_index=True)[1]
        place = np.unique(cluster, return_inverse=True)[1].ravel()
        sums = np.zeros((len(first), scores.shape[1]))
        np.add.at(sums, place, scores)
        scores, stratum = sums, None if stratum is None else stratum[first]
    total = np.zeros((scores.shape[1], scores.shape[1]))
    for number in [None] if stratum is None else np.unique(stratum):
        part = scores if number is None else scores[stratum == number]
        centred = part - part.mean(axis=0)
        total += len(part) / (len(part) - 1) * (centred.T @ centred)
    return total


def ascent(hessian: Array, score: Array) -> Array:
    """Give Newton's step, upwards also where the information is not positive: by the size of its eigenvalues."""
    values, vectors = np.linalg.eigh(hessian)
    values = np.abs(values)
    return np.asarray(vectors @ ((vectors.T @ score) / np.maximum(values, 1e-8 * values.max())))


def directions(information: Array, reach: Callable[[Array], float]) -> Iterator[Array]:
    """Give the directions of the information's eigenvectors, both ways, so long that each moves a predictor by one."""
    for vector in np.linalg.eigh(information)[1].T:
        for sign in (1.0, -1.0):
            yield sign * vector / reach(vector)


def _strength(columns: Array, weight: Array, information: Array) -> float:
    """Give the smallest eigenvalue of the information in its own standard errors."""
    direction = np.linalg.eigh(information)[1][:, 0]
    parts = np.einsum("kn,kn->n", weight, (columns @ direction) ** 2)
    error = float(np.sqrt(((parts - parts.mean()) ** 2).sum()))
    return float(parts.sum()) / error if error > 0 else np.inf


def _refuse_indefinite(information: Array, total: float) -> None:
    if np.linalg.eigvalsh(information)[0] <= POSITIVE * total:
        raise ValueError(
            "there is too little information to tell this model's coefficients: the corrected equations have no "
            "maximum for these reports; take fewer terms with the randomized answer, or collect more reports"
        )


def _refuse_runaway() -> NoReturn:
    raise ValueError(
        "the corrected equations of this logit have no finite solution: some group has, after correction, hardly "
        "anybody with one of the two outcomes; take fewer terms, or collect more reports"
    )
