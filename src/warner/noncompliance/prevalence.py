"""Results of two-sample models: the prevalence of the trait, and a second share that each model names."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from warner.results import Result, plain
from warner.typesetting import Printed, labels, share_columns
from warner.words import aligned, level_text, sentence

if TYPE_CHECKING:
    from warner.arrays import Counts
    from warner.documents import Document


@dataclass(frozen=True, repr=False)
class Share:
    """One estimated share: its value as the equations give it, its standard error, its interval.

    Attributes
    ----------
    value : float
        The solution of the equations, unbiased or nearly so; sampling error may put it outside 0 to 1.
    se : float
        Standard error by the delta method.
    low, high : float
        Confidence interval, cut to [0, 1].
    level : float
        Its confidence level, approximate.
    most_likely : float
        The maximum-likelihood value: ``value`` itself where the whole solution is possible, otherwise the best possible
        one, from `warner.channel_mle`. NaN for the honesty of people with a trait that then nobody has.
    """

    value: float
    se: float
    low: float
    high: float
    level: float
    most_likely: float

    def __repr__(self) -> str:
        about = f"approximate {level_text(self.level)} interval {100 * self.low:.2f} to {100 * self.high:.2f} %"
        if np.isnan(self.value):
            return f"<undefined, {about}>"
        likely = "" if self.most_likely == self.value else f", most likely {100 * self.most_likely:.2f} %"
        return f"<{100 * self.value:.2f} %, se {100 * self.se:.2f}, {about}{likely}>"


@dataclass(frozen=True, repr=False)
class TwoSamples(Result):
    """What two samples tell: how common the trait is, and a second share that one sample could not have told.

    Each model has a class of its own that names the second share.

    Attributes
    ----------
    prevalence : Share
        The share of people with the trait.
    """

    prevalence: Share

    model: ClassVar[str]
    note: ClassVar[str]  # what the second share is, in a sentence

    def shares(self) -> dict[str, Share]:
        """Give both shares by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def table(self) -> dict[str, Counts]:
        """Give a row for each of the two shares.

        Returns
        -------
        dict of ndarray
            ``quantity`` (the name of the share), ``share``, ``se``, ``low``, ``high`` and ``most_likely``.
        """
        shares = self.shares()
        numbers = {name: np.array([getattr(share, name) for share in shares.values()]) for name in PREVALENCE_COLUMNS}
        return {"quantity": np.array(list(shares)), "share": numbers.pop("value"), **numbers}

    def printed(self, **options: Any) -> Printed:
        """Give a table for a paper: both shares in percent."""
        table = self.table(**options)
        further = {"se": "se (points)", "most_likely": "most likely (%)"}
        about = f"approximate {level_text(self.prevalence.level)} interval"
        columns = {"quantity": labels(table["quantity"])} | share_columns(table, about, further)
        return Printed(columns, f"{self.model.capitalize()}, from two samples", (sentence(self.note),))

    def to_dict(self) -> Document:
        """Give what JSON can hold: the model, and both shares by name."""
        shares = {
            name: plain({key: value for key, value in asdict(share).items() if key != "level"})
            for name, share in self.shares().items()
        }
        return {"model": self.model, "level": self.prevalence.level, "approximate": True, **shares}

    def text(self) -> str:
        shares = self.shares()
        rows = [["", "share", "se", "most likely", f" approximate {level_text(self.prevalence.level)} interval"]]
        for name, share in shares.items():
            likely = f"{100 * share.most_likely:.2f}%" if np.isfinite(share.most_likely) else "undefined"
            known = np.isfinite(share.value)
            value = [f"{100 * number:.2f}%" if known else "" for number in (share.value, share.se)]
            rows.append([name, *value, likely, f" {100 * share.low:6.2f} to {100 * share.high:6.2f} %"])
        lines = aligned(rows, left={0, 4}, least=(0, 7, 6))
        return "\n".join([f"{self.model.capitalize()}, from two samples", *lines, self.note])


PREVALENCE_COLUMNS = ("value", "se", "low", "high", "most_likely")


@dataclass(frozen=True, repr=False)
class UnrelatedQuestion(TwoSamples):
    """What `two_sample_unrelated_question` gives.

    Attributes
    ----------
    prevalence : Share
        The share of people with the trait.
    unrelated : Share
        The share of people who would answer the unrelated question with yes.
    """

    unrelated: Share

    model = "unrelated question"
    note = "unrelated: the share of people who would answer the unrelated question with yes"


@dataclass(frozen=True, repr=False)
class CheatingDetection(TwoSamples):
    """What `cheating_detection` gives.

    Attributes
    ----------
    prevalence : Share
        The share of people who are honest and have the trait.
    cheaters : Share
        The share of people who say no regardless of the device, with the trait or without.
    """

    cheaters: Share

    model = "cheating detection"
    note = "cheaters: they say no regardless of the device; how many of them have the trait as well is unknown"


@dataclass(frozen=True, repr=False)
class LieDetector(TwoSamples):
    """What `stochastic_lie_detector` gives.

    Attributes
    ----------
    prevalence : Share
        The share of people with the trait.
    honest : Share
        The share of people with the trait who affirm it.
    """

    honest: Share

    model = "stochastic lie detector"
    note = "honest: of the people with the trait, the share who affirm it"


@dataclass(frozen=True, repr=False)
class AnchoredCrosswise(TwoSamples):
    """What `anchored_crosswise` gives.

    Attributes
    ----------
    prevalence : Share
        The share of people with the trait.
    attentive : Share
        The share of people who follow the instructions.
    """

    attentive: Share

    model = "anchored crosswise model"
    note = "attentive: the share of people who follow the instructions; the others are taken to answer at random"


Model = TypeVar("Model", bound=TwoSamples)
