"""From nothing to the page: what a run leaves in its folder, what it says, and what a second run adds."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from experiment_cases import TINY
from experiments.__main__ import main
from experiments.pinzon2026.misprints import MISPRINTS
from experiments.pinzon2026.page import TOY_REPRODUCTION_NOTE
from experiments.pinzon2026.results import Workers
from experiments.pinzon2026.run import reproduce, reproduce_at
from experiments.pinzon2026.scale import requested_scale, scale_of_file
from experiments.pinzon2026.verdicts import CORRECTED, FAILS, HOLDS

if TYPE_CHECKING:
    from pathlib import Path

for library in ("pyarrow", "joblib", "threadpoolctl", "matplotlib"):
    pytest.importorskip(library, reason=f"the experiments need {library}, which is not installed")

SMALL = replace(TINY, answers=(20,), real_epsilons=(3,), people=(100,))


def write_data(folder: Path) -> Path:
    folder.mkdir()
    (folder / "retail_items.csv").write_text("value,count\n0,500\n1,300\n7,200\n")
    (folder / "kosarak.dat").write_text("1 2 3\n1\n5 6\n" * 40)
    return folder


class Reproduction(NamedTuple):
    folder: Path
    lines: list[str]
    stages: list[str]

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Run all experiments once, with two of the four datasets."""
    root = tmp_path_factory.mktemp("everything")
    lines: list[str] = []
    stages: list[str] = []
    page = reproduce_at(
        SMALL,
        "all",
        root / "results",
        data=write_data(root / "data"),
        say=lines.append,
        tell=lambda stage, _done, _total: stages.append(stage),
    )
    assert page == root / "results" / "index.html"
    return Reproduction(root / "results", lines, stages)


@pytest.fixture
def again(everything: Reproduction, tmp_path: Path) -> Reproduction:
    """Copy the results of all experiments, to go on from there."""
    return everything._replace(folder=shutil.copytree(everything.folder, tmp_path / "again"))


