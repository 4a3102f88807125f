"""A regression for programs: its coefficients as columns, and all of it as what JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.arrays import objects
from warner.regression.intervals import freedom_column, p_values
from warner.results import plain, rows

if TYPE_CHECKING:
    from warner.arrays import Counts
    from warner.documents import Document
    from warner.regression.regressions import Regression

KIND, VERSION = "warner regression", 1


def columns(fit: Regression, level: float, interval: str, *, odds: bool = False) -> dict[str, Counts]:
    r"""Give a row for each coefficient; see `Regression.table`.

    An odds ratio is :math:`e^b`, with the interval :math:`(e^l, e^h)` where that of b is (l, h), and by the delta
    method the standard error :math:`e^b \mathrm{se}(b)`.
    """
    if odds and fit.specification.link != "logit":
        raise ValueError(f"odds must be left out for the link {fit.specification.link!r}: it has no odds ratios")
    ends, names, b = fit.limits(level, interval), fit.specification.coefficients, fit.coefficients
    shown = np.exp if odds else np.asarray
    return {
        "term": objects(name.term for name in names),
        "answer": objects(name.answer for name in names),
        "odds_ratio" if odds else "estimate": shown(b),
        "se": np.where(np.isfinite(b), np.exp(b), np.nan) * fit.standard_errors if odds else fit.standard_errors,
        "statistic": ends.statistic,
        "p": p_values(ends.statistic, fit.freedom),
        "low": shown(ends.low),
        "high": shown(ends.high),
        "interval": objects(ends.method),
        "freedom": freedom_column(fit.freedom, len(names)),
    }


def record(fit: Regression, level: float, interval: str, *, odds: bool = False) -> Document:
    """Give the model, whom it rests on, how it was found, and its coefficients.

    Numbers that are not finite are None; "infinite" says why.
    """
    data, specification = fit.model_data, fit.specification
    return {
        "format": KIND,
        "version": VERSION,
        "formula": data.formula,
        "model": specification.model,
        "link": specification.link,
        "reference": specification.reference,
        "designs": [
            {"name": name, "design": design.to_dict()}
            for name, design in zip(data.labels, data.observations.designs, strict=True)
        ],
        "people": fit.people,
        "missing": data.missing,
        "unknown": data.unknown,
        "weightless": data.weightless,
        "effective": plain(fit.effective),
        "log_likelihood": plain(fit.log_likelihood),
        "gap": plain(fit.gap),
        "optima": [optimum._asdict() for optimum in fit.optima],
        "starts": fit.tried,
        "errors": fit.errors,
        "penalty": fit.penalty,
        "clusters": None if fit.clustered is None else fit.clustered.clusters.number,
        "notes": list(fit.notes),
        "level": level,
        "empty": list(specification.empty),
        "infinite": [
            {"answer": answer, "term": term, "sign": plain(np.sign(estimate)), "reason": why}
            for answer, term, estimate, why in fit.infinite
        ],
        "odds": odds,
        "coefficients": rows(columns(fit, level, interval, odds=odds)),
    }
