"""The same table in every engine: what a test of `tally` runs over."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

Table = dict[str, list[Any]]


@cache
def spark_session() -> Any:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none on the path")
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or the machine's own Python would count, without warner
    builder = sql.SparkSession.builder.master("local[2]")
    for key, value in quiet.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def in_engine(engine: str, table: Table, folder: Path) -> Any:
    """Insert a table of strings, integers, floats and None into an engine, or into a file for it."""
    return ENGINES[engine](table, folder)


def _pandas(table: Table, folder: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(table).convert_dtypes()


def _pandas_plain(table: Table, folder: Path) -> Any:
    """Columns of Python objects where something is missing, as pandas had them before it had nullable types."""
    pandas = pytest.importorskip("pandas")
    kinds = {
        name: object if None in values and float not in map(type, values) else None for name, values in table.items()
    }
    return pandas.DataFrame({name: pandas.Series(values, dtype=kinds[name]) for name, values in table.items()})


def _polars(table: Table, folder: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(table)


def _polars_lazy(table: Table, folder: Path) -> Any:
    return _polars(table, folder).lazy()


def _pyarrow(table: Table, folder: Path) -> Any:
    return pytest.importorskip("pyarrow").table(table)


def _duckdb(table: Table, folder: Path) -> Any:
    return pytest.importorskip("duckdb").connect().from_arrow(_pyarrow(table, folder))


def _ibis(table: Table, folder: Path) -> Any:
    return pytest.importorskip("ibis").memtable(_pyarrow(table, folder))


def sqlite_table(table: Table, folder: Path) -> Any:
    """Return a table of a database that answers only the thread that opened it."""
    ibis = pytest.importorskip("ibis")
    kinds = {"string": "text", "bigint": "integer", "double": "real"}
    columns = ", ".join(f'"{name}" {kinds[_sql_type(values)]}' for name, values in table.items())
    with closing(sqlite3.connect(folder / "reports.db")) as database, database:
        database.execute(f"create table reports ({columns})")
        places = ", ".join("?" for _ in table)
        database.executemany(f"insert into reports values ({places})", zip(*table.values(), strict=True))
    return ibis.sqlite.connect(folder / "reports.db").table("reports")


def _dask(table: Table, folder: Path) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(_pandas(table, folder), npartitions=3)


def _spark(table: Table, folder: Path) -> Any:
    session = spark_session()
    schema = ", ".join(f"`{name}` {_sql_type(values)}" for name, values in table.items())
    del folder
    return session.createDataFrame(list(zip(*table.values(), strict=True)), schema)


def _sql_type(values: list[Any]) -> str:
    kinds = {type(value) for value in values} - {type(None)}
    return "string" if kinds <= {str} else "bigint" if kinds == {int} else "double"


def _csv(table: Table, folder: Path) -> str:
    import csv

    path = folder / "reports.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return str(path)


def _csv_gz(table: Table, folder: Path) -> str:
    plain = _csv(table, folder)
    with gzip.open(f"{plain}.gz", "wb") as file, Path(plain).open("rb") as source:
        shutil.copyfileobj(source, file)
    return f"{plain}.gz"


def _parquet(table: Table, folder: Path) -> Any:
    pytest.importorskip("pyarrow.parquet").write_table(_pyarrow(table, folder), folder / "reports.parquet")
    return folder / "reports.parquet"


def _json_lines(table: Table, folder: Path) -> Any:
    path = folder / "reports.jsonl"
    rows = (dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True))
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


ENGINES: Mapping[str, Any] = {
    "pandas": _pandas,
    "pandas, plain types": _pandas_plain,
    "polars": _polars,
    "polars, lazy": _polars_lazy,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
    "ibis": _ibis,
    "dask": _dask,
    "spark": _spark,
    "csv": _csv,
    "csv.gz": _csv_gz,
    "parquet": _parquet,
    "json lines": _json_lines,
}
