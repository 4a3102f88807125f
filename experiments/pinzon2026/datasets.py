"""Real populations, from the files that users have: clicks on a news portal, records of a census survey, baskets.

The data are not ours to ship. A folder may hold them as one can get them: FIMI files, Census or folktables tables, or
histograms as CSV with the columns ``value,count``; all of them gzipped or not. What is missing is said, and the others
go on; a file that is there and cannot be read is an error.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from experiments.pinzon2026.results import paper_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"

DEFAULT_FOLDER = Path.home() / ".cache" / "warner"
KOSARAK_SESSIONS, KOSARAK_PAGES = 990_002, 41_270  # of the whole Kosarak file
ACS_PEOPLE = 1_664_500  # of ACSIncome, all states, 2018
ACS_MINIMA = {"AGEP": 16, "PINCP": 100, "WKHP": 0, "PWGTP": 0}  # ACSIncome keeps a record with each above this
PUBLISHED_COLUMNS = ("kosarak", "acs_puma", "acs_pincp")  # those of the paper; others are ours
FEWEST_ANSWERS, MOST_HISTOGRAM_ANSWERS = 2, 10**8  # a histogram of more would not fit the memory of most machines

# Files that we have seen, by the SHA-256 of their content, unpacked: what they cover. Others are judged by their size.
COVERAGE_BY_DIGEST = {
    "2a4ef1388677b40b1ba43403274788d39562fc4fccc4e00362c06ec1b15ef545": "the first 100,000 of 990,002 sessions (10.1 "
    "%)",
    "5f359ba1501f6476f82f16b0f6ed822e9f9410655df1c619be379aa68f6209f6": "2024 survey; California and Texas are missing",
    "63ce6add925e7441194bffa5998b605f64c36f6fafbcc3c1c721d96e52a9d394": "2024 survey; California and Texas are missing",
    "e6473ca725ec2d145aa0775d00f20697d1b77ad85c6f12dc83c5cf69c1fe3229": "complete",
    "80d34d9665016430b6e501872e683cb9ba69a3b016474a2e63bb8238f650b7f9": "complete; the authors' own file",
    "b5adc02279d74c615d9c467538cb2804a54f312cfeac5f778e8ad3293acdb0e8": "complete; the authors' own file",
}


@dataclass(frozen=True, eq=False)
class Histogram:
    """Return the number of records with each value of a column, for K consecutive values from `first` on."""

    name: str
    title: str
    first: int
    k: int
    values: Integers
    counts: Integers
    coverage: str
    axis: str = "value"
    unit: str = "people"

    @property
    def n(self) -> int:
        """Sample size."""
        return int(self.counts.sum())

    @property
    def digest(self) -> str:
        """A short name for the content."""
        content = np.concatenate([[self.first, self.k], self.values, self.counts]).astype("<i8").tobytes()
        return hashlib.blake2b(content, digest_size=4).hexdigest()

    @property
    def last(self) -> int:
        """The last of the K values."""
        return self.first + self.k - 1

    def people(self) -> Integers:
        """Return the count of every one of the K values."""
        full = np.zeros(self.k, dtype=np.int64)
        full[self.values - self.first] = self.counts
        return full


@dataclass(frozen=True)
class Dataset:
    """A column that can be loaded: under which names, what it is and where to get it, and how to read it.

    Attributes
    ----------
    title, axis, unit : str
        Names in figures of the column, its values and the respondents.
    column : str or None
        The column of a table of person records; None for a file of transactions.
    histogram : str
        The name of a file with the ready histogram.
    files : tuple of str
        Patterns of the files that the histogram can be counted from.
    description : str
        What it is, and where to get it.
    domain : function
        Takes the sorted values that were seen, gives the first answer and the number of answers.
    coverage : function
        Function from the sample size to a phrase on the part of the published data.
    every_item : bool
        Whether all items of a transaction count, and not the first alone.
    """

    title: str
    column: str | None
    histogram: str
    files: tuple[str, ...]
    description: str
    domain: Callable[[Integers], tuple[int, int]]
    coverage: Callable[[int], str]
    axis: str
    unit: str
    every_item: bool = False


def _kosarak_domain(values: Integers) -> tuple[int, int]:
    if values[0] < 1 or values[-1] > KOSARAK_PAGES:
        raise ValueError(f"page ids must be from 1 to {KOSARAK_PAGES}, but they go from {values[0]} to {values[-1]}")
    return 1, KOSARAK_PAGES


def _observed_range(values: Integers) -> tuple[int, int]:
    first, k = int(values[0]), int(values[-1]) - int(values[0]) + 1
    if not FEWEST_ANSWERS <= k <= MOST_HISTOGRAM_ANSWERS:
        raise ValueError(
            f"the values must span from {FEWEST_ANSWERS} to {MOST_HISTOGRAM_ANSWERS:,} answers, but from {first} on "
            f"they span {k:,}"
        )
    return first, k


def _part_of(whole: int, unit: str) -> Callable[[int], str]:
    def coverage(n: int) -> str:
        return "complete" if n == whole else f"{n:,} {unit}, {n / whole:.1%} of the published number"

    return coverage


CENSUS = (
    "the American Community Survey's person records: `psam_p*.csv` from www.census.gov (PUMS, 1-Year), or the table "
    "that folktables downloads, with the columns PUMA and PINCP"
)
ACS_FILES = ("ACSIncome*.csv", "ACSIncome*.parquet", "psam_p*.csv", "*pums*.csv", "*pums*.parquet")


def _census(title: str, column: str, histogram: str, axis: str) -> Dataset:
    return Dataset(
        title=title,
        column=column,
        histogram=histogram,
        files=ACS_FILES,
        description=CENSUS,
        domain=_observed_range,
        coverage=_part_of(ACS_PEOPLE, "people"),
        axis=axis,
        unit="people",
    )


DATASETS = {
    "kosarak": Dataset(
        title="Kosarak, first page of a session",
        column=None,
        histogram="kosarak_first_url.csv",
        files=("kosarak.dat", "kosarak.csv"),
        description="the click stream of a news portal: kosarak.dat from http://fimi.uantwerpen.be/data/",
        domain=_kosarak_domain,
        coverage=_part_of(KOSARAK_SESSIONS, "sessions"),
        axis="page",
        unit="sessions",
    ),
    "acs_puma": _census("ACS, place of residence (PUMA code)", "PUMA", "acs_puma.csv", axis="PUMA code"),
    "acs_pincp": _census("ACS, personal income in dollars (PINCP)", "PINCP", "acs_pincp.csv", axis="income in dollars"),
    "retail": Dataset(
        title="Retail, items in supermarket baskets",
        column=None,
        histogram="retail_items.csv",
        files=("retail.dat",),
        description="baskets of a Belgian supermarket: retail.dat from http://fimi.uantwerpen.be/data/",
        domain=_observed_range,
        coverage=_part_of(908_576, "items"),
        axis="item number",
        unit="items",
        every_item=True,
    ),
}


def load_histograms(folder: str | Path | None) -> tuple[list[Histogram], list[str]]:
    """Load what a folder holds, and say of everything else what it is and where to get it.

    Parameters
    ----------
    folder : path, optional
        Where the files are; ``~/.cache/warner`` if not given.
    """
    source = DEFAULT_FOLDER if folder is None else Path(folder)
    if folder is not None and not source.is_dir():
        raise ValueError(f"--data must be a folder, but there is none at {source}")
    histograms, complaints = [], []
    for name in DATASETS:
        try:
            histograms.append(load_histogram(name, source))
        except FileNotFoundError as error:
            complaints.append(str(error))
    return histograms, complaints


def load_histogram(name: str, folder: Path) -> Histogram:
    """Load one column from a folder: its histogram if that is there, or the file that it can be counted from."""
    dataset = DATASETS[name]
    ready = [path for path in (folder / dataset.histogram, folder / f"{dataset.histogram}.gz") if path.is_file()]
    raw = _sources(folder, dataset.files)
    if not ready and not raw:
        raise FileNotFoundError(
            f"{name} is left out: {folder} holds neither {dataset.histogram} nor {dataset.files[0]} (or the like, "
            f"gzipped or not). The data are {dataset.description}"
        )
    path = (ready or raw)[0]
    try:
        if ready:
            values, counts, digest = _read_histogram(path)
        elif dataset.column is None:
            values, counts, digest = _count_transactions(path, every_item=dataset.every_item)
        else:
            values, counts, digest = _count_records(raw, dataset.column)
        first, k = dataset.domain(values)
    except (ValueError, OSError, EOFError, OverflowError, zlib.error) as error:
        raise ValueError(
            f"{path} is damaged, or is not such a file ({error}); repair it, or remove it from the folder. It should "
            f"be {dataset.description}"
        ) from None
    n = int(counts.sum())
    coverage = COVERAGE_BY_DIGEST.get(digest) or dataset.coverage(n)
    return Histogram(name, dataset.title, first, k, values, counts, coverage, dataset.axis, dataset.unit)


def _sources(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """List the files of the first pattern that any file fits, each once: what is there twice must not count twice."""
    for pattern in patterns:
        packed = {path.name: path for path in folder.glob(f"{pattern}.gz")}
        unpacked = {f"{path.name}.gz": path for path in folder.glob(pattern)}
        if packed or unpacked:
            return [path for _, path in sorted((packed | unpacked).items())]
    return []


def _content(path: Path) -> tuple[bytes, str]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content, hashlib.sha256(content).hexdigest()


def _read_histogram(path: Path) -> tuple[Integers, Integers, str]:
    """Read a histogram of whole numbers: a header, then a value and its count on each line."""
    words, numbers = read_counts(path)
    for word in words:
        _whole_number(word, "a value")
    values, counts = np.array(words).astype(np.int64), np.array(numbers, dtype=np.int64)
    order = np.argsort(values)
    values, counts = values[order], counts[order]
    if (np.diff(values) == 0).any():
        raise ValueError("no value may occur twice")
    return values[counts > 0], counts[counts > 0], _content(path)[1]


def read_counts(path: Path) -> tuple[list[str], list[int]]:
    """Read a histogram of any values: a header ``value,count``, then a value and its count on each line.

    What is wrong is said with the number of the line.
    """
    rows = csv.reader(io.StringIO(_content(path)[0].decode("utf-8-sig")))
    if next(rows, None) != ["value", "count"]:
        raise ValueError("the first line must be value,count")
    counts: dict[str, int] = {}
    for row in rows:
        if not row:
            continue
        if len(row) != 2:
            raise ValueError(f"line {rows.line_num} must hold a value and a count, but it is {','.join(row)!r}")
        value, count = row[0].strip(), _whole_number(row[1], f"line {rows.line_num}: the count")
        if value in counts:
            raise ValueError(f"line {rows.line_num}: no value may occur twice, but {value!r} does")
        if count < 0:
            raise ValueError(f"line {rows.line_num}: the count must be at least 0, but got {count}")
        counts[value] = count
    if not any(counts.values()):
        raise ValueError("counts must not all be 0, and there must be some")
    return list(counts), list(counts.values())


def _whole_number(word: str, what: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"{what} must be a whole number, but got {word!r}") from None


def _count_transactions(path: Path, *, every_item: bool) -> tuple[Integers, Integers, str]:
    """Count a FIMI file, a line of item numbers for each session: all of them, or the first of each line."""
    content, digest = _content(path)
    strange = re.search(rb"[^\d\s]", content)
    if strange:
        raise ValueError(f"a line must hold whole numbers only, but byte {strange.start()} is {strange.group()!r}")
    words = content.split() if every_item else [line.split(None, 1)[0] for line in content.splitlines() if line.strip()]
    if not words:
        raise ValueError("it is empty")
    values, counts = np.unique(np.array(words).astype(np.int64), return_counts=True)
    return values, counts, digest


def _count_records(paths: list[Path], column: str) -> tuple[Integers, Integers, str]:
    """Count a column of person records, kept as ACSIncome keeps them as far as the columns for that are there."""
    totals: dict[int, int] = {}
    digest = ""
    for path in paths:
        kept = _kept_records(path, column)
        digest = _content(path)[1] if len(paths) == 1 else ""
        for value, count in zip(*(part.tolist() for part in np.unique(kept, return_counts=True)), strict=True):
            totals[value] = totals.get(value, 0) + count
    if not totals:
        raise ValueError(f"no row has a value of {column}")
    values = np.array(sorted(totals), dtype=np.int64)
    return values, np.array([totals[value] for value in values.tolist()]), digest


def _kept_records(path: Path, column: str) -> Integers:
    pa = paper_library("pyarrow")
    names = [column, *(name for name in ACS_MINIMA if name != column)]
    if path.name.removesuffix(".gz").endswith(".parquet"):
        parquet = paper_library("pyarrow.parquet")
        table = parquet.read_table(path, columns=[name for name in names if name in parquet.read_schema(path).names])
    else:
        reader = paper_library("pyarrow.csv")
        table = reader.read_csv(path)  # PyArrow unpacks .gz by its name
        table = table.select([name for name in names if name in table.column_names])
    if column not in table.column_names:
        raise ValueError(f"{path.name} has no column {column}")
    numbers = {}
    for name in table.column_names:
        values = table[name]
        if not pa.types.is_integer(values.type):  # codes with leading zeros are text; numbers with gaps are floats
            values = values.cast(pa.float64())
        numbers[name] = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    keep = np.isfinite(numbers[column])
    for name, least in ACS_MINIMA.items():
        if name in numbers:
            keep &= numbers[name] > least
    kept = numbers[column][keep]
    if (kept != np.rint(kept)).any():
        raise ValueError(f"{column} must hold whole numbers")
    return kept.astype(np.int64)