@pytest.fixture
def _sketched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of figures without drawing them, which takes nearly all of the time."""

    def save(_figure: object, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        for ending in ("png", "svg"):
            (folder / f"{name}.{ending}").write_bytes(b"a sketch")

    monkeypatch.setattr("experiments.pinzon2026.run.save_figure", save)


sketched = pytest.mark.usefixtures("_sketched")


def test_missing_data_are_named_with_their_source(everything: Reproduction) -> None:
    assert [re.split(r"[ :]", line)[0] for line in everything.lines] == ["acs_puma", "acs_pincp"]
    assert all("census" in line for line in everything.lines)


def test_missing_data_are_named_on_the_page(everything: Reproduction) -> None:
    assert "acs_puma is left out" in everything.text("index.html")


def test_every_stage_is_told_in_its_order(everything: Reproduction) -> None:
    assert list(dict.fromkeys(everything.stages)) == ["grid", "real", "ibu", "checks", "figures", "timing"]


def test_every_figure_is_there_in_both_formats(everything: Reproduction) -> None:
    figures = {path.name for path in (everything.folder / "figures").iterdir()} - {"captions.json"}
    # 2 metrics and 2 parts both ways; the same 4 in the one population; two datasets; one setting of IBU; each twice.
    assert len(figures) == 2 * (8 + 4 + 2 + 1)


def test_the_page_shows_every_figure_and_loads_nothing(everything: Reproduction) -> None:
    page = everything.text("index.html")
    assert page.count("<img") == 15
    assert not re.search(r"(src|href)=['\"](?!data:)", page)


def test_the_table_has_a_row_for_every_claim(everything: Reproduction) -> None:
    rows = json.loads(everything.text("claims.json"))
    table = everything.text("claims.md")
    assert table.count("\n| ") == len(rows["claims"]) + len(rows["beyond"]) + 4
    assert "nan" not in table


def test_every_verdict_is_one_of_three_words(everything: Reproduction) -> None:
    rows = json.loads(everything.text("claims.json"))
    assert {row[3] for row in rows["claims"]} <= {HOLDS, CORRECTED, FAILS}


def test_the_misprints_are_in_the_table_and_on_the_page(everything: Reproduction) -> None:
    assert everything.text("claims.md").count("\n- ") == len(MISPRINTS)
    assert everything.text("index.html").count("<li>") == len(MISPRINTS) + 2  # two datasets are missing


def test_the_timings_have_a_number_for_each_way_and_setting(everything: Reproduction) -> None:
    timings = json.loads(everything.text("timings.json"))
    assert {f"slope {name}" for name in ("mle", "inv_p", "inv_n", "inv", "from", "to")} < set(timings)
    for title in ("s = 1.3, n = 300, ε = 0.5", "s = 1.3, n = 300, ε = 2"):
        assert {f"{way} {title}" for way in ("mle", "ibu", "channel", "channel distance")} < set(timings)
    assert len(timings) == 6 + 2 * 4


@sketched
def test_a_second_run_computes_nothing_again(again: Reproduction) -> None:
    written = {path: path.stat().st_mtime_ns for path in again.folder.rglob("*.parquet")}
    reproduce_at(SMALL, "overview", again.folder, workers=Workers(2))
    assert {path: path.stat().st_mtime_ns for path in again.folder.rglob("*.parquet")} == written


def test_a_second_run_draws_the_same_files_and_keeps_the_claims(again: Reproduction) -> None:
    drawn = {path: path.read_bytes() for path in (again.folder / "figures").glob("overview*.svg")}
    assert drawn
    reproduce_at(SMALL, "overview", again.folder, workers=Workers(2))
    assert {path: path.read_bytes() for path in drawn} == drawn
    assert "acs_puma is left out" in again.text("index.html")  # the claims are still there, and still without


@sketched
def test_claims_without_a_dataset_stand_beside_no_figure_of_it(again: Reproduction, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    (data / "kosarak.dat").unlink()
    reproduce_at(SMALL, "claims", again.folder, data=data)
    page = again.text("index.html")
    assert "kosarak is left out" in page
    assert "id='real-kosarak'" not in page
    assert "id='real-retail'" in page
    reproduce_at(SMALL, "overview", again.folder)  # nor does another experiment bring it back
    page = again.text("index.html")
    assert "kosarak is left out" in page
    assert "id='real-kosarak'" not in page
    assert "id='real-retail'" in page


@sketched
def test_figures_of_other_data_leave_the_notes_of_the_claims(again: Reproduction, tmp_path: Path) -> None:
    notes = again.text("notes.json")
    data = write_data(tmp_path / "data")
    (data / "kosarak.dat").unlink()
    reproduce_at(SMALL, "real", again.folder, data=data)
    assert again.text("notes.json") == notes
    assert "retail is left out" not in again.text("index.html")


def test_real_without_any_data_is_no_empty_success(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"real needs real data, but there are none: .*retail is left out"):
        reproduce_at(SMALL, "real", tmp_path / "results", data=tmp_path / "empty")
    assert not (tmp_path / "results").exists()


def test_a_toy_says_that_it_is_one(everything: Reproduction) -> None:
    assert not requested_scale(seeds=20).toy
    assert requested_scale(quick=True).toy
    assert TOY_REPRODUCTION_NOTE in everything.text("index.html")[: everything.text("index.html").index("<h2>")]
    assert TOY_REPRODUCTION_NOTE in everything.text("claims.md")[:700]


@sketched
def test_a_lost_figure_leaves_the_page_and_is_drawn_again(again: Reproduction, tmp_path: Path) -> None:
    (again.folder / "figures" / "overview-mse-by-N.png").unlink()
    reproduce_at(SMALL, "claims", again.folder, data=write_data(tmp_path / "data"))
    assert "id='overview-mse-by-N'" not in again.text("index.html")
    reproduce_at(SMALL, "overview", again.folder)
    assert "id='overview-mse-by-N'" in again.text("index.html")


@sketched
@pytest.mark.parametrize("what", ["grid", "complete", "bias-variance", "real", "ibu"])
def test_each_experiment_alone(what: str, tmp_path: Path) -> None:
    reproduce_at(SMALL, what, tmp_path / "results", data=write_data(tmp_path / "data"))
    folders = {path.name for path in (tmp_path / "results").iterdir() if path.is_dir()}
    expected = {what if what in {"grid", "real", "ibu"} else "grid"} | ({"figures"} if what != "grid" else set())
    assert folders == expected


@sketched
def test_the_toy_with_other_seeds_is_what_was_asked_for(tmp_path: Path) -> None:
    lines: list[str] = []
    stages: list[str] = []
    page = reproduce(
        "real",
        tmp_path / "results",
        quick=True,
        seeds=2,
        jobs=2,
        data=write_data(tmp_path / "data"),
        say=lines.append,
        tell=lambda stage, _done, _total: stages.append(stage),
    )
    settings = json.loads((page.parent / "settings.json").read_text(encoding="utf-8"))
    assert (settings["seeds"], settings["people"]) == (2, [100, 1_000, 10_000])
    assert len(list((page.parent / "real").iterdir())) == 2 * 3  # two datasets, three epsilons
    assert len(lines) == 2
    assert set(stages) == {"real", "figures"}


def test_bad_requests_are_rejected_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def error(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["experiments", *words, "-o", str(tmp_path / "results")])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        complaint = capsys.readouterr().err.splitlines()[-1]
        assert "Traceback" not in complaint
        return complaint

    assert "invalid choice: 'everything'" in error("everything")
    assert "--seeds must be at least 2" in error("grid", "--seeds", "1")
    for address in ("garbage", "foo://x:1"):
        assert "--dask must be the address" in error("grid", "--quick", "--dask", address)
    assert "--data must be a folder" in error("real", "--quick", "--data", "nowhere")
    assert "--grid must be given with an experiment of the paper" in error("estimators", "--grid", "mine.json")
    assert "nowhere.json" in error("grid", "--grid", "nowhere.json")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "grid must be a JSON file"),
        ("[1]", "grid must be a JSON object with settings among seeds"),
        ('{"peple": [5]}', "has peple"),
        ('{"people": 5}', "people must be a list of numbers"),
        ('{"seeds": [5]}', "seeds must be a number"),
        ('{"people": ["5"]}', "people must be a list of numbers"),
        ('{"people": [0]}', "people must be positive numbers"),
        ('{"epsilons": []}', "epsilon must be one of the epsilons"),
        ('{"answers": [1]}', "answers must be at least 2"),
        ('{"columns": [77]}', "columns must be epsilons of the grid"),
    ],
)
def test_a_wrong_grid_is_an_error(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        scale_of_file(path)


@sketched
def test_a_grid_of_your_own_from_a_file_and_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"epsilons": [0.5, 3], "people": [40], "answers": [7], "exponents": [1.0], "seeds": 3}')
    words = ["complete", "--grid", str(path), "-o", str(tmp_path / "shell"), "-q"]
    monkeypatch.setattr("sys.argv", ["experiments", *words])
    main()
    scale = scale_of_file(path)
    assert (scale.columns, scale.epsilon, scale.toy) == ((0.5, 3), 3, True)
    reproduce("complete", tmp_path / "python", grid=scale)
    files = {
        folder: {part.name: part.read_bytes() for part in (tmp_path / folder / "grid").iterdir()}
        for folder in ("shell", "python")
    }
    assert files["shell"] == files["python"]
    assert sorted(files["shell"]) == ["K=7 s=1.0 N=40 epsilon=0.5.parquet", "K=7 s=1.0 N=40 epsilon=3.parquet"]
