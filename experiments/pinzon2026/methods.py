"""The estimators of the paper: their functions, their names there, and whether they always give a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from warner import inv, inv_n, inv_p, mle

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from warner import RandomizedResponse

Estimator: TypeAlias = "Callable[[ArrayLike, RandomizedResponse], NDArray[np.float64]]"


class PaperMethod(NamedTuple):
    """An estimator, its label in the paper, and whether its shares are never negative."""

    estimator: Estimator
    label: str
    valid: bool


# The only list of estimators in this package: everything below and elsewhere is derived from it.
PAPER_METHODS = {
    "mle": PaperMethod(mle, "MLE*", valid=True),
    "inv_p": PaperMethod(inv_p, "INVP", valid=True),
    "inv_n": PaperMethod(inv_n, "INVN", valid=True),
    "inv": PaperMethod(inv, "INV", valid=False),
}
ESTIMATORS: dict[str, Estimator] = {name: method.estimator for name, method in PAPER_METHODS.items()}
# The one with the smallest predicted error is stored as "auto". Since `warner.estimate` takes it by that name below 20
# answers alone, figures and claims call it what it is.
METHOD_LABELS = {name: method.label for name, method in PAPER_METHODS.items()} | {"auto": "predicted"}
VALID_METHODS = tuple(name for name, method in PAPER_METHODS.items() if method.valid)
