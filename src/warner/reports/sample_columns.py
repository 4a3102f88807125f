"""Columns of strata, clusters, sampled parts and replicate weights, for `tally`: to cells and complex samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.reports.linearization import CLUSTER, REPLICATE, STRATUM, ClusterSample
from warner.reports.options import JACKKNIFE, Sample
from warner.reports.replicates import ReplicateSample, refuse_clusters, refuse_scale
from warner.reports.samples import parts_by_stratum, refuse_parts
from warner.reports.tallies import Tally, in_order

if TYPE_CHECKING:
    from warner.reports.subtotals import Subtotal


PART_SAMPLED = "(sampled)"  # name of a column of sampled parts


def cells_of(sample: Sample) -> dict[str, Any]:
    """Columns of cells, by their names among cells."""
    sampled = None if _is_number(sample.sampled) else sample.sampled
    parts = {STRATUM: sample.strata, CLUSTER: sample.clusters, PART_SAMPLED: sampled}
    return {name: part for name, part in parts.items() if part is not None}


def refuse_contradictions(sample: Sample, weights: Any) -> None:
    if sample.whole and (sample.clusters is None or sample.sampled is None):
        raise TypeError(
            "whole must be left out without clusters and sampled: it means that all members of the sampled clusters "
            "were asked"
        )
    if _is_number(sample.sampled):
        refuse_parts([sample.sampled])
    if sample.jackknife and (sample.clusters is None or sample.sampled is not None):
        raise TypeError(
            "replicates must come with clusters, and without sampled, for the jackknife, which leaves out one "
            "cluster at a time"
        )
    if sample.scale is not None and not sample.replicated:
        raise TypeError("scale must be left out without replicates, the columns of weights that it belongs to")
    if sample.replicate_clusters is not None and not sample.replicated:
        raise TypeError("replicate_clusters must be left out without replicates, columns of weights; give clusters")
    if not sample.replicated:
        return
    if weights is None or sample.scale is None:
        raise TypeError(
            "replicates must come with weights, those of the whole sample, and scale, the factor of the replicate "
            "weights (see their documentation: 1/R for balanced repeated replication or a bootstrap of R)"
        )
    refuse_scale(sample.scale)
    refuse_clusters(sample.replicate_clusters)
    if cells_of(sample) or _is_number(sample.sampled):
        raise TypeError("replicates must come without strata, clusters and sampled, which they replace")


def columns_of_replicates(sample: Sample, names: list[str], but: Any = None) -> list[Any]:
    """Replicate weights: arrays, or columns named by a list or a pattern; never the weights of the sample, `but`."""
    weights = sample.replicates
    if isinstance(weights, str):
        weights = [name for name in names if name != but and fnmatchcase(name, weights)]
    weights = list(weights) if isinstance(weights, Sequence | np.ndarray) else []
    if len(weights) < 2:
        raise ValueError(
            f"replicates must name at least two columns of weights, such as rw* for rw1, rw2 ..., but "
            f"{sample.replicates!r} names {len(weights)}"
        )
    return weights


# Cells to samples


def clustered(asked: Sample, cells: Tally, total: Subtotal, by: tuple[str, ...]) -> Tally:
    """Make the tally of groups from the tally of their cells."""
    for name, role in ((STRATUM, "strata"), (CLUSTER, "clusters")):
        _refuse_missing(cells, name, role)
    sampled = None
    if PART_SAMPLED in cells.by:
        sampled, cells = _parts(cells)
    strata, clusters = (_title(getattr(asked, name), name) for name in ("strata", "clusters"))
    method = JACKKNIFE if asked.jackknife else "linearised"
    people, kinds, without_weight = map(total.arrays.get, ("people", "by_kind", "without_weight"))
    without_weight = without_weight if np.any(without_weight) else None
    sample = ClusterSample(cells, people, kinds, strata, clusters, None, bool(asked.whole), method, without_weight)
    if _is_number(asked.sampled):
        sampled = dict.fromkeys(sample.strata_keys, float(asked.sampled))
    if sampled is not None:
        sample = replace(sample, sampled=tuple(sampled[key] for key in sample.strata_keys))
    return sample.summed(by)


def _parts(cells: Tally) -> tuple[dict[Any, float], Tally]:
    """Remove the sampled parts from the keys of cells; also return the part of each stratum."""
    index = cells.by.index(PART_SAMPLED)
    stratum = cells.by.index(STRATUM) if STRATUM in cells.by else None
    parts = parts_by_stratum((None if stratum is None else key[stratum], key[index]) for key in cells.groups)
    groups = tuple(key[:index] + key[index + 1 :] for key in cells.groups)
    return parts, replace(cells, by=cells.by[:index] + cells.by[index + 1 :], groups=groups)


def replicate(asked: Sample, whole: Tally, alike: Tally, each: list[Tally]) -> Tally:
    """Combine tallies by the sampling weights, by respondents (`alike`), and by `each` of the replicate weights."""
    aligned = [part.with_groups(whole.groups) for part in each]
    groups = whole.groups if whole.by else ((),)
    assert alike.sample is not None
    assert asked.scale is not None
    numbers = alike.sample.people_of(list(groups))[:, 0].astype(np.int64)
    keys = tuple((*group, index) for index in range(len(aligned)) for group in groups)
    arrays: dict[str, Any] = {
        name: np.concatenate([np.asarray(getattr(part, name)).reshape(len(groups), -1) for part in aligned])
        for name in ("counts", "histogram")
        if getattr(whole, name) is not None
    }
    for name in ("n", "squares"):
        arrays[name] = np.concatenate([np.atleast_1d(getattr(part, name)) for part in aligned])
    if whole.design.law.sufficient == "histogram":
        del arrays["counts"]
    cells = Tally(whole.design, by=(*whole.by, REPLICATE), groups=keys, **arrays)
    cells = cells.with_groups(in_order(keys))  # as sums have them
    people = np.repeat(numbers, len(aligned))
    sample = ReplicateSample(cells, people, len(aligned), float(asked.scale), asked.replicate_clusters)
    return replace(whole, sample=sample)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number)


def _title(weights: Any, otherwise: str) -> str | None:
    """Name of strata or clusters: that of their column, or a general word."""
    if weights is None:
        return None
    return weights if isinstance(weights, str) else {"strata": "stratum", "clusters": "cluster"}[otherwise]


def _refuse_missing(cells: Tally, name: str, role: str) -> None:
    if name not in cells.by:
        return
    index = cells.by.index(name)
    lost = [cell for cell, key in enumerate(cells.groups) if key[index] is None]
    if lost:
        raise ValueError(
            f"{role} must be known for all respondents, but some rows have none; leave these out, or give them a name"
        )
