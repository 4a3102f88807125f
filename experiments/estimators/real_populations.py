"""Real populations for the comparison: those that the paper's experiments know, and any histogram of a user's own.

An own histogram is a CSV file, gzipped or not, of any name: a header ``value,count``, then a line for each answer and
its number of respondents, which can be 0.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import numpy as np

from experiments.estimators.numeric_contests import INCOMES, incomes
from experiments.estimators.populations import Population
from experiments.pinzon2026.datasets import DATASETS, FEWEST_ANSWERS, load_histograms, read_counts


def real_populations(source: str | Path | None) -> tuple[list[Population], list[str]]:
    """Load what a folder holds, or one file, and say what is not there; a file that cannot be read is an error.

    Parameters
    ----------
    source : path, optional
        A folder, of which every CSV file is read, or a CSV file; ``~/.cache/warner`` if not given, of which only the
        data of the paper are.
    """
    if source is not None and Path(source).is_file():
        return [own_population(Path(source))], []
    histograms, notes = load_histograms(source)
    found = [Population(one.name, "real", one.people() / one.n) for one in histograms]
    if source is not None:
        found += [own_population(path) for path in _others(Path(source))]
    return found, notes


def real_numbers(source: str | Path | None, k: int) -> list[Population]:
    """Load the incomes that a folder holds, in K bins; nothing if there are none."""
    if source is not None and Path(source).is_file():
        return []
    return [incomes(one, k) for one in load_histograms(source)[0] if one.name == INCOMES]


def own_population(path: Path) -> Population:
    """Read a user's own histogram; the population is called as the file."""
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    try:
        counts = read_counts(path)[1]
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(
            f"{path} is not a histogram ({error}); it must be CSV with the header value,count and a line per answer"
        ) from None
    if len(counts) < FEWEST_ANSWERS:
        raise ValueError(f"{path} must have at least {FEWEST_ANSWERS} answers, but it has {len(counts)}")
    return Population(name, "real", np.array(counts) / sum(counts))


def _others(folder: Path) -> list[Path]:
    """List the CSV files of a folder that are not files of the paper's data."""
    known = [pattern for dataset in DATASETS.values() for pattern in (dataset.histogram, *dataset.files)]
    files = sorted(path for ending in ("*.csv", "*.csv.gz") for path in folder.glob(ending) if path.is_file())
    return [path for path in files if not any(fnmatch(path.name.removesuffix(".gz"), pattern) for pattern in known)]
