"""From nothing to the page: compute what is missing, draw, judge, and write."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from warner.documents import save_text
from warner.papers.pinzon2026 import bias_variance, checks, claims, complete, grid, ibu, overview, page, real
from warner.papers.pinzon2026.drawing import save
from warner.papers.pinzon2026.results import (
    Clock,
    Workers,
    closed_quietly,
    compute,
    needed,
    opened,
    remembered,
    understood,
)
from warner.papers.pinzon2026.scale import scale as scaled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.figure import Figure

    from warner.papers.pinzon2026.scale import Scale

    Tell = Callable[[str, float, float], None]
    Say = Callable[[str], None]

EXPERIMENTS = ("grid", "overview", "complete", "bias-variance", "real", "ibu", "claims", "all")
LARGEST = 4_000_000  # answers, to time the estimators by


def reproduce(
    what: str = "all",
    output: str | Path = "results",
    *,
    seeds: int | None = None,
    jobs: int = 1,
    data: str | Path | None = None,
    dask: str | None = None,
    quick: bool = False,
    tell: Tell = lambda stage, done, total: None,
    say: Say = lambda line: None,
) -> Path:
    """Run an experiment of the paper, or all of them, and write its numbers, figures, claims and a page to a folder.

    What is in the folder already is not computed again.

    Parameters
    ----------
    what : str
        ``grid``, ``overview``, ``complete``, ``bias-variance``, ``real``, ``ibu``, ``claims`` or ``all``.
    output : path
        The folder for the results.
    seeds : int, optional
        How often each configuration is randomized; 100 if not given, 10 for the toy.
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
    if what not in EXPERIMENTS:
        raise ValueError(f"the experiment must be one of {', '.join(EXPERIMENTS)}, but got {what!r}")
    for library in ("pyarrow", "matplotlib", "threadpoolctl", "joblib"):
        needed(library)
    chosen = scaled(quick=quick, seeds=seeds)
    folder = opened(output, chosen)
    return _Run(folder, chosen, Workers(jobs, dask), tell).all_of(what, data, say)


