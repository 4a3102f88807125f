"""The published experiments at toy size: what they compute, where they go on, and how they judge."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from warner import RandomizedResponse, inv, inv_n, inv_p, mle, simulate
from warner.papers.pinzon2026 import checks, claims, complete, grid, ibu, overview, real, results, run, scale
from warner.papers.pinzon2026.repetition import NAMES, Outcome, generator, outcomes, repeated
from warner.papers.pinzon2026.results import Workers

if TYPE_CHECKING:
    from pathlib import Path

for needed in ("pyarrow", "joblib", "threadpoolctl"):
    pytest.importorskip(needed, reason=f"the experiments need {needed}, which is not installed")

TINY = scale.Scale(
    seeds=4,
    epsilons=(1, 4),
    people=(100, 1_000),
    answers=(20, 40),
    exponents=(1.3,),
    columns=(1,),
    ibu_answers=15,
    ibu_people=(300,),
    ibu_epsilons=(0.5, 2.0),
    ibu_exponents=(1.3,),
    ibu_steps=200,
    ibu_runs=3,
    real_epsilons=(3, 6),
    cases=20,
)
COMMAND = [sys.executable, "-m", "warner", "reproduce"]


def everything(size: scale.Scale) -> list[Any]:
    values = np.array([3, 4, 9])
    made_up = real.Histogram("made_up", "Made up", 3, 12, values, np.array([50, 30, 20]), "complete")
    # So many answers that linear algebra would use every thread it gets, and add up in another order.
    wide = real.Histogram("wide", "Wide", 0, 60_000, np.arange(50_000), np.arange(1, 50_001), "complete")
    return [*grid.surveys(size), *real.surveys([made_up, wide], size), *ibu.descents(size), *checks.checks(size)]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


# One configuration


def test_squared_bias_and_variance_are_those_of_the_estimates() -> None:
    # The estimates themselves, drawn again from the same seed, and NumPy's mean and variance of them.
    people, design = np.array([60, 30, 10, 0, 0]), RandomizedResponse(5, epsilon=1)
    found = outcomes(repeated(people, design, seeds=50, rng=generator("a test"), auto=True))
    counts = simulate.reports_of_people(people, design, rng=generator("a test"), size=50)
    truth = people / 100
    for name, estimator in {"mle": mle, "inv": inv, "inv_p": inv_p, "inv_n": inv_n}.items():
        shares = estimator(counts, design)
        assert_allclose(found[name].squared_bias, ((shares.mean(axis=0) - truth) ** 2).sum(), rtol=1e-9)
        assert_allclose(found[name].variance, shares.var(axis=0).sum(), rtol=1e-9)
        assert_allclose(found[name].squared_error, ((shares - truth) ** 2).sum(axis=1), rtol=1e-12)
        assert_array_equal(found[name].negatives, (shares < 0).sum(axis=1))
        assert_array_equal(found[name].absent_negatives, (shares[:, 3:] < 0).sum(axis=1))
        assert_allclose(found[name].squared_bias + found[name].variance, found[name].squared_error.mean(), rtol=1e-12)
    each = np.array([found[name].squared_error for name in ("mle", "inv_p", "inv_n")])
    assert (found["auto"].squared_error >= each.min(axis=0)).all()
    assert (found["auto"].squared_error <= each.max(axis=0)).all()


def test_blocks_hold_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "warner.papers.pinzon2026.repetition.BLOCK", 17
    )  # three histograms of five answers are drawn at once
    monkeypatch.setattr("warner.papers.pinzon2026.repetition.PART", 12)  # two are measured
    found = outcomes(repeated(np.array([6, 3, 1, 0, 0]), RandomizedResponse(5, epsilon=1), seeds=5, rng=generator(1)))
    assert found["inv"].squared_error.shape == (5,)
    assert_allclose(found["inv"].squared_bias + found["inv"].variance, found["inv"].squared_error.mean(), rtol=1e-12)


def test_histograms_and_single_people_give_the_same_errors() -> None:
    # Everybody randomized by the real randomizer, then counted, against the simulated histograms.
    people, design, runs = np.array([150, 90, 40, 20, 0, 0, 0, 0]), RandomizedResponse(8, epsilon=1), 1_500
    truth = people / people.sum()
    answers = np.repeat(np.arange(8), people)
    reports = design.randomize(np.tile(answers, (runs, 1)), codes=True)
    counts = np.array([np.bincount(row, minlength=8) for row in reports])
    found = outcomes(repeated(people, design, seeds=runs, rng=np.random.default_rng(3)))
    for name, estimator in {"mle": mle, "inv": inv, "inv_p": inv_p, "inv_n": inv_n}.items():
        one_by_one = ((estimator(counts, design) - truth) ** 2).sum(axis=1)
        both = (one_by_one, found[name].squared_error)
        error = math.hypot(*(values.std(ddof=1) / math.sqrt(runs) for values in both))
        assert abs(both[0].mean() - both[1].mean()) < 5 * error
        # Not a test without power: a tenth more noise would show.
        assert 0.1 * both[0].mean() > 2 * error


def test_the_truth_of_a_configuration_is_its_own() -> None:
    first, second = grid.Survey(20, 1.3, 1_000, 1, 4), grid.Survey(20, 1.3, 1_000, 2, 4)
    assert_array_equal(first.people(), first.people())
    assert first.people().sum() == 1_000
    assert (first.people() != second.people()).any()
    assert first.absent == (first.people() == 0).sum()
    # `people` and `columns` must speak of the same truth: with hardly any noise INV is the truth.
    clear = grid.Survey(20, 1.3, 1_000, 30, 4)
    assert outcomes(clear.columns())["inv"].squared_error.max() < 1e-9


def test_the_published_grid_is_complete() -> None:
    published = grid.surveys(scale.scale())
    assert len(published) == len(set(published)) == 10 * 5 * 5 * 3
    assert sum(survey.auto for survey in published) == 3 * (10 + 5 - 1)
    assert {survey.seeds for survey in published} == {100}
    assert len(ibu.descents(scale.scale())) == 2 * 2 * 3


def test_ibu_goes_its_way() -> None:
    one = ibu.Descent(15, 1.3, 300, 2.0, 500, 2)
    way = ibu.path(one.columns(), one.runs)
    counts = one.counts()
    for which in range(2):
        fit = __import__("warner").ibu(counts[which], one.design, iterations=500, gap=0)
        distances = ((fit.shares - mle(counts[which], one.design)) ** 2).sum()
        assert_allclose(way.squared_distance[-1, which], distances, rtol=1e-6, atol=1e-20)
        assert_allclose(way.gap[:, which], fit.history[way.step], rtol=1e-6, atol=1e-9)
    assert (np.diff(way.squared_distance, axis=0) <= 1e-12).all()
    for which, steps in enumerate(way.reached):
        shares = np.full(15, 1 / 15)
        if steps > 0:
            shares = __import__("warner").ibu(counts[which], one.design, iterations=int(steps), gap=0).shares
        assert ((shares - mle(counts[which], one.design)) ** 2).sum() < ibu.NEAR


def test_the_checks_find_what_is_known() -> None:
    found = {one.name: run._numbers(one.columns()) for one in checks.checks(replace(TINY, cases=60))}
    assert found["likelihood"]["largest excess"] < 1e-12
    assert found["threshold"]["as sketched"] == found["threshold"]["cases"] > 0
    assert found["threshold"]["as printed"] < found["threshold"]["cases"]
    assert found["order"]["out of order"] == found["order"]["moved"] == found["smallest"]["worse"] == 0
    assert found["order"]["apart, though counts are equal"] == 0 < found["order"]["tied, though counts differ"]
    assert found["collinearity"]["residual"] < 1e-12
    assert max(found["continuity"].values()) <= 1 + 1e-9
    # By hand: K = 5, e^1.2 = 3.3201, so q = 1/7.3201, p - q = 2.3201/7.3201; MATH has .00144, .00455 and .00518.
    assert found["variance"]["printed"] == pytest.approx(0.00144, abs=5e-6)
    assert found["variance"]["repaired"] == pytest.approx(0.00455, abs=5e-6)
    assert found["variance"]["multinomial"] == pytest.approx(0.00518, abs=5e-6)


# The folder


def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    for name, jobs in (("one", 1), ("two", 2)):
        folder = results.opened(tmp_path / name, TINY)
        assert results.compute(folder, everything(TINY), workers=Workers(jobs)) == len(everything(TINY))
        assert results.compute(folder, everything(TINY), workers=Workers(jobs)) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == len(everything(TINY))


@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_computes_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="a cluster needs distributed, which is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        folder = results.opened(tmp_path / "cluster", TINY)
        results.compute(folder, everything(TINY), workers=Workers(dask=cluster.scheduler_address))
    results.compute(results.opened(tmp_path / "here", TINY), everything(TINY), workers=Workers())
    assert contents(tmp_path / "cluster") == contents(tmp_path / "here")


def test_a_folder_of_other_settings_is_refused(tmp_path: Path) -> None:
    results.opened(tmp_path / "results", TINY)
    assert results.opened(tmp_path / "results", TINY) == tmp_path / "results"
    with pytest.raises(ValueError, match=r"other settings \(seeds 4 there, 5 asked for\)"):
        results.opened(tmp_path / "results", replace(TINY, seeds=5))
    with pytest.raises(ValueError, match=r"\(seeds [^;]+; epsilons [^;]+; people [^;]+; and \d+ more\); give another"):
        results.opened(tmp_path / "results", scale.scale())
    (tmp_path / "file").write_text("Dear")
    with pytest.raises(ValueError, match=r"need a folder, but .*file is a file; give another name with -o"):
        results.opened(tmp_path / "file", TINY)
    with pytest.raises(OSError, match=r"cannot be written to \(Not a directory\); give another folder with -o"):
        results.opened(tmp_path / "file" / "results", TINY)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to a friend.txt").write_text("Dear")
    with pytest.raises(ValueError, match="not empty and holds no settings"):
        results.opened(tmp_path / "letters", TINY)
    settings = tmp_path / "results" / "settings.json"
    settings.write_text(settings.read_text().replace('"numpy": "', '"numpy": "0.'))
    with pytest.raises(ValueError, match=r"numpy 0\."):
        results.opened(tmp_path / "results", TINY)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    folder = results.opened(tmp_path / "results", TINY)
    survey = grid.surveys(TINY)[0]
    results.compute(folder, [survey], workers=Workers())
    results.place(folder, survey).write_bytes(b"PAR1, but not really")
    with pytest.raises(ValueError, match=r"K=20 s=1.3 N=100 epsilon=1.parquet is damaged .*delete it"):
        results.load(folder, survey)
    # Readable, but of something else; an estimator is missing; a seed is missing.
    columns = survey.columns()
    part = {name: values[columns["estimator"] != "mle"] for name, values in columns.items()}
    for other, why in (
        ({"x": np.arange(3)}, "it has no 'estimator'"),
        (part, "it has no 'mle'"),
        ({name: values[1:] for name, values in columns.items()}, "it has 3 seeds of mle, not 4"),
    ):
        results.save(results.place(folder, survey), other)
        with pytest.raises(ValueError, match=rf"epsilon=1.parquet is damaged \({why}\); delete it and run again"):
            grid.read(folder, [survey])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("claims.json", "{}"),
        ("claims.json", '{"claims": [["one"]], "beyond": []}'),
        ("running_time.json", "{"),
        ("running_time.json", '{"grid": "long"}'),
        ("figures/captions.json", "{"),
        ("figures/captions.json", "[]"),
    ],
)
def test_a_damaged_memory_is_named(name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "TOY", TINY)
    folder = results.opened(tmp_path / "results", TINY)
    (folder / "figures").mkdir()
    (folder / name).write_text(content)
    with pytest.raises(ValueError, match=rf"{name} is damaged .*; delete it and run again") as caught:
        run.reproduce("overview", folder, quick=True)
    assert len(str(caught.value).splitlines()) == 1
    assert not contents(folder)  # said before any work


def test_an_older_check_is_named() -> None:
    with pytest.raises(ValueError, match=r"checks/order.parquet .*no 'out of order'.*delete it and run again"):
        claims.claims(claims.Evidence({}, {}, {}, {"order": {"cases": 3}}, {}))


@pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes are POSIX")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    arguments = [*COMMAND, "grid", "--quick", "--seeds", "150", "--jobs", "2", "-o", str(tmp_path / "stopped")]
    started = subprocess.Popen(arguments, start_new_session=True, stderr=subprocess.PIPE, text=True)
    patience = time.monotonic() + 60
    while len(contents(tmp_path / "stopped")) < 3 and time.monotonic() < patience:
        time.sleep(0.01)
    os.killpg(started.pid, how)
    said = started.communicate(timeout=60)[1]
    there = contents(tmp_path / "stopped")
    size = scale.scale(quick=True, seeds=150)
    assert 3 <= len(there) < len(grid.surveys(size))
    if how == signal.SIGINT:
        assert started.returncode == 130
        assert "what is done is kept in" in said
        assert len(said.splitlines()) == 1, said
    folder = results.opened(tmp_path / "stopped", size)
    chosen = sorted(grid.surveys(size), key=lambda survey: survey.cost)[:20]
    done = [survey for survey in grid.surveys(size) if results.place(folder, survey).exists()]
    results.compute(folder, chosen, workers=Workers())
    fresh = results.opened(tmp_path / "fresh", size)
    results.compute(fresh, [*chosen, *done], workers=Workers())
    assert contents(folder) == contents(fresh)
    assert there.items() <= contents(folder).items()
    assert not list((tmp_path / "stopped").rglob("*.part")) or how == signal.SIGKILL


# From nothing to the page


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "retail_items.csv").write_text("value,count\n0,500\n1,300\n7,200\n")
    (folder / "kosarak.dat").write_text("1 2 3\n1\n5 6\n" * 40)
    return folder


def test_everything_at_once(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="figures need Matplotlib, which is not installed")
    small = replace(TINY, answers=(20,), real_epsilons=(3,), people=(100,))
    monkeypatch.setattr(scale, "TOY", small)
    monkeypatch.setattr(run, "LARGEST", 100_000)
    said: list[str] = []
    stages: list[str] = []
    page = run.reproduce(
        "all",
        tmp_path / "results",
        quick=True,
        data=data,
        say=said.append,
        tell=lambda stage, _done, _total: stages.append(stage),
    )
    assert [re.split(r"[ :]", line)[0] for line in said] == ["acs_puma", "acs_pincp"]
    assert all("census" in line for line in said)
    assert dict.fromkeys(stages) == dict.fromkeys(["grid", "real", "ibu", "checks", "figures", "timing"])
    figures = {path.name for path in (tmp_path / "results" / "figures").iterdir()} - {"captions.json"}
    # 2 metrics and 2 parts both ways; the same 4 in the one population; two datasets; one setting of IBU; each twice.
    assert len(figures) == 2 * (8 + 4 + 2 + 1)
    text = page.read_text(encoding="utf-8")
    assert text.count("<img") == 15
    assert not re.search(r"(src|href)=['\"](?!data:)", text)
    assert "acs_puma is left out" in text
    table = (tmp_path / "results" / "claims.md").read_text(encoding="utf-8")
    rows = json.loads((tmp_path / "results" / "claims.json").read_text(encoding="utf-8"))
    assert table.count("\n| ") == len(rows["claims"]) + len(rows["beyond"]) + 4
    assert {row[3] for row in rows["claims"]} <= {claims.HOLDS, claims.CORRECTED, claims.FAILS}
    assert "nan" not in table
    assert table.count("\n- ") == text.count("<li>") - 2 == len(claims.MISPRINTS)  # two data sets are missing
    # Again, from another way in: nothing is computed twice, the figures are the same files.
    before = {path: path.read_bytes() for path in (tmp_path / "results" / "figures").glob("overview*.svg")}
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").rglob("*.parquet")}
    run.reproduce("overview", tmp_path / "results", quick=True, jobs=2)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert {path: path.read_bytes() for path in before} == before
    assert "acs_puma is left out" in page.read_text(encoding="utf-8")  # the claims are still there, and still without
    # The claims again, without Kosarak: the page must not show what it says is missing. A lost figure is no reason to
    # stop.
    (data / "kosarak.dat").unlink()
    (tmp_path / "results" / "figures" / "overview-mse-by-N.png").unlink()
    run.reproduce("claims", tmp_path / "results", quick=True, data=data)
    run.reproduce("overview", tmp_path / "results", quick=True)
    text = page.read_text(encoding="utf-8")
    assert "kosarak is left out" in text
    assert "id='real-kosarak'" not in text
    assert "id='real-retail'" in text
    assert "id='overview-mse-by-N'" in text  # drawn again


@pytest.mark.parametrize("what", ["grid", "complete", "bias-variance", "real", "ibu"])
def test_each_experiment_alone(what: str, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="figures need Matplotlib, which is not installed")
    monkeypatch.setattr(scale, "TOY", replace(TINY, answers=(20,), people=(100,)))
    run.reproduce(what, tmp_path / "results", quick=True, data=data)
    folders = {path.name for path in (tmp_path / "results").iterdir() if path.is_dir()}
    expected = {what if what in {"grid", "real", "ibu"} else "grid"} | ({"figures"} if what != "grid" else set())
    assert folders == expected


def refused(*arguments: str) -> str:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("warner: ")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_bad_requests(tmp_path: Path) -> None:
    folder = str(tmp_path / "results")
    assert "must be one of grid, overview" in refused("everything", "-o", folder)
    assert "seeds must be at least 2" in refused("grid", "--seeds", "1", "-o", folder)
    for address in ("garbage", "foo://x:1"):
        assert "--dask must be the address" in refused("grid", "--quick", "-o", folder, "--dask", address)
    assert "--data must be a folder" in refused("real", "--quick", "-o", folder, "--data", str(tmp_path / "nowhere"))


def test_no_scheduler_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="a cluster needs distributed, which is not installed")
    monkeypatch.setattr(results, "PATIENCE", 1)
    folder = results.opened(tmp_path / "results", TINY)
    with pytest.raises(OSError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        results.compute(folder, grid.surveys(TINY), workers=Workers(dask="tcp://127.0.0.1:9"))
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        results.compute(folder, grid.surveys(TINY), workers=Workers(0))


def drawn(axes: Any) -> list[list[float]]:
    return [line.get_ydata().tolist() for line in axes.get_lines()]


def test_figures_show_means_over_the_answers() -> None:
    pytest.importorskip("matplotlib", reason="figures need Matplotlib, which is not installed")
    # Errors are stored as sums over the K answers; the figures have squared error / K, bias and variance as they are.
    size = replace(TINY, exponents=(1.3,), answers=(20, 40))
    each = {name: outcome(error, bias=error / 8) for name, error in zip(NAMES, (1.0, 2.0, 3.0, 4.0, 5.0), strict=True)}
    surveys = dict.fromkeys(grid.surveys(size), each)
    for metric, factor in (("mse", 1 / 40), ("bias", 1 / 8), ("variance", 7 / 8)):
        drawing, _ = overview.figures(surveys, size, (metric,))[f"overview {metric} by N"]
        heights = [values[0] for values in drawn(drawing.axes[0])]
        expected = sorted(factor * each[name].squared_error[0] for name in overview.SHOWN[metric])
        assert sorted(heights) == pytest.approx(expected)
        assert ("mean over the K answers" in drawing.axes[0].get_ylabel()) == (metric == "mse")
    drawing, _ = complete.figures(surveys, size, ("mse",))["complete mse s=1.3"]
    panels = [axes for axes in drawing.axes if axes.get_title() != "true share"]
    rows = sorted({values[0] for axes in panels for values in drawn(axes) if len(values) == 2})
    assert rows == pytest.approx(sorted({error / k for k in (20, 40) for error in (1.0, 2.0, 3.0, 4.0)}))
    data = real.Histogram("kosarak", "K", 1, 50, np.array([1, 2, 9]), np.array([5, 3, 2]), "", "page", "sessions")
    drawing, caption = real.figures({"kosarak": {real.RealSurvey(data, 3, 10): each}})["real kosarak"]
    left, right = drawing.axes
    assert sorted(values[0] for values in drawn(right)) == pytest.approx([0.02, 0.04, 0.06, 0.08])
    assert drawn(left) == [[0.5, 0.3, 0.2]]
    assert left.get_xlim()[0] < 1  # the whole domain
    assert left.get_xlim()[1] > 50
    assert (left.get_xlabel(), left.get_ylabel()) == ("page", "share of the sessions")
    assert "equal bins" in caption
    drawing, caption = real.figures({"retail": {real.RealSurvey(replace(data, name="retail"), 3, 10): each}})[
        "real retail"
    ]
    assert "published" not in caption


# The verdicts


def test_the_repaired_variance_has_the_square() -> None:
    # INV by hand for given people: p (1-p) + (K-1) q (1-q), over N (p-q)^2. K = 4, odds e = 3: p = 1/2, q = 1/6.
    # So (1/4 + 3 * 5/36) / (N / 9) = 6 / N; the printed formula has (2/3) / (N / 3) = 2 / N.
    surveys = [grid.Survey(4, 1.3, n, math.log(3), 10) for n in (100, 1_000)]  # type: ignore[arg-type]
    measured = {
        survey: {"inv": outcome(6 / survey.n * 0.9 * factor)}
        for survey, factor in zip(surveys, (0.99, 1.01), strict=True)
    }
    (row,) = claims._variances(measured)
    assert "measured over printed: 3 (2.97 to 3.03); with (p-q)² in the denominator: 1 (0.99 to 1.01)" in row.measured
    assert row.verdict == claims.CORRECTED


def outcome(error: float, *, likelihood: float = 1.0, bias: float = 0.0, negatives: int = 0) -> Outcome:
    ones = np.ones(10)
    return Outcome(
        error * ones,
        likelihood * ones,
        ones,
        np.full(10, negatives),
        np.full(10, negatives),
        bias,
        error - bias,
    )


def judged(found: list[claims.Claim], words: str) -> claims.Claim:
    matching = [claim for claim in found if words in claim.statement]
    assert len(matching) == 1, [claim.statement for claim in found]
    return matching[0]


def evidence(**errors: float) -> claims.Evidence:
    """Make results in which the estimators have these errors everywhere, at three populations."""
    each = {name: outcome(error, likelihood=1 + error, bias=error / 2) for name, error in errors.items()}
    each["inv"] = outcome(3.0, likelihood=math.nan, bias=0.0, negatives=5)
    surveys = [grid.Survey(50, s, 1_000, epsilon, 10) for s in (0.01, 1.3, 2.5) for epsilon in (1, 2)]
    return claims.Evidence(dict.fromkeys(surveys, each), {}, {}, {}, {})


def test_verdicts_follow_the_numbers() -> None:
    good = claims.claims(evidence(mle=1.5, inv_p=1.0, inv_n=2.0))
    assert judged(good, "sandwiched").verdict == claims.HOLDS
    assert judged(good, "close to the best in all").verdict == claims.HOLDS
    assert judged(good, "INVP is the best in squared error").verdict == claims.HOLDS
    assert judged(good, "INVN is the best in squared error").verdict == claims.FAILS
    assert judged(good, "ranking of INVP and INVN flips").verdict == claims.FAILS
    assert judged(good, "lowest negative log-likelihood").verdict == claims.FAILS  # 1 + error: INVP's is lower
    bad = claims.claims(evidence(mle=9.0, inv_p=2.0, inv_n=1.0))
    assert judged(bad, "sandwiched").verdict == claims.FAILS
    assert "in 6 of 6 configurations" in judged(bad, "sandwiched").measured
    assert judged(bad, "close to the best in all").verdict == claims.FAILS
    assert "9.0 times" in judged(bad, "close to the best in all").measured
    assert judged(bad, "INVN is the best in squared error").verdict == claims.HOLDS
    assert judged(claims.claims(evidence(mle=1.0, inv_p=1.0, inv_n=1.0)), "sandwiched").verdict == claims.HOLDS
    between = "bias of MLE*, too, between"
    assert judged(claims.beyond(evidence(mle=1.5, inv_p=1.0, inv_n=2.0)), between).verdict == "yes"
    assert judged(claims.beyond(evidence(mle=9.0, inv_p=2.0, inv_n=1.0)), between).verdict == "no"
    # A bias of INV of the size that chance leaves, 1/R of the variance, is none; a larger one would be seen.
    assert judged(claims.beyond(evidence(mle=9.0, inv_p=2.0, inv_n=1.0)), "plain INV").verdict == "no"
    assert judged(claims.beyond(evidence(mle=1.0, inv_p=2.0, inv_n=1.0)), "plain INV").verdict == "yes"


def test_verdicts_on_theory_follow_the_numbers() -> None:
    found = {one.name: run._numbers(one.columns()) for one in checks.checks(TINY)}

    def verdicts(**changed: dict[str, float]) -> list[claims.Claim]:
        numbers = {name: {**values, **changed.get(name, {})} for name, values in found.items()}
        return claims.claims(claims.Evidence({}, {}, {}, numbers, {}))

    assert judged(verdicts(), "MLE* is the maximum").verdict == claims.HOLDS
    assert judged(verdicts(likelihood={"largest excess": 1e-3}), "MLE* is the maximum").verdict == claims.FAILS
    assert judged(verdicts(), "threshold").verdict == claims.CORRECTED
    cases = found["threshold"]["cases"]
    assert judged(verdicts(threshold={"as printed": cases}), "threshold").verdict == claims.HOLDS
    assert judged(verdicts(), "if and only if").verdict == claims.CORRECTED
    assert judged(verdicts(order={"tied, though counts differ": 0}), "if and only if").verdict == claims.HOLDS
    assert judged(verdicts(order={"apart, though counts are equal": 1}), "if and only if").verdict == claims.FAILS
    assert judged(verdicts(), "PUMA codes").verdict == claims.CORRECTED
    assert "λ falls with n" in judged(verdicts(), "as small as possible").measured
    assert judged(verdicts(), "Var(INV_i)").verdict == claims.CORRECTED
    same = {"people drawn": found["variance"]["printed"]}
    assert judged(verdicts(variance=same), "Var(INV_i)").verdict == claims.HOLDS
    assert judged(verdicts(), "scatter around").verdict == claims.CORRECTED
    assert judged(verdicts(), "K < 3e^ε + 2").verdict == claims.CORRECTED
    assert judged(verdicts(collinearity={"smallest t": 0.9}), "on a line").verdict == claims.FAILS
    assert judged(verdicts(divergence={"disagreements": 1.0}), "Kullback-Leibler").verdict == claims.FAILS


def test_subset_selection_with_one_element_is_randomized_response() -> None:
    # K = 10, e = 3: p = 3/12, q = 1/12; q (1 - q) / (p - q)^2 = (11/144) / (4/144) = 2.75 = (e + K - 2)/(e - 1)^2.
    assert claims._subset_selection(10, 1, 3.0) == pytest.approx(2.75)
    assert claims._subset_selection(3, 3, 3.0) == math.inf


def test_ibu_is_judged_against_the_text() -> None:
    def found(steps: int) -> claims.Claim:
        one = ibu.Descent(500, 1.3, 10_000, 1.0, 40_000, 3)
        way = ibu.Path(np.array([0, 1]), np.array([[1.0] * 3, [1e-6] * 3]), np.ones((2, 3)), np.full(3, steps))
        return judged(claims.claims(claims.Evidence({}, {}, {one: way}, {}, {})), "about 7,000 updates")

    assert found(6_000).verdict == claims.HOLDS
    assert found(2_000).verdict == claims.FAILS
    assert "more than 40,000" in found(-1).measured


def test_ibu_must_come_near_to_converge() -> None:
    def found(*last: float) -> str:
        ways = {
            ibu.Descent(500, s, 10_000, 1.0, 40_000, 3): ibu.Path(
                np.array([0, 1]), np.array([[1.0] * 3, [end] * 3]), np.ones((2, 3)), np.full(3, 1)
            )
            for s, end in enumerate(last)
        }
        return judged(claims.claims(claims.Evidence({}, {}, ways, {}, {})), "converges to 0").verdict

    assert found(0.01, 0.001) == claims.HOLDS
    assert found(0.01, 0.4) == claims.HOLDS  # slow, as the paper says of some settings
    assert found(0.01, 1.0) == claims.FAILS  # standing still is no convergence
    assert found(0.001, 1.1) == claims.FAILS


def test_a_difference_within_chance_is_level() -> None:
    # Paired differences over 10 seeds: mean 0.1, standard deviation (ddof 1) 0.1054, so three standard errors of 1/30.
    noise = np.tile([0.2, 0.0], 5)
    base = outcome(1.0)
    each = {"mle": base, "inv_p": base._replace(squared_error=1 + noise), "inv_n": base}
    assert claims._beaten(each, "inv_p")
    assert not claims._beaten(each, "inv_n")
    # Mean 0.1, standard deviation 0.527, standard error 0.167: six tenths of one.
    each["inv_p"] = base._replace(squared_error=1 + np.tile([0.6, -0.4], 5))
    assert not claims._beaten(each, "inv_p")


def test_real_data_are_judged_on_the_columns_of_the_paper() -> None:
    def found(names: tuple[str, ...]) -> list[claims.Claim]:
        results: real.Real = {}
        for name in names:
            data = real.Histogram(name, name, 0, 3, np.array([0, 1, 2]), np.array([5, 3, 2]), "some")
            error = 9.0 if name == "retail" else 1.5
            each = {"mle": outcome(error), "inv_p": outcome(1.0), "inv_n": outcome(2.0), "inv": outcome(3.0)}
            results[name] = {real.RealSurvey(data, epsilon, 10): each for epsilon in (1, 2)}
        return claims.claims(claims.Evidence({}, results, {}, {}, {}))

    both = found(("kosarak", "retail"))
    assert judged(both, "never the worst").verdict == judged(both, "consistently remains").verdict == claims.HOLDS
    assert "in 0 of 2 settings; apart from the paper, retail: 2 of 2" in judged(both, "never the worst").measured
    assert "apart from the paper, retail 9 " in judged(both, "consistently remains").measured
    assert "N is 0.0% of the published one" in judged(both, "best on Kosarak").measured
    assert not [claim for claim in found(("retail",)) if "real data" in claim.statement]


def test_the_solver_for_any_channel_is_judged_by_its_time_and_distance() -> None:
    key = "s = 1.3, n = 10, ε = 1"
    times = {f"mle {key}": 0.001, f"ibu {key}": 5.0, f"channel {key}": 0.1, f"channel distance {key}": 1e-20}
    (row,) = claims.beyond(claims.Evidence({}, {}, {}, {}, times))
    assert row.verdict == "yes"
    assert "50 to 50 times as fast as IBU" in row.measured
    assert "100 to 100 times as long as MLE*" in row.measured
    (row,) = claims.beyond(claims.Evidence({}, {}, {}, {}, times | {f"channel distance {key}": 0.1}))
    assert row.verdict == "no"
    taken = ibu.seconds(ibu.Descent(20, 1.3, 1000, 1.0, 50, 1), 50)
    assert taken["channel distance"] < 1e-15
    assert set(taken) == {"mle", "ibu", "channel", "channel distance"}
