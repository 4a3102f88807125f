"""The answer, and its evidence: a tally's estimate with log-likelihood, certificate and intervals."""

from __future__ import annotations

import importlib.util
import json
import warnings
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from warner.designs import Pooled, RandomizedResponse
from warner.designs.labels import all_labels, printable
from warner.estimators import LONG_ROW, SMALLEST, distinct, inv, inv_n, inv_p, mle
from warner.estimators.auto import VALID, Choice, choice
from warner.estimators.likelihood import Certificate, certificate, ibu, largest_growth
from warner.inference.binomial import Reading
from warner.inference.comparisons import compare, compare_groups, interval, present, top
from warner.inference.fit import doubt
from warner.inference.intervals import limits
from warner.metrics import negative_log_likelihood
from warner.reports.tallies import amount_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warner.designs import Design
    from warner.inference.comparisons import Comparison, Interval, Presence, Ranking
    from warner.reports.tallies import Tally

METHODS: dict[str, Callable[[Any, Design], NDArray[np.float64]]] = {
    "mle": mle,
    "inv": inv,
    "inv_n": inv_n,
    "inv_p": inv_p,
    "ibu": lambda counts, design: ibu(counts, design).shares,
}
BACKENDS = ("polars", "pandas", "pyarrow")
SHOWN = 20  # rows of a table in a repr
FEW = 5  # groups whose predicted errors are shown
BAR = 24  # characters of the longest bar
SECOND_OPINION = 10**5  # cells of a tally up to which a printed table asks whether `auto` would choose otherwise
WORTH_SAYING = 1.1  # how many times larger the predicted error must be for that


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What people would have answered, with what is known of how sure that is.

    Attributes
    ----------
    tally : Tally
        The counted reports, with their design.
    method : str
        The estimator: mle, inv, inv_n, inv_p, ibu or auto.
    shares : ndarray of shape (k,), or (groups, k)
        The estimated shares, in the domain's order; NaN for a group without reports.
    log_likelihood : float or ndarray of shape (groups,)
        Of the shares, in nats for all reports, without the multinomial coefficient; NaN if a share is negative.
    certificate : Certificate or None
        How far the shares are from the most likely ones; None for inv, which may not be a distribution, and where a
        group has no reports.
    choices : tuple of Choice
        For auto, what was chosen and the predicted errors of all three, for each group (with reports).
    """

    tally: Tally
    method: str
    shares: NDArray[np.float64]
    log_likelihood: Any
    certificate: Certificate | None
    choices: tuple[Choice, ...] = ()

    @property
    def design(self) -> Any:
        """What every report went through: a RandomizedResponse or a Channel."""
        return self.tally.design

    def table(
        self, level: float = 0.95, *, target: str = "population", simultaneous: bool = False
    ) -> dict[str, NDArray[Any]]:
        """Give the estimate as columns, a row for each answer (and group), in the domain's order.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.
        target : {"population", "realised"}
            Whose share the intervals are for: that of the population which the people are a sample of, or that among
            these very people.
        simultaneous : bool
            Make the intervals so wide that those of all answers of a group hold at once.

        Returns
        -------
        dict of str to ndarray
            The names of `by`, then ``value``, ``reports`` (the count), ``share``, ``people`` (the share times the
            number of reports), ``se`` (standard error of the unbiased estimate), ``low`` and ``high`` (the interval
            of the share), and ``outside``: whether the share lies outside its own interval. That is
            no error but the bias of the estimator, and common for frequent answers among many rare ones: there trust
            the interval, or compare with ``method="inv"``.

        Notes
        -----
        With weights the intervals use the effective number of reports, and are approximate.
        """
        reading = Reading(level, target, simultaneous)
        tally = self.tally
        groups = len(tally.groups) if tally.by else 1
        counts = tally.counts.reshape(groups, -1)
        reports = counts.sum(axis=-1, keepdims=True).astype(np.float64)
        shares = self.shares.reshape(groups, -1)
        found = limits(tally, reading)
        low, high = found.low, found.high
        values = all_labels(self.design.domain)
        values = np.tile(values, groups) if groups > 1 else values
        names: dict[str, NDArray[Any]] = {}
        for position, name in enumerate(tally.by):
            group = np.empty(groups, dtype=object)
            group[:] = [key[position] for key in tally.groups]
            names[name] = np.repeat(group, self.design.k)
        return names | {
            "value": values,
            **({"reports": counts.ravel()} if self.design.outputs == self.design.domain else {}),
            "share": shares.ravel(),
            "people": (shares * reports).ravel(),
            "se": found.error.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "outside": np.logical_or(shares < low, shares > high).ravel(),
        }

    def interval(
        self,
        answers: Any = None,
        *,
        level: float = 0.95,
        target: str = "population",
        simultaneous: bool = False,
        method: str | None = None,
        cumulative: bool = False,
    ) -> Interval:
        """Give the confidence interval of an answer's share, of a set of answers together, or of every answer.

        It comes from the counts, not from the estimator.

        Parameters
        ----------
        answers : label or collection of labels, optional
            One answer, or a set whose shares are added up; every answer apart if not given.
        level, target, simultaneous
            As for `table`.
        method : {"clopper_pearson", "wilson", "score"}, optional
            ``clopper_pearson``, the default, is exact in the sense of *at least*. ``wilson``, for the population, and
            ``score``, for the realised share, are approximate and narrower; the latter is the default for realised
            shares where there is noise enough for it.
        cumulative : bool
            Give the intervals of the shares of all answers up to each, in the domain's order.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> found = estimate(Tally(survey, [400, 350, 250]))
        >>> found.interval("once")
        <28.17 % to 52.19 %, 95 % interval (population), clopper_pearson>
        >>> found.interval(["once", "often"])  # at least once
        <27.55 % to 52.21 %, 95 % interval (population), clopper_pearson>
        """
        reading = Reading(level, target, simultaneous)
        return interval(self.tally, answers, reading, method=method, cumulative=cumulative)

    def compare(
        self,
        first: Any,
        second: Any = None,
        *,
        between: tuple[Any, Any] | None = None,
        level: float = 0.95,
        target: str = "population",
    ) -> Comparison:
        """Compare two answers, or one answer between two groups: difference, ratio and an exact test of equality.

        Parameters
        ----------
        first, second : label
            The answers; in each group, if there are groups.
        between : tuple of two groups, optional
            Compare the first answer between these groups, in the place of a second answer.
        level, target
            As for `table`.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> estimate(Tally(survey, [400, 350, 250])).compare("never", "often")
        'never' against 'often', approximate 95 % interval (population)
        +60.00 points, +40.36 to +79.64; 3.59 times or more; exact test of equality in the population: p = 4.4e-09
        """
        reading = Reading(level, target)
        if (second is None) == (between is None):
            raise TypeError("compare needs a second answer, or between=(group, group)")
        if between is not None:
            return compare_groups(self.tally, first, between, reading)
        return compare(self.tally, first, second, reading)

    def top(self, k: int, *, level: float = 0.95, target: str = "population") -> Ranking:
        """Tell which answers are certainly among the k commonest, and which may be.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> estimate(Tally(survey, [400, 350, 250])).top(2)
        Certainly among the 2 commonest answers (95 % confidence, population):
          never, once
        """
        return top(self.tally, k, Reading(level, target))

    def present(self, *, alpha: float = 0.05, correction: str = "holm", power: float = 0.8) -> Presence:
        """Tell which answers somebody holds: those whose reports rise above the noise.

        Parameters
        ----------
        alpha : float
            How likely any false finding may be (``holm``), or which part of the findings may be false (``bh``).
        correction : {"holm", "bh"}
            For the number of answers: Holm's always holds; Benjamini and Hochberg's finds more, and is not proven for
            counts, though no simulation has broken it.
        power : float
            For the smallest share that would have been found.

        Examples
        --------
        >>> from warner import RandomizedResponse, Tally
        >>> survey = RandomizedResponse(["never", "once", "often"], odds=(2, 1))
        >>> estimate(Tally(survey, [400, 350, 250])).present()
        Answers that somebody holds (at most 5 % chance of any false one):
          never, once
          a share of 16.65 % would be found with a probability of 80 %
        """
        return present(self.tally, alpha=alpha, correction=correction, power=power)

    def to_frame(self, backend: str | None = None, **reading: Any) -> Any:
        """Give the table as a data frame of the library that the reports came in, or of `backend`.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            If not given, the library of the reports, else the first of these that is installed.
        **reading
            ``level``, ``target`` and ``simultaneous``, as for `table`.
        """
        if backend is not None and backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, but got {backend!r}")
        installed = [name for name in BACKENDS if importlib.util.find_spec(name)]
        chosen = backend or self.tally.backend or next(iter(installed), "polars, pandas or pyarrow")
        if chosen not in installed:
            raise ImportError(f"a data frame needs {chosen}, which is not installed")
        table = self.table(**reading)
        columns: Any = {name: column.tolist() if column.dtype == object else column for name, column in table.items()}
        library: Any = chosen
        return nw.from_dict(columns, backend=library).to_native()

    def to_json(self, **reading: Any) -> str:
        """Write the estimate as JSON: design, method, reports, what the intervals are, and a list of values."""
        return json.dumps(self.to_dict(**reading), ensure_ascii=False, indent=1)

    def to_dict(self, **reading: Any) -> dict[str, Any]:
        """Give the estimate as what JSON can hold; ``reading`` as for `table`."""
        read = Reading(**reading)
        table = {name: column.tolist() for name, column in self.table(**reading).items()}
        by = self.tally.by
        rows = []
        for i in range(len(table["value"])):
            names = ("value", "reports", "share", "low", "high")
            row = {name: _finite(table[name][i]) for name in names if name in table}
            rows.append(({"group": {name: table[name][i] for name in by}} if by else {}) | row)
        chosen = {"choices": [found._asdict() for found in self.choices]} if self.choices else {}
        return {
            "design": json.loads(self.design.to_json()),
            "method": self.method,
            **chosen,
            "reports": np.asarray(self.tally.reports).sum().item(),
            "missing": int(np.sum(self.tally.missing)),
            "unknown": int(np.sum(self.tally.unknown)),
            "level": read.level,
            "target": read.target,
            "simultaneous": read.simultaneous,
            "approximate": self._approximate(read),
            "warnings": [said] if (said := doubt(self.tally)) else [],
            "values": rows,
        }

    def __repr__(self) -> str:
        return self.text()

    def text(self, *, rows: int = 20, **reading: Any) -> str:
        """Write the estimate as a table for people, the largest shares first, with a bar for each."""
        read = Reading(**reading)
        table = self.table(**reading)
        order = self._order(table, rows)
        labels = [self._label(table, i) for i in order]
        width = min(max([len(label) for label in labels] + [5]), 40)
        largest = np.nanmax(np.append(table["share"], 1e-9))
        counted = "reports" in table  # where reports are answers
        about = "approximate " if self._approximate(read) else ""
        head = f"  {'reports':>10}" if counted else ""
        lines = [self._heading(), f"{'value':{width}}{head}  {'share':>7}  {about}{read}"]
        for label, i in zip(labels, order, strict=True):
            share = table["share"][i]
            if share != share:
                lines.append(f"{label:{width}}  no reports")
                continue
            bar = "█" * round(BAR * max(share, 0) / largest)
            mark = "*" if table["outside"][i] else " "
            interval = f"{100 * table['low'][i]:6.2f} to {100 * table['high'][i]:6.2f} %{mark}"
            short = label if len(label) <= width else label[: width - 3] + "..."
            reports = f"  {amount_text(table['reports'][i]):>10}" if counted else ""
            lines.append(f"{short:{width}}{reports}  {100 * share:6.2f}%  {interval}  {bar}".rstrip())
        if len(order) < len(table["value"]):
            lines.append(f"... and {len(table['value']) - len(order):,} more")
        if table["outside"][order].any():
            reason = (
                "a negative share, which no interval holds" if self.method == "inv" else "the bias of this estimator"
            )
            lines.append(f"* outside its own interval: {reason}")
        if self.tally.squares is not None:
            lines.append(f"intervals are approximate: weights count as {_together(self.tally.effective)} reports")
        if said := doubt(self.tally):
            lines.append(f"warning: {said}")
        return "\n".join(lines + self._second_opinion())

    def plot(self, **options: Any) -> Any:
        """Draw the estimate beside the raw reports; see `warner.output.plots.plot`."""
        from warner.output.plots import plot

        return plot(self, **options)

    def _repr_html_(self) -> str:
        table = self.table()
        counted = ("reports",) if "reports" in table else ()
        heads = "".join(f"<th>{name}</th>" for name in ("value", *counted, "share", "low (95 %)", "high"))
        rows = []
        for i in self._order(table, SHOWN):
            percents = (f"{100 * table[name][i]:.2f} %" for name in ("share", "low", "high"))
            reports = (amount_text(table[name][i]) for name in counted)
            cells = "".join(f"<td>{text}</td>" for text in (*reports, *percents))
            rows.append(f"<tr><th scope='row'>{escape(self._label(table, i))}</th>{cells}</tr>")
        body = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return f"<p>{escape(self._heading())}</p>{body}"

    def _heading(self) -> str:
        tally = self.tally
        reports = np.asarray(tally.reports).sum()
        amount = amount_text(reports) + ("" if tally.squares is None else " weighted")
        left_out = [
            f"{int(np.sum(number)):,} {name} left out"
            for name, number in (("missing", tally.missing), ("unknown", tally.unknown))
            if np.any(number)
        ]
        grouped = [f"{len(tally.groups):,} groups by {', '.join(tally.by)}"] if tally.by else []
        told = f"{amount} reports among {self.design.k:,} answers, epsilon {self.design.shown_epsilon()}"
        return ", ".join([f"Estimate ({self.name()}) from {told}", *grouped, *left_out])

    def name(self) -> str:
        """Name the estimator; for auto, also what it chose."""
        taken = list(dict.fromkeys(found.method for found in self.choices))
        return f"{self.method}: {', '.join(taken)}" if taken else self.method

    def _approximate(self, read: Reading) -> bool:
        """Tell whether intervals hold only about at their level: because of weights, or of how they are computed."""
        return self.tally.squares is not None or limits(self.tally, read, sets=[[0]]).approximate

    def _second_opinion(self) -> list[str]:
        """Say what auto went by, or that it would choose otherwise."""
        if self.choices:
            return [_predicted(self.choices)]
        method = {"ibu": "mle"}.get(self.method, self.method)
        plain = isinstance(self.design, RandomizedResponse)
        if method not in VALID or not plain or self.tally.counts.size > SECOND_OPINION:
            return []
        found = _choices(self.tally, None)
        least = 1e-28  # an error of nothing is the error of rounding
        pairs = [(other.errors[method], other.errors[other.method]) for other in found if other.method != method]
        times = [mine / max(best, least) for mine, best in pairs]
        if not times or max(times) < WORTH_SAYING:
            return []
        names = ", ".join(dict.fromkeys(other.method for other in found if other.method != method))
        where = f" in {len(times)} of {len(found)} groups" if self.tally.by else ""
        factor = f"up to {max(times):.2g}" if len(times) > 1 else f"{max(times):.2g}"
        told = f"predicted squared error of {method} about {factor} times larger"
        return [f'method="auto" would take {names}{where}: {told}']

    def _order(self, table: dict[str, NDArray[Any]], rows: int) -> NDArray[np.intp]:
        """Choose the rows to show: the largest shares first, group by group."""
        group = np.repeat(np.arange(table["value"].size // self.design.k), self.design.k)
        return np.lexsort((-table["share"], group))[:rows]

    def _label(self, table: dict[str, NDArray[Any]], row: int) -> str:
        label = " / ".join(str(table[name][row]) for name in (*self.tally.by, "value"))
        return printable(label)


def estimate(tally: Tally, *, method: str = "mle", rng: np.random.Generator | None = None) -> Estimate:
    """Estimate the true shares behind counted reports.

    Parameters
    ----------
    tally : Tally
        The reports; each group is estimated apart.
    method : {"mle", "inv", "inv_n", "inv_p", "ibu", "auto"}
        Which estimator; `warner.estimators` says which to use when. ``auto`` draws surveys from what the reports
        suggest, and takes `mle`, `inv_p` or `inv_n`, in each group, by the smallest error in these.
    rng : numpy.random.Generator, optional
        The randomness for ``auto``; seeded from the counts if not given, so that the choice can be repeated.

    Warns
    -----
    UserWarning
        If an answer was reported so rarely that the reports cannot have gone through the design; see `check`.

    Examples
    --------
    >>> from warner import RandomizedResponse, Tally
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> found = estimate(Tally(survey, [40, 60]))
    >>> found.shares
    array([0.3, 0.7])
    >>> found
    Estimate (mle) from 100 reports among 2 answers, epsilon 1.099
    value     reports    share  95 % interval (population)
    no             60   70.00%   49.44 to  89.34 %   ████████████████████████
    yes            40   30.00%   10.66 to  50.56 %   ██████████
    """
    if method not in METHODS and method != "auto":
        raise ValueError(f"method must be one of {', '.join(METHODS)}, auto, but got {method!r}")
    found = _estimated(tally, method, rng)
    if said := doubt(tally):
        warnings.warn(said, stacklevel=2)
    return found


def _estimated(tally: Tally, method: str, rng: np.random.Generator | None = None) -> Estimate:
    design, counts = tally.design, tally.counts
    answered = np.asarray(tally.reports) > 0
    if not answered.any():
        left_out = f" ({int(np.sum(tally.missing)):,} were missing, {int(np.sum(tally.unknown)):,} unknown)"
        raise ValueError(f"the tally must hold at least one report, but there is none{left_out}")
    if method == "auto":
        return _auto(tally, rng)
    solver = METHODS[method]
    if counts.ndim == 1:
        shares = solver(counts, design)
        if counts.dtype == np.int64 and design.k > LONG_ROW and isinstance(design, RandomizedResponse):
            return Estimate(tally, method, shares, *_evidence_by_count(shares, counts, design, valid=method != "inv"))
        fit = -float(tally.reports) * float(negative_log_likelihood(shares, counts, design))
        proof = None if method == "inv" else certificate(shares, counts, design)
        return Estimate(tally, method, shares, fit, proof)
    shares = np.full((len(counts), design.k), np.nan)
    fits = np.full(len(counts), np.nan)
    some = counts[answered]
    shares[answered] = np.array([solver(row, design) for row in some]) if method == "ibu" else solver(some, design)
    fits[answered] = -some.sum(axis=-1) * negative_log_likelihood(shares[answered], some, design)
    proof = certificate(shares, counts, design) if method != "inv" and answered.all() else None
    return Estimate(tally, method, shares, fits, proof)


def _auto(tally: Tally, rng: np.random.Generator | None) -> Estimate:
    """Take for each group the estimator with the smallest predicted error."""
    if isinstance(tally.design, Pooled):
        raise TypeError('method must not be "auto" for pooled collections, for which no surveys are drawn; take mle')
    choices = _choices(tally, rng)
    found = {name: _estimated(tally, name) for name in dict.fromkeys(chosen.method for chosen in choices)}
    if len(found) == 1:
        return replace(next(iter(found.values())), method="auto", choices=choices)
    shares, fits = np.full((len(tally.counts), tally.design.k), np.nan), np.full(len(tally.counts), np.nan)
    for row, chosen in zip(np.flatnonzero(tally.reports > 0), choices, strict=True):
        shares[row], fits[row] = found[chosen.method].shares[row], found[chosen.method].log_likelihood[row]
    proof = certificate(shares, tally.counts, tally.design) if len(choices) == len(shares) else None
    return Estimate(tally, "auto", shares, fits, proof, choices)


def _choices(tally: Tally, rng: np.random.Generator | None) -> tuple[Choice, ...]:
    rows = zip(np.atleast_2d(tally.counts), np.atleast_1d(tally.effective), strict=True)
    return tuple(choice(counts, tally.design, n=n, rng=rng) for counts, n in rows if n > 0)


def _predicted(choices: tuple[Choice, ...]) -> str:
    """Show predicted errors to one digit: they are no better than orders of magnitude."""
    if len(choices) == 1:
        ((name, errors),) = choices
        listed = ", ".join(f"{other} {error:.0e}" for other, error in errors.items())
        return f"auto took {name}; predicted squared errors (orders of magnitude): {listed}"
    taken = [found.method for found in choices]
    listed = ", ".join(f"{name} in {taken.count(name)}" for name in VALID if name in taken)
    shown = "; ".join(", ".join(f"{name} {error:.0e}" for name, error in one.errors.items()) for one in choices[:FEW])
    more = "; ..." if len(choices) > FEW else ""
    predicted = f"predicted squared errors (orders of magnitude), group by group: {shown}{more}"
    return f"auto took {listed} of {len(choices)} groups; {predicted}"


def _together(effective: Any) -> str:
    return f"{float(np.sum(effective)):,.1f}"


def _evidence_by_count(
    shares: NDArray[np.float64], counts: NDArray[np.int64], design: RandomizedResponse, *, valid: bool
) -> tuple[float, Certificate | None]:
    """Give log-likelihood and certificate from the distinct counts: equal counts have equal shares."""
    values, repeats, slots, index = distinct(counts, int(counts.max()))
    table = np.empty(slots[-1] + 1)
    table[index] = shares
    share = table[slots]
    n = repeats @ values
    fit = np.nan
    if share.min() >= 0:
        fit = float((repeats * values) @ np.log(np.maximum(design.q + (design.p - design.q) * share, SMALLEST)))
    if not valid:
        return fit, None
    growth = float(largest_growth(values, share / (repeats @ share), n, design, repeats))
    a, b = design.odds
    unique = a > b or int(repeats[values == 0].sum()) <= 1
    return fit, Certificate(growth - 1, float(n * np.log(max(growth, 1.0))), unique)


def _finite(value: Any) -> Any:
    """Write what is not a number, such as the share of a group without reports, as null."""
    return None if isinstance(value, float) and value != value else value
