r"""Who is there at all: the answers whose reports rise above what noise alone explains.

If nobody holds an answer, its count is :math:`\text{Bin}(n, q)`: a p-value for each answer, exact. Where a share shows
in no binomial count, it is compared with its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincc, ndtr, ndtri

from warner.inference.binomial import Rates, at_each_count, at_least, check_power, smallest_share
from warner.inference.comparisons import ratio_to_error
from warner.inference.intervals import check_level, combined, joint, spread
from warner.inference.pooled import information
from warner.inference.ranking import about_groups, answer_columns, group_rows, listed_groups, listed_labels, names_of
from warner.results import Result, plain
from warner.words import percent

if TYPE_CHECKING:
    from warner.arrays import Array, Counts, Mask, PerGroup
    from warner.designs.facts import Readout
    from warner.documents import Document
    from warner.reports.pools import Collected
    from warner.reports.tallies import Tally

CORRECTIONS = ("holm", "bh")


@dataclass(frozen=True, eq=False, repr=False)
class Presence(Result):
    """Which answers somebody holds: those whose reports rise above the noise.

    Attributes
    ----------
    p_values : ndarray of shape (k,), or (groups, k)
        Of "nobody holds it", for each answer alone.
    adjusted : ndarray of the same shape
        The p-values, adjusted for the number of answers.
    found : ndarray of bool of the same shape
        Whether the adjusted p-value is at most 1 - ``level``.
    smallest : float or ndarray of shape (groups,)
        The share from which an answer would have been found with probability ``power``.
    level, power : float
        How sure the findings are together; see `warner.Estimate.present`.
    correction : str
        holm or bh.
    tally : Tally or Pool
        The reports.
    """

    p_values: Array
    adjusted: Array
    found: Mask
    smallest: PerGroup
    level: float
    power: float
    correction: str
    tally: Collected

    def table(self) -> dict[str, Counts]:
        """Give a row for each answer (and group): both p-values, and whether it was found."""
        columns = {name: np.ravel(getattr(self, name)) for name in ("p_values", "adjusted", "found")}
        return answer_columns(self.tally) | columns

    def text(self) -> str:
        """Say it in two lines, or in two for each group."""
        error = f"{100 * (1 - self.level):.6g} %"
        promise = {
            "holm": f"at most {error} chance of any false one",
            "bh": f"about {error} false ones among them on average, not proven",
        }[self.correction]
        lines = [f"Answers that somebody holds ({promise}{about_groups(self.tally)}):"]
        least = np.atleast_1d(self.smallest).tolist()
        for place, (group, found) in enumerate(group_rows(self.tally, self.found)):
            if found is None:
                lines.append(f"{group}no reports")
                continue
            named = names_of(self.tally, place, found) or "none rises above the noise"
            share = f"a share of {percent(least[place])}" if least[place] <= 1 else "not even a share of 100 %"
            lines.append(f"{group}{named}")
            lines.append(f"  {share} would be found with a probability of {100 * self.power:g} %")
        return "\n".join(lines)

    def to_dict(self) -> Document:
        """Give what JSON can hold: the names of the found, for each group."""
        return {
            **listed_groups(self.tally),
            "found": listed_labels(self.tally, self.found),
            "smallest": plain(self.smallest),
            "level": self.level,
            "power": self.power,
            "correction": self.correction,
        }


def presence(tally: Collected, *, level: float, correction: str, power: float) -> Presence:
    """Tell which answers rise above the noise."""
    check_level(level)
    check_power(power)
    alpha = 1 - level
    answered = tally.answered
    if len(tally.parts) == 1:
        counts, n = tally.parts[0].scaled()
        p_values, smallest = _of_design(tally.parts[0], counts[answered], n[answered], alpha / tally.k, power)
    else:
        rows = [
            _of_group(tally.parts, group, tally.k, alpha / tally.k, power)
            for group in np.flatnonzero(answered).tolist()
        ]
        p_values, smallest = np.stack([row[0] for row in rows]), np.array([row[1] for row in rows])
    plain_values, least = spread(p_values, answered), spread(smallest, answered)
    corrected = adjusted(plain_values, correction)
    found = corrected <= alpha
    return Presence(
        p_values=tally.squeezed(plain_values),
        adjusted=tally.squeezed(corrected),
        found=tally.squeezed(found),
        smallest=tally.squeezed(least),
        level=level,
        power=power,
        correction=correction,
        tally=tally,
    )


def _of_design(part: Tally, counts: Counts, n: Array, alpha: float, power: float) -> tuple[Array, Array]:
    """Give the p-values of the groups, and for each the smallest share that is found: the largest over the answers."""
    readout = part.design.readout(counts, n)
    p_values = absence(readout)
    if readout.exact.ndim == 0:
        rate = Rates(readout.base, readout.gain)
        return p_values, np.array([smallest_share(total, rate, alpha, power) for total in n[:, 0]])
    least = np.empty(p_values.shape)
    for place, exact in enumerate(np.atleast_1d(readout.exact).tolist()):
        rate = Rates(np.asarray(readout.base)[place], np.asarray(readout.gain)[place])
        if exact:
            least[:, place] = [smallest_share(total, rate, alpha, power) for total in n[:, 0]]
        else:
            assert readout.error is not None
            least[:, place] = float(ndtri(power) - ndtri(alpha)) * readout.error[:, place]
    return p_values, least.max(axis=-1)


def absence(readout: Readout) -> Array:
    r"""Give for each answer the p-value of "nobody holds it", under which its count is :math:`\text{Bin}(n, q)`."""
    base, gain, n = readout.base, readout.gain, readout.trials
    if readout.exact.ndim == 0 and readout.exact:
        if gain > 0:
            return at_each_count(lambda c, total: at_least(c, total, base), readout.count, n)
        # If the truth is the rarer report, an answer that somebody holds shows by a count that is too low.
        return at_each_count(lambda c, total: at_least(total - c, total, 1 - base), readout.count, n)
    above = at_least(readout.count, n, base)
    below = at_least(n - readout.count, n, 1 - base)
    assert readout.error is not None
    # Where reports do not tell a share, nothing speaks against its absence.
    normal = np.where(np.isinf(readout.error), 1.0, ndtr(-ratio_to_error(readout.share(), readout.error)))
    return np.where(readout.exact, np.where(np.asarray(gain) > 0, above, below), normal)


def _of_group(parts: tuple[Tally, ...], group: int, k: int, alpha: float, power: float) -> tuple[Array, float]:
    """Combine the p-values of the collections by Fisher's method.

    Under absence each of them is at least as large as a uniform one, independently.
    """
    logs, number = np.zeros(k), 0
    for part in parts:
        if part.answered[group] and part.design.epsilon > 0:
            counts, n = part.scaled()
            p_values = absence(part.design.readout(counts[[group]], n[[group]]))[0]
            logs -= np.log(np.maximum(p_values, np.finfo(np.float64).tiny))
            number += 1
    together = joint(parts, group, None)
    _, error = combined(*together.estimates("population"))
    exact = np.asarray(together.exact.all(axis=0))
    if exact.any():  # that of an answer which nobody holds
        some = together.only(exact)
        at_nothing = information(some.counted, np.zeros(some.count.shape[1]))
        error[exact] = 1 / np.sqrt(at_nothing)
    return gammaincc(number, logs), float(ndtri(power) - ndtri(alpha)) * float(error.max())


def adjusted(p_values: Array, correction: str) -> Array:
    """Adjust p-values for their number, along the last axis, by Holm or by Benjamini and Hochberg.

    To call those present whose adjusted p-value is at most alpha then errs at all with probability at most alpha
    (``holm``), or is wrong for at most a share alpha of the found on average (``bh``). Holm's always holds. That of
    Benjamini and Hochberg is not proven for counts, which are negatively dependent; simulations have not broken it.
    """
    if correction not in CORRECTIONS:
        raise ValueError(f'correction must be "holm" or "bh", but got {correction!r}')
    k = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1)
    ranked = np.take_along_axis(p_values, order, axis=-1)
    if correction == "holm":
        stepped = np.maximum.accumulate(ranked * np.arange(k, 0, -1), axis=-1)
    else:
        stepped = np.minimum.accumulate((ranked * k / np.arange(1, k + 1))[..., ::-1], axis=-1)[..., ::-1]
    result = np.empty_like(p_values)
    np.put_along_axis(result, order, np.minimum(stepped, 1), axis=-1)
    return result
