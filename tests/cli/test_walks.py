"""The whole walk from the shell: plan, design, randomize, check, estimate with a page, for many possible answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.shell import succeeds
from warner.simulate import zipf

if TYPE_CHECKING:
    from pathlib import Path

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
