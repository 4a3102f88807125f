"""The site builds without a warning; its examples run as doctests of their own."""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import re
import subprocess
import sys
import tomllib
from itertools import takewhile
from pathlib import Path

import pytest

import warner
from warner import estimators
from warner.designs import MECHANISMS, OPEN, REPEATED_DESIGNS, SEVERAL
from warner.designs.survey_designs import SURVEYS
from warner.estimators import METHODS
from warner.planning.tradeoffs import PUBLISHED_EPSILONS

pytest.importorskip("click", reason="the command line is an extra, and not installed")
from warner.cli import COMMANDS, command_named

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
# A third of the time would be spent on looking for garbage in trees of pages that are kept until the end.
SPHINX = "import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"the site is built with {needed}, which is not installed")
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-n", "-q", "-b", "html", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-c", SPHINX, *options, str(DOCS), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_built_without_a_warning(site: Path) -> None:
    pages = {page.relative_to(DOCS).with_suffix("") for page in PAGES}
    assert pages >= {Path("index"), Path("start/quickstart"), Path("theory/index"), Path("explanation/limitations")}
    assert pages <= {page.relative_to(site).with_suffix("") for page in site.rglob("*.html")}


def test_pages_read_offline(site: Path) -> None:
    for page in site.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]*)|<link[^>]* href="([^"]*)', html)
        assert not [address for pair in fetched for address in pair if "//" in address], page.name


def test_every_formula_is_typeset(site: Path) -> None:
    # What the converter does not know, it leaves as it was written, behind a backslash.
    formulas = re.findall(
        r"<math.*?</math>",
        " ".join(page.read_text(encoding="utf-8") for page in (site / "theory").glob("*.html")),
        re.DOTALL,
    )
    assert len(formulas) > 100
    for page in site.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert not [formula for formula in re.findall(r"<math.*?</math>", html, re.DOTALL) if "\\" in formula], (
            page.name
        )
        assert "\\(" not in html, page.name
        # The converter leaves out the space between "log" and its argument.
        assert not re.search(r"<mi>(?:log|ln)</mi><m(?!o\b|space\b)", html), page.name


def test_no_line_of_a_page_is_lost_as_a_comment() -> None:
    # A line that begins with a percent sign, as when "14 %" is broken, is a comment to MyST and shows nowhere.
    for page in PAGES:
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        assert not re.findall(r"^\s*%.*", prose, re.MULTILINE), page.name


def test_a_cell_of_a_table_of_mechanisms_holds_one_number() -> None:
    page = (DOCS / "explanation" / "choosing-a-mechanism.md").read_text(encoding="utf-8")
    cells = [cell.strip() for line in page.splitlines() if line.startswith("|") for cell in line.strip("|").split("|")]
    assert len(cells) > 300
    assert not [cell for cell in cells if re.fullmatch(r"[*\d.]+( [*\d.]+)+", cell)]


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (site / "reference" / "api").glob("*.html")]
    anchors = {anchor for page in pages for anchor in re.findall(r'id="([^"]+)"', page)}
    modules = {name for name in warner.__all__ if inspect.ismodule(getattr(warner, name))}
    assert {f"module-warner.{name}" for name in modules} <= anchors
    assert {f"warner.{name}" for name in set(warner.__all__) - modules} <= anchors


def test_every_guide_has_an_example_that_runs() -> None:
    guides = [page for page in PAGES if page.parent.name in ("start", "tutorials", "how-to", "explanation")]
    without = {page.stem for page in guides if ">>>" not in page.read_text(encoding="utf-8")}
    assert without <= {"limitations", "glossary", "comparison"}


