r"""Sensitivity analysis: how a regression changes if some people ignore the design and give the safe report.

If a share c of people reports ``safe`` whatever the device says and whatever the truth is, a report has the
probabilities :math:`(1-c) C + c\,[\text{report} = \text{safe}]` instead of C. The model is fitted again under that
design. Those people are assumed to be independent of the answer and of the covariates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import objects
from warner.designs.exact import probability
from warner.designs.labels import positions
from warner.inference.means import with_limits
from warner.regression.scores import report_scores
from warner.regression.starts import Start
from warner.reports.queries import INSIDE
from warner.results import Result, rows
from warner.typesetting import Printed, estimate_columns, in_digits, labels
from warner.words import counted, enumerated, level_text, tabulated

if TYPE_CHECKING:
    from fractions import Fraction

    from warner.arrays import Array, Counts, Label
    from warner.designs.exact import Number
    from warner.documents import Document
    from warner.regression.data import Observations
    from warner.regression.regressions import Regression

MEAN_SHARE = "mean share"
MEAN_NUMBER = "mean"
INDEPENDENCE_ASSUMED = (
    "Cheating is assumed to be independent of the answer and of the covariates. No count can confirm that."
)


@dataclass(frozen=True, eq=False, repr=False)
class RegressionSensitivity(Result):
    """A regression under several shares of people who give the safe report regardless of the design.

    Attributes
    ----------
    safe : str or int
        The report that those people give.
    cheating : array
        Their shares, as assumed.
    fits : tuple of Regression
        The model under each of these assumptions.
    level : float
        The confidence level of the intervals.
    """

    safe: Label
    cheating: Array
    fits: tuple[Regression, ...]
    level: float

    def table(self) -> dict[str, Counts]:
        """Give columns as arrays: a row for each assumed share and coefficient, then means of shares or numbers.

        Returns
        -------
        dict of ndarray
            ``cheating``, ``term`` ("mean share", or "mean" of a number, for those), ``answer``, ``estimate``, ``se``,
            ``low``, ``high``.
        """
        parts = [self._of(fit) for fit in self.fits]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {"cheating": np.repeat(self.cheating, [len(part["term"]) for part in parts]), **columns}

    def _of(self, fit: Regression) -> dict[str, Counts]:
        ends, shares = fit.limits(self.level), fit.predict(level=self.level)
        names = [(name.term, name.answer) for name in fit.specification.coefficients]
        names += [(MEAN_SHARE, answer) for answer in shares.domain] or [(MEAN_NUMBER, None)]
        return {
            "term": objects(term for term, _ in names),
            "answer": objects(answer for _, answer in names),
            "estimate": np.append(fit.coefficients, shares.shares[0]),
            "se": np.append(fit.standard_errors, shares.errors[0]),
            "low": np.append(ends.low, shares.low[0]),
            "high": np.append(ends.high, shares.high[0]),
        }

    def _of_interest(self) -> dict[str, Counts]:
        """Give the table as people read it: of two answers, the mean share of the first alone."""
        table, domain = self.table(), self.fits[0].specification.domain
        kept = (table["term"] != MEAN_SHARE) | (table["answer"] != domain[1]) | (len(domain) != 2)
        return {name: column[kept] for name, column in table.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said wherever these numbers are used, of each assumed share."""
        always = [note for note in self.fits[0].notes if all(note in fit.notes for fit in self.fits)]
        sometimes = [
            f"If {100 * share:g} % do: {note[0].lower()}{note[1:]}"
            for share, fit in zip(self.cheating.tolist(), self.fits, strict=True)
            for note in fit.notes
            if note not in always
        ]
        return (*always, *sometimes)

    def to_dict(self) -> Document:
        return {
            "formula": self.fits[0].model_data.formula,
            "safe": self.safe,
            "level": self.level,
            "notes": list(self.notes),
            "values": rows(self.table()),
        }

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: a row for each assumed share and coefficient, then the mean shares."""
        del options  # the table has none
        table = self._of_interest()
        assumed = [in_digits(100 * share) for share in table["cheating"].tolist()]
        answers = ["" if answer is None else str(answer) for answer in table["answer"].tolist()]
        columns = {"cheating (%)": assumed, "answer": answers, "term": labels(table["term"])}
        columns |= estimate_columns(table, "estimate", f"{level_text(self.level)} interval")
        head = f"{self.fits[0].model_data.formula}, if some people reported {self.safe!r} regardless of the design"
        people = f"N = {counted(self.fits[0].people, 'person', 'people')}."
        return Printed(columns, head, (people, INDEPENDENCE_ASSUMED, *self.notes))

    def _shown(self, estimate: float, low: float, high: float, error: float) -> str:
        """Write a number with its interval: in the unit of the answers to two digits of its error."""
        if not self.fits[0].specification.of_number:
            return f"{estimate:.3f} ({low:.3f} to {high:.3f})"
        number, _, ends = with_limits(estimate, low, high, error).partition(", ")
        return f"{number} ({ends})"

    def text(self) -> str:
        """Write the table for people: a column for each assumed share."""
        table = self._of_interest()
        rows = len(table["term"]) // len(self.fits)
        columns = {
            "answer": ["" if answer is None else str(answer) for answer in table["answer"][:rows]],
            "term": [str(term) for term in table["term"][:rows]],
        }
        for place, share in enumerate(self.cheating.tolist()):
            part = slice(place * rows, (place + 1) * rows)
            numbers = zip(*(table[name][part].tolist() for name in ("estimate", "low", "high", "se")), strict=True)
            columns[f"{100 * share:g} %"] = [self._shown(*row) for row in numbers]
        about = f"regardless of the design, with {level_text(self.level)} intervals"
        head = f"{self.fits[0].model_data.formula}, if this part of the people reported {self.safe!r} {about}"
        return "\n".join([head, *tabulated(columns, left=2), INDEPENDENCE_ASSUMED, *self.notes])


def sensitivity_to_cheating(
    fit: Regression, safe: Label, shares: Sequence[Number], *, level: float
) -> RegressionSensitivity:
    """Fit a model under several shares of cheaters; see `Regression.sensitivity`."""
    if isinstance(shares, str) or not isinstance(shares, Sequence):
        raise TypeError(f"shares must be a sequence, such as (0, 0.1), but got {shares!r}")
    assumed = [probability("shares", share) for share in shares]
    if not assumed or 1 in assumed:
        raise ValueError(f"shares must be at least 0 and below 1, but got {shares!r}: if all cheat, nothing is known")
    rows, values = fit.model_data.observations, fit.specification.values
    if values is None:
        several = [_contaminated(rows, safe, share) for share in assumed]
    else:
        several = [_contaminated_scores(rows, safe, float(share), values) for share in assumed]
    fits = tuple(_refitted(fit, some) for some in several)
    return RegressionSensitivity(safe, np.array([float(share) for share in assumed]), fits, level)


def _refitted(fit: Regression, rows: Observations) -> Regression:
    from warner.regression.regressions import fitted, fitted_linear

    data = replace(fit.model_data, observations=rows)
    if fit.log_likelihood is None:
        return fitted_linear(data, fit.specification)
    more = [Start("as before", fit.finite_coefficients)]
    return fitted(data, fit.specification, errors=fit.errors, penalty=fit.penalty, more=more)


def _contaminated_scores(rows: Observations, safe: Label, cheating: float, values: Array) -> Observations:
    """Give the rows with scores that are right on average if this share of people gives the safe report regardless.

    A report then scores (1 - c) x + c s on average, with s the score of the safe report. That reports vary at least as
    without such people stays true: what is said of randomization alone is of the design as it is.
    """
    assert rows.scores is not None
    scores, known = rows.scores.copy(), False
    for number, design in enumerate(rows.designs):
        codes, status = design.report_form.read([safe], text=False)
        if np.any(status != INSIDE):
            continue
        known, mine = True, rows.design == number
        scores[mine] = (scores[mine] - cheating * report_scores(design, codes, values)) / (1 - cheating)
    if not known:
        raise ValueError(f"report must be a possible report of a design, but {safe!r} is none")
    return replace(rows, scores=scores)


def _contaminated(rows: Observations, safe: Label, cheating: Fraction) -> Observations:
    """Give the rows under the designs in which this share of people gives the safe report regardless."""
    designs, tables, possible = list(rows.designs), list(rows.tables), []
    likelihood = rows.likelihood.copy()
    for number, design in enumerate(rows.designs):
        try:
            channel = design.as_channel()
        except (TypeError, ValueError) as error:
            raise TypeError(f"sensitivity needs designs with a table of probabilities: {error}") from None
        column = int(positions([safe], channel.outputs)[0])
        possible += list(channel.outputs)
        if column < 0:
            continue
        changed = channel.contaminated(column, cheating)
        table = changed.channel()
        designs[number], tables[number] = changed, table
        chosen = rows.design == number
        likelihood[chosen] = table.T[rows.report[chosen]]
    if safe not in possible:
        raise ValueError(
            f"report must be a possible report of a design, but {safe!r} is none of "
            f"{enumerated([repr(label) for label in dict.fromkeys(possible)])}"
        )
    return replace(rows, likelihood=likelihood, designs=tuple(designs), tables=tuple(tables))
