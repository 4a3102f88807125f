"""Real data as users have them: FIMI files, tables of person records, ready histograms; damaged and missing ones."""

from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from experiments.pinzon2026 import datasets
from experiments.pinzon2026.datasets import Histogram, load_histogram, load_histograms
from experiments.pinzon2026.real import RealSurvey

if TYPE_CHECKING:
    from pathlib import Path

pa = pytest.importorskip("pyarrow", reason="the loaders need PyArrow, which is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the loaders need PyArrow, which is not installed")


def as_dict(histogram: Histogram) -> dict[int, int]:
    return dict(zip(histogram.values.tolist(), histogram.counts.tolist(), strict=True))


def test_a_ready_histogram_is_read_over_its_range(tmp_path: Path) -> None:
    (tmp_path / "acs_pincp.csv").write_text("value,count\n300,2\n104,5\n110,0\n")
    histogram = load_histogram("acs_pincp", tmp_path)
    assert as_dict(histogram) == {104: 5, 300: 2}
    assert (histogram.first, histogram.k, histogram.n) == (104, 197, 7)
    assert histogram.coverage == "7 people, 0.0% of the published number"
    people = histogram.people()
    assert people.sum() == 7
    assert people[0] == 5
    assert people[196] == 2


def test_the_first_page_of_every_session(tmp_path: Path) -> None:
    text = "1 2 3 \n1\n\n5 6\n41270 1\n"
    (tmp_path / "kosarak.dat").write_text(text)
    histogram = load_histogram("kosarak", tmp_path)
    assert as_dict(histogram) == {1: 2, 5: 1, 41270: 1}
    assert (histogram.first, histogram.k) == (1, 41_270)
    (tmp_path / "kosarak.dat").unlink()
    (tmp_path / "kosarak.dat.gz").write_bytes(gzip.compress(text.encode()))
    assert as_dict(load_histogram("kosarak", tmp_path)) == as_dict(histogram)


def test_a_ready_histogram_goes_before_the_file_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "kosarak.dat").write_text("7\n")
    (tmp_path / "kosarak_first_url.csv.gz").write_bytes(gzip.compress(b"value,count\n1,9\n"))
    assert as_dict(load_histogram("kosarak", tmp_path)) == {1: 9}


def test_all_items_of_every_basket(tmp_path: Path) -> None:
    (tmp_path / "retail.dat").write_text("0 1 2\n1 2\n")
    histogram = load_histogram("retail", tmp_path)
    assert as_dict(histogram) == {0: 1, 1: 2, 2: 2}
    assert (histogram.first, histogram.k) == (0, 3)


def test_person_records_are_kept_as_folktables_keeps_them(tmp_path: Path) -> None:
    rows = [
        "SERIALNO,PUMA,AGEP,PINCP,WKHP,PWGTP",
        "a,00101,40,5000,40,10",
        "b,00102,16,5000,40,10",  # too young
        "c,00103,40,100,40,10",  # an income of at most 100
        "d,00104,40,5000,,10",  # no hours of work
        "e,00105,40,5000,40,0",  # no weight
        "f,00101,40,7000,1,1",
        "g,00109,17,101,1,1",
    ]
    (tmp_path / "psam_p01.csv").write_text("\n".join(rows[:5]) + "\n")
    (tmp_path / "psam_p02.csv.gz").write_bytes(gzip.compress("\n".join([rows[0], *rows[5:]]).encode()))
    assert as_dict(load_histogram("acs_puma", tmp_path)) == {101: 2, 109: 1}
    assert as_dict(load_histogram("acs_pincp", tmp_path)) == {101: 1, 5000: 1, 7000: 1}


def test_records_that_are_there_twice_count_once(tmp_path: Path) -> None:
    content = b"PUMA,PINCP\n101,5000\n102,7000\n"
    (tmp_path / "psam_pums_p01.csv").write_bytes(content)  # fits two patterns
    assert as_dict(load_histogram("acs_puma", tmp_path)) == {101: 1, 102: 1}
    (tmp_path / "psam_pums_p01.csv.gz").write_bytes(gzip.compress(content))
    assert as_dict(load_histogram("acs_puma", tmp_path)) == {101: 1, 102: 1}
    (tmp_path / "usa_pums.csv").write_bytes(content)  # fits a later pattern only
    assert as_dict(load_histogram("acs_puma", tmp_path)) == {101: 1, 102: 1}
    (tmp_path / "psam_p02.csv.gz").write_bytes(gzip.compress(content))  # another state
    assert as_dict(load_histogram("acs_puma", tmp_path)) == {101: 2, 102: 2}
    # The table that folktables makes holds what the files of the Census hold.
    (tmp_path / "ACSIncome.csv").write_text("PUMA,PINCP\n105,5000\n106,5000\n")
    assert as_dict(load_histogram("acs_puma", tmp_path)) == {105: 1, 106: 1}


