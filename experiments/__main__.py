"""The command `python -m experiments`: run published experiments again, and check what they claim."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from experiments.estimators.run import compare
from experiments.pinzon2026.run import EXPERIMENTS, reproduce

COMPARISON = "estimators"
FOLDERS = {COMPARISON: Path("results-estimators")}
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    made = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Reproduce the experiments and claims of Pinzón et al. (AAAI 2026), or compare all estimators. "
        "Finished configurations are kept in the folder, so that an interrupted run continues where it stopped.",
    )
    made.add_argument(
        "experiment",
        nargs="?",
        default="all",
        choices=[*EXPERIMENTS, COMPARISON],
        metavar="experiment",
        help=f"{', '.join(EXPERIMENTS)}, or {COMPARISON}, which compares all estimators  [default: all]",
    )
    made.add_argument("--grid", type=Path, metavar="FILE", help="settings of your own, a JSON file; not for estimators")
    made.add_argument("--seeds", type=int, help="randomizations per configuration  [default: 100; for estimators 16]")
    made.add_argument("--jobs", type=int, default=1, help="number of processes  [default: 1]")
    made.add_argument(
        "-o",
        "--output",
        type=Path,
        help=f"folder for the results  [default: results; for estimators {FOLDERS[COMPARISON]}]",
    )
    made.add_argument(
        "--data",
        type=Path,
        help="folder with the real data; for estimators, also a CSV file with the columns value,count  "
        "[default: ~/.cache/warner]",
    )
    made.add_argument(
        "--estimator",
        action="append",
        default=[],
        metavar="MODULE:FUNCTION",
        help="for estimators: a function of counts and design; may be repeated",
    )
    made.add_argument("--dask", metavar="ADDRESS", help="compute on the Dask cluster at this address")
    made.add_argument("--quick", action="store_true", help="run everything at toy size, within a minute")
    made.add_argument("-q", "--quiet", action="store_true", help="print only errors")
    return made


def run(words: list[str]) -> None:
    """Run the experiment that the command names."""
    asked = parser().parse_args(words)
    target = asked.output or FOLDERS.get(asked.experiment, Path("results"))
    options = {"seeds": asked.seeds, "jobs": asked.jobs, "data": asked.data, "dask": asked.dask, "quick": asked.quick}
    options |= {} if asked.quiet else {"tell": _progress, "say": _say}
    if asked.estimator and asked.experiment != COMPARISON:
        raise ValueError(f"estimator must be given with {COMPARISON}, but the experiment is {asked.experiment}")
    if asked.grid and asked.experiment == COMPARISON:
        raise ValueError(f"grid must be given with an experiment of the paper, but the experiment is {COMPARISON}")
    try:
        if asked.experiment == COMPARISON:
            page = compare(target, estimators=asked.estimator, **options)
        else:
            page = reproduce(asked.experiment, target, grid=asked.grid, **options)
    except KeyboardInterrupt:
        _say(f"interrupted; finished configurations are kept in {target}, and the same command continues from there")
        sys.exit(INTERRUPTED)
    if not asked.quiet:
        _say(f"{page}: figures and settings; the numbers are in the same folder")


def _progress(stage: str, done: float, total: float) -> None:
    """Write the stage and how much of it is done on one line of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{stage:10} {100 * done / total if total else 100:3.0f} %" + "\n" * (done >= total))


def _say(line: str) -> None:
    sys.stderr.write(f"experiments: {line}\n")


def main() -> None:
    """Run the command; one line for every error, and no traceback for a mistake of the user."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run(sys.argv[1:])
    except (ValueError, TypeError, ImportError, OSError) as error:
        message = str(error)
        is_option = f"--{message.partition(' ')[0]}" in parser().format_help()
        _say(f"--{message}" if is_option else message)
        sys.exit(2)


if __name__ == "__main__":
    main()
