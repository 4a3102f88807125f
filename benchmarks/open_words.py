"""Discovered values of a real list, with and without an expected list.

    python benchmarks/open_words.py FILE LETTERS LENGTH [PEOPLE]

FILE is a CSV file, which may be compressed, with the columns value and count: words with their frequencies, say. People
draw their value from these frequencies (seed 1), reports are drawn with seed 2. The expected list has the 300 most
common values: as known from an earlier survey. What was found goes to standard error.
"""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path

import numpy as np

from warner import OpenDomain, OpenTally, discover, plan

EXPECTED = 300  # values of the list


def main() -> None:
    path, letters, length = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    number = int(sys.argv[4]) if len(sys.argv) > 4 else 10**6
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        rows = [(row["value"], int(row["count"])) for row in csv.DictReader(lines)]
    rows.sort(key=lambda row: -row[1])
    values, counts = [value for value, _ in rows], np.array([count for _, count in rows])
    people = np.random.default_rng(1).choice(len(values), p=counts / counts.sum(), size=number)
    shares = counts / counts.sum()
    print("| epsilon | smallest share | held by more | found | with the list | held by nobody | intervals that miss |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for epsilon in (1, 2, 4):
        design = OpenDomain(epsilon=epsilon, letters=letters, length=length)
        blocks = design.values.encoded(values).blocks[people]
        rng = np.random.default_rng(2)
        tally = OpenTally.of_rows(design, design.draw(blocks, rng.bytes))
        held = {design.values.decoded(row) for row in np.unique(blocks, axis=0).tolist()}
        true: dict[object, float] = {}
        for row, share in zip(design.values.encoded(values).blocks.tolist(), shares.tolist(), strict=True):
            name = design.values.decoded(row)
            true[name] = true.get(name, 0.0) + share
        alone = discover(tally)
        listed = discover(tally, expected=[value for value in values[:EXPECTED] if len(value) <= length])
        least = plan(design, people=number).smallest_share
        false = [len(set(found.values) - held) for found in (alone, listed)]
        table = listed.table()
        missed = sum(
            not low <= true.get(value, 0.0) <= high
            for value, low, high in zip(table["value"], table["low"], table["high"], strict=True)
        )
        print(
            f"| {epsilon} | {100 * least:.2f} % | {sum(share >= least for share in true.values())} "
            f"| {len(alone.values)} | {len(listed.values)} | {false[0]} and {false[1]} "
            f"| {missed} of {len(listed.values)} |",
            flush=True,
        )
        for name, found in (("alone", alone), ("with the list", listed)):
            print(f"epsilon {epsilon}, {name}: {', '.join(map(str, found.values))}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