def test_the_pages_of_commands_are_their_help() -> None:
    spec = importlib.util.spec_from_file_location("make_commands", DOCS / "make_commands.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    committed = {page.name: page.read_text(encoding="utf-8") for page in module.FOLDER.glob("*.md")}
    assert committed == module.pages(), "run make docs"
    for key, command in COMMANDS.items():  # every option with its complete text, from its source
        page = re.sub(r"[\\`]", "", committed[module.file_of(key)])
        assert command.example in page
        for one in command_named(key).params:
            assert str(one.help).replace("`", "") in page, (key, one.name)
            assert all(name in page for name in one.opts if name.startswith("-"))


def table_of(page: str, column: str) -> list[str]:
    """Return a column of the first table of a page that has a column of this heading."""
    lines = (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else [] for line in lines]
    start = next(number for number, row in enumerate(rows) if column in row)
    return [row[rows[start].index(column)] for row in takewhile(bool, rows[start + 2 :])]


def quoted(text: str) -> set[str]:
    """Return the names between single or double backticks."""
    return set(re.findall(r"`(\w+)`", text))


def test_the_page_on_estimators_and_the_head_of_their_package_name_every_method() -> None:
    names = quoted(" ".join(table_of("explanation/choosing-an-estimator", "use")))
    assert names == {*METHODS, "auto"}
    assert isinstance(estimators.__doc__, str)
    assert set(METHODS) - {"ibu"} <= quoted(estimators.__doc__)  # ibu stands in the list of files


def test_every_list_of_survey_designs_has_all_of_them_with_their_parameters() -> None:
    page = " ".join(table_of("tutorials/dice-survey", "design"))
    shown = {name.replace("_", " "): text for name, text in re.findall(r"`(\w+)\(([^)]*)\)`", page)}
    assert shown.keys() == SURVEYS.keys()
    for name, text in shown.items():
        parameters = inspect.signature(SURVEYS[name]).parameters
        words = {word.strip(" =") for word in text.split(",") if word.strip()}
        needed = {key for key, one in parameters.items() if one.default is inspect.Parameter.empty}
        assert needed <= words <= parameters.keys() - {"answers", "reports"}, name
    assert isinstance(warner.surveys.__doc__, str)
    rows = re.findall(r"^`(\w+)`  ", warner.surveys.__doc__, re.MULTILINE)
    assert sorted(rows) == sorted(name.replace(" ", "_") for name in SURVEYS)


def test_the_page_on_formats_describes_every_mechanism_and_its_draw() -> None:
    formats = DOCS / "reference" / "formats"
    page = (formats / "designs.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `mechanism` |"))
    assert re.findall(r'`"([^"]*)"`', row) == [*MECHANISMS, *OPEN, *SEVERAL]
    described = set(re.findall(r"^## (.+)$", page, re.MULTILINE)) - {"Odds from epsilon"}
    drawn = re.findall(r"^\*\*([^*]+)\*\*", (formats / "draws.md").read_text(encoding="utf-8"), re.MULTILINE)
    every = {name.casefold() for name in MECHANISMS}
    assert {name.casefold().replace("cut-off", "cutoff") for name in described} == every | {*OPEN, *SEVERAL}
    # A memoized design draws as its two rounds do, and both have a draw of their own.
    assert {name.casefold().replace("cut-off", "cutoff") for name in drawn} >= every - {"memoized"}


def test_the_page_on_mechanisms_lists_those_that_are_compared() -> None:
    listed = {cell.strip("`").partition(".")[0] for cell in table_of("explanation/choosing-a-mechanism", "mechanism")}
    compared = {MECHANISMS[one.design.mechanism].__name__ for one in warner.mechanisms(8, epsilon=1).candidates}
    assert listed == compared


def test_the_page_on_repeated_questions_names_every_design_for_them() -> None:
    page = (DOCS / "how-to" / "repeated-questions.md").read_text(encoding="utf-8")
    sentence = page.partition("The names are ")[2].partition(".")[0]
    assert re.findall(r"`([\w-]+)`", sentence) == [name.replace(" ", "-") for name in REPEATED_DESIGNS]


def test_a_file_that_is_called_a_survey_never_is_a_design() -> None:
    # Else the first command of a page fails in examples/, or its remedy destroys the survey there.
    folder = DOCS.parent
    pages = [*PAGES, folder / "README.md", folder / "Makefile"]
    design = re.compile(r"(--design|-d|-o|show|audit.*|save\(.|load(?!_survey)\w*\(.)\s*(demo/|examples/)?survey\.json")
    assert design.search('load_design("survey.json")')
    assert not [page.name for page in pages if design.search(page.read_text(encoding="utf-8"))]


