r"""Whether reports fit the design that they claim.

A report names answer i with probability :math:`q + (p-q)\theta_i`. Whatever the true shares are, no answer can be rarer
than q (with p < q, none commoner), and every distribution of reports that respects this is possible. So that is the
only claim of a design that reports can refute, and two tests look at it:

- *The rarest answer.* Its count is binomial with a probability of at least q. With K answers to choose the rarest
  from, :math:`K \cdot P(\text{Bin}(N, q) \le \min_i c_i)` is a p-value for all true shares: exact, and cheap.
- *All answers together.* :math:`G^2`, twice the log-likelihood that the best true shares leave on the table. It is
  compared with surveys simulated at a vertex, where everybody holds the same answer and the others lie at q. No true
  shares are known to give larger values; that is measured, not proven, and the test is called conservative.

Twice the smaller of the two p-values is the verdict. With p < q everything is turned round: the commonest answer, and
:math:`K \cdot P(\text{Bin}(N, q) \ge \max_i c_i)`.

What no such check can see: more noise than claimed, uniform junk and dishonest answers. They give reports that honest
answers from a flatter population, or from another one, would give as well.
"""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import xlog1py

from warner.designs import Channel, Pooled, RandomizedResponse
from warner.estimators import SMALLEST, channel_inverse, mle, validated
from warner.inference.binomial import at_least, at_most, binomial_limits, check_level, each_count
from warner.reports.tallies import amount_text
from warner.simulate import reports_of_population, seeded_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from warner.reports.tallies import Tally

