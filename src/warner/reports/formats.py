"""The kinds of files: by which ending they are known, how they are read, and which of them are written.

Everybody who asks what a file is asks here: `paths` for the files of a folder, `files` for the way to read one,
`randomizing_files` for what can be written, and the command line for the names of formats.
"""

from __future__ import annotations

from pathlib import Path

KINDS = {  # what is read, by its ending; what has no known ending is taken as CSV
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet",
    ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata", ".sas7bdat": "SAS", ".xpt": "SAS transport",
    ".xlsx": "Excel", ".xlsm": "Excel",
}  # fmt: skip
DELIMITED = frozenset({"csv", "tsv"})  # lines of text
TEXTS = DELIMITED | {"Excel"}  # of which every column is read as texts
LABELLED = frozenset({"SPSS", "Stata", "SAS", "SAS transport"})  # with labels for values, read by `readstat`
PIPED = ("csv", "tsv", "parquet", "jsonl", "sav", "zsav", "dta", "sas7bdat", "xpt", "xlsx")  # on standard input
FOREIGN = {  # what is not read, and what to do
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".rds", ".rdata", ".rda"), "write it from R as .csv or .parquet"),
    ".zip": "unpack it first",
}


def ending_of(name: str) -> str:
    """Give the ending of a file, .gz left aside."""
    return Path(name.lower().removesuffix(".gz")).suffix


def kind_of(name: str) -> str:
    """Tell the format by the ending; what has no known ending is taken as CSV."""
    return KINDS.get(ending_of(name), "csv")


def refuse_foreign(name: str) -> None:
    """Refuse files of formats that are known, and not read."""
    if remedy := FOREIGN.get(ending_of(name)):
        raise ValueError(f"{name} is of a format that is not read ({ending_of(name)}); {remedy}")
    if kind_of(name) == "Excel" and name.lower().endswith(".gz"):
        raise ValueError(f"{name} must be unpacked first, as a file of Excel")
