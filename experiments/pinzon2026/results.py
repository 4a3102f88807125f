"""Result files: each finished configuration is a Parquet file, whole or not there at all.

A configuration is a frozen value with an experiment, a name and a function that computes its columns; its seed comes
from what it is, never from when or where it runs. So a run that was stopped goes on where it was, and any number of
workers, on this machine or on a Dask cluster, ends with the same files to the last byte.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from warner import __version__
from warner.documents import Document, checked, document, loaded, parsed, save_text, written_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from types import ModuleType

    from _typeshed import DataclassInstance

    from experiments.pinzon2026.repetition import Columns

Value = TypeVar("Value")
Result = TypeVar("Result")
ResultOf = TypeVar("ResultOf", covariant=True)

FORMAT, VERSION = "warner paper results", 1
DIFFERENCES_NAMED = 3  # of the settings of two folders, in one line
SCHEDULER_PATIENCE = 10  # seconds for a Dask scheduler to answer


class Configuration(Protocol[ResultOf]):
    """Unit of work that can be computed on its own."""

    @property
    def experiment(self) -> str:
        """The folder of its file."""

    @property
    def name(self) -> str:
        """The name of its file."""

    @property
    def cost(self) -> float:
        """About how much work it is, in any unit: for the time left."""

    def columns(self) -> Columns:
        """Compute it."""

    def parsed(self, columns: Columns) -> ResultOf:
        """Make of its columns what the figures and the claims need."""


@dataclass(frozen=True)
class Workers:
    """Who computes: this many processes of this machine, or a Dask cluster at an address."""

    jobs: int = 1
    dask: str | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"jobs must be at least 1, but got {self.jobs!r}")
        # Dask finds a wrong address later, and then leaves half a client behind, which complains on its own.
        if self.dask and not re.fullmatch(r"((tcp|tls|ucx|wss?)://)?[^\s/]+:\d+/?|inproc://\S+", self.dask):
            raise ValueError(
                f"--dask must be the address of a scheduler, such as tcp://127.0.0.1:8786, but got {self.dask!r}"
            )


def open_folder(folder: str | Path, scale: DataclassInstance, kind: str = FORMAT) -> Path:
    """Make a folder for results of this scale and kind, or check that an older one is of the same.

    Results also depend on the versions of warner and NumPy, whose random numbers may change; they are never mixed.
    """
    path = Path(folder)
    wanted = {"warner": __version__, "numpy": np.__version__, **json.loads(json.dumps(asdict(scale)))}
    settings = path / "settings.json"
    if settings.exists():
        stored = loaded(settings, lambda text: checked(parsed(text, kind), kind, VERSION, set(wanted)))
        _refuse_other_settings(path, stored, wanted)
    elif path.exists() and not path.is_dir():
        raise ValueError(f"the results need a folder, but {path} is a file; give another name with -o")
    elif path.is_dir() and any(path.iterdir()):
        raise ValueError(
            f"{path} is not empty and holds no settings.json of earlier results; give another folder with -o"
        )
    else:
        try:
            path.mkdir(parents=True, exist_ok=True)
            save_text(settings, document({"format": kind, "version": VERSION, **wanted}))
        except OSError as error:
            raise OSError(
                f"{path} cannot be written to ({error.strerror or error}); give another folder with -o"
            ) from None
    return path


def _refuse_other_settings(path: Path, stored: Document, wanted: Document) -> None:
    differing = [name for name in wanted if stored[name] != wanted[name]]
    if not differing:
        return
    listed = "; ".join(
        f"{name} {stored[name]} there, {wanted[name]} asked for" for name in differing[:DIFFERENCES_NAMED]
    )
    more = f"; and {len(differing) - DIFFERENCES_NAMED} more" if len(differing) > DIFFERENCES_NAMED else ""
    raise ValueError(
        f"{path} holds results of other settings ({listed}{more}); give another folder with -o, or those settings"
    )


def file_of(folder: Path, configuration: Configuration[object]) -> Path:
    """Return where the file of a configuration is, or will be."""
    return folder / configuration.experiment / f"{configuration.name}.parquet"


def compute(
    folder: Path,
    configurations: Sequence[Configuration[object]],
    *,
    workers: Workers,
    tell: Callable[[float, float], None] = lambda done, total: None,
) -> int:
    """Compute what is not in the folder yet; give the number of configurations that were.

    Parameters
    ----------
    folder : Path
        As `open_folder` gives it.
    configurations : sequence of Configuration
        What is wanted.
    workers : Workers
        Who computes.
    tell : function
        Called with the work done and the work in all, in units of cost, whenever a configuration is on disk.
    """
    missing = [configuration for configuration in configurations if not file_of(folder, configuration).exists()]
    # The largest first: no worker is left alone with one at the end.
    missing.sort(key=lambda configuration: -configuration.cost)
    total, done = sum(configuration.cost for configuration in missing), 0.0
    tell(done, total)
    for experiment in {configuration.experiment for configuration in missing}:
        (folder / experiment).mkdir(exist_ok=True)
    with _computed(missing, workers) as computed:
        for index, columns in computed:
            save(file_of(folder, missing[index]), columns)
            done += missing[index].cost
            tell(done, total)
    return len(missing)


def save(path: Path, columns: Columns) -> None:
    """Write columns as a Parquet file."""
    pa, pq = paper_library("pyarrow"), paper_library("pyarrow.parquet")
    with written_whole(path) as part:
        pq.write_table(pa.table(columns), part, compression="zstd")


def load(folder: Path, configuration: Configuration[Result]) -> Result:
    """Read what a configuration gave, in the form that it is used in; a file that cannot be read is named."""
    path = file_of(folder, configuration)
    try:
        table = paper_library("pyarrow.parquet").read_table(path)
        return configuration.parsed({name: table[name].to_numpy() for name in table.column_names})
    except FileNotFoundError:
        raise
    except KeyError as error:
        reason = f"it has no {error}"
    except (OSError, ValueError, TypeError, IndexError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
    raise ValueError(damage(path, reason))


def stored_json(path: Path, kind: type[Value]) -> Value:
    """Read a JSON file that holds a `kind`, a dict or a list; an empty one if there is no such file."""
    if not path.exists():
        return kind()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(damage(path, str(error))) from None
    if not isinstance(content, kind):
        raise ValueError(damage(path, "it is not as warner writes it"))
    return content


def damage(path: Path, reason: str) -> str:
    """Raise an error for an unusable file of the folder, with the remedy."""
    return f"{path} is damaged ({reason}); delete it and run again"


def paper_library(name: str) -> ModuleType:
    """Import a library of the dependency group `experiments`; the error names the command that installs it."""
    try:
        return import_module(name)
    except ImportError:
        library = name.partition(".")[0]
        raise ImportError(
            f"the experiments need {library}, which is not installed; run: pip install --group experiments"
        ) from None


@contextmanager
def _computed(
    configurations: Sequence[Configuration[object]], workers: Workers
) -> Iterator[Iterable[tuple[int, Columns]]]:
    """Return an iterator over the columns, in the order in which they are ready, with their places."""
    tasks = list(enumerate(configurations))
    if workers.dask is None and (workers.jobs == 1 or len(tasks) <= 1):
        yield (_on_one_thread(*task) for task in tasks)
        return
    joblib = paper_library("joblib")
    if workers.dask is None:
        parallel = joblib.Parallel(workers.jobs, return_as="generator_unordered", batch_size=1)
        with closed_quietly(parallel(joblib.delayed(_on_one_thread)(*task) for task in tasks)) as ready:
            yield ready
        return
    with _client(workers.dask) as client, joblib.parallel_config("dask", client=client):
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        with closed_quietly(parallel(joblib.delayed(_on_one_thread)(*task) for task in tasks)) as ready:
            yield ready


@contextmanager
def closed_quietly(ready: Generator[Value, None, None]) -> Iterator[Generator[Value, None, None]]:
    """Close a generator of joblib without its warning on results that were not fetched."""
    try:
        yield ready
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ready.close()


def _on_one_thread(index: int, configuration: Configuration[object]) -> tuple[int, Columns]:
    # One thread for linear algebra: two would add the same numbers in another order, and change the last bit.
    with paper_library("threadpoolctl").threadpool_limits(1):
        return index, configuration.columns()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    distributed = paper_library("distributed")
    try:
        client = distributed.Client(address, timeout=SCHEDULER_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OSError(f"no Dask scheduler answers at {address!r} ({reason}); start one with: dask scheduler") from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise OSError(f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}")
        yield client


class Clock:
    """Seconds spent on each experiment, kept in the folder and added up over all runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "running_time.json"
        self.seconds: dict[str, float] = stored_json(self.path, dict)
        if not all(isinstance(value, int | float) for value in self.seconds.values()):
            raise ValueError(damage(self.path, "it must hold numbers of seconds"))

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Add the time that the body takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
            save_text(self.path, json.dumps({key: round(value, 2) for key, value in self.seconds.items()}))
