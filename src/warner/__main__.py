"""The command `warner`: one clear line for every failure, and never a traceback for a mistake of the user's."""

from __future__ import annotations

import atexit
import codecs
import gc
import os
import signal
import sys

TYPE_CHECKING = False  # as in `typing`, whose import would take as long as all the others
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, TypeAlias

    Handler: TypeAlias = Callable[[int, FrameType | None], object] | signal.Handlers

INTERRUPTED = 130
TERMINATED = 143
GARBAGE = 100_000  # new objects before those that nobody uses are looked for: an eighth of the time of loading modules
MISTAKE = 70  # of ours: EX_SOFTWARE of sysexits.h. Python's own 1 would be the verdict of `warner check`
STOPPED = "interrupted; no file is half-written"
COMPLETE = "_WARNER_COMPLETE"  # set by the shell: how to complete, or which script to print
ENDED = "terminated; no file is half-written"
OUR_MISTAKE = "this is a mistake in warner, and says nothing about your data; please report it with the lines above"
ASCII_SUBSTITUTES = {
    "█": "#",
    "ε": "epsilon",
    "±": "+-",
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "…": "...",
}
INTERRUPTED_QUERY = "Query interrupted"  # what DuckDB makes of Ctrl-C, as a RuntimeError


class TerminatedError(BaseException):
    """The process was asked to end: by a scheduler, a container, a time limit."""


def main() -> None:
    """Run the command line."""
    _ready()
    try:
        try:
            from warner.cli import app
        except ImportError as error:
            from warner.text import not_installed

            _fail(not_installed(f"the command line needs {error.name}", "cli"))
        _complete(app)
        with app.make_context("warner", sys.argv[1:], obj=_listen) as context:
            app.invoke(context)
        sys.exit(0)
    except KeyboardInterrupt:
        _fail(STOPPED, INTERRUPTED)
    except TerminatedError:
        _fail(ENDED, TERMINATED)
    except MemoryError:
        _fail("there is not enough memory for this; use fewer answers or groups, or a larger machine")
    except BrokenPipeError:
        # Whoever read our output has seen enough (| head). Let the interpreter's last flush go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        _fail(str(named if error.strerror else error))
    except (ValueError, TypeError, ImportError) as error:
        _fail(str(error))
    except Exception as error:  # noqa: BLE001 - a mistake of ours, which is told as one
        if str(error) == INTERRUPTED_QUERY:
            _fail(STOPPED, INTERRUPTED)
        if type(error).__module__.startswith("click"):
            _end(error)
        import traceback

        traceback.print_exc()
        _fail(OUR_MISTAKE, MISTAKE)


def run() -> None:
    """Run the command line, and end the process without taking the interpreter apart.

    That takes as long as reading a small file, and DuckDB complains on standard error about each of its objects that is
    still alive then, in an order that nobody controls. Files are closed and streams flushed by now.
    """
    try:
        main()
    except SystemExit as stopped:
        threading = sys.modules.get("threading")
        if threading is not None and threading.active_count() > 1:  # Python waits for those that are at work
            raise
        try:
            atexit._run_exitfuncs()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except OSError:
            raise stopped from None
        os._exit(stopped.code if isinstance(stopped.code, int) else 0)


def _ready() -> None:
    """Prepare the process: what cannot be written is written plainer, and to be terminated is to be interrupted."""
    if sys.stdout is None:  # Python has no stream then, and a file might be opened in its place
        _fail("standard output is closed; send it to a file or to /dev/null")
    gc.set_threshold(GARBAGE)
    codecs.register_error("plainer", _plainer)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="plainer")
    _handle(_leave, _leave)


def _listen() -> None:
    """Let signals interrupt the command, now that it is loaded, but not the last moments of the process after it."""
    _handle(signal.default_int_handler, _terminated)
    atexit.register(_handle, signal.SIG_IGN, signal.SIG_IGN)


def _handle(interrupted: Handler, terminated: Handler) -> None:
    """Say what Ctrl-C and SIGTERM do; ignored signals stay ignored, as whoever started the process wants it."""
    for number, handler in ((signal.SIGINT, interrupted), (signal.SIGTERM, terminated)):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once, since nothing is open yet: an exception would be printed, or lost, by libraries that are loading."""
    if sys.stderr is not None:
        os.write(2, f"warner: {STOPPED if number == signal.SIGINT else ENDED}\n".encode())
    os._exit(128 + number)


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Write what a terminal's encoding lacks in other characters, instead of giving up half-way."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(
        ASCII_SUBSTITUTES.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing
    ), error.end


def _terminated(number: int, frame: FrameType | None) -> None:
    raise TerminatedError


def _complete(app: Any) -> None:
    """Complete a command line, or print the script that lets a shell ask for it, if that is what is wanted."""
    if wanted := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(app, {}, "warner", COMPLETE, wanted))


def _end(error: Any) -> None:
    """End as Click asks for: with an exit code, with help, or with a line about a wrong option or value."""
    kind = type(error).__name__
    if kind == "Exit":
        sys.exit(error.exit_code)
    if kind == "Abort":
        _fail(STOPPED, INTERRUPTED)
    if kind == "NoArgsIsHelpError":
        sys.stdout.write(f"{error.format_message()}\n")
        sys.exit(0)
    _fail(error.format_message())


def _fail(message: str, code: int = 2) -> None:
    if sys.stderr is not None:
        from warner.text import bounded, printable

        said = bounded(printable(message, keep="\n"))
        sys.stderr.write(f"warner: {said}\n")
    sys.exit(code)


if __name__ == "__main__":
    run()
