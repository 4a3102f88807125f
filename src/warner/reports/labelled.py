"""Files of SPSS, Stata and SAS: numbers with value labels.

`readstat` reads them, some rows at a time. For DuckDB such files are an Arrow data set, so that a query reads only the
columns that it uses. Values declared as missing are missing, and so are empty texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warner.arrays import LARGEST_TOTAL
from warner.reports.files import Head, Reader, partition, refuse_duplicates
from warner.reports.options import as_label
from warner.runtime import narwhals as nw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from warner.designs.report_forms import Form
    from warner.documents import Document
    from warner.reports.options import Reading
    from warner.reports.queries import Frame, Table
    from warner.reports.readstat import Labels

LABELLED_VALUES_AT_ONCE = 2**20  # values that are read at a time


def read_labelled(heads: Sequence[Head], database: Any, reading: Reading, *, secret: bool) -> Reader:
    """Read SPSS, Stata or SAS files as an Arrow data set, with the columns of their folders."""
    import pyarrow as pa

    from warner.reports import readstat

    kind = heads[0].kind
    described = readstat.described(kind, [head.file for head in heads], reading.encoding, cells=LABELLED_VALUES_AT_ONCE)

    def relation(files: Sequence[str], partitioned: bool) -> Any:
        types, labels, _ = described[files[0]]
        refuse_duplicates(list(types), secret=secret)
        for file in files[1:]:
            if described[file].labels != labels:
                raise ValueError(f"{file} must have the same value labels as {files[0]}; read them one at a time")
        folders = {file: partition(file) if partitioned else {} for file in files}
        schema = readstat.schema_of(types | dict.fromkeys(folders[files[0]], "text"))

        def batches(names: Sequence[str]) -> Iterator[Any]:
            for file, piece in _pieces(names):
                constant = {name: pa.array([text] * len(piece), pa.string()) for name, text in folders[file].items()}
                arrays = [piece[name] if name in types else constant[name] for name in names]
                yield pa.record_batch(arrays, names=list(names))

        def _pieces(names: Sequence[str]) -> Iterator[tuple[str, Any]]:
            small = {file: described[file].rows for file in files}
            yield from ((file, piece) for file, rows in small.items() for piece in rows or ())
            inside = {name: types[name] for name in names if name in types} or dict([*types.items()][:1])
            if large := [file for file, rows in small.items() if rows is None]:
                yield from readstat.pieces_of_file(kind, large, inside, LABELLED_VALUES_AT_ONCE, reading.encoding)

        return scanned(database, schema, batches)

    return Reader(relation, described[heads[0].file].labels)


def scanned(database: Any, schema: Any, batches: Callable[[Sequence[str]], Iterator[Any]]) -> Any:
    """Relation of DuckDB on batches of the columns that a query uses."""
    import pyarrow as pa
    import pyarrow.dataset as arrow

    class DataSet(arrow.Dataset):  # type: ignore[misc]
        """Part of the interface of an Arrow data set that DuckDB uses."""

        def __init__(self) -> None:
            self.schema_of_all = schema

        @property
        def schema(self) -> Any:
            return self.schema_of_all

        def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> Any:  # noqa: A002 (the name that DuckDB uses)
            names = schema.names if columns is None else columns
            some = pa.schema([schema.field(name) for name in names])
            return arrow.Scanner.from_batches(batches(names), schema=some, filter=filter, batch_readahead=1)

    # Else, a filter would be asked of Arrow on columns that are not among those that are read.
    database.execute("SET disabled_optimizers = 'filter_pushdown'")
    return database.from_arrow(DataSet())


# Labels or codes


def with_value_labels(source: Table, reports: Mapping[str, Sequence[Form]], others: Iterable[str] = ()) -> Table:
    """Apply value labels: columns of `reports` contain labels or codes, as reports of these forms have them.

    `others` contain labels if every value has one, and otherwise numbers; the new source has their labels.
    """
    if source.labels is None:
        return source
    schema = source.schema
    known = source.labels
    expressions = {name: _reported(name, schema[name], known.get(name, {}), forms) for name, forms in reports.items()}
    rest = [name for name in dict.fromkeys(others) if name not in reports]
    complete, whole = _columns_fully_labelled(source, schema, rest)
    expressions |= {name: nw.col(name).cast(nw.Int64) for name in whole}
    expressions |= {name: _replaced(nw.col(name), labels, None) for name, labels in complete.items()}
    changed = [column.alias(name) for name, column in expressions.items() if column is not None]
    frame = source.frame.with_columns(*changed) if changed else source.frame
    return source.with_frame(frame, labels=complete)


def label_order(source: Table, name: str) -> tuple[str, ...] | None:
    """Labels of a column after `with_value_labels`, in the order of their codes."""
    labels = (source.labels or {}).get(name)
    return None if labels is None else tuple(dict.fromkeys(labels.values()))


def _reported(name: str, dtype: Any, labels: Mapping[Any, str], forms: Sequence[Form]) -> Frame | None:
    """Expression of a column of reports as texts if the design has texts: labels, or codes in digits."""
    texts = {label for form in forms if form.holds == "strings" for label in form.labels or ()}
    if not texts:
        return None
    if texts.isdisjoint(labels.values()) and not texts.isdisjoint(map(as_label, labels)):
        labels = {}
    column = written = nw.col(name)
    if dtype.is_numeric():
        in_digits = column.cast(nw.Int64).cast(nw.String)
        written = nw.when(_is_whole(column)).then(in_digits).otherwise(column.cast(nw.String))
    return _replaced(column, labels, written) if labels else written


def _columns_fully_labelled(source: Table, schema: Document, names: Sequence[str]) -> tuple[Labels, list[str]]:
    """Find columns with a label for every value, and columns of whole numbers, in one query."""
    labels = {name: source.labels[name] for name in names if source.labels and name in source.labels}
    numbers = [name for name in names if schema[name].is_float()]
    wrong = [~nw.col(name).is_in(list(codes)) for name, codes in labels.items()]
    wrong += [~_is_whole(nw.col(name)) for name in numbers]
    if not wrong:
        return {}, []
    sums = [nw.when(bad).then(nw.lit(1)).otherwise(nw.lit(0)).sum().alias(str(i)) for i, bad in enumerate(wrong)]
    found = source.frame.select(*sums).collect()
    fits = [not found[str(index)].item() for index in range(len(wrong))]
    complete = {name: labels[name] for name, fit in zip(labels, fits, strict=False) if fit}
    return complete, [name for name, fit in zip(numbers, fits[len(labels) :], strict=True) if fit]


def _is_whole(column: Frame) -> Frame:
    return (column == column.floor()) & (column.abs() <= LARGEST_TOTAL)


def _replaced(column: Frame, labels: Mapping[Any, str], default: Frame | None) -> Frame:
    return column.replace_strict(list(labels), list(labels.values()), default=default, return_dtype=nw.String)
