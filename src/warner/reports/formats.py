"""File formats: the one table of endings, kinds, how files of a kind are read, and how they are written.

Everybody who asks what a file is asks here: `paths` for the files of a folder, `files` for the way to read one,
`randomizing_files` for what can be written, and the command line for the names of formats. A new format is a row here,
and the module that reads it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple


class Format(NamedTuple):
    """Files of one kind.

    `reader` and `writer` are functions, as module:function, that are imported when they are used: a reader takes the
    heads of files (`files.Reader` says what it gives), a writer the path of a file (`randomizing_files.Write`).
    `piped` are the names that the kind has on standard input. Of some kinds all columns are read as `texts`; some are
    `delimited` lines of text; some have `labelled` values.
    """

    kind: str
    endings: tuple[str, ...]
    piped: tuple[str, ...]
    reader: str
    writer: str = ""
    texts: bool = False
    delimited: bool = False
    labelled: bool = False
    zipped: bool = True  # whether it is read gzipped, too


FORMATS = (
    Format(
        "csv", (".csv",), ("csv",), "files:read_delimited", "randomizing_files:write_csv", texts=True, delimited=True
    ),
    Format(
        "tsv", (".tsv",), ("tsv",), "files:read_delimited", "randomizing_files:write_tsv", texts=True, delimited=True
    ),
    Format("parquet", (".parquet", ".pq"), ("parquet",), "files:read_parquet", "randomizing_files:write_parquet"),
    Format("json", (".json", ".jsonl", ".ndjson"), ("jsonl",), "files:read_json", "randomizing_files:write_json"),
    Format("SPSS", (".sav", ".zsav"), ("sav", "zsav"), "labelled:read_labelled", labelled=True, zipped=False),
    Format("Stata", (".dta",), ("dta",), "labelled:read_labelled", labelled=True, zipped=False),
    Format("SAS", (".sas7bdat",), ("sas7bdat",), "labelled:read_labelled", labelled=True, zipped=False),
    Format("SAS transport", (".xpt",), ("xpt",), "labelled:read_labelled", labelled=True, zipped=False),
    Format("Excel", (".xlsx", ".xlsm"), ("xlsx",), "excel:read_excel", texts=True, zipped=False),
)
KINDS = {form.kind: form for form in FORMATS}
ENDINGS = {ending: form for form in FORMATS for ending in form.endings}
PIPED = tuple(name for form in FORMATS for name in form.piped)
UNNAMED = KINDS["csv"]  # what files without a known ending are taken for
FOREIGN = {  # what is not read, and what to do
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".rds", ".rdata", ".rda"), "write it from R as .csv or .parquet"),
    ".zip": "unpack it first",
}


def ending_of(name: str) -> str:
    """Give the ending of a file, .gz left aside."""
    return Path(name.lower().removesuffix(".gz")).suffix


def format_by_name(name: str) -> Format:
    """Tell the format by the ending; what has no known ending is taken as CSV."""
    return ENDINGS.get(ending_of(name), UNNAMED)


def function(name: str) -> Any:
    """Give the function of this package that reads or writes a format."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"warner.reports.{module}"), attribute)


def refuse_foreign(name: str) -> None:
    """Refuse files of formats that are known, and not read."""
    if remedy := FOREIGN.get(ending_of(name)):
        raise ValueError(f"{name} is of a format that is not read ({ending_of(name)}); {remedy}")
    found = format_by_name(name)
    if not found.zipped and name.lower().endswith(".gz"):
        raise ValueError(f"{name} must be unpacked first, as a file of {found.kind}")


def writer_of(name: str) -> Any:
    """Give the function that writes a file of this name; what has no ending is written as CSV."""
    found = UNNAMED if ending_of(name) in {"", ".txt"} else ENDINGS.get(ending_of(name))
    if found is None or not found.writer:
        *most, last = [f".{form.piped[0]}" for form in FORMATS if form.writer]
        raise ValueError(f"the output must end in {', '.join(most)} or {last} (.gz may follow), but got {name}")
    return function(found.writer)
