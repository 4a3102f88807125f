"""Running the reproduction: compute what is missing, draw, judge the claims, and write the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from experiments.pinzon2026 import bias_variance, complete, grid, iteration, overview, page, real, theorems, timing
from experiments.pinzon2026.claims import ExperimentResults, further_findings, markdown, paper_claims
from experiments.pinzon2026.datasets import load_histograms
from experiments.pinzon2026.drawing import save_figure
from experiments.pinzon2026.results import (
    Clock,
    Workers,
    closed_quietly,
    compute,
    damage,
    load,
    open_folder,
    paper_library,
    stored_json,
)
from experiments.pinzon2026.scale import requested_scale
from experiments.pinzon2026.verdicts import Claim
from warner.documents import save_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from experiments.pinzon2026.datasets import Histogram
    from experiments.pinzon2026.drawing import Figures
    from experiments.pinzon2026.results import Configuration
    from experiments.pinzon2026.scale import Scale

Tell: TypeAlias = Callable[[str, float, float], None]
Say: TypeAlias = Callable[[str], None]

EXPERIMENTS = ("grid", "overview", "complete", "bias-variance", "real", "ibu", "claims", "all")
WITH_CLAIMS = {"claims", "all"}


def _tell_nobody(stage: str, done: float, total: float) -> None:
    pass


def _say_nothing(line: str) -> None:
    pass


def reproduce(
    what: str = "all",
    output: str | Path = "results",
    *,
    grid: str | Path | Scale | None = None,
    seeds: int | None = None,
    jobs: int = 1,
    data: str | Path | None = None,
    dask: str | None = None,
    quick: bool = False,
    tell: Tell = _tell_nobody,
    say: Say = _say_nothing,
) -> Path:
    """Run an experiment of the paper, or all of them, and write its numbers, figures, claims and a page to a folder.

    What is in the folder already is not computed again.

    Parameters
    ----------
    what : str
        ``grid``, ``overview``, ``complete``, ``bias-variance``, ``real``, ``ibu``, ``claims`` or ``all``.
    output : path
        The folder for the results.
    grid : Scale or path, optional
        Settings of your own: a `Scale`, or a JSON file with some of its fields.
    seeds : int, optional
        Randomizations per configuration; 100 if not given, 10 for the toy.
    jobs : int
        Number of processes.
    data : path, optional
        A folder with the real data; ``~/.cache/warner`` if not given.
    dask : str, optional
        The address of a Dask scheduler, whose workers compute in place of processes here.
    quick : bool
        Everything at toy size.
    tell : function, optional
        Called with the stage, the work done and the work in all.
    say : function, optional
        Called with a line on anything that is left out.

    Returns
    -------
    Path
        The page.
    """
    scale = requested_scale(quick=quick, seeds=seeds, grid=grid)
    return reproduce_at(scale, what, output, workers=Workers(jobs, dask), data=data, tell=tell, say=say)


def reproduce_at(
    scale: Scale,
    what: str,
    output: str | Path,
    *,
    workers: Workers | None = None,
    data: str | Path | None = None,
    tell: Tell = _tell_nobody,
    say: Say = _say_nothing,
) -> Path:
    """Do what `reproduce` does, at a scale of your own.

    Parameters
    ----------
    scale : Scale
        The settings of all experiments.
    what, output, data, tell, say
        As for `reproduce`.
    workers : Workers, optional
        Who computes; this process if not given.

    Returns
    -------
    Path
        The page.
    """
    if what not in EXPERIMENTS:
        raise ValueError(f"the experiment must be one of {', '.join(EXPERIMENTS)}, but got {what!r}")
    for library in ("pyarrow", "matplotlib", "threadpoolctl", "joblib"):
        paper_library(library)
    histograms: list[Histogram] = []
    notes: list[str] = []
    if what == "real" or what in WITH_CLAIMS:
        histograms, notes = load_histograms(data)
    if what == "real" and not histograms:
        raise ValueError(f"the experiment real needs real data, but there are none: {'; '.join(notes)}")
    run = _Run(open_folder(output, scale), scale, workers or Workers(), tell)
    run.captions(), run.claims_and_findings()  # raise errors of damaged files before the long computation
    for note in notes:
        say(note)
    evidence = run.computed(what, histograms)
    run.draw(what, evidence)
    if what in WITH_CLAIMS:
        run.judge(replace(evidence, timings=run.timed(evidence)), notes)
    if what in WITH_CLAIMS or (what == "real" and not run.claims_path.exists()):
        save_text(run.notes_path, json.dumps(notes, indent=1, ensure_ascii=False))
    return run.page()


class _Run:
    """One call of `reproduce`: what it works on, and with whom."""

    def __init__(self, folder: Path, scale: Scale, workers: Workers, tell: Tell) -> None:
        self.folder, self.scale, self.workers, self.tell = folder, scale, workers, tell
        self.clock = Clock(folder)
        self.figures_folder = folder / "figures"
        self.captions_path = folder / "figures" / "captions.json"
        self.claims_path = folder / "claims.json"
        self.notes_path = folder / "notes.json"

    def computed(self, what: str, histograms: list[Histogram]) -> ExperimentResults:
        """Compute what an experiment needs and the folder lacks, and read it all."""
        wanted: dict[str, Callable[[Scale], list[grid.ZipfSurvey]]] = {
            "overview": overview.wanted,
            "complete": complete.wanted,
            "bias-variance": bias_variance.wanted,
            "real": lambda _: [],
            "ibu": lambda _: [],
        }
        surveys = wanted.get(what, grid.surveys)(self.scale)
        real_surveys = real.surveys(histograms, self.scale)
        descents = iteration.descents(self.scale) if what == "ibu" or what in WITH_CLAIMS else []
        checks = theorems.theorem_checks(self.scale) if what in WITH_CLAIMS else []
        self._compute("grid", surveys)
        self._compute("real", real_surveys)
        self._compute("ibu", descents)
        self._compute("checks", checks)
        return ExperimentResults(
            grid=grid.read(self.folder, surveys),
            real=real.read(self.folder, real_surveys),
            trajectories={descent: load(self.folder, descent) for descent in descents},
            checks={check.name: load(self.folder, check) for check in checks},
        )

    def _compute(self, stage: str, configurations: Sequence[Configuration[object]]) -> None:
        if not configurations:
            return
        with self.clock.running(stage):
            compute(
                self.folder,
                configurations,
                workers=self.workers,
                tell=lambda done, total: self.tell(stage, done, total),
            )

    def draw(self, what: str, evidence: ExperimentResults) -> None:
        """Draw the figures that belong to an experiment: `all` has them all, `grid` none, `claims` its data again."""
        makers: dict[str, Callable[[], Figures]] = {
            "overview": lambda: overview.figures(evidence.grid, self.scale),
            "complete": lambda: complete.figures(evidence.grid, self.scale),
            "bias-variance": lambda: bias_variance.figures(evidence.grid, self.scale),
            "real": lambda: real.figures(evidence.real),
            "ibu": lambda: iteration.figures(evidence.trajectories),
        }
        chosen = [maker for name, maker in makers.items() if what in {name, "all"}]
        captions = self.captions()
        if what in WITH_CLAIMS:  # figures of data that the claims are not about must not stand beside them
            captions = {
                name: caption
                for name, caption in captions.items()
                if not name.startswith("real-") or name.removeprefix("real-") in evidence.real
            }
            if what == "claims" and captions:
                again = {name: outcomes for name, outcomes in evidence.real.items() if f"real-{name}" in captions}
                chosen = [lambda: real.figures(again)]
        if chosen:
            self._draw(chosen, captions)

    def _draw(self, makers: list[Callable[[], Figures]], captions: dict[str, str]) -> None:
        with self.clock.running("figures"):
            drawn = {name.replace(" ", "-"): figure for maker in makers for name, figure in maker().items()}
            self.tell("figures", 0, len(drawn))
            joblib = paper_library("joblib")
            saved = joblib.Parallel(self.workers.jobs, return_as="generator_unordered")(
                joblib.delayed(save_figure)(figure, self.figures_folder, name) for name, (figure, _) in drawn.items()
            )
            with closed_quietly(saved):
                for number, _ in enumerate(saved, 1):
                    self.tell("figures", number, len(drawn))
            captions |= {name: caption for name, (_, caption) in drawn.items()}
            if captions:
                save_text(self.captions_path, json.dumps(captions, indent=1, ensure_ascii=False))

    def captions(self) -> dict[str, str]:
        """Return the captions of all figures that are there."""
        stored: dict[str, str] = stored_json(self.captions_path, dict)
        return {name: caption for name, caption in stored.items() if (self.figures_folder / f"{name}.png").is_file()}

    def timed(self, evidence: ExperimentResults) -> timing.Timings:
        """Time what the claims on speed need."""
        races = {}
        with self.clock.running("timing"):
            growth = timing.growth(self.scale.timed_answers)
            for number, (descent, trajectory) in enumerate(evidence.trajectories.items()):
                self.tell("timing", number, len(evidence.trajectories))
                steps = int(trajectory.steps_to_near[0])
                title = f"s = {descent.s:g}, n = {descent.n:,}, ε = {descent.epsilon:g}"
                races[title] = timing.race(descent, descent.steps if steps < 0 else steps)
            self.tell("timing", 1, 1)
        timings = timing.Timings(growth, races)
        save_text(self.folder / "timings.json", json.dumps(timings.to_dict(), indent=1, ensure_ascii=False))
        return timings

    def judge(self, evidence: ExperimentResults, notes: list[str]) -> None:
        """Judge the claims, and write them as a table for people and as one for the page."""
        claims, findings = paper_claims(evidence), further_findings(evidence)
        note = f"**{page.TOY_REPRODUCTION_NOTE}**\n\n" if self.scale.toy else ""
        note += f"Measured with {self.scale.seeds} seeds a configuration; the verdicts are computed from the results."
        note += "".join(f"\n\n{left_out}." for left_out in notes)
        save_text(self.folder / "claims.md", markdown(claims, findings, note))
        rows = {"claims": claims, "beyond": findings}
        save_text(self.claims_path, json.dumps(rows, indent=1, ensure_ascii=False))

    def claims_and_findings(self) -> tuple[list[Claim], list[Claim]]:
        """Return the claims as they were judged last, and what goes beyond the paper."""
        if not self.claims_path.exists():
            return [], []
        rows: Mapping[str, list[list[str]]] = stored_json(self.claims_path, dict)
        try:
            return [Claim(*row) for row in rows["claims"]], [Claim(*row) for row in rows["beyond"]]
        except KeyError:
            reason = "it is not as warner writes it"
        except TypeError:
            reason = "a claim has four parts"
        raise ValueError(damage(self.claims_path, reason))

    def page(self) -> Path:
        """Write the page from what is in the folder."""
        captions = self.captions()
        notes: list[str] = stored_json(self.notes_path, list)
        claims, findings = self.claims_and_findings()
        return page.write(
            self.folder,
            captions=captions,
            scale=self.scale,
            seconds=self.clock.seconds,
            claims=claims,
            findings=findings,
            notes=[note for note in notes if f"real-{note.split(' ')[0]}" not in captions],
        )
