"""A regression as what JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.results import plain

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.regression.regressions import Regression

KIND, VERSION = "warner regression", 1


def record(fit: Regression, level: float, interval: str) -> Document:
    """Give the model, whom it rests on, how it was found, and its coefficients.

    Numbers that are not finite are None; "infinite" says why.
    """
    columns = {name: column.tolist() for name, column in fit.table(level, interval).items()}
    data, specification = fit.gathered, fit.specification
    return {
        "format": KIND,
        "version": VERSION,
        "formula": data.formula,
        "model": specification.model,
        "link": specification.link,
        "reference": specification.reference,
        "designs": [
            {"name": name, "design": design.to_dict()}
            for name, design in zip(data.labels, data.rows.designs, strict=True)
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
        "freedom": plain(fit.freedom),
        "notes": [] if fit.clustered is None or fit.freedom is None else fit.clustered.sentences(fit.freedom),
        "level": level,
        "empty": list(specification.empty),
        "infinite": [
            {"answer": answer, "term": term, "sign": plain(np.sign(estimate)), "reason": why}
            for answer, term, estimate, why in fit.infinite
        ],
        "coefficients": [
            {name: plain(value) for name, value in zip(columns, row, strict=True)}
            for row in zip(*columns.values(), strict=True)
        ],
    }
