"""Tables of the answers in each group, for readers: which rows are shown, their names, and what was collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.estimators.methods import described
from warner.inference.intervals import ONE_CLUSTER, RANDOMIZATION, Confidence, in_one_cluster, methods_of
from warner.reports.design_based import LEAST_CLUSTERS, few_clusters, sample_freedom
from warner.reports.linearization import RESULT_COLUMN
from warner.results import Column
from warner.text import counted, enumerated, level_text, printable, reports_counted
from warner.typesetting import labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warner.arrays import Counts
    from warner.reports.tallies import Collected

    Table = dict[str, Counts]
    Rows = NDArray[np.intp]

FIRST_ROWS = 20  # in a terminal and in a notebook: answers of each group, or groups
ROWS_OF_ALL_GROUPS = 200  # of all groups together, unless more are asked for
NO_REPORTS = "no reports"
NO_CLUSTERS = "respondents who were sampled together, such as pupils of a school, count as if sampled independently"


def answers_shown(tally: Collected, table: Table) -> int:
    """Return the number of answers that have rows in a table: of two, perhaps only the first."""
    return table["value"].size // max(len(tally.groups), 1)


def totals_of(tally: Collected, table: Table) -> Counts | None:
    """Return the number of reports in the group of each row; None without groups, where the rows add up to it."""
    answers = answers_shown(tally, table)
    return np.repeat(np.atleast_1d(tally.n), answers) if tally.by or answers == 1 else None


def largest_first(tally: Collected, table: Table, rows: int | None, *, ordered: bool) -> Rows:
    """Return the rows to show, in their order: all of them, or in each group the `rows` with the largest shares.

    Answers that are `ordered`, or two, keep their order. A group without reports has one row.
    """
    answers, shares = answers_shown(tally, table), table["share"]
    shares = shares.reshape(-1, answers)
    if rows is None or tally.k == 2:
        order = np.tile(range(answers), (len(shares), 1))
    else:
        order = np.argsort(-shares, axis=1, kind="stable")
    if ordered:
        order[:, :rows].sort(axis=1)
    rows_shown = (order + answers * np.arange(len(shares))[:, np.newaxis])[: _groups_shown(answers, rows), :rows]
    visible = np.repeat(~np.isnan(shares[: len(rows_shown), :1]), rows_shown.shape[1], axis=1)
    visible[:, 0] = True
    return np.asarray(rows_shown[visible])


def _groups_shown(answers: int, rows: int | None) -> int | None:
    return None if rows is None else max(ROWS_OF_ALL_GROUPS // min(rows, answers), rows // answers, 1)


def rows_left_out(tally: Collected, table: Table, rows: int | None) -> list[str]:
    """Return a sentence on the answers and groups that `largest_first` leaves out."""
    answers = answers_shown(tally, table)
    hidden = 0 if rows is None else max(answers - rows, 0)
    groups = len(tally.groups[_groups_shown(answers, rows) :]) if tally.by and rows is not None else 0
    of = " in each group" if tally.by else ""
    left = [f"{counted(hidden, 'more answer', 'more answers')}{of}"] * bool(hidden)
    left += [counted(groups, "more group", "more groups")] * bool(groups)
    return [f"... and {', '.join(left)}"] * bool(left)


def name_columns(tally: Collected, table: Table, rows: Rows) -> list[Column]:
    """Return the columns that name the rows: the group, and the answer; "no reports" where a group has none."""
    rows_shown = [Column(heading=name, texts=labels(table[name][rows])) for name in tally.by]
    empty = np.isnan(table["share"][rows]).tolist() if tally.by else [False] * rows.size
    answers = zip(labels(table["value"][rows]), empty, strict=True)
    return [*rows_shown, Column(heading="value", texts=[NO_REPORTS if none else answer for answer, none in answers])]


def collected(tally: Collected) -> str:
    """Return a description of the data: reports, answers, epsilon and designs.

    >>> from warner import RandomizedResponse, Tally
    >>> collected(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60]))
    '100 reports among 2 answers, epsilon 1.099'
    """
    reports, several = reports_in_words(tally), len(tally.parts) > 1
    designs = f", {len(tally.parts)} designs" * several
    return f"{reports} among {tally.k:,} answers, epsilon {'at most ' * several}{tally.shown_epsilon()}{designs}"


def reports_in_words(tally: Collected, kind: str = "") -> str:
    """Return the number of reports; of weighted reports also the number of respondents."""
    n = np.asarray(tally.n).sum()
    return reports_counted(n, weighted=tally.weighted, kind=kind, people=respondents(tally))


def respondents(tally: Collected) -> Counts | None:
    """Return the number of respondents in each group, without weights; None for counts, or where it is not known."""
    parts = [part.people if part.weighted else part.n for part in tally.parts]
    known = tally.weighted and all(part is not None for part in parts)
    return np.sum([np.atleast_1d(part) for part in parts], axis=0) if known else None


def respondents_column(tally: Collected) -> dict[str, Counts]:
    """Return the column of the numbers of respondents, a row for each answer; nothing if there is none."""
    n = respondents(tally)
    return {} if n is None else {"respondents": np.repeat(n, tally.k)}


def groups_counted(tally: Collected) -> str:
    """Return the number of groups, and the columns that they come from."""
    return f"{counted(len(tally.groups), 'group', 'groups')} by {enumerated([*map(printable, tally.by)])}"


def left_out(tally: Collected) -> list[str]:
    """Return the numbers of missing and of invalid reports, as far as there are any."""
    numbers = {"missing": tally.missing, "unknown": tally.unknown}
    return [f"{int(np.sum(number)):,} {name} left out" for name, number in numbers.items() if np.any(number)]


def sample_in_words(tally: Collected, confidence: Confidence) -> str:
    """Return the basis of design-based intervals; empty for simple samples."""
    if tally.sample is None:
        return ""
    freedom = np.unique(sample_freedom(tally.parts[0]).round(1))
    degrees = f"{freedom[0]:g}" if freedom.size == 1 else f"{freedom[0]:g} to {freedom[-1]:g}"
    kinds_of_coverage = " simultaneous" * confidence.simultaneous + " any-time" * confidence.anytime
    of_freedom = f"{degrees} {'degree of freedom' if degrees == '1' else 'degrees of freedom'}"
    kind = f"design-based {level_text(confidence.level)}{kinds_of_coverage} interval"
    return f"{kind}, {tally.sample.described()} ({of_freedom})"


def sample_column(tally: Collected) -> Table:
    """Return the column on the basis of design-based intervals; nothing for simple samples."""
    if tally.sample is None:
        return {}
    shape = len(tally.answered), tally.k
    descriptions = np.full(shape, f"design-based, {tally.sample.described()}", dtype=object)
    kinds = np.full(shape, "", dtype=object)
    kinds[tally.answered] = methods_of(tally.parts[0].drawn)
    for kind, what in ((ONE_CLUSTER, "; lies in one cluster"), (RANDOMIZATION, "; variance of the randomization")):
        descriptions[kinds == kind] += what
    return {RESULT_COLUMN: descriptions.ravel().astype(str)}


def sample_notes(tally: Collected, method: str, methods: set[str]) -> list[str]:
    """Return sentences on limitations of design-based intervals, and of shares estimated by `methods`."""
    if tally.sample is None:
        return []
    part = tally.parts[0]
    kinds, answered = methods_of(part.drawn), np.flatnonzero(tally.answered).tolist()
    blind = (kinds == ONE_CLUSTER).any(axis=1).tolist()
    names = list(map(printable, tally.group_names())) if tally.by else ["the sample"]
    notes = [in_one_cluster([names[group] for group, alone in zip(answered, blind, strict=True) if alone])]
    kinds = kinds[:, :1] if tally.k == 2 else kinds
    if floored := np.count_nonzero(kinds == RANDOMIZATION):
        of = f" of {floored:,} of {kinds.size:,} shares" if kinds.size > 1 else ""
        notes.append(f"intervals{of} rest on the variance of the randomization, more than the sample shows")
    if few_clusters(part).any() and any(described(name).weighs_noise for name in methods):
        notes.append(f"{method} ignores clusters where they are fewer than {LEAST_CLUSTERS}")
    return [*filter(None, notes)]
