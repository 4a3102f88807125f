"""The answer, and its evidence: a tally's estimate with log-likelihood, certificate and intervals."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from warner.design import RandomizedResponse
from warner.em import Certificate, certificate, ibu, largest_growth
from warner.estimators import LONG_ROW, SMALLEST, distinct, inv, inv_n, inv_p, mle
from warner.intervals import check_level, interval_and_error
from warner.labels import all_labels
from warner.metrics import negative_log_likelihood
from warner.tally import amount_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from warner.design import Design
    from warner.tally import Tally

METHODS: dict[str, Callable[[Any, Design], NDArray[np.float64]]] = {
    "mle": mle,
    "inv": inv,
    "inv_n": inv_n,
    "inv_p": inv_p,
    "ibu": lambda counts, design: ibu(counts, design).shares,
}
BACKENDS = ("polars", "pandas", "pyarrow")
SHOWN = 20  # rows of a table in a repr
BAR = 24  # characters of the longest bar


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What people would have answered, with what is known of how sure that is.

    Attributes
    ----------
    tally : Tally
        The counted reports, with their design.
    method : str
        The estimator: mle, inv, inv_n, inv_p or ibu.
    shares : ndarray of shape (k,), or (groups, k)
        The estimated shares, in the domain's order; NaN for a group without reports.
    log_likelihood : float or ndarray of shape (groups,)
        Of the shares, in nats for all reports, without the multinomial coefficient; NaN if a share is negative.
    certificate : Certificate or None
        How far the shares are from the most likely ones; None for inv, which may not be a distribution, and where a
        group has no reports.
    """

    tally: Tally
    method: str
    shares: NDArray[np.float64]
    log_likelihood: Any
    certificate: Certificate | None

    @property
    def design(self) -> Any:
        """What every report went through: a RandomizedResponse or a Channel."""
        return self.tally.design

    def table(self, level: float = 0.95) -> dict[str, NDArray[Any]]:
        """Give the estimate as columns, a row for each answer (and group), in the domain's order.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        dict of str to ndarray
            The names of `by`, then ``value``, ``reports`` (the count), ``share``, ``people`` (the share times the
            number of reports), ``se`` (standard error of the unbiased estimate), ``low`` and ``high`` (exact interval
            for the share in the population), and ``outside``: whether the share lies outside its own interval. That is
            no error but the bias of the estimator, and common for frequent answers among many rare ones: there trust
            the interval, or compare with ``method="inv"``.

        Notes
        -----
        With weights the intervals use the effective number of reports, and are approximate.
        """
        tally = self.tally
        groups = len(tally.groups) if tally.by else 1
        counts = tally.counts.reshape(groups, -1)
        reports = counts.sum(axis=-1, keepdims=True).astype(np.float64)
        shares = self.shares.reshape(groups, -1)
        check_level(level)
        answered = reports[:, 0] > 0
        some: Any = slice(None) if answered.all() else answered  # a group without reports has no interval
        scaled, n = counts[some], reports[some]
        if tally.squares is not None:  # Kish's effective number of reports, n^2 / sum of w^2, in the place of n
            squares = np.asarray(tally.squares, dtype=np.float64).reshape(groups, 1)[some]
            scaled, n = scaled * (n / squares), n**2 / squares
        low, high, error = interval_and_error(scaled, n, self.design, level)
        if not answered.all():
            known, (low, high, error) = (low, high, error), np.full((3, *shares.shape), np.nan)
            low[some], high[some], error[some] = known
        values = all_labels(self.design.domain)
        values = np.tile(values, groups) if groups > 1 else values
        names: dict[str, NDArray[Any]] = {}
        for position, name in enumerate(tally.by):
            group = np.empty(groups, dtype=object)
            group[:] = [key[position] for key in tally.groups]
            names[name] = np.repeat(group, self.design.k)
        return names | {
            "value": values,
            "reports": counts.ravel(),
            "share": shares.ravel(),
            "people": (shares * reports).ravel(),
            "se": error.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "outside": np.logical_or(shares < low, shares > high).ravel(),
        }

    def to_frame(self, backend: str | None = None, *, level: float = 0.95) -> Any:
        """Give the table as a data frame of the library that the reports came in, or of `backend`.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            If not given, the library of the reports, else the first of these that is installed.
        level : float
            Confidence level of the intervals.
        """
        if backend is not None and backend not in BACKENDS:
            msg = f"backend must be one of {', '.join(BACKENDS)}, but got {backend!r}"
            raise ValueError(msg)
        installed = [name for name in BACKENDS if importlib.util.find_spec(name)]
        chosen = backend or self.tally.backend or next(iter(installed), "polars, pandas or pyarrow")
        if chosen not in installed:
            msg = f"a data frame needs {chosen}, which is not installed"
            raise ImportError(msg)
        table = self.table(level)
        columns: Any = {name: column.tolist() if column.dtype == object else column for name, column in table.items()}
        library: Any = chosen
        return nw.from_dict(columns, backend=library).to_native()

    def to_json(self, *, level: float = 0.95) -> str:
        """Write the estimate as JSON: design, method, reports, missing, unknown, level, and a list of values."""
        table = {name: column.tolist() for name, column in self.table(level).items()}
        by = self.tally.by
        rows = []
        for i in range(len(table["value"])):
            row = {name: _finite(table[name][i]) for name in ("value", "reports", "share", "low", "high")}
            rows.append(({"group": {name: table[name][i] for name in by}} if by else {}) | row)
        document = {
            "design": json.loads(self.design.to_json()),
            "method": self.method,
            "reports": np.asarray(self.tally.reports).sum().item(),
            "missing": int(np.sum(self.tally.missing)),
            "unknown": int(np.sum(self.tally.unknown)),
            "level": level,
            "values": rows,
        }
        return json.dumps(document, ensure_ascii=False, indent=1)

    def __repr__(self) -> str:
        return self.text()

    def text(self, *, level: float = 0.95, rows: int = 20) -> str:
        """Write the estimate as a table for people, the largest shares first, with a bar for each."""
        table = self.table(level)
        order = self._order(table, rows)
        labels = [self._label(table, i) for i in order]
        width = min(max([len(label) for label in labels] + [5]), 40)
        largest = np.nanmax(np.append(table["share"], 1e-9))
        lines = [self._heading(), f"{'value':{width}}  {'reports':>10}  {'share':>7}  {100 * level:g} % interval"]
        for label, i in zip(labels, order, strict=True):
            share = table["share"][i]
            bar = "█" * round(BAR * max(share, 0) / largest) if share == share else "no reports"  # noqa: PLR0124
            mark = "*" if table["outside"][i] else " "
            interval = f"{100 * table['low'][i]:6.2f} to {100 * table['high'][i]:6.2f} %{mark}"
            short = label if len(label) <= width else label[: width - 3] + "..."
            reports = amount_text(table["reports"][i])
            lines.append(f"{short:{width}}  {reports:>10}  {100 * share:6.2f}%  {interval}  {bar}".rstrip())
        if len(order) < len(table["value"]):
            lines.append(f"... and {len(table['value']) - len(order):,} more")
        if table["outside"][order].any():
            reason = (
                "a negative share, which no interval holds" if self.method == "inv" else "the bias of this estimator"
            )
            lines.append(f"* outside its own interval: {reason}")
        return "\n".join(lines)

    def plot(self, *, level: float = 0.95, **options: Any) -> Any:
        """Draw the estimate beside the raw reports; see `warner.plot.plot`."""
        from warner.plot import plot  # noqa: PLC0415 - a step to the right, for convenience

        return plot(self, level=level, **options)

    def _repr_html_(self) -> str:
        table = self.table()
        heads = "".join(f"<th>{name}</th>" for name in ("value", "reports", "share", "low (95 %)", "high"))
        rows = []
        for i in self._order(table, SHOWN):
            percents = (f"{100 * table[name][i]:.2f} %" for name in ("share", "low", "high"))
            cells = "".join(f"<td>{text}</td>" for text in (amount_text(table["reports"][i]), *percents))
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
        return ", ".join([f"Estimate ({self.method}) from {told}", *grouped, *left_out])

    def _order(self, table: dict[str, NDArray[Any]], rows: int) -> NDArray[np.intp]:
        """Choose the rows to show: the largest shares first, group by group."""
        group = np.repeat(np.arange(table["value"].size // self.design.k), self.design.k)
        return np.lexsort((-table["share"], group))[:rows]

    def _label(self, table: dict[str, NDArray[Any]], row: int) -> str:
        label = " / ".join(str(table[name][row]) for name in (*self.tally.by, "value"))
        # Control characters could play tricks with a terminal.
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in label)


def estimate(tally: Tally, *, method: str = "mle") -> Estimate:
    """Estimate the true shares behind counted reports.

    Parameters
    ----------
    tally : Tally
        The reports; each group is estimated apart.
    method : {"mle", "inv", "inv_n", "inv_p", "ibu"}
        Which estimator; `warner.estimators` says which to use when.

    Examples
    --------
    >>> from warner import RandomizedResponse, Tally
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> found = estimate(Tally(survey, [40, 60]))
    >>> found.shares
    array([0.3, 0.7])
    >>> found
    Estimate (mle) from 100 reports among 2 answers, epsilon 1.099
    value     reports    share  95 % interval
    no             60   70.00%   49.44 to  89.34 %   ████████████████████████
    yes            40   30.00%   10.66 to  50.56 %   ██████████
    """
    if method not in METHODS:
        msg = f"method must be one of {', '.join(METHODS)}, but got {method!r}"
        raise ValueError(msg)
    design, counts = tally.design, tally.counts
    answered = np.asarray(tally.reports) > 0
    if not answered.any():
        left_out = f" ({int(np.sum(tally.missing)):,} were missing, {int(np.sum(tally.unknown)):,} unknown)"
        msg = f"the tally must hold at least one report, but there is none{left_out}"
        raise ValueError(msg)
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
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124
