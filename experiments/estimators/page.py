"""One HTML page with the tables, the figures, the worst settings and what it was made with; and tables in Markdown."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from experiments.estimators.entrants import PREDICTED
from experiments.estimators.numeric_contests import (
    NUMERIC_HEADS,
    NUMERIC_SHAPES,
    POPULATION_HEADS,
    numeric_table,
    population_table,
)
from experiments.estimators.populations import SHAPES
from experiments.estimators.ratios import (
    TABLE_HEADS,
    WORST_HEADS,
    is_valid,
    markdown,
    sections,
    summaries,
    table,
    worst_settings,
)
from experiments.pinzon2026.page import embedded, settings_and_versions, write_page
from warner.estimators import METHODS
from warner.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from experiments.estimators.numeric_contests import NumericOutcomes
    from experiments.estimators.ratios import Outcomes
    from experiments.estimators.scale import Scale
    from warner.estimators.methods import CustomEstimator

COMPARISON_TITLE = "How close the estimates are: all estimators compared"
TOY_COMPARISON_NOTE = (
    "This is a toy run, with few settings and few seeds: it shows that the comparison runs, and its numbers say "
    "nothing about the estimators."
)
EXPLANATION = (
    "Each number is the mean error of an estimator, divided by that of the best of inv_p, inv_n and mle in the same "
    "setting, chosen in hindsight (under OUE, the best of inv_p and inv_n, because mle needs the reports themselves). "
    "A ratio below 1 means that the estimator comes closer to the truth than the best of the three, a ratio above 1 "
    "that it does worse. The truth is the realised histogram of the people. After ± stands one standard error of the "
    "simulation. Means over settings are geometric. RR is randomized response, OUE optimal unary encoding."
)
WORST = "Settings in which each estimator does worst"


NUMBERS = "Distributions of numbers under a square wave"
NUMBERS_EXPLANATION = (
    "Each number is the mean distance to the distribution among the people, divided by that of EMS in the same "
    "setting, as a geometric mean over the settings: W1 is the distance of Wasserstein, KS that of Kolmogorov and "
    "Smirnov. Below 1 is closer than EMS. HH-ADMM takes other reports of the same people."
)


def tables_in_markdown(found: Outcomes, numeric: NumericOutcomes, scale: Scale, notes: list[str]) -> str:
    """Write all tables in Markdown."""
    parts = [
        f"# {COMPARISON_TITLE}",
        *([f"**{TOY_COMPARISON_NOTE}**"] if scale.toy else []),
        EXPLANATION,
        *(f"{note}." for note in notes),
    ]
    for title, part in sections(found).items():
        parts += [f"## {title}", markdown(table(part))]
    parts += [f"## {WORST}", *_worst_in_markdown(found)]
    if numeric:
        parts += [f"## {NUMBERS}", NUMBERS_EXPLANATION, markdown(numeric_table(numeric), NUMERIC_HEADS)]
        parts += [markdown(population_table(numeric), POPULATION_HEADS)]
    return "\n\n".join(parts)


def _worst_in_markdown(found: Outcomes) -> list[str]:
    return [
        text for name in _shown(found) for text in (f"### {name}", markdown(worst_settings(found, name), WORST_HEADS))
    ]


def _shown(found: Outcomes) -> list[str]:
    """Name the estimators whose worst settings are listed: those that give distributions, but the references."""
    return [summary.estimator for summary in summaries(found) if is_valid(summary.estimator)]


def write(
    folder: Path,
    *,
    found: Outcomes,
    numeric: NumericOutcomes,
    captions: Mapping[str, str],
    scale: Scale,
    seconds: Mapping[str, float],
    own: list[CustomEstimator],
    notes: list[str],
) -> Path:
    """Write the page, and give its path."""
    toy = f"<p><strong>{TOY_COMPARISON_NOTE}</strong></p>" if scale.toy else ""
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    left_out = f"<p>What is missing on this page:</p><ul>{listed}</ul>" if notes else ""
    parts = [f"<h1>{COMPARISON_TITLE}</h1>{toy}<p>{EXPLANATION}</p>{left_out}"]
    parts += [
        f"<h2>{escape(title)} ({counted(len(part), 'setting', 'settings')})</h2>{_html(table(part), TABLE_HEADS)}"
        for title, part in sections(found).items()
    ]
    parts += [embedded(folder, name, caption) for name, caption in captions.items()]
    parts.append(f"<h2>{WORST}</h2>")
    parts += [f"<h3>{escape(name)}</h3>{_html(worst_settings(found, name), WORST_HEADS)}" for name in _shown(found)]
    parts += _numbers(numeric) if numeric else []
    parts.append("<h2>What the estimators are</h2>" + _definitions(_sentences(scale, own)))
    parts.append(
        "<h2>Shapes of the made-up populations</h2>"
        + _definitions({name: shape.sentence for name, shape in SHAPES.items()})
    )
    parts.append(settings_and_versions(scale, seconds))
    return write_page(folder, COMPARISON_TITLE, parts)


def _numbers(numeric: NumericOutcomes) -> list[str]:
    settings = counted(len(numeric), "setting", "settings")
    return [
        f"<h2>{NUMBERS} ({settings})</h2><p>{NUMBERS_EXPLANATION}</p>",
        _html(numeric_table(numeric), NUMERIC_HEADS),
        _html(population_table(numeric), POPULATION_HEADS),
        _definitions({name: sentence for name, (_, sentence) in NUMERIC_SHAPES.items()}),
    ]


def _sentences(scale: Scale, own: list[CustomEstimator]) -> dict[str, str]:
    predicted = "whichever of mle, inv_p and inv_n has the smallest predicted error, as auto does below 20 answers"
    known = {name: METHODS[name].sentence if name != PREDICTED else predicted for name in scale.estimators}
    return known | {one.name: "an estimator of your own" for one in own}


def _definitions(lines: Mapping[str, str]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in lines.items()) + "</dl>"


def _html(rows: list[list[str]], heads: Iterable[str]) -> str:
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='wide'><table class='claims'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
