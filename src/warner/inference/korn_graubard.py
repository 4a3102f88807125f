"""Korn and Graubard's limits of a share in a complex sample: Clopper and Pearson's at the effective number of people.

That number, and its degrees of freedom, come with the readout (`warner.reports.complex_samples`). Estimates that no
binomial count tells have Student's t.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

from warner.inference.binomial import Binomial, interval_and_error
from warner.inference.normal import normal_limits
from warner.reports.complex_samples.linearisation import fewer_people

if TYPE_CHECKING:
    from warner.arrays import Array
    from warner.designs.facts import Readout


def design_based_limits(readout: Readout, tail: float) -> tuple[Array, Array, Array, tuple[str, ...]]:
    """Give the limits with `tail` on either side, standard errors, and the names of what was used."""
    assert readout.error is not None
    assert readout.freedom is not None
    assert readout.people is not None
    fewer = fewer_people(readout.people, readout.freedom, tail)
    binomial = Binomial.of(replace(readout, count=readout.count * fewer, trials=readout.trials * fewer))
    student = stdtrit(np.maximum(readout.freedom, 1), tail) / ndtri(tail)
    exact = np.broadcast_to(readout.exact, readout.count.shape)
    low, high = normal_limits(readout.share(), readout.error * student, tail)
    error = np.array(readout.error)
    if exact.any():
        ends = interval_and_error(binomial, tail, "population")
        low, high = (np.where(exact, end, other) for end, other in zip(ends, (low, high), strict=False))
        error = np.where(exact & (error == 0), ends[2], error)
    names = [name for name, some in (("korn_graubard", exact.any()), ("linear", not exact.all())) if some]
    return low, high, error, tuple(names)
