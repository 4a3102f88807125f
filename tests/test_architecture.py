"""Structure of the code: order of imports, knowledge of mechanisms and methods in one file each, ceilings and names."""

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
from warner.designs.law import Law
from warner.estimators import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(warner.__file__).parent
ROOT = SOURCE.parents[1]
MODULES = {path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
TEXTS = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}

# A module imports from earlier lines, or from its own package.
IMPORT_ORDER = (
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
# Exceptions inside functions, for methods such as `design.randomize`, `Estimate.plot` and `Plan.plot`
CONVENIENCES = {
    ("designs/contract", "reports"),
    ("designs/memoized", "reports"),
    ("reports/tallies", "reports"),
    ("reports/counting", "service"),
    ("estimation", "output"),
    ("inference/means", "output"),
    ("discovery/discoveries", "output"),
    ("regression/regressions", "output"),
    ("groups/group_estimates", "output"),
    ("planning/tradeoffs", "output"),
    ("planning/mechanisms", "output"),
}


@cache
def nodes_of(text: str) -> list[ast.AST]:
    """Return all nodes of a module; the first is the module itself."""
    return list(ast.walk(ast.parse(text)))


@pytest.fixture(autouse=True, scope="module")
def _clear_the_cache() -> Iterator[None]:
    yield
    nodes_of.cache_clear()


def package(module: str) -> str:
    return module.split("/")[0]


def position(module: str) -> int:
    return next(number for number, packages in enumerate(IMPORT_ORDER) if package(module) in packages)


def imports(module: str) -> list[tuple[str, bool]]:
    """Return the modules of this library that a module imports, with True for imports inside functions."""
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


def has_position(module: str) -> bool:
    return module not in {"__init__", "__main__"}


def test_every_package_has_a_position_in_the_import_order() -> None:
    assert {package(module) for module in MODULES if has_position(module)} == set().union(*IMPORT_ORDER)


def test_nothing_imports_against_the_order() -> None:
    known = set().union(*IMPORT_ORDER)
    found = [(module, *one) for module in filter(has_position, MODULES) for one in imports(module)]
    for module, other, lazy in found:
        if package(other) == package(module):
            continue
        if lazy and (module, package(other)) in CONVENIENCES:
            continue
        # The service and the command line may import public names from `warner`.
        target = package(other) if package(other) in known else None
        if target is None:
            assert position(module) >= position("service"), f"{module} imports the public name {other}"
            continue
        assert position(target) < position(module), f"{module} imports {other}, which is not before it"


def test_an_import_against_the_order_would_be_found() -> None:
    assert position("estimators") > position("designs")
    assert ("designs/exact", False) in imports("designs/response")


@cache
def kinds_of_design() -> set[str]:
    """Return the names of the classes of designs, without the base class."""

    def below(kind: type[Any]) -> set[str]:
        return {kind.__name__}.union(*(below(child) for child in kind.__subclasses__()))

    assert all(MECHANISMS.values())  # all are loaded now
    return below(Design) - {"Design"}


def test_the_kinds_of_designs_are_those_of_the_registry_and_their_families() -> None:
    assert {mechanism.__name__ for mechanism in MECHANISMS.values()} < kinds_of_design()


def test_no_module_depends_on_the_type_of_a_design() -> None:
    others = {module: text for module, text in TEXTS.items() if package(module) != "designs"}
    for module, node in ((module, node) for module, text in others.items() for node in nodes_of(text)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"isinstance", "issubclass"}
        ):
            named = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            named |= {name.attr for name in ast.walk(node.args[1]) if isinstance(name, ast.Attribute)}
            assert not named & kinds_of_design(), f"{module}:{node.lineno} depends on the type of a design"
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "mechanism"
            and package(module) in {"estimators", "inference"}
        ):
            pytest.fail(f"{module}:{node.lineno} depends on the name of a mechanism")


# `power` is also the power of a test.
METHOD_NAMES = set(METHODS) - {"power"}


def method_names(text: str) -> list[int]:
    """Return the lines with the name of a method, except defaults in signatures."""
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


