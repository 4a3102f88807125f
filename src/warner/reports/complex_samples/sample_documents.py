"""Complex samples in the files of tallies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import LARGEST_TOTAL
from warner.reports.complex_samples.cluster_samples import CLUSTER, REPLICATE, STRATUM, ClusterSample, numbers_of_cells
from warner.reports.complex_samples.replicate_weights import ReplicateSample

if TYPE_CHECKING:
    from collections.abc import Callable

    from warner.arrays import Integers
    from warner.documents import Document
    from warner.reports.complex_samples.cluster_samples import ComplexSample
    from warner.reports.tallies import Tally

CLUSTER_FIELDS = frozenset({"strata", "clusters", "sampled", "whole", "variance", "cells"})
REPLICATE_FIELDS = frozenset({"replicates", "scale", "cells"})  # and replicate_clusters, if they are known
CELL_FIELDS = frozenset({"people", "kind_squares", "without_weight"})  # that a tally does not have


def sample_from_dict(fields: Document, read: Callable[[Document], Tally]) -> ComplexSample:
    """Read the sample of a tally's file; `read` reads a tally."""
    given = fields["sample"]
    names = REPLICATE_FIELDS if isinstance(given, dict) and "replicates" in given else CLUSTER_FIELDS
    told = given.keys() - {"replicate_clusters"} if names is REPLICATE_FIELDS else given
    if not isinstance(given, dict) or set(told) != names or not isinstance(given["cells"], dict):
        raise ValueError(f"sample must have the fields {', '.join(sorted(names))}")
    extra = [REPLICATE] if "replicates" in given else []
    if not extra:
        extra = [name for name, told in ((STRATUM, given["strata"]), (CLUSTER, given["clusters"])) if told is not None]
        extra = extra or [STRATUM]
    inside = {name: value for name, value in given["cells"].items() if name not in CELL_FIELDS}
    about = {name: fields[name] for name in ("format", "version", "design")}
    cells = read({**about, "squares": None, **inside, "by": [*fields["by"], *extra]})
    people = given["cells"].get("people")
    numbers = None if people is None else _whole_numbers(people, cells)
    kinds = {"people"} if "replicates" in given else {"people", "kind_squares"}
    if given["cells"].keys() & kinds != (kinds if cells.weighted else set()):
        raise ValueError(f"cells must have {' and '.join(sorted(kinds))} with weights, and not without")
    if "replicates" in given:
        return ReplicateSample.from_dict(given, cells, numbers)
    return ClusterSample.from_dict(given, cells, numbers)


def _whole_numbers(people: object, cells: Tally) -> Integers:
    """Read the numbers of people in cells: somebody where there is weight."""
    numbers = numbers_of_cells("people", people, (len(cells.groups),))
    if (numbers != np.rint(numbers)).any() or (numbers > LARGEST_TOTAL).any() or (numbers < cells.answered).any():
        raise ValueError("people must be whole numbers, at least one where there are reports")
    return numbers.astype(np.int64)


def refuse_other_sums(sample: ComplexSample, tally: Tally) -> Tally:
    """Refuse a sample whose cells are not those of the groups of a tally; else give the tally."""
    if isinstance(sample, ClusterSample):
        sums = sample.summed(tally.by)
        if sums.groups != tally.groups or not np.allclose(sums.counts, tally.counts, rtol=1e-9, atol=0):
            raise ValueError("the counts of the sample's cells must add up to those of the tally, but they do not")
    elif not {key[: sample.depth] for key in sample.cells.groups} <= set(tally.groups or [()]):
        raise ValueError("the cells of the sample must be those of the tally's groups")
    return tally
