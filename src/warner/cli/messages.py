"""Messages other than results: written files, warnings and progress; --quiet suppresses all of them."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import TYPE_CHECKING, Any

import click

from warner.runtime import LOGGER
from warner.text import bounded, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

PROGRESS_DELAY_SECONDS = 2.0  # before the progress of long work is shown

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)  # True if only results and errors are printed


def set_quiet(quiet: bool) -> None:
    _quiet.set(quiet)


def is_quiet() -> bool:
    return _quiet.get()


def tell(line: str, *, err: bool = False, label: str = "") -> None:
    """Print a message without control characters: file names can contain them, and a terminal would obey."""
    if not is_quiet():
        click.echo(label + "\n".join(bounded(printable(part)) for part in line.split("\n")), err=err)


def warn(warning: str) -> None:
    tell(warning, err=True, label=click.style("warner: warning: ", fg="yellow"))


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print each warning once, in one line, with a phrase about Python replaced by one about the shell."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        warn(message)


def progress_bar(text: str) -> Progress:
    """Return a line on standard error with a spinner, a text and the time; it disappears at the end."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(text, markup=False), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def working(activity: str) -> Iterator[None]:
    """Show the progress of long work on standard error, if it is a terminal."""
    if is_quiet() or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    endings: list[Any] = []

    def show() -> None:
        bar = progress_bar("{task.description}")
        task = bar.add_task(activity, total=None)
        bar.start()
        stop_following = _follow(lambda message: bar.update(task, description=f"{activity}; {message}"))
        endings.extend([bar.stop, stop_following])

    timer = Timer(PROGRESS_DELAY_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for end in endings:
            end()


def _follow(show: Callable[[str], None]) -> Callable[[], None]:
    """Show the log messages of long computations; return the function that ends this."""
    import logging

    class Follower(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record.getMessage())

    logger, follower = logging.getLogger(LOGGER), Follower()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(follower)

    def end() -> None:
        logger.removeHandler(follower)
        logger.setLevel(level)

    return end
