"""Rows that are meant: those in which columns have given values, such as the version of a questionnaire.

People who got different versions went through different designs. A column names the version of each row; its rows are
counted under the design of that name, and no row may be left without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from warner.designs.labels import is_missing
from warner.lazy import on_first_use
from warner.reports.labelled import with_value_labels
from warner.reports.queries import is_text, refuse_absent
from warner.words import counted, enumerated

if TYPE_CHECKING:
    from collections.abc import Sequence

    import narwhals as nw

    from warner.reports.queries import Frame, Table
else:
    nw = on_first_use("narwhals")

DESIGNS_LISTED = 5  # names in an error
VALUES_SEEN = 1_000  # different values of the column of versions that are looked at


def only(source: Table, where: Mapping[str, Any]) -> Table:
    """Give the rows of a source in which these columns have these values; nobody may read past this choice."""
    if not where:
        return source
    schema = source.schema
    frame = source.frame
    for name, value in where.items():
        refuse_absent(name, list(schema))
        frame = frame.filter(_has(name, value, schema[name]))
    return source.with_frame(frame, files=())


def _has(name: str, value: Any, dtype: Any) -> Frame:
    """Tell in which rows a column has a value, which the words of a shell give as text."""
    column = nw.col(name)
    if is_text(dtype):
        return column.cast(nw.String) == as_label(value)
    if dtype == nw.Boolean:
        return column == (str(value).lower() == "true")
    if dtype.is_numeric():
        try:
            return column == float(value)
        except ValueError:
            raise ValueError(f"where must give a number for {name!r}, which holds numbers, but got {value!r}") from None
    return column.cast(nw.String) == as_label(value)


def rows_where(columns: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Give the rows of columns by name in which some have these values."""
    lists = {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in columns.items()}
    for name, value in where.items():
        refuse_absent(name, list(lists))
        kept = [as_label(one) == as_label(value) for one in lists[name]]
        lists = {key: [one for one, keep in zip(values, kept, strict=True) if keep] for key, values in lists.items()}
    return lists


def refuse_other_versions(
    source: Table | Mapping[str, Any], column: str, where: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Refuse rows whose version is none of the names of designs."""
    if isinstance(source, Mapping):
        refuse_other_names(Counter(rows_where(source, where).get(column, ())), names)
        return
    refuse_absent(column, source.names)
    meant = only(with_value_labels(source, {}, [column, *where]), where)
    rows = meant.frame.select(value=nw.col(column)).group_by("value").agg(nw.len().alias("number"))
    rows = rows.head(VALUES_SEEN)
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    refuse_other_names(dict(zip(rows["value"].to_list(), rows["number"].to_list(), strict=True)), names)


def refuse_other_names(found: Mapping[Any, int], names: Sequence[str]) -> None:
    """Refuse values of the column of versions, each with its number of rows, that are no names of designs."""
    strange = {value: int(number) for value, number in found.items() if as_label(value) not in names}
    if strange:
        rows = counted(sum(strange.values()), "row has", "rows have")
        shown = sorted("no value there" if is_missing(value) else repr(as_label(value)) for value in strange)
        known = enumerated([repr(name) for name in names], DESIGNS_LISTED)
        raise ValueError(
            f"by must be a column of the names of designs ({known}), but {rows} {enumerated(shown, DESIGNS_LISTED)}"
        )


def as_label(value: Any) -> str:
    """Write a value as a name: 1.0 is the name 1."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
