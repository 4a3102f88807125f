from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cli.shell import Prompt


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a design and a file of 1,000 reports."""
    from cli.shell import COUNTS, SURVEY

    SURVEY.save(tmp_path / "survey.json")
    reports = [answer for answer, times in COUNTS.items() for _ in range(times)]
    rows = [f"{i},{answer},{'north' if i % 2 else 'south'},{1 + i % 3}" for i, answer in enumerate(reports)]
    (tmp_path / "reports.csv").write_text("\n".join(["id,answer,region,weight", *rows]) + "\n")
    return tmp_path


@pytest.fixture
def prompt(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    """Return a shell within this process, in that folder."""
    from cli.shell import Prompt

    return Prompt(folder, monkeypatch, capsys)
