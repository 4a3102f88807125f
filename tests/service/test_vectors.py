"""One law in two languages: Python, Node, Chromium and Firefox draw the same reports from the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import importlib.util
import io
import json
import os
import random
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collecting_cases import open_survey
from service.browsers import wait_until
from service.nodes import HERE, VECTORS, WEB, node
from warner.designs import MECHANISMS, SEVERAL, OpenDomain, design_from_json, device_from_dict
from warner.service.survey import SURVEY_DEFAULTS, survey_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from service.browsers import Page

FILE: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))
LARGEST_MODULE = 7_000  # bytes, of which exact logarithms take 600


def _script() -> ModuleType:
    """Load the script that makes the vectors."""
    place = importlib.util.spec_from_file_location("make_draws", VECTORS.with_name("make_draws.py"))
    assert place is not None
    assert place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


SCRIPT = _script()


# Python


@pytest.mark.parametrize("vector", FILE["vectors"], ids=lambda vector: vector["design"]["mechanism"])
def test_python_draws_the_vectors(vector: dict[str, Any]) -> None:
    design = design_from_json(json.dumps(vector["design"]))
    assert design.epsilon == (np.inf if vector["epsilon"] is None else vector["epsilon"])
    for draw in vector["draws"]:
        source = io.BytesIO(bytes.fromhex(draw["bytes"]))
        given = {key: value for key, value in draw.items() if key not in {"answer", "bytes"}}
        assert SCRIPT.drawn(design, draw["answer"], source.read) == given
        assert not source.read(), "bytes are left"


@pytest.mark.parametrize("vector", FILE["open"], ids=lambda vector: str(vector["design"]["values"])[:40])
def test_python_writes_and_draws_open_answers(vector: dict[str, Any]) -> None:
    design = OpenDomain.from_dict(vector["design"])
    assert design.epsilon == (np.inf if vector["epsilon"] is None else vector["epsilon"])
    texts = design.values.has_other
    for answer, number in vector["written"]:
        coded = design.values.encoded([answer if texts else int(answer)])
        position = 0
        for block, size in zip(coded.blocks[0].tolist(), design.values.block_sizes, strict=True):
            position = position * size + block
        assert (None if coded.status[0] else str(position)) == number
    for draw in vector["draws"]:
        source = io.BytesIO(bytes.fromhex(draw["bytes"]))
        assert SCRIPT.drawn_open(design, draw["answer"], source.read) == draw["report"]
        assert not source.read(), "bytes are left"


@pytest.mark.parametrize("vector", FILE["several"], ids=lambda vector: vector["design"]["mechanism"])
def test_python_draws_several_questions(vector: dict[str, Any]) -> None:
    design = device_from_dict(vector["design"])
    assert design.epsilon == vector["epsilon"]
    for draw in vector["draws"]:
        source = io.BytesIO(bytes.fromhex(draw["bytes"]))
        assert SCRIPT.drawn_several(design, draw["answers"], source.read) == draw["reports"]
        assert not source.read(), "bytes are left"


def test_python_refuses_every_damaged_design() -> None:
    texts = [(case["why"], json.dumps(case["design"])) for case in FILE["damaged"]]
    texts += [(case["why"], case["text"]) for case in FILE["damaged texts"]]
    for why, text in texts:
        try:
            design = design_from_json(text)
        except ValueError as error:
            assert str(error)
        else:
            pytest.fail(f"{why}: {design} was read")


def test_the_vectors_are_what_their_script_makes() -> None:
    assert VECTORS.read_text(encoding="utf-8") == SCRIPT.spelled(SCRIPT.made())


def test_every_mechanism_has_vectors_and_a_draw_in_javascript() -> None:
    drawn = {vector["design"]["mechanism"] for vector in FILE["vectors"]}
    assert drawn == set(MECHANISMS)
    assert {vector["design"].get("hash") for vector in FILE["vectors"]} == {None, "linear", "affine"}
    modules = "".join((WEB / file).read_text(encoding="utf-8") for file in ("warner.js", "sets.js"))
    for mechanism in [*MECHANISMS, *SEVERAL, OpenDomain.mechanism]:
        assert f'["{mechanism}", ' in modules
    kinds = {
        (vector["design"]["values"]["kind"], vector["design"]["values"].get("alphabet")) for vector in FILE["open"]
    }
    assert {("number", None), ("text", None), ("text", "abcdefghijklmnopqrstuvwxyz")} <= kinds


def test_totals_stand_at_every_boundary() -> None:
    totals = {limit for vector in FILE["vectors"] for limit in design_from_json(json.dumps(vector["design"])).draws}
    edges = [2**62, 2**63, 2**64, 2**128, 2**319]
    assert {edge + step for edge in edges for step in (-1, 0, 1)} | {2**320 - 1} <= totals


def test_the_module_is_small_and_stands_alone() -> None:
    module = (WEB / "warner.js").read_bytes()
    assert len(module) <= LARGEST_MODULE
    assert b"import(" not in module
    assert b'from "' not in module


# Node


def fingerprints() -> list[dict[str, str]]:
    """Return JSON, and its SHA-256 in one spelling, as `Survey.fingerprint` has it."""
    values: list[Any] = [
        {"b": 1, "a": [True, None, -3], "\uffff": 0, "\U00010000": 1, "": "", "a\ud7ff": {}, "ab": []},
        {"text": "\x00\x1f\x7f\u2028\u2029\b\f\n\r\t\"\\/<>&'\u00e9\U0001f4a9"},
        {"first": -(2**53 - 1), "size": 2**53 - 1, "10": 0, "9": 0, "__proto__": 1},
        {"format": "warner survey", "questions": [vector["design"] for vector in FILE["vectors"]]},
    ]
    spelled = [json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for value in values]
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in spelled]
    return [{"json": json.dumps(value), "hash": found} for value, found in zip(values, hashes, strict=True)]


def short_surveys() -> list[dict[str, str]]:
    """Return surveys without some or all of the fields that have defaults, and their fingerprints."""
    fields = open_survey()
    bare = {name: value for name, value in fields.items() if name not in SURVEY_DEFAULTS}
    bare["questions"] = [{name: one[name] for name in one if name != "mode"} for one in fields["questions"]]
    texts = [json.dumps(survey) for survey in (fields, bare, bare | {"language": "de", "batch": 20})]
    return [{"json": text, "hash": survey_from_json(text).fingerprint} for text in texts]


def test_node_draws_the_vectors_and_keeps_the_law() -> None:
    given = {
        "WARNER_WEB": str(WEB),
        "WARNER_VECTORS": str(VECTORS),
        "WARNER_FINGERPRINTS": json.dumps(fingerprints()),
        "WARNER_SURVEYS": json.dumps(short_surveys()),
    }
    command = [node(), "--test", str(HERE / "draws.test.mjs")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | given)
    assert done.returncode == 0, done.stdout + done.stderr


MISTAKES = [
    ("warner.js", "number < limit", "number <= limit"),
    ("warner.js", "getBigUint64(8 * i, true)", "getBigUint64(8 * i, false)"),
    ("warner.js", "for (let i = words; i--; )", "for (let i = 0; i < words; i++)"),
    ("warner.js", "rest = total >> 63n", "rest = total >> 62n"),
    ("warner.js", "rest = total >> 63n", "rest = total >> 64n"),
    ("warner.js", "if (number < limit) return number % total", "return number % total"),
    ("warner.js", "u < a ? x", "u <= a ? x"),
    ("warner.js", "lie >= x", "lie > x"),
    ("warner.js", "sum <= u", "sum < u"),
    ("warner.js", "[a / divisor, b / divisor]", "[a, b]"),
    ("warner.js", "weight / divisor", "weight"),
    ("warner.js", "{1,99}", "{1,}"),
    ("warner.js", 'typeof text === "string" && ', ""),
    ("warner.js", " && label.isWellFormed()", ""),
    ("warner.js", ' && !label.includes("\\0")', ""),
    ("warner.js", "!Object.keys(more).length", "true"),
    ("warner.js", "json.version === 1", "json.version == 1"),
    ("warner.js", " && !strange.length", ""),
    ("warner.js", "((high - low) << 256n)", "(high << 256n)"),
    ("warner.js", "(sum - 1n) >> BigInt(rest)) + 1n", "sum >> BigInt(rest))"),
    ("warner.js", " + twos * log(2n, 1n)", ""),
    ("sets.js", "drawn[i] < digit", "drawn[i] <= digit"),
    ("sets.js", "Number(drawn < digit)", "Number(drawn <= digit)"),
    ("sets.js", "drawn !== digit || !n", "drawn !== digit"),
    ("sets.js", "if (!n || !equal.length)", "if (!equal.length)"),
    ("sets.js", "open = Uint32Array.from(equal)", "return bits"),
    ("sets.js", "bits[k - 1] = bits[x]", "bits[k - 1] = 0"),
    ("sets.js", "size - holds", "size"),
    ("sets.js", "2 * digit + (bits[j] ?? 0)", "digit + (bits[j] ?? 0) * 2 ** (j - i)"),
    ("sets.js", "smallBit(needed, k - place, byte)", "smallBit(needed, k, byte)"),
    ("sets.js", "turned ^ (i === true_)", "turned ^ (i !== true_)"),
    ("sets.js", "packed(asked) + packed(", "packed(asked.map(() => 0)) + packed("),
    ("sets.js", "size > 1 ? spent(t * t, s * s)", "size ? spent(t * t, s * s)"),
    ("sets.js", "s > t && t,", "s > t,"),
    ("sets.js", "s * c + t * e, s * e + t * c", "s * c + t * e, s * e"),
    ("sets.js", "bit ^ turned[i]", "turned[i]"),
    ("sets.js", "written.unshift(number % q)", "written.push(number % q)"),
    ("sets.js", "BigInt(missed) + q", "q"),
    ("sets.js", "q - 2n, q)", "q - 3n, q)"),
    ("sets.js", "normal.splice(first, 0, 0n)", "normal.push(0n)"),
    ("sets.js", "+ 1n;\n    const beta", ";\n    const beta"),
    ("sets.js", "vector ^ (point & -point)", "vector ^ point"),
    ("sets.js", "even === u >> t >= a", "even !== u >> t >= a"),
    ("sets.js", "size <= Number.MAX_SAFE_INTEGER ? Number(number) : number", "Number(number)"),
    ("sets.js", "bit ? ones[i] : zeros[i]", "bit ? zeros[i] : ones[i]"),
    ("sets.js", "(size - 2n) * b * d", "(size - 1n) * b * d"),
    ("sets.js", "[...parts].reverse()", "parts"),
    ("sets.js", "q && r && s && ", ""),
    ("sets.js", 'first.hash === "linear"', "true"),
    ("sets.js", "u < near ? x", "u <= near ? x"),
    ("sets.js", "far < x ? 0", "far <= x ? 0"),
    ("sets.js", "? 0 : 2 * width + 1", "? 0 : 2 * width"),
    ("sets.js", "first = step ? answers.at(0) - width * step", "first = step ? answers.at(0) - width"),
    ("sets.js", "end <= u / (a + b)", "end < u / (a + b)"),
    ("sets.js", "u % (a + b) < a", "u % (a + b) <= a"),
    ("sets.js", "whole += gap / divisor", "whole += gap"),
    ("sets.js", "answers.at(i) > answers.at(i - 1)", "true"),
    ("sets.js", "assigned(questions.length, asked, bytes)", "assigned(questions.length, asked, random)"),
    ("sets.js", "(bit ? [i] : [])", "(bit ? [] : [i])"),
    ("sets.js", "other - one).slice(0, asked)", "one - other).slice(0, asked)"),
    ("sets.js", "Math.max(most, places.length)", "places.length || 1"),
    ("sets.js", "k + u - places.length", "k + u"),
    ("sets.js", "b + l * (a - b)", "l * (a - b)"),
    ("open.js", "u < end", "u <= end"),
    ("open.js", "direction * size + uniform(size, bytes)", "direction + uniform(size, bytes)"),
    ("open.js", "place <= level", "place < level"),
    ("open.js", "(atOnce + 1) < 1n << 62n", "(atOnce + 1) < 1n << 63n"),
    ("open.js", "direction / beyond[level]", "direction"),
    ("open.js", "numbered([0, 1])", "numbered([1, 0])"),
    ("open.js", "symbols.length > length", "symbols.length >= length"),
    ("open.js", "composed(text.toLowerCase())", "composed(text.toLocaleLowerCase('tr'))"),
    ("open.js", "text = composed(text.toLowerCase())", "text = text.toLowerCase()"),
    ("open.js", 'part.normalize("NFKC")', 'part.normalize("NFC")'),
    ("open.js", "replace(WHITE_SPACE, ", "replace(/\\s+/gu, "),
    ("open.js", "answer) < size ?", "answer) <= size ?"),
    ("open.js", "others.every((letter) => apart(others.join(letter)))", "others.length"),
]  # fmt: skip


def test_modules_with_a_mistake_disagree_with_the_vectors(tmp_path: Path) -> None:
    folders = [tmp_path / str(place) for place in range(len(MISTAKES))]
    for folder, (file, right, wrong) in zip(folders, MISTAKES, strict=True):
        shutil.copytree(WEB, folder)
        text = (folder / file).read_text(encoding="utf-8")
        assert text.count(right) == 1, f"{right!r} must stand in {file} once"
        (folder / file).write_text(text.replace(right, wrong), encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    command = [node(), str(HERE / "disagreements.mjs"), str(VECTORS), str(WEB), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert found[0] == "0", "the modules themselves disagree"
    assert [mistake for mistake, number in zip(MISTAKES, found[1:], strict=True) if number == "0"] == []


class Drawer:
    """One Node for many draws."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def draws(self, fields: dict[str, Any], draws: list[tuple[int, str]]) -> list[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"design": fields, "draws": draws}) + "\n")
        self.process.stdin.flush()
        reports: list[str] = json.loads(self.process.stdout.readline())
        return reports


