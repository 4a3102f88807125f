"""The house: who may import whom, who may ask a design what it is, and how large a room may be."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import warner
from warner.designs import MECHANISMS
from warner.designs.contract import Design
from warner.estimators import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(warner.__file__).parent
ROOT = SOURCE.parents[1]
MODULES = {path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
TEXTS = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}

# A module imports from its left, or from its own package.
ARROW = (
    {"arrays", "runtime"},
    {"text"},
    {"documents", "numerics"},
    {"typesetting"},
    {"results"},
    {"designs"},
    {"surveys", "reports"},
    {"simulate", "metrics"},
    {"estimators"},
    {"inference"},
    {"estimation", "discovery"},
    {"regression"},
    {"association", "explanation", "groups", "planning", "noncompliance", "auditing"},
    {"output"},
    {"service"},
    {"cli"},
)
# The conveniences that point right, inside a function: `design.randomize`, `Estimate.text`, `.plot`, `Plan.plot` ...
CONVENIENCES = {
    ("designs/contract", "reports"),
    ("designs/memoized", "reports"),
    ("reports/tallies", "reports"),
    ("reports/counting", "service"),
    ("estimation", "output"),
    ("discovery/discoveries", "output"),
    ("regression/regressions", "output"),
    ("groups/group_estimates", "output"),
    ("planning/tradeoffs", "output"),
    ("planning/mechanisms", "output"),
}


@cache
def nodes_of(text: str) -> list[ast.AST]:
    """Parse a module, for which many rules ask, and give all of its nodes; the first is the module itself."""
    return list(ast.walk(ast.parse(text)))


@pytest.fixture(autouse=True, scope="module")
def _room_for_others() -> Iterator[None]:
    yield
    nodes_of.cache_clear()


def room(module: str) -> str:
    return module.split("/")[0]


def place(module: str) -> int:
    return next(number for number, rooms in enumerate(ARROW) if room(module) in rooms)


def imports(module: str) -> list[tuple[str, bool]]:
    """Return the modules of ours that a module imports, and whether it does so inside a function."""
    nodes = nodes_of(TEXTS[module])
    inside = {id(node) for function in nodes if isinstance(function, ast.FunctionDef) for node in ast.walk(function)}
    result = []
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "warner":
            names = [node.module] if node.module != "warner" else [f"warner.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "warner"]
        result += [
            (name.removeprefix("warner").removeprefix(".").replace(".", "/"), id(node) in inside) for name in names
        ]
    return [(name, lazy) for name, lazy in result if name and not name.startswith("__")]


def ours(module: str) -> bool:
    return module not in {"__init__", "__main__"}


def test_every_room_has_its_place_in_the_arrow() -> None:
    rooms = {room(module) for module in MODULES if ours(module)}
    assert rooms == set().union(*ARROW)


def test_nothing_imports_against_the_arrow() -> None:
    known = {name for rooms in ARROW for name in rooms}
    found = [(module, *one) for module in filter(ours, MODULES) for one in imports(module)]
    for module, other, lazy in found:
        if room(other) == room(module):
            continue
        if lazy and (module, room(other)) in CONVENIENCES:
            continue
        # The edge of the house may use the public names, which stand in `warner` itself.
        target = room(other) if room(other) in known else None
        if target is None:
            assert place(module) >= place("service"), f"{module} imports {other} from the front door"
            continue
        assert place(target) < place(module), f"{module} imports {other}, which is not to its left"


def test_the_arrow_test_would_see_an_import_against_the_arrow() -> None:
    assert place("estimators") > place("designs")
    assert ("designs/exact", False) in imports("designs/response")


@cache
def kinds_of_design() -> set[str]:
    """Name the classes of designs, but the contract itself."""

    def below(kind: type[Any]) -> set[str]:
        return {kind.__name__}.union(*(below(child) for child in kind.__subclasses__()))

    assert all(MECHANISMS.values())  # all are loaded now
    return below(Design) - {"Design"}


def test_the_kinds_of_designs_are_those_of_the_registry_and_their_families() -> None:
    assert {mechanism.__name__ for mechanism in MECHANISMS.values()} < kinds_of_design()


def test_nobody_asks_a_design_what_kind_it_is() -> None:
    others = {module: text for module, text in TEXTS.items() if room(module) != "designs"}
    for module, node in ((module, node) for module, text in others.items() for node in nodes_of(text)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"isinstance", "issubclass"}
        ):
            named = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            named |= {name.attr for name in ast.walk(node.args[1]) if isinstance(name, ast.Attribute)}
            assert not named & kinds_of_design(), f"{module}:{node.lineno} asks for a kind of design"
        if isinstance(node, ast.Attribute) and node.attr == "mechanism" and room(module) in {"estimators", "inference"}:
            pytest.fail(f"{module}:{node.lineno} asks a design for its name")


# Names that can be nothing else than a method's: power is also that of a test.
METHOD_NAMES = set(METHODS) - {"power"}


def method_names(text: str) -> list[int]:
    """Return the lines that spell a method's name, but for defaults in the signature of a function."""
    defaults = {
        id(default)
        for function in nodes_of(text)
        if isinstance(function, ast.FunctionDef)
        for default in [*function.args.defaults, *function.args.kw_defaults]
    }
    return [
        node.lineno
        for node in nodes_of(text)
        if isinstance(node, ast.Constant) and node.value in METHOD_NAMES and id(node) not in defaults
    ]


