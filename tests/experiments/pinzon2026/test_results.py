"""The folder of results: the same files from any number of workers, and complaints that name the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import experiments
from experiment_cases import TINY
from experiments.pinzon2026 import grid, iteration, real, results, theorems
from experiments.pinzon2026.claims import ExperimentResults, paper_claims
from experiments.pinzon2026.datasets import Histogram
from experiments.pinzon2026.results import Workers
from experiments.pinzon2026.run import reproduce_at
from experiments.pinzon2026.scale import PUBLISHED, Scale, requested_scale

if TYPE_CHECKING:
    from experiments.pinzon2026.results import Configuration

for library in ("pyarrow", "joblib", "threadpoolctl"):
    pytest.importorskip(library, reason=f"the experiments need {library}, which is not installed")


def configurations(scale: Scale) -> list[Configuration[object]]:
    values = np.array([3, 4, 9])
    made_up = Histogram("made_up", "Made up", 3, 12, values, np.array([50, 30, 20]), "complete")
    # So many answers that linear algebra would use every thread it gets, and add up in another order.
    wide = Histogram("wide", "Wide", 0, 60_000, np.arange(50_000), np.arange(1, 50_001), "complete")
    return [
        *grid.surveys(scale),
        *real.surveys([made_up, wide], scale),
        *iteration.descents(scale),
        *theorems.theorem_checks(scale),
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    wanted = configurations(TINY)
    for name, jobs in (("one", 1), ("two", 2)):
        folder = results.open_folder(tmp_path / name, TINY)
        assert results.compute(folder, wanted, workers=Workers(jobs)) == len(wanted)
        assert results.compute(folder, wanted, workers=Workers(jobs)) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == len(wanted)


@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_computes_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="a cluster needs distributed, which is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        folder = results.open_folder(tmp_path / "cluster", TINY)
        results.compute(folder, configurations(TINY), workers=Workers(dask=cluster.scheduler_address))
    results.compute(results.open_folder(tmp_path / "here", TINY), configurations(TINY), workers=Workers())
    assert contents(tmp_path / "cluster") == contents(tmp_path / "here")


def test_a_folder_of_the_same_settings_is_taken_again(tmp_path: Path) -> None:
    results.open_folder(tmp_path / "results", TINY)
    assert results.open_folder(tmp_path / "results", TINY) == tmp_path / "results"


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    results.open_folder(tmp_path / "results", TINY)
    with pytest.raises(ValueError, match=r"other settings \(seeds 4 there, 5 asked for\)"):
        results.open_folder(tmp_path / "results", replace(TINY, seeds=5))
    with pytest.raises(ValueError, match=r"\(seeds [^;]+; epsilons [^;]+; people [^;]+; and \d+ more\); give another"):
        results.open_folder(tmp_path / "results", PUBLISHED)


def test_a_folder_of_another_numpy_is_refused(tmp_path: Path) -> None:
    results.open_folder(tmp_path / "results", TINY)
    settings = tmp_path / "results" / "settings.json"
    settings.write_text(settings.read_text().replace('"numpy": "', '"numpy": "0.'))
    with pytest.raises(ValueError, match=r"numpy 0\."):
        results.open_folder(tmp_path / "results", TINY)


def test_what_is_no_folder_of_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("Dear")
    with pytest.raises(ValueError, match=r"need a folder, but .*file is a file; give another name with -o"):
        results.open_folder(tmp_path / "file", TINY)
    with pytest.raises(OSError, match=r"cannot be written to \(Not a directory\); give another folder with -o"):
        results.open_folder(tmp_path / "file" / "results", TINY)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to a friend.txt").write_text("Dear")
    with pytest.raises(ValueError, match="not empty and holds no settings"):
        results.open_folder(tmp_path / "letters", TINY)


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    folder = results.open_folder(tmp_path / "results", TINY)
    survey = grid.surveys(TINY)[0]
    results.compute(folder, [survey], workers=Workers())
    results.file_of(folder, survey).write_bytes(b"PAR1, but not really")
    with pytest.raises(ValueError, match=r"K=20 s=1.3 N=100 epsilon=1.parquet is damaged .*delete it"):
        results.load(folder, survey)


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    folder = results.open_folder(tmp_path / "results", TINY)
    survey = grid.surveys(TINY)[0]
    results.compute(folder, [survey], workers=Workers())
    columns = survey.columns()
    without_mle = {name: values[columns["estimator"] != "mle"] for name, values in columns.items()}
    for other, why in (
        ({"x": np.arange(3)}, "it has no 'estimator'"),
        (without_mle, "it has no 'mle'"),
        ({name: values[1:] for name, values in columns.items()}, "it has 3 seeds of mle, not 4"),
    ):
        results.save(results.file_of(folder, survey), other)
        with pytest.raises(ValueError, match=rf"epsilon=1.parquet is damaged \({why}\); delete it and run again"):
            grid.read(folder, [survey])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("claims.json", "{}"),
        ("claims.json", "[]"),
        ("claims.json", '{"claims": [["one"]], "beyond": []}'),
        ("running_time.json", "{"),
        ("running_time.json", '{"grid": "long"}'),
        ("figures/captions.json", "{"),
        ("figures/captions.json", "[]"),
    ],
)
def test_a_damaged_memory_is_named_before_any_work(name: str, content: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need Matplotlib, which is not installed")
    folder = results.open_folder(tmp_path / "results", TINY)
    (folder / "figures").mkdir()
    (folder / name).write_text(content)
    with pytest.raises(ValueError, match=rf"{name} is damaged .*; delete it and run again") as caught:
        reproduce_at(TINY, "overview", folder)
    assert len(str(caught.value).splitlines()) == 1
    assert not contents(folder)


def test_an_older_check_is_named() -> None:
    with pytest.raises(ValueError, match=r"checks/order.parquet .*no 'out of order'.*delete it and run again"):
        paper_claims(ExperimentResults(checks={"order": {"cases": 3}}))


@pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes are POSIX")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    stopped = tmp_path / "stopped"
    root = Path(experiments.__file__).resolve().parent.parent  # `python -m` finds the package there
    command = [sys.executable, "-m", "experiments", "grid", "--quick", "--seeds", "150", "--jobs", "2"]
    started = subprocess.Popen(
        [*command, "-o", str(stopped)], cwd=root, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    patience = time.monotonic() + 60
    while len(contents(stopped)) < 3 and time.monotonic() < patience:
        time.sleep(0.01)
    os.killpg(started.pid, how)
    complaint = started.communicate(timeout=60)[1]
    there = contents(stopped)
    scale = requested_scale(quick=True, seeds=150)
    assert 3 <= len(there) < len(grid.surveys(scale))
    if how == signal.SIGINT:
        assert started.returncode == 130
        assert "finished configurations are kept in" in complaint
        assert len(complaint.splitlines()) == 1, complaint
    folder = results.open_folder(stopped, scale)
    chosen = sorted(grid.surveys(scale), key=lambda survey: survey.cost)[:8]
    done = [survey for survey in grid.surveys(scale) if results.file_of(folder, survey).exists()]
    results.compute(folder, chosen, workers=Workers())
    fresh = results.open_folder(tmp_path / "fresh", scale)
    results.compute(fresh, [*chosen, *done], workers=Workers())
    assert contents(folder) == contents(fresh)
    assert there.items() <= contents(folder).items()
    assert not list(stopped.rglob("*.part")) or how == signal.SIGKILL


def test_no_scheduler_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="a cluster needs distributed, which is not installed")
    monkeypatch.setattr(results, "SCHEDULER_PATIENCE", 1)
    folder = results.open_folder(tmp_path / "results", TINY)
    with pytest.raises(OSError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        results.compute(folder, grid.surveys(TINY), workers=Workers(dask="tcp://127.0.0.1:9"))


def test_no_workers_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        Workers(0)