@pytest.fixture(scope="module")
def drawer() -> Iterator[Drawer]:
    command = [node(), str(HERE / "drawing.mjs"), str(WEB)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Drawer(process)
        assert process.stdin is not None
        process.stdin.close()


def refuse_differences(drawer: Drawer, fields: dict[str, Any], number: int, seed: int) -> None:
    """Draw so many reports from random bytes in both languages, in batches, and compare them."""
    design, rng = design_from_json(json.dumps(fields)), random.Random(seed)
    for start in range(0, number, 2000):
        batch, reports = [], []
        for _ in range(min(2000, number - start)):
            answer, source = rng.randrange(design.k), SCRIPT.Recorder(b"", rng.getrandbits(64))
            reports.append(str(SCRIPT.drawn(design, answer, source)["report"]))
            batch.append((answer, source.used.hex()))
        assert drawer.draws(fields, batch) == reports


numbers = st.integers(0, 2**319) | st.sampled_from([0, 1, 2**62 - 1, 2**62, 2**63, 2**64 - 1, 2**64])


@settings(max_examples=60)
@given(st.integers(2, 9), numbers, numbers, st.integers(0, 2**32))
def test_any_randomized_response_is_drawn_alike(drawer: Drawer, k: int, a: int, b: int, seed: int) -> None:
    if a + b > 0 and a + (k - 1) * b < 2**320:
        refuse_differences(drawer, SCRIPT.response(SCRIPT.counted(k), a, b), 5, seed)


@settings(max_examples=60)
@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=2, max_size=4), st.integers(0, 2**32))
def test_any_channel_is_drawn_alike(drawer: Drawer, rows: list[list[int]], seed: int) -> None:
    total = max(*map(sum, rows), 1)
    if total < 2**320:
        weights = [[str(part) for part in (*row, total - sum(row))] for row in rows]
        domain, outputs = SCRIPT.counted(len(rows)), SCRIPT.counted(4)
        fields = SCRIPT.document("channel", domain=domain, outputs=outputs, weights=weights)
        refuse_differences(drawer, fields, 5, seed)


