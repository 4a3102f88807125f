"""Excel workbooks (.xlsx, .xlsm): the cells of one sheet, a row at a time.

Such a file is a zip of XML [1]_. This reader needs its sheets, shared texts, date formats and cells. Cells are read as
Excel would save them as CSV, but with all digits, and with dates in ISO 8601. Macros, formulas and links are never run:
a formula has the value that was saved with it.

No file may take more memory than its texts: sheets are read once, and nothing is unpacked. Document types, which only
a hostile file has, raise an error, so that no entity is expanded and nothing else is opened.

Libraries lose the difference between a missing answer and a damaged one: python-calamine returns an empty text for
error cells, blank cells and formulas that were never calculated alike, openpyxl None for the last two.

References
----------
.. [1] ECMA-376, Office Open XML file formats, part 1: SpreadsheetML (chapter 18).
"""

from __future__ import annotations

import datetime as dt
import errno
import lzma
import posixpath
import re
import zipfile
import zlib
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from xml.parsers import expat

from warner.reports.files import Head, Reader, partition, refuse_duplicates
from warner.text import enumerated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from warner.reports.options import Reading

PIECE_BYTES = 2**16  # of XML that are read at a time
SHEET_CELLS_AT_ONCE = 2**18  # that are handed on at a time
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14  # of a sheet
LONGEST_TEXT = 2**18  # characters of a cell, of which Excel allows 32,767, each of which may be written as _x000D_
SHARED_BYTES = 2**29  # of XML, for all texts that cells share
SHEET_BYTES = 2**34  # of XML, for one sheet
TAG_BYTES = 2**20  # of XML that the parser must hold at a time
SHEETS_NAMED = 10  # in an error
OLE = b"\xd0\xcf\x11\xe0"  # how files begin that are encrypted, or of an older Excel
DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # number formats that every Excel knows
TIMES = {18, 19, 20, 21, 45, 46, 47}  # among these, of the time alone
NOT_LETTERS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)  # in the code of a format
ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
REFERENCE = re.compile("([A-Z]{1,3})([1-9][0-9]*)")
DAMAGED_ZIP = (expat.ExpatError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, LookupError, ValueError)
WHOLE_DIGITS = 2**53  # below, a whole number is written in digits


Start: TypeAlias = "Callable[[str, dict[str, str]], None]"  # takes the name of an element, and its attributes
OnText: TypeAlias = "Callable[[str], None]"  # takes the name of an element that ends, or some text


class Sheet(NamedTuple):
    name: str
    part: str
    visible: bool


class HeaderRow(NamedTuple):
    """Table on a sheet: number of the header row, first column, and names of the columns."""

    row: int
    first: int
    names: list[str]


