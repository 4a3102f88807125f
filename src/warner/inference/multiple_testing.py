"""Multiple testing: p-values that are adjusted for their number, by Holm or by Benjamini and Hochberg.

Holm's step-down method bounds the probability of any false finding [1]_, whatever the tests have to do with each other.
Benjamini and Hochberg's bounds the expected part of false findings among all findings [2]_.

References
----------
.. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979),
   65-70.
.. [2] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate: a practical and powerful approach to multiple
   testing", J. R. Stat. Soc. B 57 (1995), 289-300.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from warner.arrays import Array

CORRECTIONS = ("holm", "bh")


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