def test_the_table_of_extras_has_all_of_them() -> None:
    declared = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (DOCS / "start" / "installation.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(declared["optional-dependencies"])
    assert declared["requires-python"] == ">=3.11"
    assert "Python 3.11 or newer" in page


def test_every_card_of_the_home_page_has_a_picture_and_leads_to_a_page() -> None:
    cards = re.findall(r"^- \[!\[.+\]\((\S+)\)\]\(([\w/-]+\.md)", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    assert len(cards) == 3 + 12  # entries, and the gallery
    assert not [part for card in cards for part in card if not (DOCS / part).is_file()]


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and Sphinx make them."""
    texts = re.findall(r"^#+ (.+)$|^\((.+)\)=$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", (text or name).lower()).replace(" ", "-") for text, name in texts}


def test_links_of_the_pages_outside_of_the_site_lead_somewhere() -> None:
    # Sphinx looks at those of the site itself.
    folder = DOCS.parent
    for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "VISION.md"):
        for link in re.findall(r"\]\(([^)\s]+)\)", (folder / name).read_text(encoding="utf-8")):
            if "//" not in link:
                path, _, anchor = link.partition("#")
                assert (folder / path).exists(), (name, link)
                assert not anchor or anchor in headings(folder / path), (name, link)


def test_commands_on_the_pages_have_options_that_there_are() -> None:
    known = {key: {name for one in command_named(key).params for name in one.opts} for key in COMMANDS}
    options = {key: names | {"--quiet", "-h", "--help"} for key, names in known.items()}
    shown = 0
    for page in [*PAGES, DOCS.parent / "README.md", DOCS.parent / "Makefile"]:
        for line in page.read_text(encoding="utf-8").replace("\\\n", "").splitlines():
            for command, rest in re.findall(r"(?:^[\t ]*\$ |`|\$\(BIN\)/)warner ((?:survey )?[a-z]+)([^`#|]*)", line):
                words = re.sub(r'"[^"]*"', "", rest).split()
                given = {word for word in words if re.match("--?[a-z]", word)}
                assert command in {*options, "memo"}, (page.name, line)  # the personalization of a hash
                assert given <= options.get(command, set()), (page.name, line)
                shown += 1
    assert shown > 100


def test_the_survey_on_the_page_is_the_example() -> None:
    page = (DOCS / "tutorials" / "web-survey.md").read_text(encoding="utf-8")
    shown = json.loads(re.findall(r"```json\n(\{.*?)```", page, re.DOTALL)[0])
    example = json.loads((DOCS.parent / "examples" / "survey.json").read_text(encoding="utf-8"))
    for questions in (shown["questions"], example["questions"]):
        for question in questions:
            question.pop("design")  # in a file of its own, as the page says
            question.pop("help", "")

    def agree(short: object, whole: object) -> bool:
        """Return whether they are the same, but for texts that are cut short with dots."""
        if isinstance(short, dict) and isinstance(whole, dict):
            return short.keys() == whole.keys() and all(agree(short[name], whole[name]) for name in short)
        if isinstance(short, list) and isinstance(whole, list):
            return len(short) == len(whole) and all(map(agree, short, whole))
        if isinstance(short, str) and short.endswith(" ..."):
            return str(whole).startswith(short.removesuffix(" ..."))
        return short == whole

    assert agree(shown, example)


def test_the_tables_on_epsilon_follow_from_the_formula_and_the_published_designs() -> None:
    page = (DOCS / "how-to/sample-size.md").read_text(encoding="utf-8").partition("## Choose epsilon")[2]
    bounds = re.findall(r"^\| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \|$", page, re.MULTILINE)
    assert len(bounds) == 8
    for epsilon, *shown in bounds:
        for prior, largest in zip((0.01, 0.1, 0.5), shown, strict=True):
            exact = 100 * prior * math.exp(float(epsilon)) / (1 - prior + prior * math.exp(float(epsilon)))
            assert exact <= float(largest) < exact + (1 if exact < 99 else 0.01)
    crosswise, forced = warner.surveys.crosswise, warner.surveys.forced_response
    designs = {
        "crosswise, p = 1/4": crosswise("1/4"),
        "crosswise, p = 1/6": crosswise("1/6"),
        "forced response, truth 2/3, yes 1/6": forced(truth="2/3", yes="1/6"),
        "forced response, truth 3/4, yes 1/6": forced(truth="3/4", yes="1/6"),
        "unrelated question, coin, w = 1/12": warner.surveys.unrelated_question(p="1/2", prevalence="1/12"),
    }
    rows = re.findall(r"^\| [^|]*\(\d{4}\)[^|]* \| ([^|]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert {name for name, _ in rows} == set(designs)
    assert all(float(epsilon) == round(designs[name].epsilon, 1) for name, epsilon in rows)
    shown = sorted(float(epsilon) for _, epsilon in rows)
    assert (shown[0], shown[-1]) == PUBLISHED_EPSILONS
