"""Running the comparison: compute what is missing, make the tables, draw, and write the page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from experiments.estimators import page
from experiments.estimators.contests import contests
from experiments.estimators.entrants import own_estimators
from experiments.estimators.figures import figures
from experiments.estimators.numeric_contests import numeric_contests
from experiments.estimators.populations import Population
from experiments.estimators.ratios import as_csv, outcomes, sections, summaries
from experiments.estimators.real_populations import real_numbers, real_populations
from experiments.estimators.scale import requested_scale
from experiments.pinzon2026.drawing import save_figure
from experiments.pinzon2026.results import Clock, Workers, compute, load, open_folder, paper_library
from warner.documents import save_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike

    from experiments.estimators.contests import Contest, Errors
    from experiments.estimators.numeric_contests import NumericContest, NumericOutcomes
    from experiments.estimators.ratios import Outcomes
    from experiments.estimators.scale import Scale
    from experiments.pinzon2026.run import Say, Tell
    from warner.estimators.methods import CustomEstimator

FORMAT = "warner estimator results"


def compare(
    output: str | Path = "results-estimators",
    *,
    estimators: Mapping[str, Callable[..., Any]] | Iterable[str] = (),
    populations: Mapping[str, ArrayLike] | None = None,
    data: str | Path | None = None,
    seeds: int | None = None,
    jobs: int = 1,
    dask: str | None = None,
    quick: bool = False,
    tell: Tell = lambda stage, done, total: None,
    say: Say = lambda line: None,
) -> Path:
    """Compare all estimators, and your own, on all populations, and your own; write tables, figures and a page.

    What is in the folder already is not computed again: an own estimator that is added later runs alone.

    Parameters
    ----------
    output : path
        The folder for the results.
    estimators : mapping of str to function, or iterable of str
        Your own estimators: functions of counts and design that give shares, or words such as ``module:function``.
    populations : mapping of str to array_like, optional
        Your own data: for each name the number of respondents with each answer, or their shares.
    data : path, optional
        A folder with real data, or a CSV file with the columns ``value,count``; ``~/.cache/warner`` if not given.
    seeds : int, optional
        How often each setting is drawn; 16 if not given, 4 for the toy.
    jobs : int
        Number of processes.
    dask : str, optional
        The address of a Dask scheduler, whose workers compute in place of processes here.
    quick : bool
        A toy, whose numbers say nothing.
    tell : function, optional
        Called with the stage, the work done and the work in all.
    say : function, optional
        Called with a line on anything that is left out.

    Returns
    -------
    Path
        The page.
    """
    scale = requested_scale(quick=quick, seeds=seeds)
    real, notes = real_populations(data)
    real += [_population(name, shares) for name, shares in (populations or {}).items()]
    return compare_at(
        scale,
        output,
        own=own_estimators(estimators),
        real=real,
        numbers=real_numbers(data, scale.numeric_answers),
        notes=notes,
        workers=Workers(jobs, dask),
        tell=tell,
        say=say,
    )


def compare_at(
    scale: Scale,
    output: str | Path,
    *,
    own: list[CustomEstimator],
    real: list[Population],
    notes: list[str],
    workers: Workers,
    numbers: list[Population] | None = None,
    tell: Tell = lambda stage, done, total: None,
    say: Say = lambda line: None,
) -> Path:
    """Do what `compare` does, at a scale of your own, with what was loaded."""
    for library in ("pyarrow", "matplotlib", "threadpoolctl", "joblib"):
        paper_library(library)
    folder = open_folder(output, scale, FORMAT)
    for note in notes:
        say(note)
    clock = Clock(folder)
    listed = contests(scale, real)
    found = outcomes(_computed(folder, listed, own, workers, clock, tell))
    numeric = _computed_numbers(folder, numeric_contests(scale, numbers or []), workers, clock, tell)
    _write_numbers(folder, found, numeric, scale, notes)
    with clock.running("figures"):
        drawn = {name.replace(" ", "-"): figure for name, figure in figures(found).items()}
        for name, (figure, _) in drawn.items():
            save_figure(figure, folder / "figures", name)
    captions = {name: caption for name, (_, caption) in drawn.items()}
    return page.write(
        folder,
        found=found,
        numeric=numeric,
        captions=captions,
        scale=scale,
        seconds=clock.seconds,
        own=own,
        notes=notes,
    )


def _computed(
    folder: Path, listed: list[Contest], own: list[CustomEstimator], workers: Workers, clock: Clock, tell: Tell
) -> dict[Contest, Errors]:
    """Compute what the folder lacks, and read all of it, with own estimators beside those of the library."""
    everything = [*listed, *(contest.by(one) for one in own for contest in listed)]
    with clock.running("contests"):
        compute(folder, everything, workers=workers, tell=lambda done, total: tell("contests", done, total))
    errors_of = {contest: load(folder, contest) for contest in listed}
    for one in own:
        for contest in listed:
            errors_of[contest] |= load(folder, contest.by(one))
    return errors_of


def _computed_numbers(
    folder: Path, listed: list[NumericContest], workers: Workers, clock: Clock, tell: Tell
) -> NumericOutcomes:
    """Do the same for the distributions of numbers."""
    with clock.running("numbers"):
        compute(folder, listed, workers=workers, tell=lambda done, total: tell("numbers", done, total))
    return {contest: load(folder, contest) for contest in listed}


def _write_numbers(folder: Path, found: Outcomes, numeric: NumericOutcomes, scale: Scale, notes: list[str]) -> None:
    """Write the tables in Markdown, the ratios of all settings as CSV, and the summaries as JSON."""
    save_text(folder / "tables.md", page.tables_in_markdown(found, numeric, scale, notes))
    numbers = [
        {"setting": contest.title, "estimator": name, **distances}
        for contest, by_estimator in numeric.items()
        for name, distances in by_estimator.items()
    ]
    save_text(folder / "numbers.json", json.dumps(numbers, indent=1, ensure_ascii=False))
    save_text(folder / "ratios.csv", as_csv(found))
    told = {
        title: [
            {"measure": measure, **summary._asdict(), "mean": summary.mean._asdict(), "worst": summary.worst._asdict()}
            for measure in ("squared_error", "total_variation")
            for summary in summaries(part, measure)
        ]
        for title, part in sections(found).items()
    }
    save_text(folder / "summary.json", json.dumps(told, indent=1, ensure_ascii=False))


def _population(name: str, shares: ArrayLike) -> Population:
    import numpy as np

    weights = np.asarray(shares, dtype=np.float64)
    if weights.ndim != 1 or weights.size < 2 or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError(f"the population {name} must be at least two numbers of at least 0, and not all 0")
    return Population(name, "real", weights / weights.sum())
