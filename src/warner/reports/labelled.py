"""Files of SPSS, Stata and SAS: numbers, and labels that say what the numbers stand for.

`pyreadstat` reads them, some rows at a time. To DuckDB such files are a data set of Arrow, so that a query reads the
columns that it uses, and no others. Values that were declared as missing are missing, and so are empty texts.

Whether a column with labels is read as labels or as codes depends on what is asked of it, which `as_asked` is told:
reports are read as the design has them, and other columns as their labels if every value has one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw

from warner.arrays import LARGEST_TOTAL
from warner.reports.headers import refuse_duplicates
from warner.reports.partitions import partition
from warner.words import not_installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from warner.designs.forms import Form
    from warner.documents import Document
    from warner.reports.engines import Frame, Source

Labels: TypeAlias = dict[str, dict[Any, str]]  # of each column that has some: codes, in their order, and their labels

FORMATS = {
    ".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata", ".sas7bdat": "SAS", ".xpt": "SAS transport",
}  # fmt: skip
READERS = {"SPSS": "read_sav", "Stata": "read_dta", "SAS": "read_sas7bdat", "SAS transport": "read_xport"}
CELLS = 2**20  # values that are read at a time
MOMENT = re.compile("^%-?[td]|DATE|TIME|YY|YMD|8601|TOD|HHMM|AMPM")  # in the format of dates and times


def data_set(
    kind: str, files: Sequence[str], partitioned: bool = False, *, encoding: str | None = None, secret: bool = False
) -> Any:
    """Give files that are alike as a data set of Arrow, with the columns that their folders stand for."""
    import pyarrow as pa
    import pyarrow.dataset as arrow

    types, labels = _described(kind, files[0], encoding)
    refuse_duplicates(list(types), secret=secret)
    for file in files[1:]:
        if _described(kind, file, encoding)[1] != labels:
            raise ValueError(f"{file} must have the same value labels as {files[0]}; read them one at a time")
    folders = partition(files[0]) if partitioned else {}
    arrows = {"number": pa.float64(), "integer": pa.int64(), "text": pa.string(), "moment": pa.string()}
    schema = pa.schema([(name, arrows[held]) for name, held in types.items()] + [(key, pa.string()) for key in folders])

    def batches(names: Sequence[str]) -> Iterator[Any]:
        inside = [name for name in names if name in types] or list(types)[:1]
        for file in files:
            constant = partition(file) if partitioned else {}
            for size, values in _pieces(kind, file, inside, encoding):
                columns = {name: _plain(values[name], types[name]) for name in names if name in types}
                columns |= {name: [constant[name]] * size for name in names if name not in types}
                arrays = (pa.array(columns[name], schema.field(name).type, from_pandas=True) for name in names)
                yield pa.record_batch(list(arrays), names=list(names))

    class DataSet(arrow.Dataset):  # type: ignore[misc]
        """What DuckDB asks for: the columns, and each time that it reads, the rows of some of them."""

        def __init__(self) -> None:
            self.schema_of_all = schema

        @property
        def schema(self) -> Any:
            return self.schema_of_all

        def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> Any:  # noqa: A002 (the name that DuckDB uses)
            names = schema.names if columns is None else columns
            some = pa.schema([schema.field(name) for name in names])
            return arrow.Scanner.from_batches(batches(names), schema=some, filter=filter, batch_readahead=1)

    return DataSet()


def value_labels(kind: str, file: str, encoding: str | None = None) -> Labels:
    """Read the labels of values in a file."""
    return _described(kind, file, encoding)[1]


def _described(kind: str, file: str, encoding: str | None) -> tuple[dict[str, str], Labels]:
    """Read what a file says of its columns: whether they hold numbers, texts or dates and times; and their labels."""
    _, told = _read(kind, file, encoding, metadataonly=True)
    given = {name: _in_order(labels) for name, labels in told.variable_value_labels.items()}
    types = {}
    for name in told.column_names:
        held, written = str(told.readstat_variable_types[name]), str(told.original_variable_types[name])
        numeric = "moment" if MOMENT.search(written) else "integer" if held.startswith("int") else "number"
        types[name] = "text" if held.startswith("string") else numeric
    suited: Document = {"text": str, "number": int | float, "integer": int | float, "moment": ()}
    labels = {
        name: {code: label for code, label in given[name].items() if isinstance(code, suited[held]) and label}
        for name, held in types.items()
        if name in given
    }
    return types, {name: some for name, some in labels.items() if some}


def _in_order(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Sort labels by their codes, of which a few may be letters, as Stata has them for missing values."""
    return dict(sorted(labels.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))