# The public names include functions that are called like methods.
def test_what_is_known_of_a_method_stands_in_the_registry() -> None:
    others = {module: text for module, text in TEXTS.items() if room(module) not in {"estimators", "__init__"}}
    spelled = {module: method_names(text) for module, text in others.items()}
    assert not {module: lines for module, lines in spelled.items() if lines}


def test_the_name_of_a_method_would_be_seen() -> None:
    assert method_names('def f(method="mle"):\n    """Estimate by mle."""\n    return method == "inv_p"\n') == [3]


def spelled_mechanisms(text: str) -> list[int]:
    """Return the lines that spell a mechanism's name, and nothing else, as it stands in files or on a command line."""
    known = {name.casefold() for name in MECHANISMS}
    return [
        node.lineno
        for node in nodes_of(text)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in (name := node.value.replace("-", " ").replace("_", " ").casefold())  # channel is also a plain word
        and name in known
    ]


@pytest.mark.parametrize("module", [module for module in MODULES if room(module) != "designs"])
def test_what_is_known_of_a_mechanism_stands_in_the_registry(module: str) -> None:
    assert not spelled_mechanisms(MODULES[module].read_text(encoding="utf-8")), f"{module} spells a mechanism's name"


def test_the_name_of_a_mechanism_would_be_seen() -> None:
    assert spelled_mechanisms('"""Of unary encoding."""\nx = {"unary-encoding": 1}\n') == [2]


# What is caught comes from a library, but for one command, which shows each warning in a line.
WARNINGS_CAUGHT = {
    "output/canvas": "Glyph .* missing from font",
    "regression/formulas": "DataMismatchWarning",
    "reports/batches": "PySpark",
    "cli/messages": "record=True",
}


def test_no_warning_of_ours_is_silenced() -> None:
    # A value does not warn: whoever wants none of its warnings calls `estimated` in the place of `estimate`.
    assert {module for module, text in TEXTS.items() if re.search("catch_warnings|filterwarnings", text)} == set(
        WARNINGS_CAUGHT
    )
    assert not [module for module, words in WARNINGS_CAUGHT.items() if words not in TEXTS[module]]


# Ceilings: a change that needs more of one of these says why, or makes room first.
MOST_FILES = 215
MOST_LINES = 72_500
LONGEST_MODULE = 900  # lines
MOST_WITH_ONE_IMPORTER = 60  # a module with one importer is part of that importer, but for what is loaded late

