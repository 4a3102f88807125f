"""Start-up of commands: processor time of whole processes, independent of the load."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from measuring import Line
from warner import RandomizedResponse, surveys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROUNDS = 9
LIBRARIES = "import numpy, scipy.special"
EXAMPLES = Path(__file__).parent.parent / "examples"


COMPLETION = {"_WARNER_COMPLETE": "bash_complete", "COMP_WORDS": "warner es", "COMP_CWORD": "1"}  # what a shell asks


def processor_seconds(command: Sequence[str], folder: str, **asked: str) -> float:
    """Run Python, with compiled modules as they are after the first run, and give the time that it computed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)  # in microseconds, where `os.times` counts hundredths
    # Compiled modules stay in the folder: a machine may be told to write none beside the sources.
    surroundings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder, **asked}
    subprocess.run([sys.executable, *command], check=True, capture_output=True, cwd=folder, env=surroundings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def slower(
    folder: str,
    name: str,
    command: Sequence[str],
    against: str,
    yardstick: Sequence[str],
    most: float,
    asked: Mapping[str, str] = MappingProxyType({}),
) -> Line:
    processor_seconds(yardstick, folder)
    processor_seconds(command, folder, **asked)
    pairs = [(processor_seconds(yardstick, folder), processor_seconds(command, folder, **asked)) for _ in range(ROUNDS)]
    ratio = min(mine for _, mine in pairs) / min(other for other, _ in pairs)
    ratios = sorted(mine / other for other, mine in pairs)
    return Line(name, against, f"<= {most:g}x", ratio <= most, f"{ratio:.2f}x", f"{ratios[0]:.2f} .. {ratios[-1]:.2f}")


def starting() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        design = RandomizedResponse(["never", "once", "often"], epsilon=1)
        design.save(Path(folder) / "design.json")
        reports = np.array(design.domain)[np.random.default_rng(1).integers(0, 3, 4000)]
        (Path(folder) / "reports.csv").write_text("answer\n" + "\n".join(reports) + "\n")
        libraries = ["-c", LIBRARIES]
        for words, most in (("--help", 0.6), ("--version", 0.6), ("estimate --help", 0.6), ("show design.json", 1.2)):
            command = ["-m", "warner", *words.split()]
            yield slower(folder, f"warner {words}", command, LIBRARIES, libraries, most)
        name = "completing the name of a command"
        yield slower(folder, name, ["-m", "warner"], LIBRARIES, libraries, 0.6, COMPLETION)
        command = ["-m", "warner", "design", "a", "b", "c", "--epsilon", "1"]
        yield slower(folder, "warner design", command, LIBRARIES, libraries, 1.2)
        name = "import warner; warner.estimate"
        yield slower(folder, name, ["-c", name], LIBRARIES, libraries, 1.3)
        bare = "import duckdb; duckdb.sql(\"select answer, count(*) from 'reports.csv' group by answer\").fetchall()"
        estimate = ["-m", "warner", "estimate", "reports.csv", "--design", "design.json"]
        name = "warner estimate of a CSV file with 4,000 rows"
        yield slower(folder, name, estimate, "the same query by DuckDB alone", ["-c", bare], 2.2)
        surveys.forced_response(truth="27/36", yes="6/36").save(Path(folder) / "dice.json")
        RandomizedResponse(["yes", "no"], odds=(1, 0)).save(Path(folder) / "direct.json")
        designs = ["--by", "version", "--design", "dice=dice.json", "--design", "direct=direct.json"]
        formula = "cheated ~ age + region + letter + version"
        command = ["-m", "warner", "regress", str(EXAMPLES / "cheating.csv"), formula, *designs]
        yield slower(folder, "warner regress of 2,400 people", command, "that warner estimate", estimate, 1.6)