# Public names include functions with the names of methods.
def test_methods_are_named_in_their_registry_only() -> None:
    others = {module: text for module, text in TEXTS.items() if package(module) not in {"estimators", "__init__"}}
    spelled = {module: method_names(text) for module, text in others.items()}
    assert not {module: lines for module, lines in spelled.items() if lines}


def test_the_name_of_a_method_would_be_found() -> None:
    assert method_names('def f(method="mle"):\n    """Estimate by mle."""\n    return method == "inv_p"\n') == [3]


def spelled_mechanisms(text: str) -> list[int]:
    """Return the lines with a string that is the name of a mechanism, as in files or on a command line."""
    known = {name.casefold() for name in MECHANISMS}
    return [
        node.lineno
        for node in nodes_of(text)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in (name := node.value.replace("-", " ").replace("_", " ").casefold())  # channel is also a plain word
        and name in known
    ]


@pytest.mark.parametrize("module", [module for module in MODULES if package(module) != "designs"])
def test_mechanisms_are_named_in_their_registry_only(module: str) -> None:
    assert not spelled_mechanisms(MODULES[module].read_text(encoding="utf-8")), f"{module} spells a mechanism's name"


def test_the_name_of_a_mechanism_would_be_found() -> None:
    assert spelled_mechanisms('"""Of unary encoding."""\nx = {"unary-encoding": 1}\n') == [2]


# Warnings of other libraries are silenced; one command catches warnings to print each in one line.
WARNINGS_CAUGHT = {
    "output/canvas": "Glyph .* missing from font",
    "regression/formulas": "DataMismatchWarning",
    "reports/batches": "PySpark",
    "cli/messages": "record=True",
}


def test_no_warning_of_this_library_is_silenced() -> None:
    # `estimated` does not warn, unlike `estimate`.
    assert {module for module, text in TEXTS.items() if re.search("catch_warnings|filterwarnings", text)} == set(
        WARNINGS_CAUGHT
    )
    assert not [module for module, words in WARNINGS_CAUGHT.items() if words not in TEXTS[module]]


# Ceilings: a change that needs a higher one explains why, or removes code first.
MOST_FILES = 200
MOST_LINES = 69_000
LONGEST_MODULE = 900  # lines
MOST_MEMBERS: dict[type[Any], int] = {Design: 33, Law: 18}  # of the contract of a mechanism
MOST_ON_A_DESIGN = 45  # public names that tab completion offers
MOST_ON_A_MEMOIZED_DESIGN = 52  # with the names of its rounds
MOST_ON_AN_ESTIMATE = 30
MOST_FORMATTING = 56  # methods that format one result each
FORMATTING = {"table", "to_dict", "_printed", "text", "to_frame"}
MOST_WITH_ONE_IMPORTER = 40  # other modules are merged into their only importer, unless they are loaded late

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
    "service/notices": "only `warner survey new` and `warner survey notice` need it",
    "service/reporting": "only `warner survey report` needs it",
    "service/server": "only `warner collect` needs uvicorn",
    "service/stores/postgres": "SQLite is the default",
}


TABLES = {"__init__", "cli/__init__", "designs/__init__", "reports/files"}  # with names of modules in strings


def statements(body: list[Any], later: bool = False) -> Iterator[tuple[Any, bool]]:
    """Yield statements, with True if they do not run at import: in a function, or only for types."""
    for node in body:
        yield node, later
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ("body", "orelse", "handlers", "finalbody"):
            inside = later or for_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from statements(getattr(node, part, []), inside)