def test_a_table_without_the_other_columns_is_taken_whole(tmp_path: Path) -> None:
    table = pa.table(
        {"PINCP": [5000.0, 90.0, None, 5000.0, 5001.0], "PUMA": ["00101", "00102", "00101", "00101", "00103"]}
    )
    pq.write_table(table, tmp_path / "ACSIncome.parquet")
    assert as_dict(load_histogram("acs_pincp", tmp_path)) == {5000: 2, 5001: 1}
    assert as_dict(load_histogram("acs_puma", tmp_path)) == {101: 2, 103: 1}
    # Income is among the rules, and it is there: the second row has too little, the third none.


def test_known_files_are_told_by_their_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"value,count\n0,1\n1,2\n"
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(datasets.COVERAGE_BY_DIGEST, digest, "one shop in three")
    (tmp_path / "retail_items.csv.gz").write_bytes(gzip.compress(content))
    assert load_histogram("retail", tmp_path).coverage == "one shop in three"
    (tmp_path / "retail_items.csv").write_bytes(content + b"2,1\n")
    assert load_histogram("retail", tmp_path).coverage == "4 items, 0.0% of the published number"


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("retail_items.csv", b"", "value,count"),
        ("retail_items.csv", b"value,count\n", "there must be some"),
        ("retail_items.csv", b"value,count\n1\n", "a value and a count"),
        ("retail_items.csv", b"value,count\n1,x\n", "line 2: the count must be a whole number, but got 'x'"),
        ("retail_items.csv", b"value,count\n1,-1\n", "at least 0"),
        ("retail_items.csv", b"value,count\n1,1\n1,2\n", "twice"),
        ("retail_items.csv", b"value,count\n1,\xff\n", "utf-8"),
        ("retail_items.csv.gz", b"value,count\n1,1\n", "gzip"),
        ("retail_items.csv.gz", gzip.compress(b"value,count\n1,1\n" * 99, mtime=0)[:-9], "(?i)end"),
        ("retail.dat", b"1 2\n3 x\n", "byte 6 is b'x'"),
        ("retail.dat", b"\n\n", "empty"),
        ("retail_items.csv", b"value,count\n5,1\n", "span from 2 to 100,000,000 answers, but from 5 on they span 1"),
        ("retail_items.csv", b"value,count\n1,1\n900000000000,1\n", "they span 900,000,000,000"),
        ("retail_items.csv", b"value,count\n1,99999999999999999999\n", "(?i)too large|out of bounds|overflow"),
        ("kosarak.dat", b"99999999999999999999\n", "(?i)too large|out of bounds|overflow"),
        ("kosarak.dat", b"0 2\n", "from 1 to 41270"),
        ("kosarak.dat", b"41271\n", "from 1 to 41270"),
        ("ACSIncome.csv", b"PUMA\n1.5\n", "whole numbers"),
        ("ACSIncome.csv", b"AGE\n15\n", "no column PUMA"),
        ("ACSIncome.parquet", b"PAR1", "(?i)parquet"),
        ("ACSIncome.csv", b"PUMA,AGEP\n101,3\n", "no row"),
    ],
)
def test_damaged_files_are_named_with_their_source(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    dataset = {"r": "retail", "k": "kosarak", "A": "acs_puma"}[name[0]]
    with pytest.raises(ValueError, match=complaint) as caught:
        load_histogram(dataset, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / name} is damaged")
    with pytest.raises(ValueError, match=complaint):  # what is there and cannot be read is never left out in silence
        load_histograms(tmp_path)
    assert "fimi" in str(caught.value) or "census" in str(caught.value)


def test_what_is_missing_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "retail_items.csv").write_text("value,count\n0,5\n3,5\n")
    histograms, complaints = load_histograms(tmp_path)
    assert [histogram.name for histogram in histograms] == ["retail"]
    assert [line.split(" ")[0] for line in complaints] == ["kosarak", "acs_puma", "acs_pincp"]
    assert "fimi.uantwerpen.be" in complaints[0]
    assert "folktables" in complaints[1]


def test_other_data_are_another_configuration() -> None:
    first = Histogram("x", "X", 0, 3, np.array([0, 2]), np.array([5, 5]), "")
    second = Histogram("x", "X", 0, 3, np.array([0, 2]), np.array([5, 6]), "")
    assert RealSurvey(first, 1, 2).name != RealSurvey(second, 1, 2).name
    wider = Histogram("x", "X", 0, 4, np.array([0, 2]), np.array([5, 5]), "")
    assert first.digest != wider.digest
