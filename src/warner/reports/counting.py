"""Reports to counts: from an array, any data frame, a file or an engine that has them.

Counting is somebody else's job (`queries`): only counted rows come to Python. What a value means is asked of the
design's `report_form`; which counts a report adds to, of the design itself.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, Unpack, overload

import narwhals as nw
import numpy as np

from warner.designs.open.open_domain import OpenDomain
from warner.reports.amounts import refuse_bad_amounts
from warner.reports.batches import (
    FileReports,
    batches,
    counted_on_cluster,
    no_rows,
    on_cluster,
    read_batch,
    stamped,
)
from warner.reports.counts import refuse_amounts, refuse_overflow
from warner.reports.dialects import Dialect, dialect
from warner.reports.files import engine_errors, is_sqlite, open_files
from warner.reports.invalid_values import refuse_unknown, unknown_values
from warner.reports.labelled import with_value_labels
from warner.reports.open_tallies import OpenTally, tally_open
from warner.reports.paths import are_places, places_of, shown
from warner.reports.pools import Pool, pool
from warner.reports.queries import (
    Table,
    categories_as_numbers,
    columns_among,
    count_rows,
    refuse_types,
    resolve_columns,
)
from warner.reports.stored import StoredReports
from warner.reports.subtotals import NOTHING, Rows, added, grouped, subtotal
from warner.reports.tallies import Tally, refuse_design
from warner.reports.versions import only, refuse_other_versions, refuse_strange, rows_where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warner.arrays import Counts, Integers, PerGroup
    from warner.designs import Design
    from warner.reports.queries import Columns, Frame
    from warner.reports.subtotals import Subtotal

GROUP = "group"  # the name of an unnamed grouping array
HELD_BYTES = 2**24  # of a file's reports that are kept in memory; it is read again where there are more

Columnar: TypeAlias = Any  # the name of a column, or for arrays an array


class TallyOptions(TypedDict, total=False):
    """The options of `tally`, for types: what it returns depends on the designs."""

    column: str | None
    question: str | None
    by: Columnar
    weights: Columnar
    counts: Columnar
    codes: bool
    unknown: str
    keep: bool
    encoding: str | None
    decimal: str
    missing: Any
    sheet: str | None
    where: Mapping[str, Any] | None


@overload
def tally(reports: Any, design: OpenDomain, **options: Unpack[TallyOptions]) -> OpenTally: ...
@overload
def tally(reports: Any, design: Mapping[str, Design], **options: Unpack[TallyOptions]) -> Tally | Pool: ...
@overload
def tally(reports: Any, design: Design | None = None, **options: Unpack[TallyOptions]) -> Tally: ...
@overload
def tally(
    reports: Any, design: Design | Mapping[str, Design] | None, **options: Unpack[TallyOptions]
) -> Tally | Pool: ...
def tally(
    reports: Any,
    design: Design | OpenDomain | Mapping[str, Design] | None = None,
    *,
    column: str | None = None,
    question: str | None = None,
    by: Columnar = None,
    weights: Columnar = None,
    counts: Columnar = None,
    codes: bool = False,
    unknown: str = "error",
    keep: bool = False,
    encoding: str | None = None,
    decimal: str = ".",
    missing: Any = (),
    sheet: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> Tally | Pool | OpenTally:
    """Count reports.

    Parameters
    ----------
    reports : sequence, array, mapping, series, data frame, table or path
        A list or NumPy array of reports; a mapping of names to columns, as `regress` takes it; a pandas, Polars (eager
        or lazy), PyArrow or DuckDB frame or series; an Ibis table; a Dask or Spark data frame; the path, folder or glob
        of CSV, Parquet or JSON files, gzipped or not, or of Excel, SPSS, Stata or SAS files; or a list of
        ``pathlib.Path`` objects. Folders such as ``day=1`` stand for a column.
        Reports that are sets of answers are hexadecimal strings or bytes, as `randomize` writes them. Or the database
        of a survey, which ``warner collect`` keeps: its file, or a URL ``postgresql://...``. Its published counts are
        read, beside a running survey or not, and nothing is changed.
    design : Design or OpenDomain
        What every report went through; reports of an `OpenDomain`, a list or an array of them, give an `OpenTally`. It
        may be left out for the database of a survey, which has it. If that differs
        among people, the designs by the names that the first column of `by` has, as ``{"dice": ..., "direct": ...}``:
        the result is a `Pool`, with a tally for each design, which `warner.estimate` estimates together.
    column : str, optional
        The column that holds the reports; may be left out where there is only one.
    question : str, optional
        The id of a question, in the database of a survey; may be left out where there is only one. Whoever skipped it
        is missing.
    by : str or list of str, optional
        Columns to group by; a missing value is a group. With several designs, the first column names the design of each
        row, and reports are grouped by the others. For arrays: an array of the same length, or a mapping of names
        to such arrays. For the database of a survey: groups that were asked for.
    weights : str, optional
        A column of survey weights (for arrays: an array). Negative and missing weights are an error.
    counts : str, optional
        A column that already holds how often each value was reported (for arrays: an array).
    codes : bool
        The reports are positions in the domain instead of labels; sets are rows of packed bits (uint8).
    unknown : {"error", "drop"}
        What to do with values that no report can have: refuse them, or leave them out and count them.
    keep : bool
        Keep the reports for maximum likelihood, which under some designs does not follow from the counts: those of a
        large file stay where they are, and are read again at every pass; all others are held in memory, a bit for each
        answer. Nothing is kept where the counts, or the kinds of reports, say it all.
    encoding : str, optional
        The encoding of a text file that is not in UTF-8, such as ``"cp1252"``, as Excel writes them, or ``"utf-16"``.
        SPSS, Stata and SAS files mostly tell theirs.
    decimal : {".", ","}
        The decimal mark of the weights in a text file.
    missing : str, number, or list of these
        Codes that stand for a missing value, such as ``[-99, "NA"]``, in all columns that are read.
    sheet : str, optional
        The sheet of an Excel file (.xlsx, .xlsm); may be left out where there is only one.
    where : mapping of str to value, optional
        Count only the rows in which these columns have these values, such as ``{"version": "dice"}``.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> tally(["no", "no", None, "yes"], survey)
    <Tally of 3 reports among 2 answers: 1 'yes', 2 'no'; 1 missing>
    >>> tally({"report": ["yes", "no"], "times": [40, 60]}, survey, counts="times")
    <Tally of 100 reports among 2 answers: 40 'yes', 60 'no'>
    """
    if unknown not in {"error", "drop"}:
        raise ValueError(f'unknown must be "error" or "drop", but got {unknown!r}')
    if isinstance(design, OpenDomain):
        if not isinstance(reports, list | tuple | np.ndarray):
            raise TypeError(f"reports of an open domain must be a list or an array, but got a {type(reports).__name__}")
        if weights is not None or keep or where or column or question or missing:
            raise TypeError("reports of an open domain can be counted by groups and counts, and no other options")
        return _tally_open(reports, design, by, counts, codes=codes, drop=unknown == "drop")
    if isinstance(design, Mapping):
        options: TallyOptions = {"column": column, "weights": weights, "counts": counts, "codes": codes}
        options |= {"unknown": unknown, "keep": keep, "encoding": encoding, "decimal": decimal, "missing": missing}
        options |= {"sheet": sheet, "where": where, "question": question}
        return _tally_designs(reports, design, by, options)
    if isinstance(reports, str | os.PathLike):
        place = os.fspath(reports)
        if question is not None or is_survey(place):
            others = {"column": column, "weights": weights, "counts": counts, "codes": codes or None}
            others |= {"encoding": encoding, "missing": missing or None, "sheet": sheet, "where": where}
            return _tally_survey(place, question, design, by, others, keep=keep)
    if question is not None:
        raise TypeError(f"question is for the database of a survey, but reports is a {type(reports).__name__}")
    refuse_design(design, "tally(reports, design)")
    assert design is not None
    if weights is not None and counts is not None:
        raise TypeError("give weights (how much a report stands for) or counts (how often it was made), not both")
    wrote = dialect(encoding, decimal, missing, sheet)
    if wrote.missing:
        wrote.refuse_reports(design.report_form)
    keep, some = keep and design.sufficient is None, dict(where or {})
    asked = _Options(by, weights, counts, codes, unknown == "drop", keep, wrote, some)
    if are_places(reports):
        with engine_errors(shown(places_of(reports))):
            if not wrote.plain:
                with wrote.opened(reports, [] if weights is None else [weights]) as source:
                    return _tally_source(source, design, column, asked)
            source = open_files(reports, columns_only=design.report_form.kinds is None and not some)
            return _tally_source(source, design, column, asked)
    if wrote != Dialect(missing=wrote.missing):
        raise TypeError(f"encoding, decimal and sheet are for files, but reports is a {type(reports).__name__}")
    if isinstance(reports, list | tuple | range | np.ndarray):
        if column is not None:
            raise TypeError(f"column must be left out for a sequence of reports, but got {column!r}")
        if some:
            raise TypeError("where names columns, and must be left out for a sequence of reports")
        return _tally_array(reports, design, asked)
    if isinstance(reports, Mapping):
        return _tally_mapping(rows_where(reports, some) if some else reports, design, column, asked)
    with engine_errors("the table of reports"):
        return _tally_frame(reports, design, column, asked)


def _tally_designs(reports: Any, designs: Mapping[str, Design], by: Columnar, options: TallyOptions) -> Tally | Pool:
    """Count the reports of each design, in the rows where a column has its name, and pool them."""
    columns = [by] if isinstance(by, str) else list(by) if isinstance(by, list | tuple) else []
    if not designs or not columns or not all(isinstance(name, str) for name in columns):
        raise TypeError(
            'by must be given with several designs: the column that names the design of each row, as by="version", and '
            "then columns to group by"
        )
    version, *groups = columns
    where, names = options.get("where") or {}, [str(name) for name in designs]
    if are_places(reports):
        wrote = dialect(options["encoding"], options["decimal"], (), options["sheet"])
        with engine_errors(shown(places_of(reports))), wrote.opened(reports, []) as source:
            refuse_other_versions(with_value_labels(source, {}, [version, *where]), version, where, names)
    elif isinstance(reports, Mapping):
        refuse_strange(Counter(rows_where(reports, where).get(version, ())), names)
    elif isinstance(reports, list | tuple | range | np.ndarray):
        raise TypeError("with several designs, reports must be a table, one of whose columns names the design")
    else:
        refuse_other_versions(Table(reports), version, where, names)
    parts = []
    for name, design in zip(names, designs.values(), strict=True):
        options |= {"where": {**where, version: name}, "by": groups or None}
        parts.append(tally(reports, design, **options))
    return pool(parts)


def _tally_mapping(columns: Mapping[str, Any], design: Design, column: str | None, options: _Options) -> Tally:
    """Count the reports of columns by name: sequences or arrays of one length."""
    single = [name for name, values in columns.items() if isinstance(values, str) or not hasattr(values, "__len__")]
    if single or not columns:
        found = f"that of {single[0]!r} is of type {type(columns[single[0]]).__name__}" if single else "there is none"
        raise TypeError(
            "reports, as a mapping, must have a column of values for each name, with column= for that of the reports, "
            f"but {found}; for numbers of reports by label, such as {{'yes': 40, 'no': 60}}, give a list of the labels "
            "and counts=, a list of the numbers"
        )
    values = {name: column.to_list() if hasattr(column, "to_list") else column for name, column in columns.items()}
    groups = [options.by] if isinstance(options.by, str) else list(options.by or ())
    role = columns_among(list(values), column, [*groups, *options.where], options.weights, options.counts)
    role = role._replace(by=tuple(groups))
    by = {name: values[name] for name in role.by} if role.by else None
    weights, counts = (None if name is None else values[name] for name in (role.weights, role.counts))
    return _tally_array(values[role.value], design, options._replace(by=by, weights=weights, counts=counts))


def _tally_frame(reports: Any, design: Design, column: str | None, options: _Options) -> Tally:
    """Count the reports of a data frame, a series or a table of any library."""
    try:
        frame: Frame = nw.from_native(reports, allow_series=True)
    except TypeError:
        raise TypeError(
            "reports must be a sequence, an array, a data frame, a table or the path of a file, but got "
            f"{type(reports).__module__}.{type(reports).__name__}"
        ) from None
    if isinstance(frame, nw.Series):
        frame = frame.alias(column or frame.name or "report").to_frame()
    library = {"dask": "pandas"}.get(str(frame.implementation), str(frame.implementation))
    options = options._replace(backend=library if library in {"pandas", "polars", "pyarrow"} else None)
    source = Table(frame)
    wrote = options.dialect
    return _tally_source(wrote.applied(source) if wrote.missing else source, design, column, options)


def is_survey(place: str) -> bool:
    """Tell whether counts of a survey may be there: an SQLite file, or the URL of a PostgreSQL database."""
    if "://" not in place:
        return is_sqlite(Path(place))
    from warner.service.stores import is_url

    return is_url(place)


def _tally_survey(
    place: str, question: str | None, design: Design | None, by: Columnar, others: dict[str, Columnar], *, keep: bool
) -> Tally:
    from warner.service.published import published_tally

    for name, value in others.items():
        if value is not None:
            raise TypeError(
                f"{name} must be left out for the database of a survey, which has counts, but got {value!r}"
            )
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    result = published_tally(place, question, by=names, design=design)
    if keep and result.design.sufficient is None:
        raise TypeError(
            "keep must be left out for the database of a survey, which has counts and no reports; use an estimator "
            "that needs counts alone (inv_p)"
        )
    return result


class _Options(NamedTuple):
    by: Columnar
    weights: Columnar
    counts: Columnar
    codes: bool
    drop: bool
    keep: bool
    dialect: Dialect
    where: Mapping[str, Any] = NOTHING
    backend: str | None = None  # the library that the reports came in


def _finished(
    total: Subtotal, design: Design, by: tuple[str, ...], options: _Options, kept: StoredReports | None = None
) -> Tally:
    """Make the tally of all that was counted, unless something in it must be refused."""
    refuse_amounts("counts" if options.weights is None else "weights", total.bad)
    refuse_overflow(total.roughly)
    if not options.drop:
        refuse_unknown(int(total.unknown.sum()), dict(total.strange), design.report_form)
    return total.tally(design, by, kept=kept, backend=options.backend)


# Sequences and arrays


def _tally_array(reports: Any, design: Design, options: _Options) -> Tally:
    reports = options.dialect.blanked(reports)
    rows = Rows(*design.report_form.read(reports, codes=options.codes))
    if options.keep and options.codes:
        rows = rows._replace(reports=rows.reports.copy())  # nobody else can change it
    size = rows.status.size
    if options.counts is not None:
        rows = rows._replace(number=_whole_numbers(options.counts, size))
    if options.weights is not None:
        weight = _same_length("weights", options.weights, size).astype(np.float64)
        refuse_amounts("weights", int((~(weight >= 0) | np.isinf(weight)).sum()))
        rows = rows._replace(weight=weight)
    by: tuple[str, ...] = ()
    if options.by is not None:
        arrays = options.by if isinstance(options.by, Mapping) else {GROUP: options.by}
        by = tuple(arrays)
        groups, place = grouped([_values(name, array, size) for name, array in arrays.items()])
        rows = rows._replace(groups=groups, place=place)
    total = subtotal(design, rows)._replace(strange=unknown_values(reports, rows.status, rows.number))
    return _finished(total, design, by, options, _held([rows], total, options))


def _tally_open(
    reports: Any, design: OpenDomain, by: Columnar, counts: Columnar, *, codes: bool, drop: bool
) -> OpenTally:
    size = len(reports)
    number = None if counts is None else _whole_numbers(counts, size)
    arrays = None if by is None else by if isinstance(by, Mapping) else {GROUP: by}
    groups = None if arrays is None else {name: _values(name, array, size) for name, array in arrays.items()}
    return tally_open(reports, design, by=groups, counts=number, codes=codes, drop=drop)


def _whole_numbers(counts: Columnar, size: int) -> Integers:
    number = _same_length("counts", counts, size)
    whole = number.dtype.kind in "iu" or (number.dtype.kind == "f" and (number == np.floor(number)).all())
    if not whole or (number < 0).any():
        raise ValueError(
            f"counts must be whole numbers of at least 0, but got {number.min()} in an array of {number.dtype}"
        )
    refuse_overflow(number.sum(dtype=np.float64))
    return number.astype(np.int64)


def _same_length(name: str, values: Any, size: int) -> Counts:
    array = np.asarray(values)
    if array.shape != (size,):
        raise ValueError(f"{name} must have one value for each of the {size} reports, but got shape {array.shape}")
    return array


def _values(name: str, values: Any, size: int) -> list[object]:
    """Give the values of a grouping: those of a list as they are, for an array would make 1 and "1" the same."""
    if not isinstance(values, list | tuple):
        return list(_same_length(name, values, size).tolist())
    if len(values) != size:
        raise ValueError(f"{name} must have one value for each of the {size} reports, but got {len(values)}")
    return list(values)


# Data frames, tables and files


def _tally_source(source: Table, design: Design, column: str | None, options: _Options) -> Tally:
    form = design.report_form
    by = [options.by] if isinstance(options.by, str) else list(options.by or ())
    columns = resolve_columns(source, column, [*by, *options.where], options.weights, options.counts)
    columns = columns._replace(by=tuple(by))
    source = with_value_labels(source, {columns.value: () if options.codes else (form,)}, (*by, *options.where))
    source = only(source, options.where)
    source = categories_as_numbers(source, columns.value)
    if form.kinds is None:
        refuse_types(source, columns, form, codes=options.codes)
        return _tally_batches(source, design, columns, options)
    if isinstance(source.frame, nw.DataFrame) and source.frame.schema[columns.value] == nw.Object:
        return _tally_objects(source.frame, design, columns, options)
    refuse_types(source, columns, form, codes=options.codes)
    table = count_rows(source, columns, form, codes=options.codes, drop=options.drop)
    rows = Rows(*form.read(table["value"], text=source.text, codes=options.codes))
    if "kind" in table:  # values that no report can have were lumped together
        kind = np.asarray(table["kind"], dtype=np.int64)
        rows = rows._replace(status=np.where(kind < 0, kind, rows.status))
    bad = float(sum(table.get("bad", [])))
    number = np.array(table["number"])
    refuse_overflow(float(number.sum()))  # before they are integers, which may not fit
    rows = rows._replace(number=number.astype(np.int64))
    if columns.weights is not None:
        weight, square = (np.array(table[name], dtype=np.float64) for name in ("weight", "square"))
        bad = bad or int((~np.isfinite(weight)).sum())
        rows = rows._replace(weight=weight, square=square)
    if columns.by:
        groups, place = grouped([table[f"by{i}"] for i in range(len(columns.by))])
        rows = rows._replace(groups=groups, place=place)
    refuse_bad_amounts(source, columns, bad)
    strange = {} if "kind" in table else unknown_values(table["value"], rows.status, rows.number)
    total = subtotal(design, rows)._replace(bad=int(bad), strange=strange)
    return _finished(total, design, columns.by, options, _held([rows], total, options))


def _tally_batches(source: Table, design: Design, columns: Columns, options: _Options) -> Tally:
    """Count reports of which nearly all may differ a batch at a time, where they are."""
    form = design.report_form
    if on_cluster(source.frame):
        if options.keep:
            raise TypeError(
                "keep must be left out for reports on a cluster, which stay there; use an estimator that needs counts "
                "alone (inv_p), or write the reports to a Parquet file and tally that"
            )
        return _finished(counted_on_cluster(source, columns, design), design, columns.by, options)
    held: list[Rows] = []
    fits = options.keep

    def parts() -> Iterator[Subtotal]:
        nonlocal fits
        yield no_rows(columns, form).counted(design)
        for frame in batches(source, columns, form):
            batch = read_batch(frame, form)
            if fits:
                held.append(batch.rows)
                fits = not source.files or sum(rows.reports.nbytes for rows in held) <= HELD_BYTES
            if not fits:
                held.clear()
            yield batch.counted(design)

    stamps = stamped(source)
    total = added(parts(), design)
    refuse_bad_amounts(source, columns, total.bad)
    reports = _held(held, total, options)
    if options.keep and not fits:
        places = tuple(str(Path(place).absolute()) for place in source.places)
        again = FileReports(places, columns, form, total.numbers(), stamps, total.rows)
        reports = StoredReports((again,), (None,))
    return _finished(total, design, columns.by, options, reports)


def _held(parts: list[Rows], total: Subtotal, options: _Options) -> StoredReports | None:
    """Keep reports in memory, if they are to be kept."""
    return StoredReports.in_memory(*(rows.kept(total.numbers()) for rows in parts)) if options.keep else None


def _tally_objects(frame: Frame, design: Design, columns: Columns, options: _Options) -> Tally:
    """Count Python objects one by one: grouping them would turn integers into floats where some are missing."""

    def values(name: str | None) -> PerGroup:
        return None if name is None else frame[name].to_list()

    by = {name: values(name) for name in columns.by} or None
    plain = options._replace(by=by, weights=values(columns.weights), counts=values(columns.counts))
    return _tally_array(values(columns.value), design, plain)