def _pieces(kind: str, file: str, names: list[str], encoding: str | None) -> Iterator[tuple[int, Document]]:
    """Read some columns, so many rows at a time that memory does not grow with the file."""
    rows, done = max(CELLS // len(names), 1), 0
    size = rows
    while size == rows:
        values, _ = _read(kind, file, encoding, usecols=names, row_offset=done, row_limit=rows)
        size = len(values[names[0]])
        done += size
        if size:
            yield size, values


def _plain(values: Sequence[Any], held: str) -> Sequence[Any]:
    if held == "text":
        return [value or None for value in values]
    if held == "moment":
        return [value.isoformat() if hasattr(value, "isoformat") else value and str(value) for value in values]
    return values


def _read(kind: str, file: str, encoding: str | None, **options: Any) -> tuple[Document, Any]:
    try:
        import pyreadstat
    except ImportError:
        raise ImportError(not_installed("files of SPSS, Stata and SAS need pyreadstat", "readstat")) from None
    if file.lower().endswith(".gz"):
        raise ValueError(f"{file} must be unpacked first, as a file of {kind}")
    try:
        values, told = getattr(pyreadstat, READERS[kind])(file, output_format="dict", encoding=encoding, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        reason = str(error)
    except (ArithmeticError, TypeError, ValueError):  # of its own code, which met what it did not expect
        reason = "it is damaged, or in another encoding"
    else:
        return values, told
    raise ValueError(f"{file} cannot be read: {reason} (as a file of {kind})")


# Labels or codes


def as_asked(source: Source, reports: Mapping[str, Sequence[Form]], others: Iterable[str] = ()) -> Source:
    """Give a source whose columns hold what is asked of them: labels or codes.

    Columns of `reports` hold what reports of these forms are; all `others` hold their labels if every value has one,
    and else numbers. The labels that the new source has are those of the latter columns. Sources that cannot have
    value labels stay as they are.
    """
    if source.labels is None:
        return source
    schema = source.frame.collect_schema()
    asked = {name: _reported(name, schema[name], source.labels.get(name, {}), forms) for name, forms in reports.items()}
    complete, whole = _suited(source, schema, [name for name in dict.fromkeys(others) if name not in reports])
    asked |= {name: nw.col(name).cast(nw.Int64) for name in whole}
    asked |= {name: _replaced(nw.col(name), labels, None) for name, labels in complete.items()}
    changed = [column.alias(name) for name, column in asked.items() if column is not None]
    frame = source.frame.with_columns(*changed) if changed else source.frame
    return source._replace(frame=frame, labels=complete)


def order_of(source: Source, name: str) -> tuple[str, ...] | None:
    """Give the labels that a column holds, as `as_asked` found, in the order of their codes."""
    labels = (source.labels or {}).get(name)
    return None if labels is None else tuple(dict.fromkeys(labels.values()))


def _reported(name: str, dtype: Any, labels: Mapping[Any, str], forms: Sequence[Form]) -> Frame | None:
    """Give a column of reports as texts if the design has texts: labels, unless these are the codes in digits."""
    texts = {label for form in forms if form.holds == "strings" for label in form.labels or ()}
    if not texts:
        return None
    if texts.isdisjoint(labels.values()) and not texts.isdisjoint(map(_digits, labels)):
        labels = {}
    column = written = nw.col(name)
    if dtype.is_numeric():
        in_digits = column.cast(nw.Int64).cast(nw.String)
        written = nw.when(_is_whole(column)).then(in_digits).otherwise(column.cast(nw.String))
    return _replaced(column, labels, written) if labels else written


def _suited(source: Source, schema: Document, names: Sequence[str]) -> tuple[Labels, list[str]]:
    """Name the columns all of whose values have labels, and those of doubles that are whole; one query tells both."""
    labels = {name: source.labels[name] for name in names if source.labels and name in source.labels}
    numbers = [name for name in names if schema[name].is_float()]
    wrong = [~nw.col(name).is_in(list(codes)) for name, codes in labels.items()]
    wrong += [~_is_whole(nw.col(name)) for name in numbers]
    if not wrong:
        return {}, []
    sums = [nw.when(bad).then(nw.lit(1)).otherwise(nw.lit(0)).sum().alias(str(i)) for i, bad in enumerate(wrong)]
    found = source.frame.select(*sums).collect()
    fits = [not found[str(place)].item() for place in range(len(wrong))]
    complete = {name: labels[name] for name, fit in zip(labels, fits, strict=False) if fit}
    return complete, [name for name, fit in zip(numbers, fits[len(labels) :], strict=True) if fit]


def _is_whole(column: Frame) -> Frame:
    return (column == column.floor()) & (column.abs() <= LARGEST_TOTAL)


def _digits(code: Any) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _replaced(column: Frame, labels: Mapping[Any, str], default: Frame | None) -> Frame:
    return column.replace_strict(list(labels), list(labels.values()), default=default, return_dtype=nw.String)
