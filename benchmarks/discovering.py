"""The speed and the memory of open domains: the search, the tally, and the draw."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import rfft

from measuring import Line, slower
from warner import LocalHashing, OpenDomain, OpenTally, discover

if TYPE_CHECKING:
    from collections.abc import Iterator

PEOPLE = 10**6
MOST_TALLY_BYTES, MOST_SEARCH_BYTES = 40, 600 * 10**6
TRANSFORMS = 10  # real FFTs that are timed together
# In a process of its own, which has done nothing else: how much more memory than before the search needs at its peak.
PEAK = """
import pickle, re, sys
from pathlib import Path
from warner import discover
tally = pickle.load(sys.stdin.buffer)
peak = lambda: int(re.search("VmHWM: *\\t* *([0-9]+)", Path("/proc/self/status").read_text())[1])
before = peak()
discover(tally)
print(1024 * (peak() - before))
"""


def survey() -> OpenTally:
    """Draw a million reports over 2^48 values in three levels: 1,000 values by Zipf's law."""
    rng = np.random.default_rng(1)
    apps = OpenDomain(epsilon=1, bits=48, step=16)
    ranks = 1 / np.arange(1, 1001) ** 1.1
    held = rng.integers(2**48, size=1000)[rng.choice(1000, p=ranks / ranks.sum(), size=PEOPLE)]
    return OpenTally.of_rows(apps, apps.draw(apps.values.encoded(held).blocks, rng.bytes))


def discovering() -> Iterator[Line]:
    """Search a million reports against real FFTs, and draw them against random bytes."""
    tally = survey()
    signal = np.random.default_rng(2).standard_normal(2**20)

    def transforms() -> None:
        for _ in range(TRANSFORMS):
            rfft(signal)

    work = "discover, 10^6 reports over 2^48 values"
    against = f"{TRANSFORMS} real FFTs of length 2^20"
    yield slower(work, against, 300 / TRANSFORMS, transforms, lambda: discover(tally), rounds=3)
    held = sum(part.directions.nbytes + part.values.nbytes for part in tally.levels)
    held += sum(place.nbytes for place in tally.places)
    each = held / PEOPLE
    yield Line("the same: a tally, bytes per report", "", "<= 40", each <= MOST_TALLY_BYTES, f"{each:.1f}", "")
    child = subprocess.run([sys.executable, "-c", PEAK], input=pickle.dumps(tally), capture_output=True, check=True)
    peak = int(child.stdout)
    kept = peak <= MOST_SEARCH_BYTES
    yield Line("the same: more memory than before", "", "<= 600 MB", kept, f"{peak / 10**6:.0f} MB", "")
    blocks = tally.design.values.encoded(np.random.default_rng(3).integers(2**48, size=PEOPLE)).blocks
    yield slower(
        "draw 10^6 reports of an open domain",
        "os.urandom(24) for each",
        10,
        lambda: os.urandom(24 * PEOPLE),
        lambda: tally.design.draw(blocks, os.urandom),
        rounds=3,
    )
    hashing, apps = LocalHashing(1024, epsilon=1), tally.design
    yield slower(
        "randomize one answer, an open domain of 48 bits",
        "the same under local hashing, K = 1,024",
        3,
        lambda: [hashing.randomize(300) for _ in range(10)],
        lambda: [apps.randomize(300) for _ in range(10)],
        rounds=60,
    )
