"""Progress of long computations: messages of the logger `warner.progress`, none in the first two seconds.

In Python, `logging.basicConfig(level=logging.INFO)` shows them. On a terminal, the command line shows the latest one in
a line that it removes at the end. Messages have counts of steps only, never data.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOGGER = "warner.progress"
SECONDS_BETWEEN = 2.0  # messages, and before the first one

Item = TypeVar("Item")


def steps(items: Sequence[Item], what: str) -> Iterator[Item]:
    """Yield items, and log from time to time how many of them are done.

    Parameters
    ----------
    items : sequence
        The steps of a computation.
    what : str
        The computation, such as "confidence intervals".

    Examples
    --------
    >>> list(steps(range(3), "confidence intervals"))
    [0, 1, 2]
    """
    last = monotonic()
    for done, item in enumerate(items):
        now = monotonic()
        if now - last >= SECONDS_BETWEEN:
            import logging  # whose import a computation of less than two seconds does without

            logging.getLogger(LOGGER).info("%s: %d of %d", what, done, len(items))
            last = now
        yield item
