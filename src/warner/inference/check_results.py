r"""Results of a goodness-of-fit check: tests with their sentences, the verdict, and the influence of fake reports.

**Influence of fake reports (poisoning).** Replacing or omitting m of N reports changes the observed shares by at most
2m/N in all, and an estimator by at most 1/\|p - q\| times that. Shares sum to one, so that any single share moves by at
most half of it, :math:`m / (N |p-q|)`: 5 fakes among 100 reports with p - q = 1/2 move a share by up to 10 percentage
points. With p < q and more than two answers `mle` has no such bound: one report of an unreported answer can move half
of everything. `shrink` has none; one report has moved a share by 2.8 times as much.

**Open reports.** In an open domain hardly two reports are alike, and any value may have any share. But levels and
directions do not depend on the true answers, so that the counts of `ancillary_counts` are exactly binomial. Each is
tested on both sides, and the smallest p-value is multiplied by the number of tests, which is exact. Detected are a
client with other weights of the levels, a weak generator of directions, copies of reports, and careless fakes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from warner.arrays import objects
from warner.designs.facts import full_symmetry
from warner.designs.support_counts import AncillaryCount, ancillary_counts
from warner.documents import Document, skipped_fields
from warner.estimators.auto import METHODS_COMPARED
from warner.estimators.methods import METHODS, SHRUNK, UNBIASED, described, has_turned, many_answers
from warner.inference.answer_tables import reports_in_words
from warner.inference.binomial import at_least, at_most
from warner.reports.tallies import holds_every_answer
from warner.results import Column, TableResult, check_level, group_columns, name_columns, plain
from warner.text import (
    conjoined,
    counted,
    enumerated,
    level_text,
    p_value,
    percent,
    printable,
    quoted,
    reports_counted,
    rounded_down,
    told_apart,
    wrapped,
)
from warner.typesetting import Printed, amount_cells, p_value_cells, plain_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warner.arrays import Array, Integers, Mask, PerGroup
    from warner.designs.contract import Design
    from warner.inference.agreement import AgreementTest
    from warner.reports.open_tallies import OpenTally
    from warner.reports.tallies import Collected, Tally


# Fake reports


def moved_by(tally: Collected, fakes: float) -> PerGroup:
    """Bound the change of any one share by this number of fake reports; see `Check.moved_by`."""
    if not 0 <= fakes < math.inf:
        raise ValueError(f"fakes must be a number of reports, at least 0, but got {fakes!r}")
    moved = []
    for part in (part for part in tally.parts if part.design.epsilon > 0):
        n = np.atleast_1d(part.n).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved.append(np.where(n > 0, fakes / (n / part.design.law.linear.influence()), np.nan))
    most = np.fmax.reduce(moved)
    return most if tally.by else float(most[0])


def influence_text(tally: Collected, fakes: int | None = None, method: str | None = None) -> str:
    """Return a sentence on the bound of this number of fake reports, or of each percent of the reports.

    With `method`, the bound is that of the estimator of the shares.

    >>> from warner import RandomizedResponse, Tally
    >>> influence_text(Tally(RandomizedResponse(["yes", "no"], truth="3/4"), [40, 60]), 1)
    'Fake reports: 1 fake among the reports can have moved any share by up to 2 percentage points.'
    """
    most = ", in the collection where that is most" if len(tally.parts) > 1 else ""
    times, others = 1, ""
    if method is None:
        others = _for_whom(tally)
    elif (bound := described(method).fake_bound(tally)) is not None:
        times = bound
    else:
        others = " This bound is for the unbiased estimate; none is known for the shares that are shown."
    if fakes is None:
        leverage = times * max(part.design.law.linear.influence() for part in tally.parts if part.design.epsilon > 0)
        text = (
            "Fake reports: every 1 % of fakes among the reports can have moved any share by up to "
            f"{leverage:.3g} percentage points{most}."
        )
    else:
        weight = " of weight 1" if tally.weighted else ""
        where = " (in the smallest group)" if tally.by else ""
        text = (
            f"Fake reports: {counted(fakes, 'fake', 'fakes')}{weight} among the reports can have moved any share "
            f"by up to {100 * times * np.nanmax(moved_by(tally, fakes)):.3g} percentage points{where}{most}."
        )
    return text + _at_once(tally) + others


def _at_once(tally: Collected) -> str:
    """Return a sentence on the number of answers that one fake report can move, if it is more than one."""
    designs = [part.design for part in tally.parts if full_symmetry(part.design.law) is not None]
    most = max((design.law.linear.largest_support() for design in designs), default=1)
    if most == 1:
        return ""
    exactly = all(design.law.support_size == most for design in designs)
    return f" One fake report can move {'' if exactly else 'up to '}{most:,} answers at once, each by a part of this."


def _for_whom(tally: Collected) -> str:
    """Return a sentence on the estimators for which the bound holds, if these are not all closed forms."""
    designs = [part.design for part in tally.parts]
    if any(full_symmetry(design.law) is None for design in designs):
        return f" This bound holds for the estimator {UNBIASED}."
    exclusive = all(design.law.exclusive for design in designs)
    names = sorted({UNBIASED, *METHODS_COMPARED}) + [SHRUNK] * (many_answers(tally) or not exclusive)
    complete = holds_every_answer(tally)
    names = [name for name in names if METHODS[name].applies(to_likelihood=True, to_complete=complete)]
    bounds = {name: METHODS[name].fake_bound(tally) for name in names}
    once, twice, without = ([name for name in names if bounds[name] == times] for times in (1, 2, None))
    if not without:
        return ""
    holds = f" This bound holds for the {'estimators' if len(once) > 1 else 'estimator'} {conjoined(once)}"
    holds += f", and twice it for {conjoined(twice)}" if twice else ""
    if has_turned(tally) and SHRUNK not in without:
        return f"{holds}; {conjoined(without)} has none for a design with p < q."
    return f"{holds}; for {conjoined(without)} no such bound is known."


# Check results


MISFITS_LISTED = 10  # answers, or types of reports, that a text names
GROUPS_DETAILED = 10  # that do not fit, on each of which a text has a sentence
GROUPS_SHOWN = 20  # rows of the table of groups
NAME_WIDTH = 40  # characters of a group's name
SHORT_NAMES = {  # heads of the table of groups
    "rarest answer": "p rarest",
    "commonest answer": "p commonest",
    "possible range": "p range",
    "likelihood ratio": "p G2",
    "kinds of reports": "p kinds",
    "known law": "p law",
    "answers asked about": "p asked",
    "pairs of answers": "p pairs",
    "same population": "p same",
}


@dataclass(frozen=True, eq=False)
class Test:
    """One test of one collection.

    Attributes
    ----------
    name : str
        ``rarest answer``, ``commonest answer``, ``possible range``, ``likelihood ratio``, ``kinds of reports``,
        ``known law``, ``answers asked about``, ``pairs of answers`` or ``same population``.
    p_value : ndarray of shape (groups,)
        NaN for a group without reports.
    say : callable
        Returns the sentence on a group, by its position.
    statistic : ndarray of shape (groups,) or None
        G2, of the tests that compare it with simulated surveys.
    """

    name: str
    p_value: Array
    say: Callable[[int], str]
    statistic: Array | None = None

    def details(self, group: int) -> Document:
        """Return the JSON fields of a group besides the p-value."""
        return {} if self.statistic is None else {"g2": plain(self.statistic[group])}

    def names(self, group: int) -> bool:
        """Return True if the test alone names crafted reports in a group."""
        return False


@dataclass(frozen=True, eq=False)
class Findings:
    """Tests of one collection.

    Misfits have the shape (groups, columns). `epsilon_at_least`, of shape (groups,), is a lower bound on the epsilon
    that was spent, if one is known. `misfit_kinds`, of shape (groups, types), marks types of reports outside their
    range. `together`, of shape (groups,), is the joint p-value of the first two tests, if they use the same simulated
    surveys.
    """

    tally: Tally
    tests: tuple[Test, ...]
    misfits: Mask
    misfits_alone: Mask
    epsilon_at_least: Array | None
    misfit_kinds: Mask | None = None
    together: Array | None = None

    @property
    def p_values(self) -> list[Array]:
        """The p-values that are judged: those of the tests, two of which may be judged as one."""
        values = [test.p_value for test in self.tests]
        return values if self.together is None else [self.together, *values[2:]]

    def limited_to(self, rejected: Mask) -> Findings:
        """Keep findings on single answers, kinds and epsilon only for groups whose reports do not fit."""
        named, spent, types = rejected[:, np.newaxis], self.epsilon_at_least, self.misfit_kinds
        spent = None if spent is None else np.where(rejected, spent, np.minimum(spent, self.tally.design.epsilon))
        types = None if types is None else types & named
        return replace(self, misfits=self.misfits & named, epsilon_at_least=spent, misfit_kinds=types)

    @property
    def sees_more_noise(self) -> bool:
        """True if too much noise is detectable as well: if the probabilities of all types are known."""
        types = None if self.misfit_kinds is None else self.tally.design.law.types
        ancillary = None if types is None else types.ancillary()
        return ancillary is not None and ancillary.of_each_type


@dataclass(frozen=True, eq=False, repr=False)
class Check(TableResult):
    """Goodness-of-fit check of reports to their design.

    What has a value for each group is an array of shape (groups,), with NaN for a group without reports; without groups
    it is a number. At the stated level all statements hold at once: it is divided among the tests, the groups with
    reports and the answers. So an answer is named, or epsilon found to be larger than claimed, only where the verdict
    is that the reports do not fit.

    Attributes
    ----------
    tally : Tally or Pool
        The counted reports, with their design.
    level : float
        Smallest probability of passing for reports that fit.
    simulations : int
        Number of simulated surveys behind each p-value of G2.
    fakes : int or None
        Number of fake reports whose effect was requested.
    findings : tuple of Findings
        The tests of each collection: one, or several of a pool.
    agreement : AgreementTest or None
        The test that all collections of a pool come from one population.
    """

    tally: Collected
    level: float
    simulations: int
    fakes: int | None
    findings: tuple[Findings, ...]
    agreement: AgreementTest | None = None

    @property
    def tests(self) -> tuple[Test, ...]:
        """All tests, collection by collection, and that of one population at the end."""
        each = tuple(test for part in self.findings for test in part.tests)
        return each if self.agreement is None else (*each, self.agreement)

    @property
    def _judged(self) -> list[Array]:
        """P-values that the verdict uses, of shape (groups,) each."""
        each = [p_values for part in self.findings for p_values in part.p_values]
        return each if self.agreement is None else [*each, self.agreement.p_value]

    @property
    def p_value(self) -> PerGroup:
        """For each group the smallest p-value that is judged, times their number; at most 1."""
        return self.tally.squeezed(self._p_values)

    @cached_property
    def _p_values(self) -> Array:
        if not self.tests:
            return np.where(self.tally.answered, 1.0, np.nan)
        values = np.stack(self._judged)
        known = np.isfinite(values)
        smallest = np.where(known, values, 1.0).min(axis=0)
        return np.where(known.any(axis=0), np.minimum(1, known.sum(axis=0) * smallest), np.nan)

    @cached_property
    def _rejected(self) -> tuple[Mask, Mask]:
        """Groups in which a single collection fails, and groups whose collections disagree."""
        values = np.stack(self._judged) if self.tests else np.full((1, self.tally.answered.size), np.nan)
        factor = np.isfinite(values).sum(axis=0) * self._answered
        failed = values * factor < 1 - self.level
        own = failed if self.agreement is None else failed[:-1]
        return own.any(axis=0), np.zeros_like(failed[0]) if self.agreement is None else failed[-1]

    @property
    def overall_p_value(self) -> float:
        """The smallest p-value times the number of groups with reports, at most 1."""
        return min(1.0, float(np.nanmin(self._p_values)) * self._answered)

    @property
    def fits(self) -> bool:
        """True if no test rejects the design in any group."""
        return self.overall_p_value >= 1 - self.level

    @property
    def group_fits(self) -> PerGroup:
        """The verdict on each group, corrected for the number of groups; True where no verdict is possible."""
        verdict = self.tally.squeezed(~(self._p_values * self._answered < 1 - self.level))
        return verdict if self.tally.by else bool(verdict)

    @property
    def misfits(self) -> PerGroup:
        """The answers below the noise floor, of shape (k,) or (groups, k); of a pool, one array for each collection.

        Reported less often than noise alone explains (with p < q: above the ceiling), even though there are so many
        answers; of a `Channel`, reports outside of what any answers can explain.
        """
        return self._for_each("misfits")

    @property
    def misfits_alone(self) -> PerGroup:
        """The same for each answer on its own, as a confidence interval judges it.

        Of many answers with a share of zero, up to ``(1 - level) / 2`` are found here by chance.
        """
        return self._for_each("misfits_alone")

    @property
    def epsilon_at_least(self) -> PerGroup:
        """A lower bound on the epsilon that was spent, if these are randomized responses over these answers.

        0 where the reports set no bound; None for designs without such a bound. For a pool, one for each collection.
        """
        return self._for_each("epsilon_at_least")

    def _for_each(self, name: str) -> PerGroup:
        values = [getattr(part, name) for part in self.findings]
        squeezed = [None if value is None else self.tally.squeezed(value) for value in values]
        return squeezed[0] if len(squeezed) == 1 else squeezed

    @property
    def _answered(self) -> int:
        return int(self.tally.answered.sum())

    def moved_by(self, fakes: float) -> PerGroup:
        r"""Bound the change of any one share by this number of fake reports among those counted: :math:`m / (N |p-q|)`.

        With weights, m is the weight of the fakes together. Of a pool, the most that fakes in one collection can do to
        what that collection says. The bound holds for `inv`, `inv_n` and `inv_p`, and with p > q (or two answers) for
        `mle`; where a report supports several answers for `inv`, and twice of it for `inv_p`.

        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
        >>> from warner import check
        >>> check(Tally(survey, [40, 60])).moved_by(5)  # 5 / (100 * (0.75 - 0.25))
        0.1
        """
        return moved_by(self.tally, fakes)

    @cached_property
    def _order(self) -> Integers:
        """Positions of the groups, by p-value; groups without reports are last."""
        return np.argsort(self._p_values, kind="stable")

    def _columns(self, *, rows: int | None = None) -> list[Column]:
        """Return a row for each group: its reports, the p-value of each test, the p-value of all, and the verdict.

        Parameters
        ----------
        rows : int, optional
            How many groups readers see, those with the smallest p-values first; all if not given.
        """
        names, reports = self.tally.group_names(), np.atleast_1d(self.tally.n)
        tests: dict[str, tuple[str, Array]] = {}
        for number, part in enumerate(self.findings, 1):
            where = f" ({number})" if len(self.findings) > 1 else ""
            tests |= {f"{test.name}{where}": (f"{SHORT_NAMES[test.name]}{where}", test.p_value) for test in part.tests}
        if self.agreement is not None:
            tests[self.agreement.name] = SHORT_NAMES[self.agreement.name], self.agreement.p_value
        order, fits = self._order[:rows], np.atleast_1d(self.group_fits)
        columns = [
            Column("group", objects(names)),
            Column("reports", reports),
            *(Column(name, p) for name, (_, p) in tests.items()),
            Column("p_value", self._p_values),
            Column("fits", fits),
        ]
        if self.tally.by:
            by = ", ".join(map(printable, self.tally.by))
            columns.append(Column(heading=by, texts=lambda: [names[i] for i in order]))
        columns.append(Column(heading="reports", texts=partial(amount_cells, reports[order])))
        if len(tests) > 1:
            columns += [Column(heading=name, texts=partial(p_value_cells, p[order])) for name, p in tests.values()]
        columns.append(Column(heading="p", texts=partial(p_value_cells, self._p_values[order])))
        spent = self.findings[0].epsilon_at_least if len(self.findings) == 1 else None
        if spent is not None:
            bounds = [rounded_down(bound) for bound in spent[order].tolist()]
            columns.append(Column(heading="epsilon at least", texts=bounds))
        verdicts = np.where(self.tally.answered[order], np.where(fits[order], "fits", "does not fit"), "no reports")
        return [*columns, Column(heading="verdict", texts=verdicts.tolist())]

    def _title(self, *_: Any, **options: Any) -> str:
        return "Fit of the reports to their design"

    def _footnotes(self, *_: Any, **options: Any) -> list[str]:
        return [self.verdict(), self._heading(), *self._approximate()]

    def _json_fields(self) -> Document:
        """Return the JSON fields; numbers of a group without reports are null, and an infinite epsilon is "inf"."""
        tally = self.tally
        designs = [part.design.to_dict() for part in tally.parts]
        fits = np.atleast_1d(self.group_fits)
        all_moved = None if self.fakes is None else np.atleast_1d(self.moved_by(self.fakes))
        groups = []
        for row, answered in enumerate(tally.answered.tolist()):
            name = {"group": dict(zip(tally.by, tally.groups[row], strict=True))} if tally.by else {}
            moved = all_moved[row] if all_moved is not None and answered else None
            found = {
                "reports": np.atleast_1d(tally.n)[row].item(),
                "p_value": plain(self._p_values[row]),
                "fits": bool(fits[row]) if answered else None,
                "collections": [_collection(part, row) for part in self.findings],
                "same_population": None if self.agreement is None else self.agreement.document(row),
                "fakes": self.fakes,
                "moved_by_fakes": plain(moved),
            }
            groups.append(name | found)
        return {
            "format": "warner check",
            "version": 1,
            **({"design": designs[0]} if len(designs) == 1 else {"designs": designs}),
            "missing": int(np.sum(tally.missing)),
            "unknown": int(np.sum(tally.unknown)),
            **skipped_fields(self._skipped_files()),
            "level": self.level,
            "simulations": self.simulations,
            "fits": self.fits,
            "p_value": self.overall_p_value,
            "groups": groups,
        }

    def text(self) -> str:
        seen = all(part.sees_more_noise for part in self.findings)
        table = [plain_table(Printed(self._printed(rows=GROUPS_SHOWN).columns))] if self.tally.by else []
        hidden = len(self._order) - GROUPS_SHOWN
        table += [f"... and {counted(hidden, 'more group', 'more groups')}"] if table and hidden > 0 else []
        sentences = [
            *(sentence for part in self._numbered() for sentence in part),
            *self._too_few(),
            influence_text(self.tally, self.fakes),
            "",
            *(piece for causes in self._causes(seen=seen) for piece in (causes, "")),
            (NOT_DETECTED_BY_TYPES if seen else NOT_DETECTED)
            + (NOT_DETECTED_IN_POOLS if self.agreement is not None else ""),
        ]
        head = wrapped([self.verdict(), self._heading(), *self._skipped_sentences(), ""])
        return "\n".join([head, *table, *([""] if table else []), wrapped(sentences)])

    # Sentences

    def _causes(self, *, seen: bool) -> Iterator[str]:
        own, together = (bool(failed.any()) for failed in self._rejected)
        if own:
            yield CAUSES.format(noise="less or more noise" if seen else "less noise")
        if together:
            yield CAUSES_OF_DISAGREEMENT

    def verdict(self) -> str:
        """Return whether the reports fit, as a sentence."""
        p, limit = p_value(self.overall_p_value), 1 - self.level
        if not self.tests:
            return "Nothing can be tested: this design adds no noise, and every set of reports fits it."
        design = "the design" if len(self.findings) == 1 else "their designs"
        own, together = self._rejected
        failed, groups = int(np.sum(~np.atleast_1d(self.group_fits))), counted(self._answered, "group", "groups")
        misfit = f"The reports do not fit {design}"
        if disagree := bool(together.any() and not own.any()):
            misfit = "The collections do not seem to come from one population"
        if not self.tally.by:
            if self.fits and not disagree:
                return f"The reports fit {design} ({p}; a misfit would have p < {limit:.4g})."
            return f"{misfit} ({p}, below {limit:.4g})."
        if failed or disagree:
            return f"{misfit} in {failed:,} of {groups}: {p} (corrected for {groups})."
        every = f"all {groups}" if self._answered > 1 else "the only group with reports"
        return f"The reports fit {design} in {every}: {p} (corrected for {groups})."

    def _approximate(self) -> list[str]:
        some = self.agreement is not None and bool(self.agreement.approximate.any())
        return ["The test of one population is approximate."] if some else []

    def _heading(self) -> str:
        tally = self.tally
        weighted = approximate = ""
        if not tally.simple:
            alone = "equally weighted ones" if tally.sample is None else "of respondents drawn alone"
            weighted = f" (worth {np.sum(tally.effective):,.0f} {alone})"
            approximate = f" With {'weights' if tally.sample is None else 'this sample'}, p is approximate."
        most = "at most " if len(tally.parts) > 1 else ""
        claim = f"{reports_in_words(tally)}{weighted} among {tally.k:,} answers"
        for name in ("missing", "unknown"):
            left_out = int(np.sum(getattr(tally, name)))
            claim += f", {left_out:,} {name} left out" if left_out else ""
        claim += f", claimed epsilon {most}{tally.shown_epsilon()}, level {level_text(self.level)}."
        for part in tally.parts:
            claim += f" {words}." if (words := part.left_out()) else ""
        if not self.tests:
            return claim
        return f"{claim} If the reports fit, data at least this extreme occur with probability at most p.{approximate}"

    def _numbered(self) -> Iterator[list[str]]:
        several = len(self.findings) > 1
        for number, part in enumerate(self.findings, 1):
            head = [f"Collection {number}, {part.tally.design.summary()}:"] if several else []
            yield [*head, *(self._failed_groups(part) if self.tally.by else self._about(part, 0))]
        if self.agreement is not None:
            yield self._groups_apart() if self.tally.by else [self.agreement.say(0)]

    def _about(self, part: Findings, group: int) -> list[str]:
        if not part.tests or not part.tally.answered[group]:
            return []
        sentences = [test.say(group) for test in part.tests]
        if part.together is not None:
            both = p_value(part.together[group])
            sentences[1] += (
                f" The smaller of the two p-values, compared with those of the same simulated surveys: {both}."
            )
        if len(part.p_values) > 1:
            sentences[-1] += " The verdict uses the smallest p-value, multiplied by the number of tests."
        if part.epsilon_at_least is not None:
            sentences.append(_spent(float(part.epsilon_at_least[group]), part.tally.design))
        return [*sentences, self._outside(part, group)]

    def _outside(self, part: Findings, group: int) -> str:
        columns = part.tally.design.law.columns
        labels = [quoted(columns[i]) for i in np.flatnonzero(part.misfits[group])]
        listed = enumerated(labels, MISFITS_LISTED) or "none"
        bounds = part.tally.design.law.bounds()
        if bounds.least is not None and bounds.most is not None:
            if part.tally.counts_answers:
                return f"Answers reported less or more often than the design can explain: {listed}."
            return f"Reports made less or more often than any answers can explain: {listed}."
        below = bounds.most is None
        which, how = ("below the noise floor", "less") if below else ("above the ceiling", "more")
        text = f"Answers {which} (reported {how} often than the design can explain): {listed}."
        alone = int(part.misfits_alone[group].sum())
        if alone > len(labels):
            text += (
                f" Judged one by one, {alone:,} of {len(columns):,} are; but up to {50 * (1 - self.level):.3g} % of "
                "the answers are so by chance alone, so the others are not named."
            )
        return text

    def _failed_groups(self, part: Findings) -> list[str]:
        order = self._order
        failed = order[~self.group_fits[order] & part.tally.answered[order]]
        if not part.tests or not failed.size:
            return []
        names = self._group_names()
        return [
            " ".join([f"{names[i]}: {self._outside(part, i)}", *(test.say(i) for test in part.tests if test.names(i))])
            for i in failed[:GROUPS_DETAILED].tolist()
        ]

    def _groups_apart(self) -> list[str]:
        assert self.agreement is not None
        apart = self._order[self._rejected[1][self._order]]
        names = self._group_names()
        sentences = [f"{names[i]}: {self.agreement.say(i)}" for i in apart[:GROUPS_DETAILED].tolist()]
        return [*sentences, *self._approximate()]

    def _group_names(self) -> list[str]:
        return told_apart([printable(name) for name in self.tally.group_names()], NAME_WIDTH)

    def _too_few(self) -> list[str]:
        """Return a warning if there are too few simulations for a p-value of G2 to be significant."""
        least = math.ceil(len(self._judged) * self._answered / (1 - self.level))
        if self.simulations >= least or not any(test.statistic is not None for test in self.tests):
            return []
        many = f", with {counted(self._answered, 'group', 'groups')}" if self.tally.by else ""
        few = f"{counted(self.simulations, 'simulation is', 'simulations are')} too few for G2 to show a misfit"
        return [f"At this level{many}, {few}; at least {least:,} are needed."]


CAUSES = (
    "Possible causes: {noise} than claimed was added, so that respondents spent more than the epsilon of the "
    "design; some answers were never offered to respondents; part of the reports is constant or otherwise "
    "fabricated; or the design file is the wrong one, or has other answers. The estimates rely on the design: find the "
    "cause first."
)
CAUSES_OF_DISAGREEMENT = (
    "Possible causes of different shares in the collections: respondents who do not follow the instructions of a "
    "design (noncompliance); different respondents in the collections; or a wrong design file. An estimate from all "
    "collections together averages shares that differ: estimate each collection by itself, or model the noncompliance "
    "(warner.noncompliance)."
)
NOT_DETECTED = (
    "No such check can detect more noise than claimed, reports fabricated uniformly at random, or respondents who did "
    "not answer honestly. All of these look like honest answers from another population. A good fit is no proof."
)
NOT_DETECTED_BY_TYPES = (
    "No such check can detect respondents who did not answer honestly, or fabricated reports that follow the "
    "design. They look like honest answers from another population. A good fit is no proof."
)
NOT_DETECTED_IN_POOLS = " In a pool they are detected where they change the shares of the collections differently."


def _spent(bound: float, design: Design) -> str:
    if bound == 0:
        return "Epsilon spent: these reports set no lower bound; any amount of noise could have produced them."
    if math.isinf(bound):
        return "Epsilon spent: no amount of noise, by a design with p < q over these answers, explains the reports."
    claimed = design.shown_epsilon()
    than = "is more than" if bound > design.epsilon else "does not contradict"
    return (
        f"Epsilon spent: at least {rounded_down(bound)}, if these are randomized responses over these answers. This "
        f"{than} the {claimed} that the design claims."
    )


def _collection(part: Findings, group: int) -> Document:
    columns = part.tally.design.law.columns
    bound = None if part.epsilon_at_least is None else float(part.epsilon_at_least[group])
    return {
        "tests": [
            {"name": test.name, "p_value": plain(test.p_value[group]), **test.details(group)} for test in part.tests
        ],
        "epsilon_at_least": "inf" if bound == math.inf else plain(bound),
        "misfits": [columns[i] for i in np.flatnonzero(part.misfits[group])],
        "misfits_alone": int(part.misfits_alone[group].sum()),
        **({} if part.misfit_kinds is None else {"misfit_kinds": np.flatnonzero(part.misfit_kinds[group]).tolist()}),
    }


# Open checks


MISFITS_NAMED = 3  # in the text, of each group
NOT_SEEN = (
    "No such check can detect other odds than claimed, crafted reports with honest directions, or respondents who "
    "did not answer honestly. A good fit is no proof; warner audit tests a client itself."
)


@dataclass(frozen=True, eq=False, repr=False)
class OpenCheck(TableResult):
    """Goodness-of-fit check of open reports: counts that do not depend on the true answers.

    Attributes
    ----------
    tally : OpenTally
        The reports.
    level : float
        Reports that fit are rejected with probability at most 1 - ``level``, in all groups together.
    counts : tuple of tuple of AncillaryCount
        What was compared, for each group.
    adjusted : tuple of ndarray
        The p-value of each count, two-sided, multiplied by the number of all tests.
    """

    _rows_key = "counts"

    tally: OpenTally
    level: float
    counts: tuple[tuple[AncillaryCount, ...], ...]
    adjusted: tuple[Array, ...]

    @property
    def tests(self) -> int:
        """Number of counts that were compared."""
        return sum(map(len, self.counts))

    @property
    def p_value(self) -> float:
        """If the reports fit the design, data at least this extreme occur with probability at most this."""
        return min(1.0, float(min(part.min() for part in self.adjusted if part.size)))

    @property
    def fits(self) -> bool:
        """True if no count rejects the design."""
        return self.p_value >= 1 - self.level

    def _columns(self) -> list[Column]:
        groups = [group for group, part in zip(self.tally.groups or ((),), self.counts, strict=True) for _ in part]
        every = [count for part in self.counts for count in part]
        seen, n = (np.array([getattr(count, name) for count in every]) for name in ("seen", "n"))
        expected = np.array([count.n * count.probability for count in every])
        adjusted = np.minimum(1.0, np.concatenate(self.adjusted))
        return [
            *name_columns(group_columns(self.tally.by, groups)),
            Column("what", objects(count.what for count in every), "event"),
            Column("count", seen, "count"),
            Column("n", n, "reports"),
            Column("expected", expected, "expected", lambda: [f"{number:,.1f}" for number in expected.tolist()]),
            Column("adjusted", adjusted, "adjusted p", partial(p_value_cells, adjusted)),
        ]

    def _title(self) -> str:
        return "Fit of open reports to their design"

    def _footnotes(self) -> list[str]:
        reports = reports_counted(self.tally.n, weighted=False)
        return [self.verdict(), f"N = {reports}, epsilon {self.tally.shown_epsilon()}"]

    def _facts(self) -> Document:
        return {
            "format": "warner open check",
            "version": 1,
            "fits": self.fits,
            "p_value": self.p_value,
            "level": self.level,
            "tests": self.tests,
            "reports": np.asarray(self.tally.n),
            "by": list(self.tally.by),
            "groups": [list(group) for group in self.tally.groups],
            "design": self.tally.design.to_dict(),
        }

    def verdict(self) -> str:
        """Return whether the reports fit, as a sentence."""
        p = p_value(self.p_value)
        if not self.fits:
            return f"The reports do not fit the design: {p}."
        limit = f"a misfit would have p < {1 - self.level:.3g}"
        return f"All that does not depend on the answers fits the design ({p}; {limit})."

    def text(self) -> str:
        compared = counted(self.tests, "count", "counts")
        basis = (
            f"{reports_counted(self.tally.n, weighted=False)}, claimed epsilon {self.tally.shown_epsilon()}, level "
            f"{level_text(self.level)}. {compared} of levels, of digits of directions and of copies of one direction, "
            "which do not depend on the true answers, were compared with their exact laws. If the reports fit, data at "
            "least this extreme occur with probability at most p."
        )
        return "\n".join(
            [wrapped([self.verdict(), basis, *self._misfits(), *self._skipped_sentences()]), "", wrapped([NOT_SEEN])]
        )

    def _misfits(self) -> list[str]:
        sentences = []
        for name, counts, adjusted in zip(self.tally.group_names(), self.counts, self.adjusted, strict=True):
            worst = np.argsort(adjusted, kind="stable")[:MISFITS_NAMED]
            sentences += [
                f"{f'{printable(name)}: ' if self.tally.by else ''}{counts[index].what} makes up "
                f"{percent(counts[index].seen / counts[index].n)} of {counts[index].n:,} reports; the design says "
                f"{percent(counts[index].probability)}."
                for index in worst.tolist()
                if adjusted[index] < 1 - self.level
            ]
        return sentences


def check_open(tally: OpenTally, *, level: float = 0.95) -> OpenCheck:
    """Check whether reports of an open domain fit their design, in what no answer changes; see `warner.check`."""
    check_level(level)
    reports, index = tally.rows
    if not len(reports):
        raise ValueError("the tally must hold at least one report, but there is none")
    groups = [reports[index == number] for number in range(max(1, len(tally.groups)))]
    counts = tuple(
        tuple(one for one in ancillary_counts(tally.design, part) if one.n and one.probability < 1) for part in groups
    )
    number = max(1, sum(map(len, counts)))
    return OpenCheck(tally, level, counts, tuple(number * _p_values(part) for part in counts))


def _p_values(counts: tuple[AncillaryCount, ...]) -> Array:
    """Return twice the smaller tail of each count; for the largest of many, a bound on the upper tail."""
    from scipy.special import gammaln

    count, n = (np.array([getattr(one, name) for one in counts], dtype=np.int64) for name in ("seen", "n"))
    law = np.array([one.probability for one in counts], dtype=np.float64)
    log_kinds = np.array([one.log_kinds for one in counts], dtype=np.float64)
    many = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1) - (count - 1) * log_kinds
    two_sided = 2 * np.minimum(at_least(count, n, law), at_most(count, n, law))
    return np.where(log_kinds > 0, np.exp(np.minimum(many, 0.0)), two_sided)
