"""Excel workbooks, made by hand: what each part of one holds is in the hands of a test."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
DATE, MOMENT, CLOCK = 1, 2, 3  # styles of cells
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/>'
    '<xf numFmtId="164"/><xf numFmtId="46"/></cellXfs></styleSheet>'
)


def cell(value: object, reference: str = "", style: int = 0, formula: str = "") -> str:
    """Write a cell: a text, a number, a truth value; nothing for None."""
    where = f' r="{reference}"' if reference else ""
    how = f' s="{style}"' if style else ""
    what = f"<f>{formula}</f>" if formula else ""
    if value is None:
        return f"<c{where}{how}>{what}</c>"
    if isinstance(value, bool):
        return f'<c{where}{how} t="b">{what}<v>{int(value)}</v></c>'
    if isinstance(value, str) and value.startswith("#"):
        return f'<c{where}{how} t="e">{what}<v>{value}</v></c>'
    if isinstance(value, str) and formula:
        return f'<c{where}{how} t="str">{what}<v>{escape(value)}</v></c>'
    if isinstance(value, str):
        return f'<c{where}{how} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f"<c{where}{how}>{what}<v>{value!r}</v></c>"


def row(*cells: object, number: int | None = None) -> str:
    """Write a row of cells, or of values."""
    written = [one if isinstance(one, str) and one.startswith("<c") else cell(one) for one in cells]
    where = "" if number is None else f' r="{number}"'
    return f"<row{where}>{''.join(written)}</row>"


def workbook(
    path: Path,
    sheets: Mapping[str, Sequence[str]],
    *,
    hidden: Sequence[str] = (),
    shared: Sequence[str] = (),
    after: str = "",
    properties: str = "",
    parts: Mapping[str, str] | None = None,
) -> Path:
    """Write a workbook: rows by sheet, texts that cells share, and what follows the cells; or other `parts`."""
    state = {name: "hidden" if name in hidden else "visible" for name in sheets}
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{i}" r:id="rId{i}" state="{state[name]}"/>'
        for i, name in enumerate(sheets, 1)
    )
    described = f"{properties}<sheets>{listed}</sheets>"
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    content = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{described}</workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>',
        "xl/styles.xml": STYLES,
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{"".join(f"<si>{text}</si>" for text in shared)}</sst>',
    }
    for i, rows in enumerate(sheets.values(), 1):
        cells = f"<sheetData>{''.join(rows)}</sheetData>"
        content[f"xl/worksheets/sheet{i}.xml"] = f'<worksheet xmlns="{MAIN}">{cells}{after}</worksheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, text in (content | dict(parts or {})).items():
            file.writestr(name, text)
    return path