# The first and the last design of each mechanism whose reports take few bytes
SMALL = {
    (end, vector["design"]["mechanism"], vector["design"].get("hash")): vector["design"]
    for end, order in (("last", 1), ("first", -1))
    for vector in FILE["vectors"][::order]
    if len(vector["draws"][0]["bytes"]) <= 200
}


def test_random_draws_agree_under_every_design(drawer: Drawer) -> None:
    for seed, vector in enumerate(FILE["vectors"]):
        refuse_differences(drawer, vector["design"], 5, seed)


@pytest.mark.long
@pytest.mark.parametrize("which", SMALL, ids=str)
def test_a_hundred_thousand_random_draws_agree(drawer: Drawer, which: tuple[str, str, str | None]) -> None:
    refuse_differences(drawer, SMALL[which], 100_000, seed=1)


# Browsers

# The policy of the respondent's page
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
)
PAGE = '<!doctype html><title>Vectors</title><script type="module" src="run.js"></script><pre></pre>'
RUN = """
import * as warner from "./web/warner.js";
import "./web/sets.js";
import { fingerprint } from "./web/fingerprint.js";
import { disagreements } from "./vectors.mjs";
const file = await (await fetch("draws.json")).json();
const result = disagreements(warner, file);
result.fingerprints = await Promise.all((await (await fetch("fingerprints.json")).json())
  .map(async ({ json, hash }) => await fingerprint(JSON.parse(json)) === hash));
document.querySelector("pre").textContent = JSON.stringify(result);
"""


