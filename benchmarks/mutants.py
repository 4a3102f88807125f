"""Mutation testing of the numerical modules: how many small faults do the tests of a package notice?

A mutant is a copy of the package in which one operator, comparison or number is changed. The tests of its module run
first, and if these pass, all tests of its package. A mutant that passes both is reported, unless
``benchmarks/mutants.txt`` has a reason why it is equivalent or too small to matter.

    make mutants                                         # 30 random mutants, about 20 minutes
    python benchmarks/mutants.py --number 300 --seed 2
    python benchmarks/mutants.py --module planning/precision --number 10
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "warner"
REASONS = Path(__file__).with_suffix(".txt")
PACKAGES = (
    "designs",
    "estimators",
    "inference",
    "groups",
    "discovery",
    "planning",
    "regression",
    "reports",
)
SECONDS = 900  # after which a test run counts as failed: some mutants never end
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change of one expression: the module, its line, the name in the list of reasons, and the mutated source.

    The key is the statement with the change marked: line numbers and indents change, statements rarely do. A number
    follows where a module has several equal statements, so that one reason excuses one mutant.
    """

    module: str
    line: int
    key: str
    text: str  # of the whole mutated module


def mutated(node: ast.expr) -> ast.expr | None:
    """Return the expression with its outermost operator, comparison or number changed, or None if it has none."""
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        return ast.Compare(node.left, [COMPARISONS[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        assert isinstance(node.value, int | float)
        return ast.Constant(node.value + 1 if node.value in {0, 1} else 2 * node.value)
    return None


def mutable(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the expressions of function bodies that can be mutated: not those of annotations, messages and examples."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.FunctionDef):
            wordy = node.name in {"examples", "sentences", "summary", "text", "printed", "__repr__"}
            parts = [node] if wordy else [node.args, *filter(None, [node.returns]), *node.decorator_list]
        elif isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign):
            parts = [node if not isinstance(node, ast.AnnAssign) else node.annotation]
        for part in parts:
            skipped.update(id(child) for child in ast.walk(part))
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in skipped and mutated(node) is not None:
            yield node


def mutants(module: str) -> list[Mutant]:
    """Return every mutant of a module; expressions of several lines are left out."""
    source = (SOURCE / f"{module}.py").read_bytes()
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    tree, repeats, result = ast.parse(source), Counter[str](), []
    # The innermost statement of each expression: outer ones come first, and are replaced.
    statements = {id(part): node for node in ast.walk(tree) if isinstance(node, ast.stmt) for part in ast.walk(node)}
    for node in mutable(tree):
        statement, after = statements[id(node)], mutated(node)
        assert after is not None
        if node.end_lineno != node.lineno:
            continue
        start, end = (starts[node.lineno - 1] + (column or 0) for column in (node.col_offset, node.end_col_offset))
        first = starts[statement.lineno - 1] + statement.col_offset
        last = starts[(statement.end_lineno or 0) - 1] + (statement.end_col_offset or 0)
        if body := getattr(statement, "body", None):  # the head of a compound statement alone
            last = starts[body[0].lineno - 1] + body[0].col_offset
        change = f"<<{source[start:end].decode()} -> {ast.unparse(after)}>>"
        marked = " ".join(f"{source[first:start].decode()}{change}{source[end:last].decode()}".split())
        repeats[marked] += 1
        key = f"{module}: {marked}" + (f" ({repeats[marked]})" if repeats[marked] > 1 else "")
        whole = source[:start] + f"({ast.unparse(after)})".encode() + source[end:]
        result.append(Mutant(module, node.lineno, key, whole.decode()))
    return result


def own_tests(module: str) -> list[str]:
    """Return the test files of a module: the one of its name, and those that name it in their head."""
    package, _, name = module.rpartition("/")
    tests = ROOT / "tests"
    found = [path for path in (tests / package).rglob("test_*.py") if path.stem == f"test_{name}"]
    for path in (tests / package).rglob("test_*.py"):
        head = path.read_text(encoding="utf-8").split('"""')
        if path not in found and len(head) > 1 and (f"`{name}`" in head[1] or f"{name}.py" in head[1]):
            found.append(path)
    return [str(path.relative_to(ROOT)) for path in found]


def passes(tests: list[str], source: Path) -> bool:
    """Return True if the tests pass with the package in `source`."""
    environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def survives(mutant: Mutant, source: Path) -> bool:
    """Return True if neither the tests of the module nor those of its package notice the mutant."""
    path = source / "warner" / f"{mutant.module}.py"
    path.write_text(mutant.text, encoding="utf-8")
    try:
        own = own_tests(mutant.module)
        return (not own or passes(own, source)) and passes([f"tests/{mutant.module.split('/')[0]}"], source)
    finally:
        shutil.copy2(SOURCE / f"{mutant.module}.py", path)


def reasons() -> dict[str, str]:
    """Return the known survivors with the reason why no test is needed: lines `module: statement  # reason`."""
    lines = REASONS.read_text(encoding="utf-8").splitlines()
    pairs = [line.rsplit("  # ", 1) for line in lines if line and not line.startswith("#")]
    return {key.strip(): reason for key, reason in pairs}


def modules() -> list[str]:
    """Return the numerical modules: those with at least ten mutable expressions, without heads of packages."""
    names = [path for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py")) if "__" not in path.name]
    found = {path.relative_to(SOURCE).with_suffix("").as_posix(): None for path in names}
    return [name for name in found if len(mutants(name)) >= 10]


def main() -> int:
    """Test a random sample of mutants; return 1 if more than one in ten survives without a reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--number", type=int, default=30, help="mutants to sample")
    parser.add_argument("--seed", type=int, default=None, help="of the sample; another one every day by default")
    parser.add_argument("--module", default="", help="a regular expression that modules must match")
    asked = parser.parse_args()
    known, rng = reasons(), random.Random(asked.seed)
    every = [mutant for module in modules() if re.search(asked.module, module) for mutant in mutants(module)]
    sample = rng.sample(every, min(asked.number, len(every)))
    alive = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(SOURCE, source / "warner", ignore=shutil.ignore_patterns("__pycache__"))
        for number, mutant in enumerate(sample, start=1):
            survived = mutant.key not in known and survives(mutant, source)
            verdict = known.get(mutant.key) or ("SURVIVED" if survived else "noticed")
            place = f"{number}/{len(sample)}, line {mutant.line}"
            print(f"{verdict}: {place}: {mutant.key}", flush=True)
            alive += [mutant] if survived else []
    print(f"{len(alive)} of {len(sample)} mutants survived without a reason")
    return int(len(alive) > len(sample) / 10)


if __name__ == "__main__":
    sys.exit(main())