# Modules, or packages that have some, whose only importer does so inside a function or by a table of names.
LOADED_LATE = {
    "cli": "the module of a command is imported when the command is called",
    "designs": "a mechanism is imported when a design has it",
    "explanation/explanations": "a public name",
    "auditing/audits": "a public name",
    "inference/totals": "totals need the size of the population",
    "output": "pictures and pages are rare, and Matplotlib is slow to import",
    "reports/batches": "Spark, Dask and databases are rare",
    "reports/excel": "one format of files",
    "service/server": "only `warner collect` needs uvicorn",
    "service/stores/postgres": "SQLite is the default",
}


TABLES = {"__init__", "cli/__init__", "designs/__init__", "reports/files"}  # they name modules in strings


def statements(body: list[Any], later: bool = False) -> Iterator[tuple[Any, bool]]:
    """Yield statements, and whether each runs later than the import of its module: in a function, or only for types."""
    for node in body:
        yield node, later
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ("body", "orelse", "handlers", "finalbody"):
            inside = later or for_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from statements(getattr(node, part, []), inside)


def named_modules(module: str) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a module imports or has in a table, and whether each is loaded later than itself."""
    nodes = nodes_of(TEXTS[module])
    for node, later in statements(getattr(nodes[0], "body", [])):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield f"{node.module}.{alias.name}", later
                yield node.module, later
    for node in nodes if module in TABLES else ():
        if isinstance(node, ast.Constant) and re.fullmatch(r"[\w.:]+", str(node.value)):
            yield str(node.value), True
            yield ".".join(["warner", *module.split("/")[:-1], re.split("[.:]", str(node.value))[0]]), True


@cache
def importers() -> dict[str, dict[str, bool]]:
    """Return for each module the modules that import it, and whether each does so only later than it is loaded itself.

    Package heads and the command itself are left out.
    """
    result: dict[str, dict[str, bool]] = {module: {} for module in MODULES if "__" not in module}
    for other in MODULES:
        for name, later in named_modules(other):
            module = name.removeprefix("warner.").replace(".", "/")
            if name.startswith("warner.") and module in result and module != other:
                result[module][other] = result[module].get(other, True) and later
    return result


def lonely() -> dict[str, dict[str, bool]]:
    """Return the modules with one importer or none, and that importer."""
    return {module: others for module, others in importers().items() if len(others) < 2}


def test_the_tree_stays_below_its_ceilings() -> None:
    lines = {module: len(text.splitlines()) for module, text in TEXTS.items()}
    assert len(lines) <= MOST_FILES
    assert sum(lines.values()) <= MOST_LINES
    assert not {module: number for module, number in lines.items() if number > LONGEST_MODULE}
    assert len(lonely()) <= MOST_WITH_ONE_IMPORTER, sorted(lonely())


def test_every_module_has_an_importer_and_a_reason_if_it_is_loaded_late() -> None:
    assert not [module for module, others in lonely().items() if not others]
    late = {module for module, others in lonely().items() if all(others.values())}
    assert not [module for module in late if not {module, module.rpartition("/")[0]} & LOADED_LATE.keys()]
    assert not [place for place in LOADED_LATE if not any(f"{one}/".startswith(f"{place}/") for one in late)]


def test_importers_would_be_seen() -> None:
    known = importers()
    assert known["explanation/explanations"]["__init__"]
    assert known["reports/excel"]["reports/files"]
    assert known["designs/subset"]["designs/__init__"]
    assert known["reports/readstat"]["reports/labelled"]
    assert known["estimators/priors"] == {"estimators/shrinkage": False}


def test_no_public_function_has_the_name_of_a_module() -> None:
    for name in warner.__all__:
        value = getattr(warner, name)
        if callable(value):
            assert not (SOURCE / f"{name}.py").exists()
            assert not (SOURCE / name).is_dir()


def listed(package: str) -> list[str]:
    """Return the names that the head of a package lists: one or several on a line, and a description."""
    head = ast.get_docstring(ast.parse(TEXTS[f"{package}/__init__"])) or ""
    lines = head.partition("Its files::")[2].splitlines()
    return [name for line in lines if line.startswith("    ") for name in line.strip().partition("  ")[0].split()]


PACKAGES = [module.removesuffix("/__init__") for module in MODULES if module.endswith("/__init__")]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_head_of_a_package_lists_its_files(package: str) -> None:
    folder = SOURCE / package
    files = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    folders = [f"{path.parent.name}/" for path in folder.glob("*/__init__.py")]
    assert sorted(listed(package)) == sorted(files + folders)


def test_the_map_has_one_line_for_each_package_and_each_module_at_the_top() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = contributing.partition("src/warner/\n")[2].partition("tests/")[0].splitlines()
    named = [line.split()[0] for line in lines if line.strip()]
    files = [f"{module}.py" for module in MODULES if "/" not in module]
    assert sorted(named) == sorted(files + [f"{package}/" for package in PACKAGES if "/" not in package])


def test_every_module_has_a_test_of_its_name_or_stands_in_the_head_of_another() -> None:
    tests = Path(__file__).parent
    named = set()
    for path in tests.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        head = text.split('"""')[1] if text.startswith('"""') else ""  # to parse all tests takes seconds
        folder = path.parent.relative_to(tests)  # there a name in backticks will do
        named |= {(folder / name).as_posix() for name in re.findall(r"`(\w+)`", head)}
        named |= set(re.findall(r"([\w/]+)\.py", head))
    own = {module: f"{module}.py".rpartition("/") for module in MODULES if "__" not in module}
    assert not [
        f"{module} has neither a test_{name} in tests/{room} nor a test file that names it in its head"
        for module, (room, _, name) in own.items()
        if not (tests / room / f"test_{name}").is_file() and module not in named
    ]


# Constants that each of several modules has: what it is of follows from the module.
OF_EACH_MODULE = {
    "FORMAT": "the name of the file format that the module reads and writes",
    "VERSION": "the version of that format",
    "TYPE_CHECKING": "in the place of that of `typing`, whose import would cost more than these modules",
}


def constants(text: str) -> set[str]:
    """Name the constants of a module: names in capitals that it assigns to at its top level."""
    assigned: list[ast.expr] = []
    module = nodes_of(text)[0]
    assert isinstance(module, ast.Module)
    for node in module.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        assigned += [name for target in targets for name in ast.walk(target) if isinstance(name, ast.expr)]
    return {
        name.id
        for name in assigned
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.id.isupper()
    }


def test_a_constant_has_one_name_and_one_place() -> None:
    """A name in capitals says what it limits, in its unit; two modules that mean the same share one definition."""
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for name in constants(path.read_text(encoding="utf-8")) - OF_EACH_MODULE.keys():
            places.setdefault(name, []).append(module)
    assert not {name: modules for name, modules in places.items() if len(modules) > 1}


def test_constants_would_be_seen() -> None:
    assert constants("A, B = 1, 2\nC: int = 3\nd = 4\nD[0] = 5\nif A:\n    E = 6\n") == {"A", "B", "C"}


# Words that could mean anything.
NO_NAMES = {"found", "told", "held", "taken", "chosen", "ends", "left", "reach"}


# An attribute of a result, which is documented under this name.
DOCUMENTED = {"inference/presence": {"found"}}


def general_names(text: str) -> list[str]:
    """Return the functions, classes and attributes whose name is one of `NO_NAMES`."""
    nodes = nodes_of(text)
    named = [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    named += [node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    fields = [
        line.target
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign)
    ]
    named += [field.id for field in fields if isinstance(field, ast.Name)]
    return [name for name in named if name.strip("_").lower() in NO_NAMES]


@pytest.mark.parametrize("module", MODULES)
def test_names_say_what_they_mean(module: str) -> None:
    allowed: set[str] = DOCUMENTED.get(module, set())
    assert not set(general_names(MODULES[module].read_text(encoding="utf-8"))) - allowed


def test_general_names_would_be_seen() -> None:
    assert general_names("class Told:\n    left: int\n\n\ndef _held(taken):\n    found = taken\n") == [
        "Told",
        "_held",
        "left",
    ]
