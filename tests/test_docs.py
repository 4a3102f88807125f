"""The site builds without a warning; its examples run as doctests of their own."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warner

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"the site is built with {needed}, which is not installed")
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-n", "-q", "-b", "html", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_built_without_a_warning(site: Path) -> None:
    pages = {page.stem for page in DOCS.glob("*.md")}
    assert pages >= {"index", "tutorial", "theory", "which-estimator", "formats", "limitations", "api"}
    assert pages <= {page.stem for page in site.glob("*.html")}


def test_pages_read_offline(site: Path) -> None:
    for page in site.glob("*.html"):
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]*)|<link[^>]* href="([^"]*)', html)
        assert not [address for pair in fetched for address in pair if "//" in address], page.name


def test_every_formula_is_typeset(site: Path) -> None:
    # What the converter does not know, it leaves as it was written, behind a backslash.
    formulas = re.findall(r"<math.*?</math>", (site / "theory.html").read_text(encoding="utf-8"), re.DOTALL)
    assert len(formulas) > 100
    for page in site.glob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert not [formula for formula in re.findall(r"<math.*?</math>", html, re.DOTALL) if "\\" in formula], (
            page.name
        )
        assert "\\(" not in html, page.name


def test_a_cell_of_a_table_of_mechanisms_holds_one_number() -> None:
    page = (DOCS / "which-mechanism.md").read_text(encoding="utf-8")
    cells = [cell.strip() for line in page.splitlines() if line.startswith("|") for cell in line.strip("|").split("|")]
    assert len(cells) > 400
    assert not [cell for cell in cells if re.fullmatch(r"[*\d.]+( [*\d.]+)+", cell)]


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    anchors = set(re.findall(r'id="([^"]+)"', (site / "api.html").read_text(encoding="utf-8")))
    modules = {name for name in warner.__all__ if inspect.ismodule(getattr(warner, name))}
    assert {f"module-warner.{name}" for name in modules} <= anchors
    assert {f"warner.{name}" for name in set(warner.__all__) - modules} <= anchors


def test_every_page_has_an_example_that_runs_or_says_why_not() -> None:
    without = {page.stem for page in DOCS.glob("*.md") if ">>>" not in page.read_text(encoding="utf-8")}
    assert without <= {"limitations", "api", "commands"}  # prose; docstrings, which run themselves; command help


def test_the_command_page_names_every_option_there_is() -> None:
    spec = importlib.util.spec_from_file_location("make_commands", DOCS / "make_commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def options(text: str) -> list[set[str]]:
        """Give the options of each command: versions of Typer differ in how they lay them out."""
        return [set(re.findall(r"--[a-z][a-z-]+", section)) for section in text.split("\n## ")[1:]]

    committed = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert options(committed) == options(module.page()), "run make docs"


def test_a_file_that_is_called_a_survey_never_is_a_design() -> None:
    # Else the first command of a page fails in examples/, or its remedy destroys the survey there.
    folder = DOCS.parent
    pages = [*DOCS.glob("*.md"), folder / "README.md", folder / "Makefile"]
    designs = re.compile(r"(--design|-d|-o|show|audit.*|save\(.|load\w*\(.)\s*(demo/|examples/)?survey\.json")
    found = {page.name: designs.findall(page.read_text(encoding="utf-8")) for page in pages}
    loaded = found.pop("collect.md")  # reads the survey as one, with load_survey
    assert [words[0] for words in loaded] == ['load_survey("']
    assert not any(found.values())
