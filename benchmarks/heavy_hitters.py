"""Heavy hitters side by side: this library, PEM restated, and pure-LDP's own PEM, TreeHist and SFP, on the same people.

    python benchmarks/heavy_hitters.py [the Python of an environment with pure-LDP]

PEM (Wang, Li, Jha) as published: equal groups, 16 bits a level, and the best k prefixes are kept at each. It uses our
linear hash, whose counts have the law of optimal local hashing, so that the tree alone differs. pure-LDP has its
Hadamard sketch of 128 rows and 1,024 columns, and 4 bits a level, which were not tuned: its local hashing compares each
report with the whole domain. Its SFP joins fragments by a hash of the whole, and may name fewer values than are wanted,
or more, of which the best are taken. F1 is that of the k most common values; false names have a true share of zero.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from warner import OpenDomain, OpenTally, discover
from warner.designs.support_counts import ExtensionCounter

if TYPE_CHECKING:
    from warner.arrays import Integers

WANTED = 8  # values: the k of the top k
SURVEYS = 3
SKETCHED = """
import json, sys, time
import numpy as np
from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
from pure_ldp.heavy_hitters.apple_sfp import SFPClient, SFPServer
from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer
from pure_ldp.heavy_hitters.treehistogram import TreeHistClient, TreeHistServer
people, bits, epsilon, wanted = json.load(sys.stdin)
zeros = np.zeros  # current versions of NumPy reject zeros(None), which pure-LDP asks for
np.zeros = lambda shape, *more, **named: zeros(() if shape is None else shape, *more, **named)
texts = [f"{value:0{bits}b}" for value in people]
results = {}
protocols = ("PEM", PEMClient, PEMServer), ("TreeHist", TreeHistClient, TreeHistServer), ("SFP", SFPClient, SFPServer)
for name, client, server in protocols:
    start = time.process_time()
    try:
        half = epsilon if name == "PEM" else epsilon / 2
        sketch = CMSServer(half, 128, 1024, is_hadamard=True)
        oracle = CMSClient(half, sketch.get_hash_funcs(), 1024, is_hadamard=True)
        if name == "PEM":
            one = client(epsilon, 0, bits, 4, fo_client=oracle)
            all_of_them = server(epsilon, 0, bits, 4, fo_server=sketch)
        elif name == "SFP":
            one = client(epsilon, 4, bits, alphabet={"0", "1"}, fo_client=oracle)
            all_of_them = server(epsilon, 4, bits, alphabet={"0", "1"}, fo_server=sketch)
        else:
            one = client(epsilon, 4, bits, fo_client=oracle)
            all_of_them = server(epsilon, bits, 4, fo_server=sketch)
        for text in texts:
            all_of_them.aggregate(one.privatise(text))
        shares = dict(zip(*all_of_them.find_heavy_hitters(k=wanted)))
        named = [text for text in sorted(shares, key=shares.get, reverse=True) if set(text) <= {"0", "1"}]  # no padding
        results[name] = [[int(text, 2) for text in named[:wanted]], time.process_time() - start]
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"
print(json.dumps(results))
"""


def population(n: int, bits: int, seed: int) -> Integers:
    """Draw respondents with 2,000 values by Zipf's law with exponent 1.5."""
    rng = np.random.default_rng(seed)
    ranks = 1 / np.arange(1, 2001) ** 1.5
    return np.asarray(rng.integers(2**bits, size=2000)[rng.choice(2000, p=ranks / ranks.sum(), size=n)])


def prefix_extending(people: Integers, bits: int, epsilon: float, seed: int) -> list[int]:
    """Name the best k values by PEM: equal groups, and the best k prefixes of each level."""
    usual = OpenDomain(epsilon=epsilon, bits=bits, step=16)
    design = OpenDomain._make(usual.values, usual.odds, usual.field, (1,) * usual.levels)
    rng = np.random.default_rng(seed)
    tally = OpenTally.of_rows(design, design.draw(design.values.encoded(people).blocks, rng.bytes))
    kept: list[list[int]] = [[]]
    for reports, size in zip(tally.levels, design.values.block_sizes, strict=True):
        scored = []
        for prefix, counts in zip(kept, ExtensionCounter(design, reports).supports(kept), strict=True):
            best = np.argsort(-counts[:size], kind="stable")[:WANTED]
            scored += [(int(counts[block]), [*prefix, int(block)]) for block in best]
        kept = [row for _, row in sorted(scored, key=lambda pair: -pair[0])[:WANTED]]
    return [int(value) for value in map(design.values.decoded, kept) if value is not None]


def discovered(people: Integers, bits: int, epsilon: float, seed: int) -> list[int]:
    """Name the values that `discover` finds."""
    design, rng = OpenDomain(epsilon=epsilon, bits=bits, step=16), np.random.default_rng(seed)
    tally = OpenTally.of_rows(design, design.draw(design.values.encoded(people).blocks, rng.bytes))
    return [int(value) for value in discover(tally).values]


def judged(named: list[int], people: Integers) -> tuple[int, float, int]:
    """Return the number of named values, F1 for the most common ones, and the number of false names."""
    values, counts = np.unique(people, return_counts=True)
    top = set(values[np.argsort(-counts, kind="stable")[:WANTED]].tolist())
    first = named[:WANTED]
    return len(named), 2 * len(top & set(first)) / (len(first) + WANTED), len(set(named) - set(values.tolist()))


def sketched(people: Integers, bits: int, epsilon: float, python: str) -> dict[str, list[Any] | str]:
    """Run pure-LDP's protocols in their own environment; give what each named and its seconds, or an error."""
    given = json.dumps([people.tolist(), bits, epsilon, WANTED])
    child = subprocess.run([python, "-c", SKETCHED], input=given, capture_output=True, text=True, check=False)
    return dict(json.loads(child.stdout)) if child.returncode == 0 else {"pure-LDP": child.stderr.splitlines()[-1]}


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else None
    if python is None:
        print("pure-LDP is left out: name the Python of an environment that has it", file=sys.stderr)
    for n, bits, epsilon in ((50_000, 32, 4.0), (50_000, 48, 4.0), (200_000, 48, 2.0)):
        results: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(SURVEYS):
            people = population(n, bits, seed)
            for name, method in (("`discover` at 95 %", discovered), ("PEM, 16 bits per level", prefix_extending)):
                start = time.process_time()
                named = method(people, bits, epsilon, SURVEYS + seed)
                results.setdefault(name, []).append((*judged(named, people), time.process_time() - start))
            for name, found in sketched(people, bits, epsilon, python).items() if python else ():
                if isinstance(found, str):
                    print(f"pure-LDP {name}: {found}", file=sys.stderr)
                else:
                    results.setdefault(f"pure-LDP {name}", []).append((*judged(found[0], people), found[1]))
        print(f"\n{n:,} people, {bits} bits, epsilon {epsilon:g}, {SURVEYS} surveys\n")
        print(f"| | named | F1 of the top {WANTED} | held by nobody | seconds |\n| --- | ---: | ---: | ---: | ---: |")
        for name, rows in results.items():
            total = np.array(rows)
            print(
                f"| {name} | {total[:, 0].sum():.0f} | {total[:, 1].mean():.2f} | {total[:, 2].sum():.0f} | "
                f"{total[:, 3].mean():.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