def named_modules(module: str) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a module imports or has in a table, with True if they are not loaded at import."""
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
    """Return the importers of each module, with True if an importer loads it late; without packages and `__main__`."""
    result: dict[str, dict[str, bool]] = {module: {} for module in MODULES if "__" not in module}
    for other in MODULES:
        for name, later in named_modules(other):
            module = name.removeprefix("warner.").replace(".", "/")
            if name.startswith("warner.") and module in result and module != other:
                result[module][other] = result[module].get(other, True) and later
    return result


def with_one_importer() -> dict[str, dict[str, bool]]:
    """Return the modules with at most one importer, and the importer."""
    return {module: others for module, others in importers().items() if len(others) < 2}


def test_the_tree_stays_below_its_ceilings() -> None:
    lines = {module: len(text.splitlines()) for module, text in TEXTS.items()}
    assert len(lines) <= MOST_FILES
    assert sum(lines.values()) <= MOST_LINES
    assert not {module: number for module, number in lines.items() if number > LONGEST_MODULE}
    assert len(with_one_importer()) <= MOST_WITH_ONE_IMPORTER, sorted(with_one_importer())


def public_names(value: object) -> list[str]:
    """Return the names that tab completion offers."""
    return [name for name in dir(value) if not name.startswith("_")]


@pytest.mark.parametrize("contract", MOST_MEMBERS)
def test_the_contract_of_a_mechanism_stays_below_its_ceilings(contract: type[Any]) -> None:
    assert len(public_names(contract)) <= MOST_MEMBERS[contract], public_names(contract)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_public_names_on_a_design_stay_below_their_ceiling(mechanism: str) -> None:
    design = next(iter(MECHANISMS[mechanism].examples()))
    assert "__dir__" not in vars(type(design))
    most = MOST_ON_A_MEMOIZED_DESIGN if design.repetition is not None else MOST_ON_A_DESIGN
    assert len(public_names(design)) <= most, public_names(design)
    assert len(design.law.columns)
    assert all(name.isidentifier() for name in public_names(design))  # what the law keeps is private


def test_public_names_on_an_estimate_stay_below_their_ceiling() -> None:
    value = warner.estimate(warner.Tally(warner.RandomizedResponse(["yes", "no"], epsilon=1), [60, 40]))
    assert "__dir__" not in vars(type(value))
    assert len(public_names(value)) <= MOST_ON_AN_ESTIMATE, public_names(value)


def test_methods_that_format_results_stay_below_their_ceiling() -> None:
    found = [
        f"{module}:{node.lineno}"
        for module, text in TEXTS.items()
        for node in nodes_of(text)
        if isinstance(node, ast.FunctionDef) and node.name in FORMATTING
    ]
    assert len(found) <= MOST_FORMATTING, found


def test_every_module_has_an_importer_and_a_reason_if_it_is_loaded_late() -> None:
    assert not [module for module, others in with_one_importer().items() if not others]
    late = {module for module, others in with_one_importer().items() if all(others.values())}
    assert not [module for module in late if not {module, module.rpartition("/")[0]} & LOADED_LATE.keys()]
    assert not [name for name in LOADED_LATE if not any(f"{module}/".startswith(f"{name}/") for module in late)]


def test_importers_would_be_found() -> None:
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
    """Return the names in the docstring of a package: one or several on a line, and a description."""
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
        f"{module} has neither a test_{name} in tests/{folder} nor a test file that names it in its docstring"
        for module, (folder, _, name) in own.items()
        if not (tests / folder / f"test_{name}").is_file() and module not in named
    ]


# Constants of several modules, each with its own value.
OF_EACH_MODULE = {
    "FORMAT": "the name of the file format that the module reads and writes",
    "VERSION": "the version of that format",
    "TYPE_CHECKING": "in the place of that of `typing`, whose import would cost more than these modules",
}


def constants(text: str) -> set[str]:
    """Return the constants of a module: names in capitals that are assigned at the top level."""
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


def test_a_constant_is_defined_in_one_module() -> None:
    places: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for name in constants(path.read_text(encoding="utf-8")) - OF_EACH_MODULE.keys():
            places.setdefault(name, []).append(module)
    assert not {name: modules for name, modules in places.items() if len(modules) > 1}


def test_constants_would_be_found() -> None:
    assert constants("A, B = 1, 2\nC: int = 3\nd = 4\nD[0] = 5\nif A:\n    E = 6\n") == {"A", "B", "C"}


# Names that insiders alone understand
NO_NAMES = {"found", "told", "held", "taken", "chosen", "ends", "left", "reach"}


# Public attributes of results
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
def test_names_are_specific(module: str) -> None:
    allowed: set[str] = DOCUMENTED.get(module, set())
    assert not set(general_names(MODULES[module].read_text(encoding="utf-8"))) - allowed


def test_general_names_would_be_found() -> None:
    assert general_names("class Told:\n    left: int\n\n\ndef _held(taken):\n    found = taken\n") == [
        "Told",
        "_held",
        "left",
    ]
