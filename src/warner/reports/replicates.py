"""Replicate weights: a sample that was weighted many times, as statistical offices publish them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import SMALLEST, Array
from warner.reports.linearization import ComplexSample, Shown, Together

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.reports.design_based import LinearScores
    from warner.reports.tallies import Group, Tally


LEAST_SEEN = 1.5  # that a group must seem to lie in, below which nothing is known about the variance between them
SAME_SIZE = 6  # digits to which sizes of a group are the same


@dataclass(frozen=True, eq=False)
class ReplicateSample(ComplexSample):
    r"""Respondents with replicate weights, as statistical offices publish them: :math:`V = s \sum_r (f_r - f)^2`.

    A cell holds the reports of a group under one set of weights. There is one degree of freedom less than sets, and no
    more than the clusters of a group allow. The columns do not contain clusters, but the size :math:`n_r` of a group
    varies with them: :math:`s \sum_r (n_r/\bar n - 1)^2` is about :math:`1/K - 1/m` for a group in K of m equal
    clusters, under the jackknife, balanced repeated replication and the bootstrap alike. The jackknife changes the size
    only in the columns that leave out one of the K clusters.
    """

    replicates: int = 0  # sets of weights
    scale: float = 1.0  # s
    clusters: int | None = None  # m, if it is known

    def described(self) -> str:
        drawn = f" of {self.clusters:,} clusters" if self.clusters else ""
        return f"{self.replicates:,} sets of replicate weights{drawn}"

    def people_of(self, groups: list[Group]) -> Array:
        cells = [self._cells_of.get(group, [0]) for group in groups]
        return np.array([[self.reports[indices].max()] for indices in cells], dtype=np.float64)

    def _deviations(self, question: LinearScores, frequency: Array, group: Group) -> Array:
        _, counts, n = self._rows(group)
        return np.asarray(question.frequencies(counts, n) - frequency)

    def _shown(self, group: Group) -> Shown:
        """Return the information of a group on its variance, from the variation of its size between sets of weights."""
        _, _, n = self._rows(group)
        sizes = np.append(n[:, 0], np.zeros(self.replicates - len(n)))
        variation = self.scale * float(((sizes / max(float(sizes.mean()), SMALLEST) - 1) ** 2).sum())
        inside = 1 / (variation + 1 / self.clusters) if self.clusters else 1 / max(variation, SMALLEST)
        freedom = min(self.replicates - 1.0, max(inside - 1, 0.0))
        part = np.round(sizes / max(float(sizes.max(initial=0)), SMALLEST), SAME_SIZE)
        alike, times = np.unique(part, return_counts=True)
        usual, most = alike[np.argmax(times)], int(times.max())
        if self.replicates / 2 <= most < self.replicates:  # a jackknife: the others lack a cluster of the group
            without = most if alike.min() == usual else self.replicates - most  # or most of them do
            freedom = min(freedom, without - 1.0)
        return Shown(freedom, blind=inside < LEAST_SEEN or freedom < LEAST_SEEN - 1)

    def accuracy(self, question: LinearScores, frequency: Array, groups: list[Group]) -> tuple[Array, Array, Shown]:
        rows = zip(frequency, groups, strict=True)
        moved = [(self._deviations(question, f, group) ** 2).sum(axis=0) for f, group in rows]
        variance = self.scale * np.array(moved)
        return variance, variance, Shown.of_groups(map(self._shown, groups))

    def of_difference(self, question: LinearScores, frequency: Array, gain: Array, pair: list[Group]) -> Together:
        one, two = (self._in_all(question, f, group) for f, group in zip(frequency, pair, strict=True))
        variance = self.scale * (((one - two) / gain) ** 2).sum(axis=0)
        each = [float(self.scale * (part**2).sum()) for part in (one / gain, two / gain)]
        return Together((each[0] + each[1] - float(variance[0])) / 2, min(self._shown(group).freedom for group in pair))

    def _in_all(self, question: LinearScores, frequency: Array, group: Group) -> Array:
        """Deviations under every set of weights; zero for weights without the group."""
        result = np.zeros((self.replicates, frequency.size))
        numbers = [self.cells.groups[index][-1] for index in self._cells_of.get(group, [])]
        result[numbers] = self._deviations(question, frequency, group)
        return result

    def of_totals(self, question: LinearScores, totals: Array, groups: list[Group]) -> tuple[Array, Array]:
        variance = np.zeros(totals.shape)
        for row, (total, group) in enumerate(zip(totals, groups, strict=True)):
            _, counts, n = self._rows(group)
            found = question.readout(counts, n)
            variance[row] = ((found.count - found.base * n - total) ** 2).sum(axis=0)
            variance[row] += (self.replicates - len(n)) * total**2  # of weights that leave the group out
        return self.scale * variance, np.full((len(groups), 1), float(self.replicates - 1))

    def __add__(self, other: ComplexSample) -> ReplicateSample:
        names = ("replicates", "scale", "clusters")
        if not isinstance(other, ReplicateSample) or any(getattr(self, name) != getattr(other, name) for name in names):
            raise ValueError("tallies must have the same number, scale and clusters of replicate weights to add up")
        return self._with_cells_of(other)

    def to_dict(self) -> Document:
        drawn = {"replicate_clusters": self.clusters} if self.clusters else {}
        return {"replicates": self.replicates, "scale": self.scale, **drawn, "cells": self._cells_document()}

    @classmethod
    def from_dict(cls, fields: Document, cells: Tally, people: Any) -> ReplicateSample:
        number, scale = fields["replicates"], fields["scale"]
        if type(number) is not int or number < 2:
            raise ValueError(f"replicates must be a whole number of at least 2, but is {number!r}")
        if any(type(key[-1]) is not int or not 0 <= key[-1] < number for key in cells.groups):
            raise ValueError("cells must have the number of their replicate weights, counted from 0")
        refuse_scale(scale)
        refuse_clusters(clusters := fields.get("replicate_clusters"))
        return cls(cells, people, number, float(scale), clusters)


def refuse_scale(scale: Any) -> None:
    if isinstance(scale, bool) or not isinstance(scale, int | float | np.number) or not 0 < scale < np.inf:
        raise ValueError(f"scale must be a positive number, that of the replicate weights, but got {scale!r}")


def refuse_clusters(clusters: Any) -> None:
    if clusters is not None and (isinstance(clusters, bool) or not isinstance(clusters, int) or clusters < 2):
        raise ValueError(
            f"replicate_clusters must be the number of clusters in the sample, at least 2, but got {clusters!r}"
        )
