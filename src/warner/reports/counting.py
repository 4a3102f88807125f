"""Count reports of any data: engines count (`queries`), and only counted rows come to Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from warner.designs.labels import is_missing
from warner.designs.open_domain import OpenDomain
from warner.designs.questionnaires import REPORT, SelectAll, SplitQuestionnaire
from warner.reports.counts import OPTION, refuse_amounts, refuse_overflow, refuse_unknown, unknown_values
from warner.reports.dialects import blanked, refuse_codes_of_reports
from warner.reports.files import Files, are_paths
from warner.reports.linearization import STRATUM
from warner.reports.loading import (
    Loaded,
    Selection,
    column_names,
    listed,
    load,
    opened,
    prepared,
    refuse_format,
    refuse_length,
    refuse_other_versions,
    rows_where,
    with_amounts,
)
from warner.reports.open_tallies import OpenTally, open_tally
from warner.reports.options import SIMPLE, Columnar, Columnars, Columns, Input, Reading, Sample
from warner.reports.queries import Roles, Table, columns_among, refuse_absent, refuse_bad_amounts
from warner.reports.sample_columns import cells_of, clustered, columns_of_replicates, refuse_contradictions, replicate
from warner.reports.subtotals import Rows, StoredReports, Subtotal, added, grouped, subtotal
from warner.reports.tallies import Pool, Tally, pool, refuse_design
from warner.text import counted, enumerated

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from warner.designs import Design

GROUP = "group"  # the name of an unnamed grouping array
HELD_BYTES = 2**24  # of a file's reports that are kept in memory; it is read again where there are more


class TallyOptions(TypedDict, total=False):
    """Options of `tally`, for type checkers: its return type depends on the designs."""

    column: str | None
    question: str | None
    by: Columnars
    weights: Columnar
    counts: Columnar
    codes: bool
    unknown: str
    keep: bool
    skip_bad_files: bool
    encoding: str | None
    decimal: str
    missing: Any
    sheet: str | None
    where: Mapping[str, Any] | None
    strata: Columnar
    clusters: Columnar
    sampled: Columnar
    whole: bool
    replicates: Columnar
    scale: float | None
    replicate_clusters: int | None


@overload
def tally(reports: Any, design: OpenDomain, **options: Unpack[TallyOptions]) -> OpenTally: ...
@overload
def tally(reports: Any, design: Mapping[str, Design], **options: Unpack[TallyOptions]) -> Tally | Pool: ...
@overload
def tally(
    reports: Any, design: Design | SplitQuestionnaire | None = None, **options: Unpack[TallyOptions]
) -> Tally: ...
@overload
def tally(
    reports: Any, design: Design | Mapping[str, Design] | None, **options: Unpack[TallyOptions]
) -> Tally | Pool: ...
def tally(
    reports: Any,
    design: Design | OpenDomain | SplitQuestionnaire | Mapping[str, Design] | None = None,
    *,
    column: str | None = None,
    question: str | None = None,
    by: Columnars = None,
    weights: Columnar = None,
    counts: Columnar = None,
    codes: bool = False,
    unknown: str = "error",
    keep: bool = False,
    skip_bad_files: bool = False,
    encoding: str | None = None,
    decimal: str = ".",
    missing: Any = (),
    sheet: str | None = None,
    where: Mapping[str, Any] | None = None,
    strata: Columnar = None,
    clusters: Columnar = None,
    sampled: Columnar = None,
    whole: bool = False,
    replicates: Columnar = None,
    scale: float | None = None,
    replicate_clusters: int | None = None,
) -> Tally | Pool | OpenTally:
    """Count reports.

    Parameters
    ----------
    reports : sequence, array, mapping, series, data frame, table or path
        A list or NumPy array of reports; a mapping of names to columns, as `regress` takes it; a pandas, Polars (eager
        or lazy), PyArrow or DuckDB frame or series; an Ibis table; a Dask or Spark data frame; the path, folder or glob
        of CSV, Parquet or JSON files, gzipped or not, or of Excel, SPSS, Stata or SAS files; or a list of
        ``pathlib.Path`` objects. Folders such as ``day=1`` are values of a column.
        Reports that are sets of answers are hexadecimal strings or bytes, as `randomize` writes them. Or the database
        of a survey, which ``warner collect`` keeps: its file, or a URL ``postgresql://...``. Its published counts are
        read, beside a running survey or not, and nothing is changed.
    design : Design, OpenDomain, SplitQuestionnaire or SelectAll
        Design of every report; reports of an `OpenDomain` return an `OpenTally`. With a `SplitQuestionnaire`, `column`
        names the question; the reports of a `SelectAll` are counted by option. Optional for the database of a survey,
        which contains it. If designs differ between respondents, a mapping of the values of the first column of `by` to
        designs, as ``{"dice": ..., "direct": ...}``: the result is a `Pool`, with a tally for each design, which
        `warner.estimate` estimates together.
    column : str, optional
        The column of reports; optional if there is only one.
    question : str, optional
        The id of a question, in the database of a survey; optional if there is only one. Skipped questions are missing
        values.
    by : str or list of str, optional
        Columns to group by; a missing value is a group. With several designs, the first column names the design of each
        row, and reports are grouped by the others. For arrays: an array of the same length, or a mapping of names
        to such arrays. For the database of a survey: groups of the survey.
    weights : str, optional
        A column of survey weights (for arrays: an array). Negative and missing weights are an error.
    counts : str, optional
        A column with the number of reports in each row (for arrays: an array).
    codes : bool
        The reports are positions in the domain instead of labels; sets are rows of packed bits (uint8).
    unknown : {"error", "drop"}
        Invalid values raise an error, or are left out and counted.
    keep : bool
        Keep the reports for maximum likelihood, which under some designs does not follow from the counts. Those of a
        large file stay there, and are read again at every pass; all others are kept in memory, a bit for each answer.
        Reports are not kept if the counts, or the kinds of reports, are sufficient.
    skip_bad_files : bool
        Skip files that cannot be read to their ends, or whose columns differ from those of most files. They are listed
        in `Tally.skipped_files` and in every result. Each file is then read twice.
    encoding : str, optional
        The encoding of a text file that is not in UTF-8, such as ``"cp1252"``, as Excel writes them, or ``"utf-16"``.
        SPSS, Stata and SAS files usually state theirs.
    decimal : {".", ","}
        The decimal mark of the weights in a text file.
    missing : str, number, or list of these
        Codes for a missing value, such as ``[-99, "NA"]``, in all columns that are read.
    sheet : str, optional
        The sheet of an Excel file (.xlsx, .xlsm); optional if there is only one.
    where : mapping of str to value, optional
        Count only the rows in which these columns have these values, such as ``{"version": "dice"}``.
    strata, clusters : str, optional
        The columns of the sampling strata, such as regions, and of the clusters that were sampled as a whole or in
        part, such as schools (for arrays: arrays). Intervals are then design-based. The tally contains counts by
        cluster, which are small groups.
    sampled : str or float, optional
        The sampled part of a stratum's clusters, or without clusters of its population: a column, or one number. It
        lowers the sampling variance, but not the variance of the randomization.
    whole : bool
        All members of the sampled clusters are respondents.
    replicates : str or list of str, optional
        Columns of replicate weights: a pattern such as ``"rw*"``, or their names (for arrays: arrays), with `weights`
        for the whole sample. Or ``"jackknife"``, to leave out one cluster at a time.
    scale : float, optional
        The factor that belongs to replicate weights, by which squared deviations add up to the variance.
    replicate_clusters : int, optional
        The number of clusters in the sample that replicate weights were made from. Intervals of groups that lie in few
        of the clusters then have better degrees of freedom.

    Examples
    --------
    >>> from warner import RandomizedResponse
    >>> survey = RandomizedResponse(["yes", "no"], truth="3/4")
    >>> tally(["no", "no", None, "yes"], survey)
    <Tally of 3 reports among 2 answers: 1 'yes', 2 'no'; 1 missing>
    >>> tally({"report": ["yes", "no"], "times": [40, 60]}, survey, counts="times")
    <Tally of 100 reports among 2 answers: 40 'yes', 60 'no'>
    """
    columns = Columns(question, column, by, where, weights, counts)
    reading = Reading(unknown, missing, sheet, encoding, decimal, codes, keep, skip_bad_files)
    sample = Sample(strata, clusters, sampled, whole, replicates, scale, replicate_clusters)
    options = Input(columns, reading, sample)
    if isinstance(design, OpenDomain) or (design is None and _answered_openly(reports := _looked_at(reports), columns)):
        return tallied_open(reports, design, options)
    return tallied(reports, design, options)


def tallied(
    reports: Any, design: Design | SplitQuestionnaire | Mapping[str, Design] | None, options: Input
) -> Tally | Pool:
    """Count reports; see `tally`. They may also be `Files` or an open table."""
    if isinstance(design, Mapping):
        return _tally_designs(reports, design, options)
    if isinstance(design, SplitQuestionnaire):
        return _tally_questionnaire(reports, design, options)
    if options.columns.question is not None or is_survey(reports := _looked_at(reports)):
        return _tally_survey(reports, design, options)
    refuse_design(design, "tally(reports, design)")
    assert design is not None
    options = _of_design(options, design)
    refuse_contradictions(options.sample, options.columns.weights)
    counted: Tally = (_replicated if options.sample.replicated else _counted)(reports, design, options)
    return counted


def _of_design(options: Input, design: Design) -> Input:
    """Check the reading options against the design, and keep reports only if counts are not sufficient."""
    refuse_codes_of_reports(options.reading, design.report_form)
    return options.keeping(options.reading.keep and design.law.sufficient is None)


def _counted(reports: Any, design: Design | OpenDomain, options: Input) -> Any:
    if isinstance(reports, list | tuple | range | np.ndarray):
        return _tally_sequence(reports, design, options)
    columns_only = design.report_form.kinds is None and not options.columns.rows
    with _opened(reports, options, columns_only=columns_only) as source:
        return _with_skipped(_tally_source(source, design, options), source)


def _replicated(reports: Any, design: Design, options: Input) -> Tally:
    if isinstance(reports, list | tuple | range | np.ndarray):
        tally_of = partial(_tally_sequence, reports, design)
        return _with_replicates(tally_of, options, columns_of_replicates(options.sample, []))
    with _opened(reports, options) as source:
        each = columns_of_replicates(options.sample, column_names(source), but=options.columns.weights)
        tally_of = partial(_tally_source, source, design, leaving=each)
        whole: Tally = _with_skipped(_with_replicates(tally_of, options, each), source)
        return whole


def _with_skipped(counted: Any, source: Table | Mapping[str, Any]) -> Any:
    """Return the tally with the files that were skipped."""
    skipped = source.skipped_files if isinstance(source, Table) else {}
    return replace(counted, skipped_files=skipped) if skipped else counted


def _with_replicates(tally_of: Callable[[Input], Tally], options: Input, each: list[Any]) -> Tally:
    simple = options._replace(sample=SIMPLE)
    counts_alone = simple.keeping(False)
    people = tally_of(counts_alone._replace(sample=Sample(sampled=1.0)))  # which counts those with a weight
    weighted = (counts_alone._replace(columns=replace(options.columns, weights=weights)) for weights in each)
    return replicate(options.sample, tally_of(simple), people, [*map(tally_of, weighted)])


def _looked_at(reports: Any) -> Any:
    """Read the heads of files given as paths, once; URLs stay as they are."""
    if isinstance(reports, str | os.PathLike) and "://" in os.fspath(reports):
        return reports
    return Files.at(reports) if are_paths(reports) else reports


def _opened(reports: Any, options: Input, *, columns_only: bool = False) -> AbstractContextManager[Any]:
    columns, reading, sample = options
    named = [name for name in (columns.weights, sample.sampled) if isinstance(name, str)]
    numbers = None if sample.replicated else named
    names = (columns.column, *columns.groups) if sample.replicated else ()
    return opened(
        reports, reading, numbers=numbers, names=names, columns_only=columns_only, what="reports", column=columns.column
    )


def _tally_designs(reports: Any, designs: Mapping[str, Design], options: Input) -> Tally | Pool:
    """Count the reports of each design, in the rows where a column has its name, and pool them."""
    columns = options.columns
    by = list(columns.groups) if isinstance(columns.by, str | list | tuple) else []
    if not designs or not by or not all(isinstance(name, str) for name in by):
        raise TypeError(
            'by must be given with several designs: the column that names the design of each row, as by="version", and '
            "then columns to group by"
        )
    if isinstance(reports, list | tuple | range | np.ndarray) and not are_paths(reports):
        raise TypeError("with several designs, reports must be a table, one of whose columns names the design")
    if columns.question is not None:
        raise TypeError("question is for the database of a survey, which has its own design")
    if options.sample.is_complex:
        raise TypeError("strata, clusters, sampled and replicates are for reports of one design; tally each alone")
    version, *groups = by
    names = [str(name) for name in designs]
    parts = []
    with _opened(reports, options) as source:
        refuse_other_versions(source, version, columns.rows, names)
        for name, design in zip(names, designs.values(), strict=True):
            refuse_design(design, "tally(reports, design)")
            rows = replace(columns, where={**columns.rows, version: name}, by=groups or None)
            part = _tally_source(source, design, _of_design(options, design)._replace(columns=rows))
            parts.append(_with_skipped(part, source))
    return pool(parts)


def _tally_questionnaire(reports: Any, questionnaire: SplitQuestionnaire, options: Input) -> Tally:
    """Count the reports to one question of a split questionnaire, or to all options of a question, by option."""
    columns, sample = options.columns, options.sample
    designs, is_sequence = questionnaire.designs, isinstance(reports, list | tuple | range | np.ndarray)
    is_table, is_selection = not is_sequence or are_paths(reports), isinstance(questionnaire, SelectAll)
    if isinstance(questionnaire, SelectAll) and questionnaire.device is not None:
        if is_table:
            options = options._replace(columns=replace(columns, column=columns.column or REPORT))
        return by_option(tallied(reports, questionnaire.device, options), designs)
    if not is_table:
        raise TypeError("reports must be a table with a column for each question")
    if columns.column not in designs and not (is_selection and columns.column is None):
        raise ValueError(
            f"column must be given, one of {enumerated([*map(repr, designs)])}, but got {columns.column!r}"
        )
    with _opened(reports, options) as source:
        table: Any = source
        for name in designs:
            refuse_absent(name, column_names(source))
        if surplus := _fuller_rows(source, designs, questionnaire.asked):
            raise ValueError(
                f"reports must be to at most {questionnaire.asked} of {len(designs)} questions in a row, as the design "
                f"has it, but {counted(surplus, 'row has', 'rows have')} more: their respondents spent more epsilon, "
                'or blanks have a code, which missing= takes, as in missing="NA"'
            )
        design = next(iter(designs.values())) if columns.column is None else designs[columns.column]
        if columns.column is None:
            named = [*columns.groups, *cells_of(sample).values()]
            _refuse_columns_of_options(columns, sample, (OPTION, REPORT, *designs))
            table = _by_row(source, dict.fromkeys(designs, (design.report_form,)), named, columns)
            columns = replace(columns, column=REPORT, by=[OPTION, *columns.groups], where=None)
        # It is read already
        reading = Reading(options.reading.unknown, codes=options.reading.codes, keep=options.reading.keep)
        whole: Tally = _with_skipped(tallied(table, design, Input(columns, reading, sample)), source)
        return whole


def _refuse_columns_of_options(columns: Columns, sample: Sample, taken: Iterable[str]) -> None:
    """Raise an error for columns that the table with a row for each report to an option does not have."""
    amounts = {name: [getattr(columns, name)] for name in ("weights", "counts")}
    cells = {name: [getattr(sample, name)] for name in ("strata", "clusters", "sampled")}
    for argument, names in ({"by": columns.groups} | amounts | cells).items():
        if found := [name for name in names if isinstance(name, str) and name in taken]:
            raise ValueError(
                f"{argument} must not name an option, {OPTION!r} or {REPORT!r}, the columns that reports to options "
                f"are counted by, but got {found[0]!r}; rename that column"
            )


def _fuller_rows(source: Table | Mapping[str, Any], names: Iterable[str], most: int) -> int:
    """Return the number of rows with more than so many values in these columns."""
    if not isinstance(source, Mapping):
        return source.fuller_rows(names, most)
    columns = {name: listed(source[name]) for name in names}
    size = max(map(len, columns.values()))
    for name, values in columns.items():
        refuse_length(name, values, size)
    given = ([not is_missing(value) for value in values] for values in columns.values())
    return sum(sum(row) > most for row in zip(*given, strict=True))


def _by_row(source: Any, forms: Mapping[str, Any], named: Sequence[str], columns: Columns) -> Any:
    """Return a table with a row for each report to an option."""
    if not isinstance(source, Mapping):
        selection = Selection(forms, tuple(named), columns.weights, columns.counts, columns.rows)
        return prepared(source, selection).stacked(list(forms), OPTION, REPORT)
    wide = rows_where(source, columns.rows)
    size = len(wide[next(iter(forms))])
    long = {name: listed(values) * len(forms) for name, values in wide.items() if name not in forms}
    long |= {OPTION: [name for name in forms for _ in range(size)]}
    long |= {REPORT: [value for name in forms for value in listed(wide[name])]}
    given = [not is_missing(value) for value in long[REPORT]]
    return {name: [*compress(values, given)] for name, values in long.items()}


def by_option(labels: Any, designs: Mapping[str, Design]) -> Tally:
    """Return the numbers of reports that name each option, and that do not, from those of all labels."""
    if not labels.simple:
        raise TypeError("weights, strata and clusters must be left out for options with at_most")
    named = labels.counts[..., : len(designs)]
    counts = np.stack([named, labels.n[..., np.newaxis] - named], axis=-1)
    counts = np.moveaxis(counts, -2, 0).reshape(-1, 2)
    groups = tuple((option, *group) for option in designs for group in labels.groups or ((),))
    missing, unknown = (np.tile(number, len(designs)) for number in (labels.missing, labels.unknown))
    by, design = (OPTION, *labels.by), next(iter(designs.values()))
    facts = {name: getattr(labels, name) for name in ("backend", "dropped", "skipped_files")}
    return Tally(design, counts, by=by, groups=groups, missing=missing, unknown=unknown, **facts)


def is_survey(reports: Any) -> bool:
    """Return True if this is the database of a survey: an SQLite file, or the URL of a PostgreSQL database."""
    if isinstance(reports, Files):
        return reports.is_sqlite
    if not isinstance(reports, str) or "://" not in reports:
        return False
    from warner.service.stores import is_url

    return is_url(reports)


def _answered_openly(reports: Any, columns: Columns) -> bool:
    """Return True if this is a free-text question of a survey."""
    if columns.question is None and not is_survey(reports):
        return False
    from warner.service.exports import is_open_question

    return is_open_question(_survey_path(reports), columns.question)


def _survey_path(reports: Any) -> str:
    if isinstance(reports, Files):
        (reports,) = reports.paths
    if not isinstance(reports, str | os.PathLike):
        raise TypeError(f"question is for the database of a survey, but reports is a {type(reports).__name__}")
    return os.fspath(reports)


def _refuse_options_of_reports(options: Input) -> None:
    columns, reading, sample = options
    others = {name: getattr(columns, name) for name in ("column", "weights", "counts", "where")}
    others |= {
        name: getattr(reading, name) or None for name in ("codes", "encoding", "missing", "sheet", "skip_bad_files")
    }
    others |= {name: value or None if name == "whole" else value for name, value in vars(sample).items()}
    for name, value in others.items():
        if value is not None:
            raise TypeError(
                f"{name} must be left out for the database of a survey, which has counts, but got {value!r}"
            )


def _tally_survey(reports: Any, design: Design | None, options: Input) -> Tally:
    from warner.service.exports import published_tally

    path, columns = _survey_path(reports), options.columns
    _refuse_options_of_reports(options)
    result = published_tally(path, columns.question, by=columns.groups, design=design)
    if options.reading.keep and result.design.law.sufficient is None:
        raise TypeError(
            "keep must be left out for the database of a survey, which has counts and no reports; use an estimator "
            "that needs counts alone (inv_p)"
        )
    return result


# Columns and amounts to counts


def _tally_sequence(reports: Any, design: Design | OpenDomain, options: Input) -> Any:
    columns, reading, sample = options
    if columns.column is not None:
        raise TypeError(f"column must be left out for a sequence of reports, but got {columns.column!r}")
    if columns.rows:
        raise TypeError("where names columns, and must be left out for a sequence of reports")
    refuse_format(reading, "reports", reports)
    values = blanked(reports, reading)
    rows = Rows(*design.report_form.read(values, codes=reading.codes))
    if reading.keep and reading.codes:
        rows = rows._replace(reports=rows.reports.copy())  # a private copy
    by = _arrays_to_group_by(columns.by, sample, rows.status.size)
    loaded = with_amounts(Loaded(by), rows.status.size, columns.weights, columns.counts)
    return _tally_rows(values, rows, loaded, design, tuple(by), options)


def tallied_open(reports: Any, design: OpenDomain | None, options: Input) -> OpenTally:
    """Count reports of an open domain, which are kept by level; a survey has its own design."""
    columns, reading, sample = options
    if columns.weights is not None or reading.keep or sample.is_complex:
        raise TypeError("reports of an open domain are not weighted; leave weights, strata, clusters and keep out")
    reports = _looked_at(reports)
    if design is None or columns.question is not None:
        from warner.service.exports import published_reports

        path = _survey_path(reports)
        _refuse_options_of_reports(options)
        return published_reports(path, columns.question, by=columns.groups, design=design)
    refuse_codes_of_reports(reading, design.report_form)
    counted: OpenTally = _counted(reports, design, options)
    return counted


def _arrays_to_group_by(by: Columnars, sample: Sample, size: int) -> Mapping[str, Any]:
    named = {} if by is None else by if isinstance(by, Mapping) else {GROUP: by}
    named = {**named, **cells_of(sample)}
    for name, array in named.items():
        refuse_length(name.strip("()"), array, size)
    return named


def _tally_source(
    source: Table | Mapping[str, Any], design: Design | OpenDomain, options: Input, leaving: Iterable[str] = ()
) -> Any:
    """Count the reports of a table, or of columns in memory; `leaving` are columns without reports."""
    columns, reading, sample = options
    cells = (*columns.groups, *cells_of(sample).values())
    form, named = design.report_form, (*cells, *columns.rows, *leaving)
    if isinstance(source, Mapping):
        _refuse_no_columns(source)
    partitions = () if isinstance(source, Mapping) else source.partitions
    roles = columns_among(
        column_names(source), columns.column, named, columns.weights, columns.counts, partitions=partitions
    )
    roles = roles._replace(by=cells, by_kind=sample.is_complex)
    selection = Selection({roles.value: (form,)}, roles.by, roles.weights, roles.counts, columns.rows)
    if isinstance(source, Table) and form.kinds is None:
        return _tally_batches(prepared(source, selection, codes=reading.codes), design, roles, options)
    loaded = load(source, selection, few=form, codes=reading.codes, drop=reading.drop, positive=True)
    values = loaded.reports(roles.value)
    rows = Rows(*form.read(values, text=loaded.text, codes=reading.codes))
    if loaded.kind is not None:  # invalid values were lumped together
        rows = rows._replace(status=np.where(loaded.kind < 0, loaded.kind, rows.status))
    library = None if isinstance(source, Mapping) else source.library
    return _tally_rows(values, rows, loaded, design, roles.by, options, library)


def _tally_rows(
    values: Any,
    rows: Rows,
    loaded: Loaded,
    design: Design | OpenDomain,
    by: tuple[str, ...],
    options: Input,
    library: str | None = None,
) -> Tally | OpenTally:
    rows = rows._replace(number=loaded.number, weight=loaded.weight, square=loaded.square, positive=loaded.positive)
    if by:
        groups, index = grouped([listed(loaded.columns[name]) for name in by])
        rows = rows._replace(groups=groups, group_index=index)
    strange = {} if loaded.kind is not None else unknown_values(values, rows.status, rows.number)
    if isinstance(design, OpenDomain):
        return open_tally(design, by, [(rows, strange)], drop=options.reading.drop, backend=library)
    total = subtotal(design, rows, by_kind=options.sample.is_complex)._replace(strange=strange)
    kept = _stored([rows], total, keep=options.reading.keep)
    return _finished(total, design, by, options, kept, library)


def _refuse_no_columns(columns: Mapping[str, Any]) -> None:
    single = [name for name, values in columns.items() if isinstance(values, str) or not hasattr(values, "__len__")]
    if single or not columns:
        found = f"that of {single[0]!r} is of type {type(columns[single[0]]).__name__}" if single else "there is none"
        raise TypeError(
            "reports, as a mapping, must have a column of values for each name, with column= for that of the reports, "
            f"but {found}; for numbers of reports by label, such as {{'yes': 40, 'no': 60}}, give a list of the labels "
            "and counts=, a list of the numbers"
        )


def _finished(
    total: Subtotal,
    design: Design,
    by: tuple[str, ...],
    options: Input,
    kept: StoredReports | None = None,
    library: str | None = None,
) -> Tally:
    """Check all that was counted, and return the tally."""
    sample = options.sample
    refuse_amounts("counts" if options.columns.weights is None else "weights", total.bad)
    refuse_overflow(total.roughly)
    if not options.reading.drop:
        refuse_unknown(int(total.arrays["unknown"].sum()), dict(total.strange), design.report_form)
    if not sample.is_complex:
        return total.tally(design, by, kept=kept, backend=library)
    roles = cells_of(sample)
    groups, names = by[: len(by) - len(roles)], tuple(roles) or (STRATUM,)
    if not roles:  # a simple random sample of a finite population is one stratum
        total = total._replace(groups=tuple((*key, 0) for key in total.groups))
    cells = total.tally(design, (*groups, *names), kept=kept, backend=library)
    return clustered(sample, cells, total, groups)


def _stored(parts: list[Rows], total: Subtotal, *, keep: bool) -> StoredReports | None:
    return StoredReports.in_memory(*(rows.kept(total.numbers()) for rows in parts)) if keep else None


def _tally_batches(source: Table, design: Design | OpenDomain, roles: Roles, options: Input) -> Tally | OpenTally:
    """Count reports that nearly all differ, a batch at a time."""
    from warner.reports.batches import FileReports, batches, no_rows, on_cluster, read_batch, stamped

    if isinstance(design, OpenDomain):
        return _open_tally_of_batches(source, design, roles, options.reading)
    if on_cluster(source.frame):
        return _tally_on_cluster(source, design, roles, options)
    form, keep = design.report_form, options.reading.keep
    held: list[Rows] = []
    fits = keep

    def parts() -> Iterator[Subtotal]:
        nonlocal fits
        yield no_rows(roles, form).counted(design, roles)
        for frame in batches(source, roles, form):
            batch = read_batch(frame, form)
            if fits:
                held.append(batch.rows)
                fits = not source.files or sum(rows.reports.nbytes for rows in held) <= HELD_BYTES
            if not fits:
                held.clear()
            yield batch.counted(design, roles)

    stamps = stamped(source)
    total = added(parts(), design)
    refuse_bad_amounts(source, roles, total.bad)
    reports = _stored(held, total, keep=keep)
    if keep and not fits:
        paths = tuple(str(Path(path).absolute()) for path in source.paths)
        again = FileReports(paths, roles, form, total.numbers(), stamps, total.rows)
        reports = StoredReports((again,), (None,))
    return _finished(total, design, roles.by, options, reports, source.library)


def _open_tally_of_batches(source: Table, design: OpenDomain, roles: Roles, reading: Reading) -> OpenTally:
    """Collect the reports of an open domain, also from a cluster: the tally contains them."""
    from warner.reports.batches import batches, read_batch

    read = [read_batch(frame, design.report_form) for frame in batches(source, roles, design.report_form)]
    refuse_bad_amounts(source, roles, sum(batch.bad for batch in read))
    parts = ((batch.rows, batch.strange) for batch in read)
    return open_tally(design, roles.by, parts, drop=reading.drop, backend=source.library)


def _tally_on_cluster(source: Table, design: Design, roles: Roles, options: Input) -> Tally:
    from warner.reports.batches import counted_on_cluster

    if options.reading.keep:
        raise TypeError(
            "keep must be left out for reports on a cluster, which stay there; use an estimator that needs counts "
            "alone (inv_p), or write the reports to a Parquet file and tally that"
        )
    return _finished(counted_on_cluster(source, roles, design), design, roles.by, options, library=source.library)
