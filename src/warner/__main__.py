"""The command `warner`: one clear line for every failure, and never a traceback for a mistake of the user's."""

from __future__ import annotations

import atexit
import codecs
import gc
import os
import re
import signal
import sys

TYPE_CHECKING = False  # as in `typing`, whose import would take as long as all the others
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType
    from typing import TypeAlias

    Handler: TypeAlias = Callable[[int, FrameType | None], object] | signal.Handlers

INTERRUPTED = 130
TERMINATED = 143
GARBAGE = 100_000  # new objects before those that nobody uses are looked for: an eighth of the time of loading modules
MISTAKE = 70  # of ours: EX_SOFTWARE of sysexits.h. Python's own 1 would be the verdict of `warner check`
STOPPED = "interrupted; no file is half-written"
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
REMEDY = re.compile(r"; give (values)\b")  # arguments that are named as what to do
KEYWORD = re.compile(r'\b([a-z_]+)=(?:"([\w,-]+)"|\((\d+), (\d+)\)|(?=;|$))')  # unknown="drop", odds=(1, 0), by=
ARGUMENT = re.compile(r"^([a-z_]+)(?= (?:must|needs|is for)\b)|\bhalf_width\b")  # what an error is about
OTHER_NAMES = {"count": "commonest", "upper": "to", "lower": "from"}  # of arguments whose option is called otherwise
SHORT = {"-c": "--column", "-d": "--design", "-q": "--question", "-o": "--output"}


class TerminatedError(BaseException):
    """The process was asked to end: by a scheduler, a container, a time limit."""


def main() -> None:
    """Run the command line."""
    _ready()
    try:
        try:
            from warner.cli import app
        except ImportError as error:
            from warner.words import not_installed

            _fail(not_installed(f"the command line needs {error.name}", "cli"))
        code = app(prog_name="warner", standalone_mode=False, obj=_listen)
        if code == INTERRUPTED:  # Typer makes this of Ctrl-C
            _fail(STOPPED, INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)
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
        _fail(in_shell_words(str(named if error.strerror else error), sys.argv))
    except (ValueError, TypeError, ImportError) as error:
        _fail(in_shell_words(str(error), sys.argv))
    except Exception as error:  # noqa: BLE001 - a mistake of ours, which is told as one
        if str(error) == INTERRUPTED_QUERY:
            _fail(STOPPED, INTERRUPTED)
        if type(error).__module__.startswith(("click", "typer")):
            _say(error)
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


def in_shell_words(message: str, words: Sequence[str] = ()) -> str:
    """Write keywords and arguments of the library as options: what the library says is said in Python.

    An argument is written as an option if it is among the `words` of the command, or missing there.

    >>> in_shell_words('level must be below 1; leave them out with unknown="drop"', ["estimate", "--level=2"])
    '--level must be below 1; leave them out with --unknown drop'
    """
    given = {SHORT.get(word, word.partition("=")[0]) for word in words}

    def option(found: re.Match[str]) -> str:
        name, text, first, second = found.groups()
        value, spelled = f"{first}:{second}" if first else text, name.replace("_", "-")
        return f"--{spelled} {value}" if value else f"--{spelled}"

    def argument(found: re.Match[str]) -> str:
        name = found[0]
        spelled = OTHER_NAMES.get(name, name).replace("_", "-")
        if found.start() > 0:
            return spelled
        missing = message.startswith(f"{name} must be given")
        return f"--{spelled}" if f"--{spelled}" in given or missing else name

    return ARGUMENT.sub(argument, KEYWORD.sub(option, REMEDY.sub(r"; give --\1", message)))


def _say(error: Exception) -> None:
    """Show a wrong option as Click words it; no command at all is a request for help, and an abort is Ctrl-C."""
    if type(error).__name__ == "Abort":
        _fail(STOPPED, INTERRUPTED)
    message = getattr(error, "format_message", lambda: str(error))()
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(f"{message}\n")
        sys.exit(0)
    _fail(message)


def _fail(message: str, code: int = 2) -> None:
    if sys.stderr is not None:
        from warner.words import bounded, printable

        said = bounded(printable(message, keep="\n"))
        sys.stderr.write(f"warner: {said}\n")
    sys.exit(code)


if __name__ == "__main__":
    run()
