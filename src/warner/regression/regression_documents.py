"""A regression as a document: what JSON holds of the model, the people, the evidence and the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warner.inference.means import THEMSELVES
from warner.results import plain, rows

if TYPE_CHECKING:
    from warner.documents import Document
    from warner.regression.regressions import Regression
    from warner.regression.specifications import Specification

FORMAT, VERSION = "warner regression", 1


def regression_document(fit: Regression, level: float, interval: str, *, odds: bool) -> Document:
    """Give what JSON can hold; see `Regression.to_dict`."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **_model(fit),
        **_people(fit),
        **_evidence(fit),
        "level": level,
        "intercepts": None if fit.model_data.groups is None else {**fit.spread(level).to_dict(), "nodes": fit.nodes},
        "empty": list(fit.specification.empty),
        "infinite": [
            {"answer": answer, "term": term, "sign": plain(np.sign(estimate)), "reason": why}
            for answer, term, estimate, why in fit.infinite
        ],
        "odds": odds,
        "coefficients": rows(fit.table(level, interval, odds=odds)),
    }


def _model(fit: Regression) -> Document:
    """Give what was modelled, under which designs."""
    data, specification = fit.model_data, fit.specification
    designs = zip(data.labels, data.observations.designs, strict=True)
    return {
        "formula": data.formula,
        "model": specification.model,
        "link": specification.link,
        "values": _values(specification),
        "reference": specification.reference,
        "designs": [{"name": name, "design": design.to_dict()} for name, design in designs],
    }


def _values(specification: Specification) -> str | list[float] | None:
    """Give the numbers of the answers as JSON has them; by a word where they are the answers themselves."""
    if specification.values is None:
        return None
    return THEMSELVES if specification.of_answers_themselves else specification.values.tolist()


def _people(fit: Regression) -> Document:
    """Give whom the estimates rest on, and who was left out."""
    data = fit.model_data
    left_out = {"missing": data.missing, "unknown": data.unknown, "weightless": data.weightless}
    return {"people": fit.people, **left_out, "effective": plain(fit.effective)}


def _evidence(fit: Regression) -> Document:
    """Give how the estimates and their errors were found."""
    return {
        "log_likelihood": plain(fit.log_likelihood),
        "gap": plain(fit.gap),
        "optima": [optimum._asdict() for optimum in fit.optima],
        "starts": fit.tried,
        "search": fit.search if fit.optima else None,
        "errors": fit.errors,
        "penalty": fit.penalty,
        "clusters": None if fit.clustered is None else fit.clustered.clusters.number,
        "notes": list(fit.notes),
    }
