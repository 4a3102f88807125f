r"""Sampling designs: weights, clusters, strata, and their degrees of freedom.

Respondents of a simple random sample are drawn alone with equal probabilities. Others have sampling weights
:math:`w_n`, or are drawn in clusters such as schools, or in strata such as regions. Respondents of one cluster may be
alike, so that clusters, not respondents, vary independently, and only within their stratum. Estimating their variance
requires two clusters in each stratum, or two respondents without clusters; the degrees of freedom are clusters less
strata. The effective sample size with weights is :math:`(\sum w_n)^2 / \sum w_n^2` [1]_.

References
----------
.. [1] L. Kish, Survey Sampling, Wiley 1965.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warner.arrays import Array, Counts, Integers, PerGroup


RESPONDENT = "respondent"  # the unit of respondents who are not clustered


class Clusters(NamedTuple):
    """Cluster of each row, (n,), and stratum of each cluster; `unit` is "cluster" or "respondent"."""

    cluster: Integers
    stratum: Integers
    unit: str = "cluster"

    @property
    def number(self) -> int:
        return len(self.stratum)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of clusters less number of strata."""
        return self.number - int(self.stratum.max()) - 1


@dataclass(frozen=True, eq=False)
class Sampling:
    """Sampling design of the respondents in some rows."""

    weighted: bool = False  # by sampling weights, not only by counts
    cluster: Integers | None = None  # of each row, (n,), counted from 0
    stratum: Integers | None = None  # of each row, (n,), counted from 0
    sampled: Array | None = None  # sampled part of each stratum's clusters, or respondents, (strata,)
    whole: bool = False  # all members of a sampled cluster are respondents

    @property
    def features(self) -> tuple[bool, bool, bool, bool]:
        """Return True if respondents are weighted, clustered, stratified, and from a finite population."""
        return self.weighted, self.cluster is not None, self.stratum is not None, self.sampled is not None

    @property
    def simple(self) -> bool:
        """Return True if respondents are neither weighted nor clustered nor stratified."""
        return not any(self.features)

    @property
    def strata(self) -> int:
        return 1 if self.stratum is None else int(self.stratum.max()) + 1

    @property
    def kept(self) -> Array:
        """Part of each stratum that was not sampled, (strata,); all if not known."""
        return np.ones(self.strata) if self.sampled is None else 1 - self.sampled

    @cached_property
    def clusters(self) -> Clusters:
        assert self.cluster is not None
        stratum = np.zeros(int(self.cluster.max()) + 1, dtype=np.int64)
        if self.stratum is not None:
            stratum[self.cluster] = self.stratum
        return Clusters(self.cluster, stratum)

    def refuse_unidentified(self, people: Counts, names: Sequence[Any]) -> None:
        """Raise an error if the sample does not identify its variance, from the number of `people` of each row."""
        if self.cluster is not None and self.stratum is not None:
            split = np.flatnonzero(self.clusters.stratum[self.cluster] != self.stratum)
            refuse_split_clusters([names[index] for index in np.unique(self.cluster[split]).tolist()])
        if self.cluster is not None:
            refuse_few_units(np.bincount(self.clusters.stratum), "clusters")
        elif self.stratum is not None:
            refuse_few_units(np.bincount(self.stratum, people), "people")


def refuse_split_clusters(several: Sequence[Any]) -> None:
    if several:
        raise ValueError(
            f"clusters must lie in one stratum each, but {counted(len(several), 'lies', 'lie')} in several, "
            f"such as {several[0]!r}; give each cluster a name of its own"
        )


def refuse_few_units(sizes: Counts, units: str) -> None:
    if units == "clusters" and sizes.sum() < 2:
        raise ValueError("clusters must be at least two, but all respondents are in one")
    if sizes.min(initial=2) < 2:
        raise ValueError(f"every stratum must have at least two {units}, but one has only one; join it to another")


def refuse_parts(sampled: Iterable[Any]) -> None:
    for part in sampled:
        if isinstance(part, bool) or not isinstance(part, int | float | np.number) or not 0 < part <= 1:
            shown = "a missing value" if part is None else repr(part)
            raise ValueError(
                "sampled must be the part of a stratum's clusters (or respondents) that was sampled, above 0 and at "
                f"most 1, but got {shown}"
            )


def parts_by_stratum(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, float]:
    """Return the sampled part of each stratum, from pairs of a stratum (None without strata) and a part."""
    parts: dict[Any, float] = {}
    for name, given in pairs:
        part = _as_number(given)
        refuse_parts([part])
        if parts.setdefault(name, part) != part:
            of = "" if name is None else f", but that of {name!r} has {parts[name]:g} and {part:g}"
            raise ValueError(f"sampled must be the same for all respondents of a stratum{of}")
    return parts


def _as_number(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


SIMPLE_RANDOM = Sampling()


def effective_number(total: PerGroup, squares: PerGroup) -> PerGroup:
    """Kish's effective sample size, (sum of w)^2 / (sum of w^2).

    >>> float(effective_number(6.0, 14.0))  # weights 1, 2 and 3
    2.5714285714285716
    """
    squares = np.asarray(squares, dtype=np.float64)
    return np.divide(total**2, squares, out=np.zeros_like(squares), where=squares > 0)[()]
