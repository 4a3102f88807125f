"""The face of the project: what is public, what it costs to import, what the files beside the code say."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import warner
from warner.reports.randomizing import randomize

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_those_of_the_reference() -> None:
    # The one list of what is public for users is the reference, with a page each; `__all__` must not drift from it.
    reference = ROOT / "docs" / "reference" / "api"
    pages = {page.stem: page.read_text(encoding="utf-8") for page in reference.glob("*.md")}
    documented = re.compile(r"^\.\. auto(?:class|function|module):: (warner\.[\w.]+)$", re.MULTILINE)
    named = [documented.findall(text) for text in pages.values()]
    assert sorted(found[0].removeprefix("warner.") for found in named if found and found[0].count(".") == 1) == sorted(
        warner.__all__
    )
    listed = re.findall(r"^   (warner\.[\w.]+)$", pages["index"], re.MULTILINE)
    own = {found[0] for stem, found in zip(pages, named, strict=True) if found and stem != "contract"}
    assert sorted(listed) == sorted(own)
    assert all(hasattr(warner, name) for name in warner.__all__)


def test_what_a_public_function_returns_is_public() -> None:
    # An array, a label or a list has no name of ours; every result has. Of a table of regressions only forms matter.
    functions = [getattr(warner, name) for name in warner.__all__ if inspect.isfunction(getattr(warner, name))]
    returned = {word for function in functions for word in re.findall(r"\w+", function.__annotations__["return"])}
    assert returned - {"range", "list", "str", "Any", "Array", "RegressionTable"} <= set(warner.__all__)


def test_names_that_others_rely_on_stay() -> None:
    survey = warner.RandomizedResponse(["yes", "no"], odds=(3, 1))
    assert {"odds", "p", "q", "k", "domain", "epsilon"} <= set(dir(survey))
    assert callable(survey.shown_epsilon)
    assert callable(survey.channel)
    assert callable(survey.randomize)
    tally = warner.Tally(survey, [[40, 60], [1, 2]], by=("region",), groups=(("north",), ("south",)))
    assert warner.Tally.from_json(tally.to_json()) == tally
    result = warner.estimate(warner.Tally(survey, [40, 60]))
    assert {"shares", "table", "interval", "compare", "present"} <= set(dir(result))
    document = result.to_dict()
    assert isinstance(document["approximate"], bool)
    assert document["reports"] == 100
    columns = {"value", "reports", "share", "people", "se", "low", "high", "outside"}
    assert set(document["values"][0]) == columns
    interval = result.interval("yes")
    assert interval.low <= interval.high
    assert interval.approximate is False
    assert result.present().found.dtype == bool
    assert warner.check(warner.Tally(survey, [40, 60])).fits is True


@pytest.mark.parametrize("swapped", ["Tally", "tally", "estimate", "randomize"])
def test_data_and_design_in_each_others_place_are_one_clear_error(swapped: str) -> None:
    survey: Any = warner.RandomizedResponse(["yes", "no"], odds=(3, 1))
    data: Any = [40, 60]
    calls: dict[str, Callable[[], object]] = {
        "Tally": lambda: warner.Tally(data, survey),
        "tally": lambda: warner.tally(survey, data),
        "estimate": lambda: warner.estimate(data),
        "randomize": lambda: randomize(survey, data),
    }
    with pytest.raises(TypeError, match="must be a"):
        calls[swapped]()


def test_everything_public_is_documented() -> None:
    for name in warner.__all__:
        assert len(getattr(warner, name).__doc__) > 40


def undocumented(kind: type) -> list[str]:
    """Public methods and properties of a class without a docstring, neither their own nor an inherited one."""
    members = ((name, inspect.getattr_static(kind, name)) for name in dir(kind) if name[0] != "_")
    callables = (name for name, value in members if callable(value) or hasattr(value, "__get__"))
    return [f"{kind.__name__}.{name}" for name in callables if not inspect.getdoc(getattr(kind, name))]


def test_every_public_method_is_documented() -> None:
    """Internal functions need no docstring where names and types already say it; users see the public ones."""
    kinds = [value for name in warner.__all__ if inspect.isclass(value := getattr(warner, name))]
    assert not [name for kind in kinds for name in undocumented(kind)]


def test_a_method_without_a_docstring_would_be_seen() -> None:
    assert undocumented(type("Bare", (), {"shares": lambda self: self})) == ["Bare.shares"]


def test_importing_is_cheap() -> None:
    heavy = ["scipy.stats", "matplotlib", "pandas", "numpy"]
    code = f"import sys, warner; {{}}; print([name for name in {heavy} if name in sys.modules])"
    for asked, loaded in (("warner.estimate", ["numpy"]), ("from warner import *", ["numpy"]), ("warner.__doc__", [])):
        done = subprocess.run([sys.executable, "-c", code.format(asked)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(loaded)


def test_type_checkers_see_the_public_names_where_they_are() -> None:
    stub = ast.parse(Path(warner.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    assert len(imports) == len(seen)  # each once
    assert set(seen) == set(warner.__all__)
    for name, (module, original) in seen.items():
        assert name == original
        assert getattr(warner, name) is getattr(importlib.import_module(str(module)), name)


def test_names_that_are_loaded_late_are_like_any_others() -> None:
    assert {*warner.__all__, "__all__", "__version__"} <= set(dir(warner))
    everything: dict[str, object] = {}
    exec("from warner import *", everything)
    assert set(warner.__all__) == set(everything) - {"__builtins__"}
    with pytest.raises(AttributeError, match=r"^module 'warner' has no attribute 'estimat'$") as missing:
        warner.estimat  # type: ignore[attr-defined]  # noqa: B018
    assert (missing.value.name, missing.value.obj) == (
        "estimat",
        warner,
    )  # so that Python says: Did you mean 'estimate'?
    with pytest.raises(ImportError, match="cannot import name 'estimat'"):
        from warner import estimat  # type: ignore[attr-defined]  # noqa: F401


def test_versions_agree() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert warner.__version__ == declared == importlib.metadata.version("warner")
    assert f"## {declared}" in (ROOT / "CHANGELOG.md").read_text()
    package = ROOT / "src" / "warner" / "service" / "web" / "package.json"
    assert json.loads(package.read_text(encoding="utf-8"))["version"] == declared


def test_the_readme_of_the_distribution_has_absolute_links() -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = tables["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = (ROOT / hook["fragments"][0]["path"]).read_text(encoding="utf-8")
    assert re.search(r"\]\((?!https?://)", text)  # relative in the repository
    for one in hook["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    assert not re.search(r"\]\((?!https?://)", text)
    addresses = re.findall(r"https://repository\.invalid/warner\b", text)
    assert bool(addresses) == ("repository.invalid" in tables["project"]["urls"]["Source"])  # one address


def test_the_paper_cites_what_its_bibliography_has() -> None:
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(re.findall(r"@(\w+)", text)) == set(keys)
    assert len(keys) == len(set(keys))


needs_workflows = pytest.mark.skipif(not (ROOT / ".github").exists(), reason="the source distribution has no workflows")


@needs_workflows
def test_actions_are_pinned_to_a_commit_and_all_dependencies_are_watched() -> None:
    lines = [
        line.partition("uses:")[2].strip()
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(lines) > 15
    pinned = [re.fullmatch(r"([\w/-]+)@([0-9a-f]{40}) # v(\d+\.\d+\.\d+)", line) for line in lines]
    assert None not in pinned
    # One commit of each action everywhere.
    assert len({found.groups() for found in pinned if found}) == len({found[1] for found in pinned if found})
    watched = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert {one["package-ecosystem"]: one["directory"] for one in watched} == {
        "github-actions": "/",
        "pip": "/",
        "npm": "/src/warner/service/web",
    }


@needs_workflows
def test_the_classifiers_name_every_python_that_is_tested() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    assert named == tested


def test_the_citation_names_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == warner.__version__
    paper = citation["references"][0]
    assert paper["title"] == "Estimating the True Distribution of Data Collected with Randomized Response"
    assert [author["family-names"] for author in paper["authors"]][:2] == ["Pinzón", "ElSalamouny"]


def test_no_message_and_no_page_promises_that_an_index_has_warner() -> None:
    # There, the name may be a stranger's; what is missing comes with an extra that there is.
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    source = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}
    named = [extra for text in source.values() for extra in re.findall(r'not_installed\(f?".*", "(.*)"\)', text)]
    assert len(named) > 8
    assert set(named) <= set(extras)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    for path, text in {**source, **{page: page.read_text(encoding="utf-8") for page in pages}}.items():
        assert not re.search(r"pip install [\"']?warner\b", text), path


def test_the_vision_has_five_points() -> None:
    points = (ROOT / "VISION.md").read_text(encoding="utf-8").splitlines()[2:]
    assert [point[:3] for point in points] == [f"{number}. " for number in range(1, 6)]
    assert len(set(points)) == 5


def test_the_types_are_shipped() -> None:
    assert (Path(warner.__file__).parent / "py.typed").exists()


def test_the_example_runs_and_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the example draws with Matplotlib, which is not installed")
    script = ROOT / "examples" / "drinking_survey.py"
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=True)
    assert "every week" in done.stdout
    assert (tmp_path / "drinking_survey.png").read_bytes().startswith(b"\x89PNG")


def test_a_source_tree_that_is_not_installed_can_be_imported() -> None:
    script = """if True:
        import importlib.metadata
        def absent(name):
            raise importlib.metadata.PackageNotFoundError(name)
        importlib.metadata.version = absent
        import warner
        print(warner.__version__)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100)
    assert (done.stdout, done.stderr) == ("0+unknown\n", "")