CELLS = 2**20  # simulated counts held at a time
ZERO = 1e-9  # a G2 below this is rounding, or as good as none
TIE = 1 - 1e-9  # equal histograms give G2 that differ in the last digits: they count as equal
TESTS = 2
DOUBTFUL = 0.01  # below this p-value of the cheap test, an estimate says so unasked
NAMED = 10  # answers named in a text, and groups told in full
SHOWN = 20  # rows of the table of groups
WIDTH = 120
TIGHT = "\u00a0"  # a space at which no line is broken


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """Whether reports fit their design, and what that says.

    What has a value for each group is an array of shape (groups,), with NaN for a group without reports; without groups
    it is a number. At the stated level all statements hold at once: it is divided among the two tests, the groups with
    reports and the answers. So an answer is named, or epsilon found to be larger than claimed, only where the verdict
    is that the reports do not fit.

    Attributes
    ----------
    tally : Tally
        The counted reports, with their design.
    level : float
        Of reports that fit, at least this share pass.
    simulations : int
        Number of simulated surveys behind each p-value of G2.
    fakes : int or None
        The number of fake reports that was asked about.
    p_min : float or ndarray of shape (groups,)
        p-value of the rarest answer (with p < q: of the commonest).
    g2 : float or ndarray of shape (groups,)
        The likelihood-ratio statistic; 0 if no answer is rarer than noise alone makes it.
    p_g2 : float or ndarray of shape (groups,)
        Its p-value by simulation.
    p_value : float or ndarray of shape (groups,)
        Twice the smaller of the two, at most 1.
    epsilon_at_least : float or ndarray of shape (groups,)
        A lower bound on the epsilon that was really spent, if these are randomized responses over these answers at all;
        0 where nothing is known.
    misfits : ndarray of bool of shape (k,), or (groups, k)
        The answers below the noise floor: reported less often than noise alone explains (with p < q: above the
        ceiling), even though there are so many answers.
    misfits_alone : ndarray of bool of shape (k,), or (groups, k)
        The same for each answer on its own, as a confidence interval judges it. Of many answers that nobody holds, up
        to ``(1 - level) / 2`` are found here by chance.
    """

    tally: Tally
    level: float
    simulations: int
    fakes: int | None
    p_min: Any
    g2: Any
    p_g2: Any
    p_value: Any
    epsilon_at_least: Any
    misfits: NDArray[np.bool_]
    misfits_alone: NDArray[np.bool_]

    @property
    def design(self) -> Any:
        """What every report is claimed to have gone through."""
        return self.tally.design

    @property
    def overall_p_value(self) -> float:
        """The smallest p-value times the number of groups with reports, at most 1."""
        return min(1.0, float(np.nanmin(self.p_value)) * self._answered)

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against the design, in any group."""
        return self.overall_p_value >= 1 - self.level

    @property
    def group_fits(self) -> Any:
        """The verdict on each group, with as many chances to fail as there are groups; True where none can be given."""
        verdict = ~(np.asarray(self.p_value) * self._answered < 1 - self.level)
        return verdict if self.tally.by else bool(verdict)

    @property
    def _answered(self) -> int:
        return int(np.isfinite(self.p_value).sum())

    def moved_by(self, fakes: float) -> Any:
        r"""Bound how far so many fake reports among those counted can have moved any one share.

        Replacing m of N reports, or leaving m out, changes the observed shares by at most 2m/N in all, and no estimator
        here by more than 1/\|p - q\| times that. Shares sum to one, so any one of them moves by at most half of it,
        :math:`m / (N |p-q|)`. With weights, m is the weight of the fakes together.

        It holds for `inv`, `inv_n` and `inv_p`, and with p > q (or two answers) for `mle`. With p < q and more answers
        `mle` has no such bound: where an answer is never reported, one report can move half of everything.

        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
        >>> check(Tally(survey, [40, 60])).moved_by(5)  # 5 / (100 * (0.75 - 0.25))
        0.1
        """
        if not 0 <= fakes < math.inf:
            raise ValueError(f"fakes must be a number of reports, at least 0, but got {fakes!r}")
        reports = np.asarray(self.tally.reports, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = fakes / (reports * _strength(self.design))
        return np.where(reports > 0, moved, np.nan) if self.tally.by else float(moved)

    def to_json(self) -> str:
        """Write the check as JSON: design, level, the overall verdict, and a list of groups, a single one without them.

        Numbers of a group without reports are null, and an infinite bound on epsilon is the text "inf".
        """
        tally = self.tally
        groups = []
        for row, about in enumerate(self._rows()):
            answered = math.isfinite(about["p_value"])
            numbers = {name: _written(value) for name, value in about.items()}
            moved = None if self.fakes is None or not answered else np.atleast_1d(self.moved_by(self.fakes))[row].item()
            entry = {"reports": np.atleast_1d(tally.reports)[row].item(), **numbers}
            entry |= {"fits": bool(np.atleast_1d(self.group_fits)[row]) if answered else None}
            entry |= {"misfits": self._labels(row), "misfits_alone": int(np.atleast_2d(self.misfits_alone)[row].sum())}
            entry |= {"fakes": self.fakes, "moved_by_fakes": moved}
            name = {"group": dict(zip(tally.by, tally.groups[row], strict=True))} if tally.by else {}
            groups.append(name | entry)
        document = {
            "design": json.loads(self.design.to_json()),
            "missing": int(np.sum(tally.missing)),
            "unknown": int(np.sum(tally.unknown)),
            "level": self.level,
            "simulations": self.simulations,
            "fits": self.fits,
            "p_value": self.overall_p_value,
            "groups": groups,
        }
        return json.dumps(document, ensure_ascii=False, indent=1, default=str)

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Say in plain words whether the reports fit, why, and what cannot be seen."""
        lines = [self._verdict(), self._heading(), ""]
        lines += self._about_groups() if self.tally.by else self._about(0)
        lines += [*self._too_few(), self._influence(), ""]
        lines += [] if self.fits else [CAUSES, ""]
        lines.append(BLIND)
        table = "  "
        text = "\n".join(
            line if line.startswith(table) else textwrap.fill(line, WIDTH, break_long_words=False) for line in lines
        )
        return text.replace(TIGHT, " ")

    def _rows(self) -> list[dict[str, float]]:
        """Give the numbers of each group."""
        names = ("p_min", "g2", "p_g2", "p_value", "epsilon_at_least")
        columns = [np.atleast_1d(getattr(self, name)).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _labels(self, row: int) -> list[Any]:
        return [self.design.outputs[i] for i in np.flatnonzero(np.atleast_2d(self.misfits)[row])]

    def _verdict(self) -> str:
        p, limit = _p(self.overall_p_value), 1 - self.level
        if _silent(self.design):
            return "Nothing can be tested: this design adds no noise, and every set of reports fits it."
        if not self.tally.by:
            if self.fits:
                return f"The reports fit the design: {p}, not below {limit:.4g}."
            return f"The reports do not fit the design: {p}, below {limit:.4g}."
        failed, among = int((~self.group_fits).sum()), f"corrected for {self._answered:,} groups"
        if failed:
            return f"The reports of {failed:,} of {self._answered:,} groups do not fit the design: {p} ({among})."
        return f"The reports fit the design in all {self._answered:,} groups: {p} ({among})."

    def _heading(self) -> str:
        tally = self.tally
        amount = amount_text(np.asarray(tally.reports).sum())
        weighted = approximate = ""
        if tally.squares is not None:
            weighted = f" weighted (worth {np.sum(tally.effective):,.0f} equally weighted ones)"
            approximate = " With weights it is approximate."
        told = f"{amount} reports{weighted} among {self.design.k:,} answers"
        for name in ("missing", "unknown"):
            left_out = int(np.sum(getattr(tally, name)))
            told += f", {left_out:,} {name} left out" if left_out else ""
        claim = f"{told}, claimed epsilon {self.design.shown_epsilon()}, level {100 * self.level:g} %."
        if _silent(self.design):
            return claim
        return f"{claim} A p-value, p, is the chance at most that reports which do fit look as bad.{approximate}"

    def _about(self, row: int) -> list[str]:
        """Tell the tests, epsilon and the answers of one group."""
        about, design = self._rows()[row], self.design
        if _silent(design):
            return []
        if isinstance(design, Channel):
            return [f"Reports outside what is possible: {_p(about['p_min'])}.", self._floor(row)]
        counts, n = np.atleast_2d(self.tally.counts)[row], np.atleast_1d(self.tally.reports)[row]
        upright = design.p > design.q
        extreme = int(counts.argmin() if upright else counts.argmax())
        which, rule = ("Rarest", "fewer") if upright else ("Commonest", "more")
        first = (
            f"{which} answer: {_quoted(design.domain[extreme])} has {amount_text(counts[extreme])} reports. By the "
            f"noise alone no answer has {rule} than {n * design.q:,.1f} on average: {_p(about['p_min'])}."
        )
        second = (
            f"All answers together: G2 = {about['g2']:.4g}, {_p(about['p_g2'])} (against {self.simulations:,} "
            "simulated surveys; conservative). The verdict is on twice the smaller of the two p-values."
        )
        return [first, second, self._spent(about["epsilon_at_least"]), self._floor(row)]

    def _spent(self, bound: float) -> str:
        if bound == 0:
            return "Epsilon spent: these reports set no lower bound; any amount of noise could have made them."
        if math.isinf(bound):
            return "Epsilon spent: no amount of noise, by a design with p < q over these answers, explains the reports."
        claimed = self.design.shown_epsilon()
        than = (
            f"more than the {claimed} that"
            if bound > self.design.epsilon
            else f"no contradiction to the {claimed} that"
        )
        return (
            f"Epsilon spent: at least {_down(bound)}, if these are randomized responses over these answers; {than} the "
            "design claims."
        )

    def _floor(self, row: int) -> str:
        labels = self._labels(row)
        if isinstance(self.design, Channel):
            listed = ", ".join(map(_quoted, labels[:NAMED])) or "none"
            listed += f" and {len(labels) - NAMED:,} more" if len(labels) > NAMED else ""
            return f"Reports made less or more often than any answers can explain: {listed}."
        upright = self.design.p > self.design.q
        which = "below the noise floor" if upright else "above the ceiling"
        listed = ", ".join(map(_quoted, labels[:NAMED])) or "none"
        listed += f" and {len(labels) - NAMED:,} more" if len(labels) > NAMED else ""
        text = (
            f"Answers {which} (reported {'less' if upright else 'more'} often than the design can explain): {listed}."
        )
        alone = int(np.atleast_2d(self.misfits_alone)[row].sum())
        if alone > len(labels):
            text += (
                f" Judged one by one, {alone:,} of {self.design.k:,} are; but up to {50 * (1 - self.level):.3g} % of "
                "the answers are so by chance alone, hence the others are not named."
            )
        return text

    def _about_groups(self) -> list[str]:
        rows, fit = self._rows(), self.group_fits
        order = np.argsort(np.array([row["p_value"] for row in rows]), kind="stable")  # NaN, no reports, comes last
        names = [" / ".join(map(str, group)) for group in self.tally.groups]
        names = [_short("".join(c if c.isprintable() else "?" for c in name)) for name in names]
        width = max(len(names[i]) for i in order[:SHOWN])
        reports = np.atleast_1d(self.tally.reports)
        lines = [f"  {'group':{max(width, 5)}}  {'reports':>12}  {'p rarest':>9}  {'p G2':>7}  {'p':>9}  epsilon >="]
        if isinstance(self.design, Channel):
            lines = [f"  {'group':{max(width, 5)}}  {'reports':>12}  {'p':>9}"]
        elif self.design.p < self.design.q:
            lines[0] = lines[0].replace("  p rarest", "p commonest")
        for i in order[:SHOWN]:
            about = rows[i]
            start = f"  {names[i]:{max(width, 5)}}  {amount_text(reports[i]):>12}"
            if math.isnan(about["p_value"]):
                lines.append(f"{start}  no reports")
                continue
            verdict = "" if fit[i] else "  does not fit"
            if isinstance(self.design, Channel):
                lines.append(f"{start}  {about['p_value']:9.2g}{verdict}")
                continue
            p = f"{about['p_min']:9.2g}  {about['p_g2']:7.2g}  {about['p_value']:9.2g}"
            lines.append(f"{start}  {p}  {_down(about['epsilon_at_least']):>10}{verdict}")
        if len(order) > SHOWN:
            lines.append(f"  ... and {len(order) - SHOWN:,} more groups")
        failed = [int(i) for i in order if not fit[i]]
        return lines + [f"{names[i]}: {self._floor(i)}" for i in failed[:NAMED]]

    def _too_few(self) -> list[str]:
        """Say when a p-value of G2 cannot be small enough, because it is a share of too few simulations."""
        least = math.ceil(TESTS * self._answered / (1 - self.level))
        if self.simulations >= least or isinstance(self.design, Channel) or _silent(self.design):
            return []
        many = f" and {self._answered:,} groups" if self.tally.by else ""
        few = f"{self.simulations:,} simulations are too few for G2 to refuse anything"
        return [f"At this level{many}, {few}; it takes {least:,}."]

    def _influence(self) -> str:
        design = self.design
        weight = "" if self.tally.squares is None else " of weight 1"
        if self.fakes is None:
            text = (
                "Fake reports: every 1 % of fakes among the reports can have moved any one share by up to "
                f"{1 / _strength(design):.3g} percentage points."
            )
        else:
            moved = np.nanmax(self.moved_by(self.fakes))
            where = " (in the smallest group)" if self.tally.by else ""
            text = (
                f"Fake reports: {self.fakes:,} fakes{weight} among the reports can have moved any one share by up to "
                f"{100 * moved:.3g} percentage points{where}."
            )
        if isinstance(design, Channel):
            return text + " That holds for inv."
        if design.p < design.q and design.k > 2:
            text += " That holds for inv, inv_n and inv_p; mle has no such bound for a design with p < q."
        return text


CAUSES = (
    "What may have happened: less noise than claimed was added, so that people gave away more than the epsilon of the "
    "design; or some answers were never offered to respondents; or a part of the reports is constant or otherwise made "
    "up; or this is the wrong design file, or a domain with other answers. The estimates rest on the design: find the "
    "cause first."
)
BLIND = (
    "What no such check can see: more noise than claimed, reports made up uniformly at random, and people who did not "
    "answer honestly. All of these look like honest answers from another population. A fit is no proof."
)


def check(
    tally: Tally,
    *,
    level: float = 0.95,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
    fakes: int | None = None,
) -> Check:
    """Check whether reports fit the design that they claim.

    Each group is checked apart. With weights, their effective number stands for the number of reports, and the p-values
    are approximate. A design without noise (p = 1) fits everything.

    Parameters
    ----------
    tally : Tally
        The reports.
    level : float
        Reports that fit are found not to with probability at most ``1 - level``.
    simulations : int
        Number of surveys to simulate for the p-value of G2, for each group.
    rng : numpy.random.Generator, optional
        Where the randomness of the simulation comes from. If not given, each group is seeded from its counts, so that
        the same reports give the same answer.
    fakes : int, optional
        Say how far so many fake reports (in each group) could have moved a share.

    Examples
    --------
    Truth told with probability 3/4: noise alone says yes in a quarter of the reports, and it did not.

    >>> from warner import RandomizedResponse, Tally
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> found = check(Tally(survey, [10, 90]))
    >>> found.fits
    False
    >>> round(found.epsilon_at_least, 2)  # the design claims ln 3 = 1.10
    1.46
    >>> check(Tally(survey, [30, 70])).p_value
    1.0
    """
    _check_options(level, simulations, rng, fakes)
    design = tally.design
    if isinstance(design, Pooled):
        raise TypeError("check each collection on its own: pooled reports have no one design that they could fit")
    counts, n = tally.scaled()
    answered = n[:, 0] > 0
    # Refuses p = q, and a tally without any report.
    some, _, _ = validated(counts[answered] if answered.any() else counts, design)
    n = n[answered]
    if isinstance(design, Channel):
        return _check_channel(tally, some, n, answered, level, simulations, fakes)
    chances = 1 - level
    each = chances / (TESTS * len(some) * design.k)  # what one test of one answer in one group may err
    tails = _tails(some, n, design)
    g2 = likelihood_ratio(some, n, design)
    p_g2 = np.array(
        [
            _simulated_p(value, max(1, round(float(size))), design, simulations, seeded_by(row) if rng is None else rng)
            for value, size, row in zip(g2, n[:, 0], some, strict=True)
        ]
    )
    p_min = min_test(some, n, design)
    rows = {
        "p_min": p_min,
        "g2": g2,
        "p_g2": p_g2,
        "p_value": np.minimum(1, TESTS * np.minimum(p_min, p_g2)),
        "epsilon_at_least": _least_epsilon(some, n, design, each),
    }
    marks = {"misfits": tails < each, "misfits_alone": tails < chances / 2}
    return _spread(tally, answered, level, simulations, fakes, rows, marks)


def _check_channel(
    tally: Tally,
    counts: NDArray[Any],
    n: NDArray[np.float64],
    answered: NDArray[np.bool_],
    level: float,
    simulations: int,
    fakes: int | None,
) -> Check:
    """Check a channel: no report can be rarer or commoner than after the answer that leads to it least or most."""
    design: Any = tally.design
    tails, families = bounds_test(counts, n, design), 2 * counts.shape[-1]
    p_value = np.minimum(1, families * tails.min(axis=-1))
    unknown = np.full(len(counts), np.nan)
    rows = {"p_min": p_value, "g2": unknown, "p_g2": unknown, "p_value": p_value, "epsilon_at_least": unknown}
    chances = 1 - level
    marks = {"misfits": tails < chances / (families * len(counts)), "misfits_alone": tails < chances / 2}
    return _spread(tally, answered, level, simulations, fakes, rows, marks)


def bounds_test(counts: NDArray[Any], n: Any, design: Channel) -> NDArray[np.float64]:
    """Give for each report the smaller chance of so few where it is the least likely, and so many where the most."""
    matrix = design.channel()
    least, most = matrix.min(axis=0), matrix.max(axis=0)
    c = np.asarray(counts, dtype=np.float64)
    return np.minimum(at_most(c, n, least), at_least(c, n, most))


def _spread(
    tally: Tally,
    answered: NDArray[np.bool_],
    level: float,
    simulations: int,
    fakes: int | None,
    rows: dict[str, NDArray[Any]],
    marks: dict[str, NDArray[Any]],
) -> Check:
    """Put what was found for the groups with reports in their places."""
    if not tally.by:
        numbers: dict[str, Any] = {name: float(value[0]) for name, value in rows.items()}
        return Check(tally, level, int(simulations), fakes, **numbers, **{name: m[0] for name, m in marks.items()})
    spread: dict[str, Any] = {name: np.full(len(answered), np.nan) for name in rows}
    spread |= {name: np.zeros((len(answered), m.shape[-1]), dtype=bool) for name, m in marks.items()}
    for name, value in (rows | marks).items():
        spread[name][answered] = value
    return Check(tally, level, int(simulations), fakes, **spread)


def _check_options(level: float, simulations: Any, rng: Any, fakes: Any) -> None:
    check_level(level)
    if isinstance(simulations, bool) or not isinstance(simulations, int | np.integer) or simulations < 1:
        raise ValueError(f"simulations must be a whole number of at least 1, but got {simulations!r}")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator, such as numpy.random.default_rng(1), but got {rng!r}")
    if fakes is not None and (not isinstance(fakes, int | np.integer) or fakes < 0):
        raise ValueError(f"fakes must be a whole number of reports, at least 0, but got {fakes!r}")


def doubt(tally: Tally) -> str:
    """Say it if the rarest answer alone shows that the reports do not fit; say nothing if it does not.

    The cheap part of `check`, at a level of 99 % for all groups together, for those who did not ask.
    """
    design = tally.design
    if isinstance(design, Pooled):
        own = zip(design.parts, design.split(tally.counts), strict=True)
        return next((said for part, counts in own if (said := doubt(replace(tally, design=part, counts=counts)))), "")
    counts, n = tally.scaled()
    answered = n[:, 0] > 0
    if not answered.any() or _silent(design):
        return ""
    if not answered.all():
        counts, n = counts[answered], n[answered]
    if isinstance(design, Channel):
        rule, smallest = "fewer or more", 2 * counts.shape[-1] * bounds_test(counts, n, design).min()
    else:
        rule, smallest = "fewer" if design.p > design.q else "more", min_test(counts, n, design).min()
    p = min(1.0, float(smallest) * int(answered.sum()))
    if p >= DOUBTFUL:
        return ""
    where = ", in some group" if tally.by else ""
    about = "about " if tally.squares is not None else ""
    return (
        f"the reports do not seem to fit the design: an answer was reported {rule} times than noise alone explains"
        f"{where} ({about}{_p(p).replace(TIGHT, ' ')}); the estimate may be wrong, see the check"
    )


def min_test(counts: NDArray[Any], n: Any, design: RandomizedResponse) -> NDArray[np.float64]:
    r"""Give the exact p-value of the rarest answer, :math:`K \cdot P(\text{Bin}(N, q) \le \min_i c_i)`, at most 1.

    With p < q, that of the commonest, :math:`K \cdot P(\text{Bin}(N, q) \ge \max_i c_i)`. The cheap part of `check`.

    Parameters
    ----------
    counts : ndarray of shape (..., k)
        Number of reports of each answer; fractional where weights were rescaled to an effective number of reports.
    n : array_like of shape (..., 1)
        Number of reports in all.
    design : RandomizedResponse
        What every answer is claimed to have gone through.

    Examples
    --------
    Truth 3/4, and none of four reports says yes: 2 * (3/4)^4 = 162/256.

    >>> from warner import RandomizedResponse
    >>> min_test(np.array([0, 4]), [4], RandomizedResponse(["yes", "no"], truth="3/4")).round(6)
    np.float64(0.632812)
    """
    extreme = _extreme(counts, design)
    return np.minimum(1, design.k * _tails(extreme, np.asarray(n, dtype=np.float64), design))[..., 0]


def likelihood_ratio(counts: NDArray[Any], n: Any, design: RandomizedResponse) -> NDArray[np.float64]:
    r"""Give :math:`G^2 = 2 \sum_i c_i \ln\frac{c_i/N}{q + (p-q)\hat\theta_i}` at the maximum-likelihood estimate.

    Where the estimate is positive, observed over expected is one constant. So these answers count as a single one, with
    s reports of the :math:`N (1 - (K-m) q)` that are expected of m of them together; any other has Nq. Written as a sum
    of terms :math:`c \ln(c/e) - c + e`, each at least 0, nothing cancels. Arguments as for `min_test`.
    """
    a, b = design.odds
    n = np.asarray(n, dtype=np.float64)
    if b == 0:
        return np.zeros(counts.shape[:-1])
    zero = mle(counts, design) <= 0
    kept = design.k - np.count_nonzero(zero, axis=-1)
    apart = each_count(lambda c, total: (_deviance(c, total * design.q),), counts, n)[0]
    rest = n[..., 0] - np.vecdot(zero, counts)  # n may differ from the sum by rounding only
    together = n[..., 0] * ((a + (kept - 1.0) * b) / design.total)
    g2 = 2 * (np.vecdot(zero, apart) + _deviance(np.maximum(rest, 0), np.maximum(together, SMALLEST)))
    return np.where(g2 < ZERO, 0.0, g2)


def _deviance(observed: Any, expected: Any) -> NDArray[np.float64]:
    """Give c ln(c/e) - c + e, in terms of the relative difference, which keeps its digits where the two are close."""
    excess = (observed - expected) / expected
    deviance: NDArray[np.float64] = expected * (xlog1py(1 + excess, excess) - excess)
    return deviance


def _extreme(counts: NDArray[Any], design: RandomizedResponse) -> NDArray[np.float64]:
    """Give the count that speaks loudest against the design: the smallest, or with p < q the largest."""
    upright = design.odds[0] > design.odds[1]
    return np.asarray((counts.min if upright else counts.max)(axis=-1, keepdims=True), dtype=np.float64)


def _tails(counts: NDArray[Any], n: Any, design: RandomizedResponse) -> NDArray[np.float64]:
    """Give P(Bin(n, q) <= c) of each count, or with p < q P(Bin(n, q) >= c)."""
    q, upright = design.q, design.odds[0] > design.odds[1]

    def tail(c: NDArray[np.float64], total: Any) -> tuple[NDArray[np.float64]]:
        return (at_most(c, total, q) if upright else at_least(c, total, q),)

    return each_count(tail, counts, n)[0]


def _least_epsilon(counts: NDArray[Any], n: Any, design: RandomizedResponse, tail: float) -> NDArray[np.float64]:
    """Bound the epsilon that was spent from below, from what q can have been.

    With p > q no answer is rarer than q, so q is at most the upper limit of the rarest, and p/q = 1/q - (K-1) at least
    what that gives. With p < q no answer is commoner than q, so q is at least the lower limit of the commonest, and
    q/p = 1/(1/q - (K-1)) at least what that gives; beyond q = 1/(K-1) no p is left, and the bound is infinite.
    """
    low, high = binomial_limits(_extreme(counts, design), n, tail)
    upright = design.odds[0] > design.odds[1]
    with np.errstate(divide="ignore"):
        odds = np.maximum(1 / (high if upright else low) - (design.k - 1), 0)
        bound = np.log(odds) if upright else -np.log(odds)
    return np.maximum(bound, 0)[..., 0]


def _simulated_p(
    observed: float, n: int, design: RandomizedResponse, simulations: int, rng: np.random.Generator
) -> float:
    """Give (1 + the number of simulated G2 that are at least the observed one) / (1 + the number of simulations)."""
    if observed == 0:
        return 1.0  # no G2 is smaller: nothing to simulate
    reached = sum(
        int((likelihood_ratio(drawn, np.full((len(drawn), 1), float(n)), design) >= observed * TIE).sum())
        for drawn in _at_a_vertex(n, design, simulations, rng)
    )
    return (1 + reached) / (1 + simulations)


def _at_a_vertex(
    n: int, design: RandomizedResponse, simulations: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Draw surveys of people who all hold the first answer, a block at a time; the blocks make no difference."""
    everybody = np.zeros(design.k)
    everybody[0] = 1
    rows = max(1, CELLS // design.k)
    for start in range(0, simulations, rows):
        yield reports_of_population(everybody, n, design, rng=rng, size=min(rows, simulations - start))


def _silent(design: RandomizedResponse | Channel) -> bool:
    """Tell a design without noise, under which nothing can be tested."""
    return isinstance(design, RandomizedResponse) and design.odds[1] == 0


def _strength(design: RandomizedResponse | Channel) -> float:
    """Give the p - q of a response; for a channel one over the most that `inv` moves if all reports were exchanged."""
    if isinstance(design, Channel):
        return float(1 / np.ptp(channel_inverse(design), axis=0).max())
    a, b = design.odds
    return abs(a - b) / design.total


def _p(value: float) -> str:
    written = f"p = {value:.2g}" if value > 0 else "p < 1e-300"  # too small for a double
    return written.replace(" ", TIGHT)


def _written(value: float) -> Any:
    """Write a number for JSON, which has neither NaN nor infinity."""
    return value if math.isfinite(value) else "inf" if value > 0 else None


def _down(bound: float) -> str:
    """Write a lower bound, rounded down to three decimals."""
    return f"{math.floor(1000 * bound) / 1000:g}" if math.isfinite(bound) else "inf" if bound > 0 else ""


def _quoted(label: Any) -> str:
    """Name an answer; a repr shows control characters, which could play tricks with a terminal, as escapes."""
    return _short(repr(label))


def _short(text: str, width: int = 40) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