class Workbook(AbstractContextManager["Workbook"]):
    def __init__(self, file: str) -> None:
        self.file = file
        with Path(file).open("rb") as content:
            if content.read(len(OLE)) == OLE:
                raise ValueError(
                    f"{file} cannot be read: it is protected by a password, or from Excel 97; save it as .xlsx, "
                    "without a password"
                )
        with self._sound():
            self.zip = zipfile.ZipFile(file)

    def __exit__(self, *_: object) -> None:
        self.zip.close()

    # What the workbook says of itself

    def sheets(self) -> list[Sheet]:
        targets: dict[str, str] = {}
        found: list[tuple[str, str, bool]] = []

        def relation(name: str, attributes: dict[str, str]) -> None:
            if name == "Relationship" and attributes.get("Type", "").endswith("/worksheet"):
                targets[attributes["Id"]] = posixpath.normpath(posixpath.join("/xl", attributes["Target"])).lstrip("/")

        def sheet(name: str, attributes: dict[str, str]) -> None:
            if name == "sheet":
                link = next((value for key, value in attributes.items() if key.endswith(":id")), "")
                found.append((attributes["name"], link, attributes.get("state", "visible") == "visible"))

        self._parse("xl/_rels/workbook.xml.rels", start=relation)
        self._parse("xl/workbook.xml", start=sheet)
        return [Sheet(name, targets[link], visible) for name, link, visible in found if link in targets]

    def sheet_named(self, name: str | None) -> Sheet:
        """Return the sheet of this name; if None, the only visible sheet with content."""
        sheets = self.sheets()
        if name is not None:
            named = [sheet for sheet in sheets if sheet.name == name]
            if not named:
                listed = enumerated([repr(sheet.name) for sheet in sheets], SHEETS_NAMED)
                raise ValueError(f"sheet must be one of {self.file} ({listed}), but got {name!r}")
            return named[0]
        filled = [sheet for sheet in sheets if sheet.visible and next(self._rows(sheet), None) is not None]
        if not filled:
            raise ValueError(f"{self.file} is empty: there is not even a header")
        if len(filled) > 1:
            listed = enumerated([repr(sheet.name) for sheet in filled], SHEETS_NAMED)
            raise ValueError(
                f"sheet must be given, because {self.file} has {len(filled)} sheets ({listed}); name one with sheet="
            )
        return filled[0]

    def table(self, sheet: Sheet) -> HeaderRow:
        """Find the table of a sheet: its header is the first row with content."""
        header = next(self._rows(sheet), None)
        if header is None:
            raise ValueError(f"the sheet {sheet.name!r} of {self.file} is empty: there is not even a header")
        number, cells = header
        first, last = min(cells), max(cells)
        names = [cells.get(index, "") or f"column{index - first}" for index in range(first, last + 1)]
        return HeaderRow(number, first, names)

    def rows(self, sheet: Sheet, table: HeaderRow, columns: Sequence[str]) -> Iterator[list[str | None]]:
        """Yield the required columns of all rows with content below the header."""
        indices = [table.first + table.names.index(name) for name in columns]
        last = table.first + len(table.names) - 1
        merged: list[str] = []
        for number, cells in self._rows(sheet, set(indices), merged):
            if number <= table.row:
                continue
            if min(cells) < table.first or max(cells) > last:
                index = min(cells) if min(cells) < table.first else max(cells)
                raise ValueError(
                    f"{self.file} cannot be read: cell {_letters(index)}{number} has a value, but its column has no "
                    f"name in the header, row {table.row}"
                )
            yield [cells.get(index) for index in indices]
        for span in merged:
            _refuse_merged(self.file, span, table, indices)

    # Parts, which are XML

    def _parse(self, part: str, start: Start, end: OnText | None = None, text: OnText | None = None) -> None:
        for _ in self._parsed(part, start, end, text, SHARED_BYTES):
            pass

    def _parsed(self, part: str, start: Start, end: OnText | None, text: OnText | None, most: int) -> Iterator[None]:
        """Parse a part, a piece at a time; elements are called by their local names."""
        local: dict[str, str] = {}

        def name_of(qualified: str) -> str:
            return local.get(qualified) or local.setdefault(qualified, qualified.rpartition(":")[2])

        def refuse(*_: object) -> None:
            raise ValueError("document type")

        parser = expat.ParserCreate()
        parser.buffer_text, parser.buffer_size = True, PIECE_BYTES
        parser.StartDoctypeDeclHandler = refuse
        parser.StartElementHandler = lambda name, attributes: start(name_of(name), attributes)
        if end is not None:
            parser.EndElementHandler = lambda name: end(name_of(name))
        parser.CharacterDataHandler = text
        with self._sound(), self.zip.open(part) as content:
            done = 0
            while piece := content.read(PIECE_BYTES):
                done += len(piece)
                if done > most:
                    raise ValueError("too large")
                parser.Parse(piece, False)
                if done - parser.CurrentByteIndex > TAG_BYTES + PIECE_BYTES:
                    raise ValueError("too long")
                yield
            parser.Parse(b"", True)
            yield

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Replace the errors of a damaged file by one line."""
        try:
            yield
        except NotImplementedError as error:  # of `zipfile`: another version of the format, compression or encryption
            raise ValueError(f"{self.file} cannot be read: {error}; save it in Excel or LibreOffice again") from None
        except RuntimeError:  # of `zipfile`, for what is encrypted
            raise ValueError(f"{self.file} cannot be read: it is protected by a password") from None
        except (*DAMAGED_ZIP, OSError) as error:
            system = isinstance(error, OSError) and error.errno not in {None, errno.EINVAL}  # not of a damaged zip
            if system or str(error).startswith(self.file):
                raise
            raise ValueError(f"{self.file} cannot be read: it is damaged, or no Excel file") from None

    @cached_property
    def _shared(self) -> list[str]:
        """Shared texts, without phonetic annotations."""
        texts: list[str] = []
        current: list[str] = []
        inside = spoken = False

        def start(name: str, _: dict[str, str]) -> None:
            nonlocal inside, spoken
            inside = name == "t" and not spoken
            spoken = spoken or name == "rPh"

        def end(name: str) -> None:
            nonlocal inside, spoken
            inside = False
            spoken = spoken and name != "rPh"
            if name == "si":
                texts.append(_unescaped("".join(current)))
                current.clear()

        def text(some: str) -> None:
            if inside:
                current.append(some)

        if "xl/sharedStrings.xml" in self.zip.namelist():
            self._parse("xl/sharedStrings.xml", start, end, text)
        return texts

    @cached_property
    def _moments(self) -> dict[str, str]:
        """Styles of cells that show numbers as dates or times, by their numbers."""
        codes: dict[int, str] = {}
        styles: dict[str, str] = {}
        inside = False

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal inside
            if name == "numFmt":
                codes[int(attributes["numFmtId"])] = attributes.get("formatCode", "")
            elif name == "cellXfs":
                inside = True
            elif name == "xf" and inside:
                styles[str(len(styles))] = _shows(int(attributes.get("numFmtId", 0)), codes)

        def end(name: str) -> None:
            nonlocal inside
            inside = inside and name != "cellXfs"

        if "xl/styles.xml" in self.zip.namelist():
            self._parse("xl/styles.xml", start, end)
        return {number: shown for number, shown in styles.items() if shown}

    @cached_property
    def _since_1904(self) -> bool:
        found = []

        def start(name: str, attributes: dict[str, str]) -> None:
            if name == "workbookPr":
                found.append(attributes.get("date1904") in {"1", "true"})

        self._parse("xl/workbook.xml", start)
        return any(found)

    # Cells

    def _rows(
        self, sheet: Sheet, used: set[int] | None = None, merged: list[str] | None = None
    ) -> Iterator[tuple[int, dict[int, str]]]:
        """Yield the rows with content, and their cells; of columns not `used` only whether there is something."""
        shared, moments, since_1904 = self._shared, self._moments, self._since_1904
        rows: list[tuple[int, dict[int, str]]] = []
        cells: dict[int, str] = {}
        content: list[str] = []
        number = index = 0
        kind = style = ""
        reading = formula = False

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal number, index, kind, style, reading, formula
            if name == "c":
                found = REFERENCE.fullmatch(attributes["r"]) if "r" in attributes else None
                index = _column_number(found[1]) if found else index + 1
                kind, style, formula = attributes.get("t", "n"), attributes.get("s", "0"), False
                if index > MOST_COLUMNS:
                    raise ValueError("too many columns")
            elif name in {"v", "t"}:
                reading = True
            elif name == "f":
                formula = True
            elif name == "row":
                number, index = int(attributes.get("r", number + 1)), 0
                if number > MOST_ROWS:
                    raise ValueError("too many rows")
            elif name == "rPh":
                kind = "spoken"  # until the next cell
            elif name == "mergeCell" and merged is not None:
                merged.append(attributes["ref"])

        def text(some: str) -> None:
            if reading and kind != "spoken":
                content.append(some)
                if len(content) > LONGEST_TEXT // PIECE_BYTES + 8:
                    raise ValueError("too long")

        def end(name: str) -> None:
            nonlocal reading
            if name in {"v", "t"}:
                reading = False
            elif name == "c":
                written = "".join(content)
                content.clear()
                if used is not None and index not in used:
                    if shared[int(written)] if kind == "s" and written else written:
                        cells[index] = "something"
                    return
                if not written and formula and kind == "n" and used is not None:
                    raise ValueError(
                        f"{self.file} cannot be read: cell {_letters(index)}{number} holds a formula that was never "
                        "calculated; open the file in Excel or LibreOffice, and save it"
                    )
                value = _value(written, kind, shared, moments.get(style, ""), since_1904=since_1904)
                if value:
                    cells[index] = value
            elif name == "row" and cells:
                rows.append((number, dict(cells)))
                cells.clear()

        for _ in self._parsed(sheet.part, start, end, text, SHEET_BYTES):
            yield from rows
            rows.clear()


def _value(written: str, kind: str, shared: Sequence[str], moment: str, *, since_1904: bool) -> str:
    if not written:
        return ""
    if kind == "s":
        return shared[int(written)]
    if kind in {"inlineStr", "str", "spoken"}:
        return _unescaped(written)
    if kind == "b":
        return "TRUE" if written.strip() in {"1", "true"} else "FALSE"
    if kind in {"e", "d"}:  # an error such as #N/A, or a date in ISO 8601
        return written
    number = float(written)
    return _moment(number, moment, since_1904=since_1904) if moment else _number_text(number)


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < WHOLE_DIGITS else repr(number)


def _moment(number: float, shown: str, *, since_1904: bool) -> str:
    """Write a number of days as a date, a date with a time, or a time."""
    seconds = round(number * 86_400)
    if shown == "time":
        sign, seconds = "-" if seconds < 0 else "", abs(seconds)
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    # Excel counts from 31 December 1899, and takes 1900 for a leap year.
    beginning = dt.date(1904, 1, 1) if since_1904 else dt.date(1899, 12, 31 if number < 60 else 30)
    try:
        when = dt.datetime.combine(beginning, dt.time()) + dt.timedelta(seconds=seconds)
    except OverflowError:
        return _number_text(number)
    return when.date().isoformat() if not seconds % 86_400 else when.isoformat()


def _shows(number: int, codes: dict[int, str]) -> str:
    """Return "date" or "time" for the number formats of dates and times; empty for others.

    >>> _shows(14, {}), _shows(164, {164: "yyyy-mm hh:mm"}), _shows(164, {164: "[h]:mm"}), _shows(164, {164: '0.0 "d"'})
    ('date', 'date', 'time', '')
    """
    if number not in codes:
        return "" if number not in DATES else "time" if number in TIMES else "date"
    letters = NOT_LETTERS.sub("", codes[number]).lower()
    if "general" in letters:
        return ""
    if set(letters) & set("hs") and not set(letters) & set("yd"):
        return "time"
    return "date" if set(letters) & set("ydm") else ""


def _unescaped(text: str) -> str:
    r"""Decode characters that XML cannot contain, which Excel writes as _x000D_."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _column_number(letters: str) -> int:
    """Return the number of a column.

    >>> _column_number("A"), _column_number("AA"), _letters(27)
    (1, 27, 'AA')
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    return (_letters((number - 1) // 26) if number > 26 else "") + chr(65 + (number - 1) % 26)


def _refuse_merged(file: str, span: str, table: HeaderRow, indices: Sequence[int]) -> None:
    """Raise an error for merged cells in required columns: only the first of them contains the value."""
    ends = [REFERENCE.fullmatch(end) for end in span.split(":")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        return
    (left, _), (right, bottom) = ((_column_number(end[1]), int(end[2])) for end in ends if end is not None)
    if bottom >= table.row and any(left <= index <= right for index in indices):
        raise ValueError(
            f"{file} cannot be read: the cells {span} are merged, and only the first of them holds the value; unmerge "
            "and fill them"
        )


# To DuckDB


def read_excel(_: Sequence[Head], database: Any, reading: Reading, *, secret: bool) -> Reader:
    """Read a sheet of several files, all columns as texts, with the columns of their folders."""
    import pyarrow as pa

    from warner.reports.labelled import scanned

    def relation(files: Sequence[str], partitioned: bool) -> Any:
        with Workbook(files[0]) as book:
            names = book.table(book.sheet_named(reading.sheet)).names
        refuse_duplicates(names, secret=secret)
        folders = {file: partition(file) if partitioned else {} for file in files}
        schema = pa.schema([(name, pa.string()) for name in (*names, *folders[files[0]])])

        def batches(wanted: Sequence[str]) -> Iterator[Any]:
            for file in files:
                constant = folders[file]
                inside = [name for name in wanted if name not in constant]
                for rows in _pieces(file, reading.sheet, inside):
                    read = dict(zip(inside, zip(*rows, strict=True), strict=True))
                    columns = [read[name] if name in read else [constant[name]] * len(rows) for name in wanted]
                    yield pa.record_batch([pa.array(column, pa.string()) for column in columns], names=list(wanted))

        return scanned(database, schema, batches)

    return Reader(relation)


def _pieces(file: str, sheet: str | None, wanted: Sequence[str]) -> Iterator[list[list[str | None]]]:
    size = max(SHEET_CELLS_AT_ONCE // max(len(wanted), 1), 1)
    with Workbook(file) as book:
        one = book.sheet_named(sheet)
        piece: list[list[str | None]] = []
        for row in book.rows(one, book.table(one), wanted):
            piece.append(row)
            if len(piece) == size:
                yield piece
                piece = []
        if piece:
            yield piece
