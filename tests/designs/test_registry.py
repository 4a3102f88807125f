"""Custom mechanisms: registered in a program, or offered by a package, and found only when they are needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import warner
from warner.designs import MECHANISMS, OPEN, RandomizedResponse, Symmetric, design_from_json, register
from warner.designs.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
POINTS = "[warner.mechanisms]\ncoin = coins:CoinResponse\nbroken = no_such_module:Nothing\n"


def skeleton() -> str:
    """Return the mechanism that CONTRIBUTING.md shows."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return next(code for code in blocks if "@register" in code)


def python(folder: Path, *arguments: str, code: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src"), str(ROOT / "tests")])}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Install a package that offers a mechanism, and one that cannot be loaded."""
    (tmp_path / "coins.py").write_text(skeleton().replace("@register\n", ""), "utf-8")
    described = tmp_path / "coins-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1.0\n", "utf-8")
    (described / "entry_points.txt").write_text(POINTS, "utf-8")
    return tmp_path


@pytest.fixture
def registered() -> Iterator[Any]:
    """Register the skeleton as a notebook would, and forget it afterwards."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(skeleton(), namespace)
    yield namespace["CoinResponse"]
    MECHANISMS._added.pop("coin response", None)


def test_the_skeleton_passes_the_test_of_all_mechanisms(tmp_path: Path) -> None:
    (tmp_path / "coins.py").write_text(skeleton(), "utf-8")
    contract = ROOT / "tests" / "designs" / "test_contract.py"
    options = ["-q", "-p", "coins", "-p", "no:cacheprovider", "-k", "CoinResponse", f"--rootdir={ROOT}", str(contract)]
    told = python(tmp_path, "-m", "pytest", *options)
    passed = re.search(r"(\d+) passed", told)
    assert passed is not None
    assert int(passed[1]) > 60
    assert "failed" not in told


def test_a_registered_mechanism_is_read_from_files_and_estimated(registered: Any, tmp_path: Path) -> None:
    survey = registered(["never", "once", "often"])
    survey.save(tmp_path / "design.json")
    assert warner.load_design(tmp_path / "design.json") == survey
    # p = 4/6 and q = 1/6, so that 1/2 of the reports mean (1/2 - 1/6) / (1/2) = 2/3 of the people.
    estimate = warner.estimate(warner.Tally(survey, [300, 150, 150]))
    assert estimate.shares[0] == pytest.approx(2 / 3)
    assert set(survey.randomize(["never"] * 50)) <= set(survey.domain)


def test_a_cell_that_is_run_again_replaces_its_class_and_nothing_else_can_be_replaced(registered: Any) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(skeleton(), namespace)
    assert MECHANISMS["coin response"] is namespace["CoinResponse"] is not registered
    other: Any = type("Other", (registered,), {"__module__": "elsewhere"})
    with pytest.raises(ValueError, match="there is a 'coin response' already"):
        register(other)
    with pytest.raises(ValueError, match="there is a 'randomized response' already"):
        register(RandomizedResponse)
    with pytest.raises(ValueError, match="must be the name of Other, a text, but got ''"):
        register(type("Other", (registered,), {"mechanism": ""}))
    with pytest.raises(TypeError, match="must be a class that inherits from Design, but got 3"):
        register(3)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="must define all abstract members, but Symmetric lacks draw, draws, examples"):
        register(Symmetric)


def test_a_package_offers_a_mechanism_to_files_plans_and_the_shell(package: Path) -> None:
    told = python(
        package,
        "-W",
        "always",
        "-c",
        "from warner.designs import MECHANISMS, design_from_json; from coins import CoinResponse; "
        "text = CoinResponse(4).to_json(); design = design_from_json(text); "
        "print(type(design).__name__, len(MECHANISMS), list(MECHANISMS)[-1], MECHANISMS.named('Coin Response')); "
        "design.save('design.json')",
    )
    assert f"CoinResponse {len(MECHANISMS) + 1} coin response coin response" in told
    assert "the mechanism no_such_module:Nothing of another package was left out: ModuleNotFoundError" in told
    assert "a coin decides whether it is reported" in python(package, "-m", "warner", "show", "design.json")


def test_packages_are_not_searched_until_a_name_is_unknown(package: Path) -> None:
    RandomizedResponse(3, odds=(3, 1)).save(package / "design.json")
    told = python(
        package,
        "-c",
        "import sys, warner; from warner.designs import MECHANISMS; warner.load_design('design.json'); "
        "MECHANISMS['channel'].examples(); print('coins' in sys.modules, MECHANISMS._searched); "
        "'coin response' in MECHANISMS; print('coins' in sys.modules, MECHANISMS._searched)",
    )
    assert told.splitlines()[0] == "False False"
    assert "True True" in told


def test_mechanisms_stand_where_the_registry_says_under_their_own_names() -> None:
    for listed in (MECHANISMS, OPEN):
        for name, mechanism in listed.items():
            assert mechanism.mechanism == name
            assert getattr(warner.designs, mechanism.__name__) is mechanism


def test_a_mechanism_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    asked = "print('warner.designs.unary' in sys.modules)"
    told = python(tmp_path, "-c", f"import sys, warner; warner.estimate; {asked}; warner.UnaryEncoding; {asked}")
    assert told.split() == ["False", "True"]


def test_a_registry_is_a_mapping_of_its_own() -> None:
    registry = Registry({"randomized response": "response.RandomizedResponse"})
    assert registry["randomized response"] is RandomizedResponse
    assert "none" not in registry
    assert registry.named("Randomized RESPONSE") == "randomized response"
    assert registry.named("none") == "none"
    with pytest.raises(ValueError, match="mechanism must be one of 'randomized response', 'channel'"):
        design_from_json('{"format": "warner design", "version": 1, "mechanism": "none"}')
