"""The whole walk from the shell: plan, design, randomize, check, estimate with a page, for many possible answers."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.shell import run, succeeds
from warner.simulate import zipf

PEOPLE = 3000


@pytest.mark.parametrize(
    ("name", "ending"),
    [("projective-geometry-response", "csv"), ("unary-encoding", "parquet"), ("--best", "jsonl")],
)
def test_from_the_plan_to_the_page(tmp_path: Path, name: str, ending: str) -> None:
    truth = np.random.default_rng(1).choice(40, PEOPLE, p=zipf(40, 2.5))
    (tmp_path / "answers.csv").write_text("answer\n" + "".join(f"{answer}\n" for answer in truth))
    planned = succeeds(tmp_path, "plan", "--size", "40", "--epsilon", "2", "--people", str(PEOPLE))
    assert "Recommended: " in planned
    done = succeeds(tmp_path, "design", name, "--size", "40", "--epsilon", "2", "-o", "survey.json")
    assert "survey.json: <" in done
    survey, reports = ("-d", "survey.json"), f"reports.{ending}"
    done = succeeds(tmp_path, "randomize", "answers.csv", *survey, "-o", reports)
    assert f"{PEOPLE:,} reports, epsilon 2 each" in done
    # Honest reports pass with probability 99.9 %, whatever is drawn.
    assert "The reports fit the design" in succeeds(tmp_path, "check", reports, *survey, "--level", "0.999")
    for method in ("inv_p", "mle"):
        made = succeeds(
            tmp_path,
            "estimate",
            reports,
            *survey,
            "--method",
            method,
            "--json",
            "--level",
            "0.999999",
            "--report",
            "p.html",
        )
        values = json.loads(made)["values"]
        first = next(row for row in values if row["value"] == 0)
        assert first["low"] <= zipf(40, 2.5)[0] <= first["high"]  # missed once in a million
        assert sum(row["share"] for row in values) == pytest.approx(1)
        assert f"{PEOPLE:,} reports" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_the_telemetry_path_runs_as_its_page_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the examples and commands of the page "Telemetry" in their order, and compare what they print."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/how-to/telemetry.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    codes = []
    for kind, body in re.findall(r"^```(python|console)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        if kind == "python":
            example = doctest.DocTestParser().get_doctest(body, names, "telemetry", None, None)
            assert not doctest.DocTestRunner().run(example, clear_globs=False).failed
            names = example.globs
            continue
        for line, printed in re.findall(r"^\$ warner (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
            done = run(tmp_path, *shlex.split(line))
            end = f"# exit code {done.returncode}\n" if done.returncode else ""
            assert done.stdout + done.stderr + end == printed, line
            codes.append(done.returncode)
    assert codes == [0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0]  # the error of a bad file, and an alert
    words = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL).split()
    assert len(words) <= 1200
