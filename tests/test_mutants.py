"""The mutation testing of `benchmarks/mutants.py`: what it changes, and that a fault is noticed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import mutants

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_operators_comparisons_and_numbers_change() -> None:
    changes = {
        text: ast.unparse(mutants.mutated(ast.parse(text, mode="eval").body) or ast.Constant(None))
        for text in ("a + b", "a / b", "a < b", "a == b", "0", "2.5", "a", "a < b < c", "True")
    }
    assert changes == {
        "a + b": "a - b",
        "a / b": "a * b",
        "a < b": "a <= b",
        "a == b": "a != b",
        "0": "1",
        "2.5": "5.0",
        "a": "None",
        "a < b < c": "None",
        "True": "None",
    }


def test_annotations_messages_and_examples_stay() -> None:
    text = (
        "def f(n: int = 2) -> int:\n    if n < 0:\n        raise ValueError(f'{n + 1} below {0}')\n    return n * 3\n\n"
        "def examples():\n    return 4\n"
    )
    found = {ast.unparse(node) for node in mutants.mutable(ast.parse(text))}
    assert found == {"n < 0", "0", "n * 3", "3"}


def test_a_mutant_is_the_module_with_one_expression_changed() -> None:
    module = "planning/shuffling"
    whole = (mutants.SOURCE / f"{module}.py").read_text(encoding="utf-8")
    for mutant in mutants.mutants(module):
        ast.parse(mutant.text)
        assert mutant.text != whole
        changed = [
            i for i, (a, b) in enumerate(zip(whole.splitlines(), mutant.text.splitlines(), strict=True), 1) if a != b
        ]
        assert changed == [mutant.line]


def test_one_reason_excuses_one_mutant(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    before = "def f(x):\n    y = 1\n    if x > 2:  # often\n        return [\n            x + 2,\n        ]\n"
    twice = before + "def g():\n    y = 1\n"
    expected = [
        "m: if <<x > 2 -> x >= 2>>: # often",
        "m: if x > <<2 -> 4>>: # often",
        "m: return [ <<x + 2 -> x - 2>>, ]",
        "m: return [ x + <<2 -> 4>>, ]",
        "m: y = <<1 -> 2>>",
    ]
    for text, more in ((before, []), ("\n\n" + before, []), (twice, ["m: y = <<1 -> 2>> (2)"])):
        (tmp_path / "m.py").write_text(text, encoding="utf-8")
        assert sorted(mutant.key for mutant in mutants.mutants("m")) == expected + more


def test_numerical_modules_are_sampled_and_their_tests_are_known() -> None:
    assert {"planning/precision", "inference/binomial", "designs/draws"} <= set(mutants.modules())
    assert mutants.own_tests("planning/shuffling") == ["tests/planning/test_shuffling.py"]


def test_reasons_belong_to_mutants_that_exist() -> None:
    reasons = mutants.reasons()
    modules = {key.partition(":")[0] for key in reasons}
    known = {mutant.key for module in modules for mutant in mutants.mutants(module)}
    assert not set(reasons) - known
