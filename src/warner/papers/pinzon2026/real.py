"""Real populations: clicks on a news portal, places and incomes of a census survey, items in supermarket baskets.

The data are not ours to ship. A folder may hold them as one can get them: FIMI files, Census or folktables tables, or
histograms as CSV with the columns ``value,count``; all of them gzipped or not. What is missing or damaged is
said, and the others go on.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.designs import RandomizedResponse
from warner.papers.pinzon2026.drawing import BAND, STYLES, band, draw_legend, figure, named
from warner.papers.pinzon2026.repetition import generator, outcomes_of, repeated
from warner.papers.pinzon2026.results import needed, understood

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from warner.papers.pinzon2026.repetition import Columns, Outcome
    from warner.papers.pinzon2026.scale import Scale

    Real = dict[str, dict["RealSurvey", dict[str, Outcome]]]

EXPERIMENT = "real"
CACHE = Path.home() / ".cache" / "warner"
SESSIONS, PAGES = 990_002, 41_270  # of the whole Kosarak file
ACS_PEOPLE = 1_664_500  # of ACSIncome, all states, 2018
KEPT = {"AGEP": 16, "PINCP": 100, "WKHP": 0, "PWGTP": 0}  # ACSIncome of folktables: each above this
PUBLISHED = ("kosarak", "acs_puma", "acs_pincp")  # the columns of the paper; others are ours
FEWEST, MOST = 2, 10**8  # answers: a histogram of more would not fit the memory of most machines
ESTIMATORS = ("mle", "inv_p", "inv_n", "inv")

# Files that we have seen, by the SHA-256 of their content, unpacked: what they cover. Others are judged by their size.
KNOWN = {
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
    """How many people hold each value of a column, out of K consecutive values from the first on."""

    name: str
    title: str
    first: int
    k: int
    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    coverage: str
    axis: str = "value"
    unit: str = "people"

    @property
    def n(self) -> int:
        """The number of people."""
        return int(self.counts.sum())

    @property
    def digest(self) -> str:
        """A short name for the content."""
        content = np.concatenate([[self.first, self.k], self.values, self.counts]).astype("<i8").tobytes()
        return hashlib.blake2b(content, digest_size=4).hexdigest()

    def people(self) -> NDArray[np.int64]:
        """Give the count of every one of the K values."""
        full = np.zeros(self.k, dtype=np.int64)
        full[self.values - self.first] = self.counts
        return full


@dataclass(frozen=True, eq=False)
class RealSurvey:
    """One configuration: a real population and an epsilon."""

    histogram: Histogram
    epsilon: int
    seeds: int

    @property
    def experiment(self) -> str:
        """The folder of its file."""
        return EXPERIMENT

    @property
    def name(self) -> str:
        """The name of its file, with the content of the histogram in it: other data are another configuration."""
        return f"{self.histogram.name} {self.histogram.digest} epsilon={self.epsilon}"

    @property
    def cost(self) -> float:
        """About how many milliseconds it takes."""
        return self.seeds * (0.05 + 2e-4 * self.histogram.k)

    @property
    def design(self) -> RandomizedResponse:
        """What every answer goes through."""
        return RandomizedResponse(self.histogram.k, epsilon=self.epsilon)

    def columns(self) -> Columns:
        """Randomize the people for each seed, and measure every estimator."""
        people = self.histogram.people()
        rng = generator(EXPERIMENT, self.histogram.name, self.histogram.digest, self.epsilon)
        measured = repeated(people, self.design, seeds=self.seeds, rng=rng)
        size = measured["seed"].size
        settings = {
            "dataset": self.histogram.name,
            "k": self.histogram.k,
            "n": self.histogram.n,
            "epsilon": self.epsilon,
            "absent": int((people == 0).sum()),
        }
        return {name: np.full(size, value) for name, value in settings.items()} | measured


@dataclass(frozen=True)
class Dataset:
    """A column that can be loaded: under which names, what it is and where to get it, and how to read it."""

    title: str
    column: str | None
    histogram: str
    files: tuple[str, ...]
    what: str
    domain: Callable[[NDArray[np.int64]], tuple[int, int]]
    coverage: Callable[[int], str]
    axis: str
    unit: str


def _kosarak_domain(values: NDArray[np.int64]) -> tuple[int, int]:
    if values[0] < 1 or values[-1] > PAGES:
        raise ValueError(f"page ids must be from 1 to {PAGES}, but they go from {values[0]} to {values[-1]}")
    return 1, PAGES


def _observed_range(values: NDArray[np.int64]) -> tuple[int, int]:
    first, k = int(values[0]), int(values[-1]) - int(values[0]) + 1
    if not FEWEST <= k <= MOST:
        raise ValueError(f"the values must span from {FEWEST} to {MOST:,} answers, but from {first} on they span {k:,}")
    return first, k


def _part_of(whole: int, unit: str) -> Callable[[int], str]:
    def said(n: int) -> str:
        return "complete" if n == whole else f"{n:,} {unit}, {n / whole:.1%} of the published number"

    return said


CENSUS = (
    "the American Community Survey's person records: `psam_p*.csv` from www.census.gov (PUMS, 1-Year), or the table "
    "that folktables downloads, with the columns PUMA and PINCP"
)
ACS_FILES = ("ACSIncome*.csv", "ACSIncome*.parquet", "psam_p*.csv", "*pums*.csv", "*pums*.parquet")
DATASETS = {
    "kosarak": Dataset(
        "Kosarak, first page of a session",
        None,
        "kosarak_first_url.csv",
        ("kosarak.dat", "kosarak.csv"),
        "the click stream of a news portal: kosarak.dat from http://fimi.uantwerpen.be/data/",
        _kosarak_domain,
        _part_of(SESSIONS, "sessions"),
        "page",
        "sessions",
    ),
    "acs_puma": Dataset(
        "ACS, place of living (PUMA code)",
        "PUMA",
        "acs_puma.csv",
        ACS_FILES,
        CENSUS,
        _observed_range,
        _part_of(ACS_PEOPLE, "people"),
        "PUMA code",
        "people",
    ),
    "acs_pincp": Dataset(
        "ACS, personal income in dollars (PINCP)",
        "PINCP",
        "acs_pincp.csv",
        ACS_FILES,
        CENSUS,
        _observed_range,
        _part_of(ACS_PEOPLE, "people"),
        "income in dollars",
        "people",
    ),
    "retail": Dataset(
        "Retail, items in supermarket baskets",
        None,
        "retail_items.csv",
        ("retail.dat",),
        "baskets of a Belgian supermarket: retail.dat from http://fimi.uantwerpen.be/data/",
        _observed_range,
        _part_of(908_576, "items"),
        "item number",
        "items",
    ),
}


def histograms(folder: str | Path | None) -> tuple[list[Histogram], list[str]]:
    """Load what a folder holds, and say of everything else what it is and where to get it.

    Parameters
    ----------
    folder : path, optional
        Where the files are; ``~/.cache/warner`` if not given.
    """
    place = CACHE if folder is None else Path(folder)
    if folder is not None and not place.is_dir():
        raise ValueError(f"--data must be a folder, but there is none at {place}")
    found, complaints = [], []
    for name in DATASETS:
        try:
            found.append(histogram(name, place))
        except (ValueError, OSError) as error:
            complaints.append(str(error))
    return found, complaints


def histogram(name: str, folder: str | Path) -> Histogram:
    """Load one column from a folder: its histogram if that is there, or the file that it can be counted from."""
    dataset = DATASETS[name]
    place = Path(folder)
    ready = [path for path in (place / dataset.histogram, place / f"{dataset.histogram}.gz") if path.is_file()]
    raw = _sources(place, dataset.files)
    if not ready and not raw:
        raise FileNotFoundError(
            f"{name} is left out: {place} holds neither {dataset.histogram} nor {dataset.files[0]} (or the like, "
            f"gzipped or not). It is {dataset.what}"
        )
    path = (ready or raw)[0]
    try:
        if ready:
            values, counts, digest = _counted(path)
        elif dataset.column is None:
            values, counts, digest = _transactions(path, every=name == "retail")
        else:
            values, counts, digest = _records(raw, dataset.column)
        first, k = dataset.domain(values)
    except (ValueError, OSError, EOFError, OverflowError, zlib.error) as error:
        raise ValueError(
            f"{name} is left out: {path} is damaged or no such file ({error}). It should be {dataset.what}"
        ) from None
    n = int(counts.sum())
    coverage = KNOWN.get(digest) or dataset.coverage(n)
    return Histogram(name, dataset.title, first, k, values, counts, coverage, dataset.axis, dataset.unit)


def _sources(place: Path, patterns: tuple[str, ...]) -> list[Path]:
    """List the files of the first pattern that any file fits, each once: what is there twice must not count twice."""
    for pattern in patterns:
        found = {path.name: path for path in sorted(place.glob(f"{pattern}.gz"))}
        unpacked = {f"{path.name}.gz": path for path in sorted(place.glob(pattern))}
        if found or unpacked:
            return [path for _, path in sorted((found | unpacked).items())]
    return []


def _content(path: Path) -> tuple[bytes, str]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content, hashlib.sha256(content).hexdigest()


def _counted(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Read a histogram: a header, then a value and its count on each line."""
    content, digest = _content(path)
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig")))
    if next(rows, None) != ["value", "count"]:
        raise ValueError("the first line must be value,count")
    pairs = [row for row in rows if row]
    if any(len(row) != 2 for row in pairs) or not pairs:
        raise ValueError("every line must hold a value and a count")
    table = np.array(pairs).astype(np.int64)
    table = table[np.argsort(table[:, 0])]
    if (table[:, 1] < 0).any() or (np.diff(table[:, 0]) == 0).any() or not table[:, 1].any():
        raise ValueError("counts must be at least 0 and not all 0, and no value may stand there twice")
    table = table[table[:, 1] > 0]
    return table[:, 0], table[:, 1], digest


