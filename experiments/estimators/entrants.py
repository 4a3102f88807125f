"""The estimators that are compared: every one of the library, and those that a user brings along.

A user's own estimator (`warner.estimators.methods`) is named on the command line as ``module:function``; the module may
be a file in the folder that one is in.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warner.estimators import METHODS
from warner.estimators.methods import METHOD_NAME, CustomEstimator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

METHODS_LEFT_OUT = {
    "ibu": "it approaches mle, step by step",
    "smooth": "it is for ordered answers, which these are not",
}
PREDICTED = "predicted"  # of the closed forms the one with the smallest predicted error: auto, below 20 answers
BUILT_IN = (*(name for name in METHODS if name not in METHODS_LEFT_OUT), PREDICTED)


def own_estimators(given: Mapping[str, Callable[..., Any]] | Iterable[str]) -> list[CustomEstimator]:
    """Make own estimators of a mapping from names to functions, or of words such as ``module:function``.

    >>> import warner
    >>> [own.name for own in own_estimators({"mine": warner.inv_p})]
    ['mine']
    """
    functions = (
        dict(given) if isinstance(given, Mapping) else {word.partition(":")[2]: _function(word) for word in given}
    )
    for name, function in functions.items():
        if not METHOD_NAME.fullmatch(name) or name in METHODS or name == PREDICTED:
            raise ValueError(
                f"the name of an own estimator must be made of letters, digits and _.+-, and must not be one of "
                f"{', '.join(METHODS)}, {PREDICTED}, but got {name!r}"
            )
        if not callable(function):
            raise TypeError(f"an own estimator must be a function of counts and design, but {name} is {function!r}")
    return [CustomEstimator(name, function) for name, function in functions.items()]


def _function(word: str) -> Any:
    """Import ``module:function``, also from the folder that one is in."""
    module, colon, name = word.partition(":")
    if not (colon and module and name):
        raise ValueError(f"an estimator must be given as module:function, but got {word!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ValueError(
            f"there is no module {module} here or among those installed, for the estimator {word}"
        ) from None
    except AttributeError:
        raise ValueError(f"the module {module} has no {name}, for the estimator {word}") from None