@contextlib.contextmanager
def served(files: dict[str, tuple[str, bytes]]) -> Iterator[str]:
    """Serve some files, by path with type and contents, under the strict policy; give the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = files.get(self.path, ("image/png", b""))
            self.send_response(200)
            headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": POLICY}
            for header, value in headers.items():
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_browsers_draw_the_vectors(page: Page) -> None:
    script = "text/javascript"
    files = {
        "/": ("text/html", PAGE.encode()),
        "/run.js": (script, RUN.encode()),
        "/vectors.mjs": (script, (HERE / "vectors.mjs").read_bytes()),
        "/draws.json": ("application/json", VECTORS.read_bytes()),
        "/fingerprints.json": ("application/json", json.dumps(fingerprints()).encode()),
        **{f"/web/{file.name}": (script, file.read_bytes()) for file in WEB.glob("*.js")},
    }
    page.goto("about:blank")
    said = len(page.console)  # by pages of other tests
    with served(files) as address:
        page.goto(f"{address}/")
        result = json.loads(wait_until(lambda: page.evaluate("document.querySelector('pre').textContent")))
        console = page.console[said:]
        page.goto("about:blank")
    assert result.pop("fingerprints") == [True] * 4
    draws = sum(len(vector["draws"]) for vector in [*FILE["vectors"], *FILE["open"], *FILE["several"]])
    assert result == {"draws": draws, "damaged": len(FILE["damaged"]), "found": []}
    assert console == []