class _Run:
    """One call of `reproduce`: what it works on, and with whom."""

    def __init__(self, folder: Path, scale: Scale, workers: Workers, tell: Tell) -> None:
        self.folder, self.scale, self.workers, self.tell = folder, scale, workers, tell
        self.clock = Clock(folder)

    def all_of(self, what: str, data: str | Path | None, say: Say) -> Path:
        self.captions(), self.judged()  # if one of them is damaged, nobody should wait for that news
        scale = self.scale
        everything = what in {"claims", "all"}
        notes: list[str] = []
        columns: list[real.Histogram] = []
        if what == "real" or everything:
            columns, notes = real.histograms(data)
            for note in notes:
                say(note)
        wanted: dict[str, Callable[[Scale], list[grid.Survey]]] = {
            "overview": overview.wanted,
            "complete": complete.wanted,
            "bias-variance": bias_variance.wanted,
            "real": lambda _: [],
            "ibu": lambda _: [],
        }
        surveys = wanted.get(what, grid.surveys)(scale)
        descents = ibu.descents(scale) if what == "ibu" or everything else []
        tests = checks.checks(scale) if everything else []
        real_surveys = real.surveys(columns, scale)
        for stage, configurations in (("grid", surveys), ("real", real_surveys), ("ibu", descents), ("checks", tests)):
            if configurations:
                self.compute(stage, configurations)
        evidence = claims.Evidence(
            grid=grid.read(self.folder, surveys),
            real=real.read(self.folder, real_surveys),
            ibu={one: understood(self.folder, one, partial(ibu.path, runs=one.runs)) for one in descents},
            checks={one.name: understood(self.folder, one, _numbers) for one in tests},
            times={},
        )
        self.draw(what, evidence)
        if everything:
            evidence = evidence._replace(times=self.times(evidence))
            self.judge(evidence, notes)
        if everything or (what == "real" and not (self.folder / "claims.json").exists()):
            save_text(self.folder / "notes.json", json.dumps(notes, indent=1, ensure_ascii=False))
        return self.page()

    def compute(self, stage: str, configurations: list[Any]) -> None:
        with self.clock.running(stage):
            compute(
                self.folder,
                configurations,
                workers=self.workers,
                tell=lambda done, total: self.tell(stage, done, total),
            )

    def draw(self, what: str, evidence: claims.Evidence) -> None:
        """Draw the figures that belong to an experiment: `all` has them all, `grid` none, `claims` its data again."""
        makers: dict[str, Callable[[], dict[str, tuple[Figure, str]]]] = {
            "overview": lambda: overview.figures(evidence.grid, self.scale),
            "complete": lambda: complete.figures(evidence.grid, self.scale),
            "bias-variance": lambda: bias_variance.figures(evidence.grid, self.scale),
            "real": lambda: real.figures(evidence.real),
            "ibu": lambda: ibu.figures(dict(evidence.ibu)),
        }
        wanted = [maker for name, maker in makers.items() if what in {name, "all"}]
        captions = self.captions()
        if what in {"claims", "all"}:  # figures of data that the claims are not about must not stand beside them
            captions = {
                name: caption
                for name, caption in captions.items()
                if not name.startswith("real-") or name.removeprefix("real-") in evidence.real
            }
            if what == "claims" and captions:
                again = {name: each for name, each in evidence.real.items() if f"real-{name}" in captions}
                wanted = [lambda: real.figures(again)]
        if not wanted:
            return
        with self.clock.running("figures"):
            drawn = {name.replace(" ", "-"): each for maker in wanted for name, each in maker().items()}
            self.tell("figures", 0, len(drawn))
            joblib = needed("joblib")
            files = joblib.Parallel(self.workers.jobs, return_as="generator_unordered")(
                joblib.delayed(save)(figure, self.folder / "figures", name) for name, (figure, _) in drawn.items()
            )
            with closed_quietly(files):
                for number, _ in enumerate(files, 1):
                    self.tell("figures", number, len(drawn))
            captions |= {name: caption for name, (_, caption) in drawn.items()}
            if captions:
                save_text(self.folder / "figures" / "captions.json", json.dumps(captions, indent=1, ensure_ascii=False))

    def captions(self) -> dict[str, str]:
        """Give the captions of all figures that are there."""
        folder = self.folder / "figures"
        found: dict[str, str] = remembered(folder / "captions.json", {})
        return {name: caption for name, caption in found.items() if (folder / f"{name}.png").is_file()}

    def judged(self) -> tuple[list[claims.Claim], list[claims.Claim]]:
        """Give the claims as they were judged last, and what goes beyond the paper."""
        path = self.folder / "claims.json"
        empty: dict[str, list[list[str]]] = {"claims": [], "beyond": []}
        rows = remembered(path, empty, names=("claims", "beyond"))
        try:
            found, more = ([claims.Claim(*row) for row in rows[name]] for name in ("claims", "beyond"))
        except TypeError:
            raise ValueError(f"{path} is damaged (a claim has four parts); delete it and run again") from None
        return found, more

    def times(self, evidence: claims.Evidence) -> dict[str, float]:
        """Time what the claims on speed need. Seconds are never the same twice, so they are no Parquet."""
        found: dict[str, float] = {}
        with self.clock.running("timing"):
            small = self.scale.cases < scaled().cases
            found |= claims.complexity(LARGEST // 10 if small else LARGEST)
            for number, (one, path) in enumerate(evidence.ibu.items()):
                self.tell("timing", number, len(evidence.ibu))
                steps = path.reached[0]
                taken = ibu.seconds(one, one.steps if steps < 0 else int(steps))
                key = f"s = {one.s:g}, n = {one.n:,}, ε = {one.epsilon:g}"
                found |= {f"{name} {key}": value for name, value in taken.items()}
            self.tell("timing", 1, 1)
        save_text(self.folder / "timings.json", json.dumps(found, indent=1, ensure_ascii=False))
        return found

    def judge(self, evidence: claims.Evidence, notes: list[str]) -> None:
        found, more = claims.claims(evidence), claims.beyond(evidence)
        said = f"Measured with {self.scale.seeds} seeds a configuration; the verdicts are computed from the results."
        said += "".join(f"\n\n{note}." for note in notes)
        save_text(self.folder / "claims.md", claims.markdown(found, more, said))
        rows = {"claims": [list(one) for one in found], "beyond": [list(one) for one in more]}
        save_text(self.folder / "claims.json", json.dumps(rows, indent=1, ensure_ascii=False))

    def page(self) -> Path:
        captions = self.captions()
        nothing: list[str] = []
        notes = remembered(self.folder / "notes.json", nothing)
        found, more = self.judged()
        return page.write(
            self.folder,
            captions=captions,
            scale=self.scale,
            seconds=self.clock.seconds,
            found=found,
            more=more,
            notes=[note for note in notes if f"real-{note.split(' ')[0]}" not in captions],
        )


def _numbers(columns: dict[str, Any]) -> dict[str, float]:
    return dict(zip(columns["quantity"].tolist(), columns["value"].tolist(), strict=True))
