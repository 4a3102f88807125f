"""No command replaces what it reads, nor one of its outputs by another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cli.shell import COUNTS, SURVEY, fails, succeeds

if TYPE_CHECKING:
    from pathlib import Path

DESIGN = ("--design", "survey.json")
READ = ("reports.csv", "--column", "answer", *DESIGN)
LOST = "would be lost"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    SURVEY.save(tmp_path / "survey.json")
    rows = "".join(f"{answer}\n" * number for answer, number in COUNTS.items())
    (tmp_path / "reports.csv").write_text(f"answer\n{rows}")
    (tmp_path / "labels.json").write_text("yes\nno\n")
    os.link(tmp_path / "survey.json", tmp_path / "other.json")
    (tmp_path / "linked.json").symlink_to("survey.json")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("randomize", *READ, "-o", "survey.json"),
            "--output must not be survey.json, which is the design",
        ),
        (("randomize", *READ, "-o", "./linked.json"), LOST),
        (("randomize", *READ, "-o", "other.json"), LOST),
        (
            ("estimate", *READ, "-o", "reports.csv"),
            "--output must not be reports.csv, which is the reports",
        ),
        (("estimate", *READ, "--report", "survey.json"), "--report must not be survey.json, which is the design"),
        (("estimate", *READ, "--plot", "linked.json"), LOST),
        (("estimate", *READ, "-o", "x.csv", "--report", "x.csv"), "--output and --report must be different files"),
        (("check", *READ, "-o", "survey.json"), LOST),
        (("plan", *DESIGN, "--people", "100", "-o", "survey.json"), LOST),
        (
            ("plan", *DESIGN, "--people", "100", "--plot", "p.png", "--mechanism-plot", "p.png"),
            "must be different files",
        ),
        (("audit", "cat", *DESIGN, "-o", "survey.json"), LOST),
        (("design", "--domain-file", "labels.json", "--epsilon", "1", "-o", "labels.json"), LOST),
        (("randomize", *READ, "--keep", "answer"), "must not name the column of answers, 'answer'"),
    ],
)
def test_an_input_is_never_overwritten(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert words in fails(folder, *arguments)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_a_column_is_carried_along_once(folder: Path) -> None:
    (folder / "two.csv").write_text("answer,region\nnever,north\n")
    twice = fails(folder, "randomize", "two.csv", "-c", "answer", *DESIGN, "--keep", "region", "--keep", "region")
    assert "must name each column once" in twice
    succeeds(folder, "randomize", "two.csv", "-c", "answer", *DESIGN, "--keep", "region", "-o", "fine.csv")