def _transactions(path: Path, *, every: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Count a FIMI file, a line of item numbers for each session: all of them, or the first of each line."""
    content, digest = _content(path)
    strange = re.search(rb"[^\d\s]", content)
    if strange:
        raise ValueError(f"a line must hold whole numbers only, but byte {strange.start()} is {strange.group()!r}")
    words = content.split() if every else [line.split(None, 1)[0] for line in content.splitlines() if line.strip()]
    if not words:
        raise ValueError("it is empty")
    values, counts = np.unique(np.array(words).astype(np.int64), return_counts=True)
    return values, counts, digest


def _records(paths: list[Path], column: str) -> tuple[NDArray[np.int64], NDArray[np.int64], str]:
    """Count a column of person records, kept as ACSIncome keeps them as far as the columns for that are there."""
    totals: dict[int, int] = {}
    digest = ""
    for path in paths:
        table = _table(path, column)
        digest = _content(path)[1] if len(paths) == 1 else ""
        for value, count in zip(*(part.tolist() for part in np.unique(table, return_counts=True)), strict=True):
            totals[value] = totals.get(value, 0) + count
    if not totals:
        raise ValueError(f"no row has a value of {column}")
    values = np.array(sorted(totals), dtype=np.int64)
    return values, np.array([totals[value] for value in values.tolist()]), digest


def _table(path: Path, column: str) -> NDArray[np.int64]:
    pa = needed("pyarrow")
    names = [column, *(name for name in KEPT if name != column)]
    if path.name.removesuffix(".gz").endswith(".parquet"):
        parquet = needed("pyarrow.parquet")
        table = parquet.read_table(path, columns=[name for name in names if name in parquet.read_schema(path).names])
    else:
        reader = needed("pyarrow.csv")
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
    for name, least in KEPT.items():
        if name in numbers:
            keep &= numbers[name] > least
    kept = numbers[column][keep]
    if (kept != np.rint(kept)).any():
        raise ValueError(f"{column} must hold whole numbers")
    return kept.astype(np.int64)


def surveys(found: list[Histogram], scale: Scale) -> list[RealSurvey]:
    """List the configurations for what was loaded."""
    return [RealSurvey(one, epsilon, scale.seeds) for one in found for epsilon in scale.real_epsilons]


def read(folder: Path, wanted: list[RealSurvey]) -> Real:
    """Read the outcomes of configurations that were computed, by dataset."""
    found: Real = {}
    for survey in wanted:
        parse = partial(outcomes_of, seeds=survey.seeds)
        found.setdefault(survey.histogram.name, {})[survey] = understood(folder, survey, parse)
    return found


def figures(real: Real) -> dict[str, tuple[Figure, str]]:
    """Draw, for each column, the true histogram beside the mean squared error against epsilon."""
    drawn = {}
    for name, by_survey in real.items():
        ordered = sorted(by_survey, key=lambda survey: survey.epsilon)
        data = ordered[0].histogram
        drawing, ((left, right),) = figure(9.4, 3.8, 1, 2, across=1.05)
        left.plot(data.values, data.counts / data.n, ".", color="black", markersize=2.5, alpha=0.4, rasterized=True)
        left.set_yscale("log")
        if data.first > 0 and name == "acs_pincp":
            left.set_xscale("log")
        named(left, data.axis, f"share of the {data.unit}")
        left.set_title("True histogram", fontsize=10)
        if name != "acs_pincp":
            left.ticklabel_format(axis="x", style="plain")
            left.locator_params(axis="x", nbins=5)
            last = data.first + data.k - 1  # all of the domain, though its ends may be held by nobody
            left.set_xlim(data.first - 0.03 * data.k, last + 0.03 * data.k)
        epsilons = [survey.epsilon for survey in ordered]
        handles: dict[str, Any] = {}
        for estimator in ESTIMATORS:
            values = np.array([by_survey[survey][estimator].squared_error / data.k for survey in ordered])
            colour, marker = STYLES[estimator]
            style = "--" if estimator == "inv" else "-"
            handles[estimator] = band(right, epsilons, values, colour, marker, mean=True, style=style)
        right.set_yscale("log")
        right.set_xticks([2, 4, 6, 8, 10])
        named(right, "ε", "mean over the K answers")
        right.set_title("Mean squared error", fontsize=10)
        draw_legend(drawing, handles, f"{data.title}:  K = {data.k:,}, N = {data.n:,}")
        binned = (
            "; the published code cuts each column into K equal bins instead, so two codes can share one there"
            if name in PUBLISHED
            else ""
        )
        caption = (
            f"{data.title}: K = {data.k:,}, N = {data.n:,}, {data.values.size:,} values seen. Data: {data.coverage}. A "
            f"category is one code or number from {data.first:,} to {data.first + data.k - 1:,}, whether it was seen "
            f"or not{binned}. Left: true shares. Right: mean squared error (mean over the K answers). Lines: mean over "
            f"{ordered[0].seeds} seeds; {BAND}."
        )
        drawn[f"real {name}"] = (drawing, caption)
    return drawn
