"""Expanded data: a copy of all people for each answer that they may hold, with the design matrix if they did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import objects
from warner.regression.identification import refuse_dependent, refuse_too_few

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warner.arrays import Array, Integers
    from warner.explanation.individual_data import Individuals, RandomizedQuestion
    from warner.regression.covariates import Columns
    from warner.regression.formulas import Formula
    from warner.regression.terms import TermList, Terms

DEPENDENT_SHARE_COLUMN = 1e-8  # part of a column that the columns before it must leave over


def expanded_design(
    given: Formula | TermList, people: Individuals, variables: Sequence[str], questions: Sequence[RandomizedQuestion]
) -> tuple[Terms, Array]:
    """Give the terms of a model, and their columns for each combination of answers, of shape (k, n, columns)."""
    stacked = _stacked(people, variables, questions)
    terms = _terms(given, stacked, people, questions)
    copies = np.ascontiguousarray(terms.evaluate(stacked).reshape(-1, people.n, len(terms.names)))
    flat = copies.reshape(-1, len(terms.names))
    rows = people.rows
    refuse_too_few(rows, len(terms.names))
    refuse_dependent(
        replace(rows, x=flat, weight=np.tile(rows.weight, len(copies))), coefficient_names(terms.names, questions)
    )
    return terms, copies


def _stacked(people: Individuals, variables: Sequence[str], questions: Sequence[RandomizedQuestion]) -> Columns:
    """Give the columns of copies of all people, one for each combination of answers."""
    sizes = [question.k for question in questions]
    total = int(np.prod(sizes))
    stacked = {name: np.tile(people.columns[name], total) for name in variables}
    for question, place in zip(questions, np.unravel_index(np.arange(total), sizes), strict=True):
        held = objects([str(label) for label in question.domain]) if question.values is None else question.values
        stacked[question.name] = np.repeat(held[place], people.n)
    return stacked


def _terms(
    given: Formula | TermList, stacked: Columns, people: Individuals, questions: Sequence[RandomizedQuestion]
) -> Terms:
    """Make the terms, with the last answer of each question as the reference; numbers enter as they are."""
    orders = dict(people.orders)
    for question in (one for one in questions if one.values is None):
        labels = [str(label) for label in question.domain]
        orders[question.name] = (labels[-1], *labels[:-1])
    # What a formula remembers of all people, such as their average, is that of one copy.
    copies = int(np.prod([question.k for question in questions]))
    once: Integers = np.repeat([1, *[0] * (copies - 1)], people.n)
    return given.terms(stacked, once, orders)


def coefficient_names(names: Sequence[str], questions: Sequence[RandomizedQuestion]) -> tuple[str, ...]:
    """Name indicators of answers by the answer alone: trait[yes]."""
    for question in questions:
        for label in question.domain:
            names = [name.replace(f"{question.name}[T.{label}]", f"{question.name}[{label}]") for name in names]
    return tuple(names)


def _independent(columns: Array) -> list[int]:
    """Give the columns, by their numbers, that do not follow from those before them."""
    basis: list[Array] = []
    chosen = []
    for place, column in enumerate(columns.T):
        size = float(np.linalg.norm(column))
        left = column
        for _ in range(2):  # once more, against rounding
            left = left - sum((direction * (direction @ left) for direction in basis), np.zeros_like(left))
        if size > 0 and np.linalg.norm(left) > DEPENDENT_SHARE_COLUMN * size:
            basis.append(left / np.linalg.norm(left))
            chosen.append(place)
    return chosen


def share_design_matrix(copies: Array) -> Array:
    """Give what the shares of the answers may depend on: a constant, and what is left of the terms at the reference."""
    columns = np.column_stack([np.ones(copies.shape[1]), copies[-1]])
    return columns[:, _independent(columns)]
