"""The folder of the browser's modules is a package that npm can publish."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.nodes import WEB, node
from warner import Memoized, RandomizedResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
PUBLISHED = {
    *("LICENSE", "README.md", "package.json", "warner.js", "warner.d.ts", "sets.js", "sets.d.ts"),
    *("numbers.js", "open.js", "memo.js", "memo.d.ts", "fingerprint.js", "fingerprint.d.ts"),
}


def test_both_packages_have_one_version_and_one_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (PACKAGE["name"], PACKAGE["version"]) == (project["name"], project["version"])
    assert (WEB / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_nothing_is_needed_and_nothing_runs_at_installation() -> None:
    assert not {"dependencies", "peerDependencies", "scripts", "bin", "private"} & PACKAGE.keys()
    assert {name for name in PACKAGE["files"] if not (WEB / name).exists()} == set()


def test_every_exported_name_has_its_type() -> None:
    # What sets.js takes from warner.js is no part of what is promised.
    inner = {"check", "random", "ratio", "below", "spent", "truthOrLie", "labels", "mechanisms", "share", "wholes"}
    for module in ("warner", "memo", "fingerprint"):
        text, types = ((WEB / f"{module}{end}").read_text(encoding="utf-8") for end in (".js", ".d.ts"))
        names = set(re.findall(r"^export (?:async )?(?:function|const) (\w+)", text, re.MULTILINE))
        assert set(re.findall(r"^export function (\w+)", types, re.MULTILINE)) == names - inner


def blocks(language: str) -> list[str]:
    """Return the examples of the package's own page."""
    readme = (WEB / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", readme, re.DOTALL)


def npm() -> str:
    path = shutil.which("npm")
    if path is None:
        pytest.skip("there is no npm here, which packs the browser's modules; on Debian: apt install npm")
    return path


def test_the_line_that_installs_it_works_without_a_registry(tmp_path: Path) -> None:
    line = blocks("console")[0].strip()
    assert line.startswith("npm install ")
    shell = shutil.which("bash") or pytest.skip("the line is for a Unix shell")
    command = line.replace("npm install", f"{npm()} install --offline --no-audit --no-fund", 1)
    command = command.replace("$(python ", f"$({sys.executable} ")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([shell, "-c", command], check=True, capture_output=True, cwd=tmp_path, env=environment)
    (tmp_path / "example.mjs").write_text('import { design } from "warner"; console.log(typeof design);', "utf-8")
    shown = subprocess.run([node(), "example.mjs"], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert shown == "function\n"


@contextmanager
def backend(folder: Path) -> Iterator[str]:
    """Run the backend of the package's page, and give its address."""
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "warner").symlink_to(WEB, target_is_directory=True)
    (folder / "backend.mjs").write_text(next(code for code in blocks("js") if "createServer" in code), "utf-8")
    command = [node(), "backend.mjs", "design.json", "reports.csv", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://localhost:{server.stdout.readline().split()[-1]}"
        finally:
            server.kill()


def test_a_backend_collects_what_the_page_sends_and_the_shell_estimates_it(tmp_path: Path) -> None:
    survey = RandomizedResponse(["yes, often", 'the "usual"', "=no"], odds=(9, 1))
    survey.save(tmp_path / "design.json")
    send = next(code for code in blocks("js") if code.startswith("await fetch"))
    with backend(tmp_path) as address:
        client = [
            'import { readFileSync } from "node:fs"; import { design, randomize } from "warner";',
            'const survey = design(JSON.parse(readFileSync("design.json", "utf8")));',
            "for (let i = 0; i < 300; i++) { const answer = survey.answers.at(i % 10 ? 0 : 1);",
            send.replace("http://localhost:8080", address),
            "}",
            f'const post = (body) => fetch("{address}", {{ method: "POST", body }}).then(({{ status }}) => status);',
            "const wrong = ['{', '{}', '{\"report\": \"maybe\"}', 'null', '\"' + 'x'.repeat(20000) + '\"'];",
            "const statuses = []; for (const body of wrong) statuses.push(await post(body));",
            f'statuses.push((await fetch("{address}")).status); console.log(JSON.stringify(statuses));',
        ]
        (tmp_path / "client.mjs").write_text("\n".join(client), "utf-8")
        done = subprocess.run([node(), "client.mjs"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert json.loads(done.stdout) == [400, 422, 422, 400, 413, 405]
    arguments = shlex.split(blocks("console")[1])
    assert arguments[0] == "warner"
    shown = subprocess.run(
        [sys.executable, "-m", *arguments, "--json"], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    estimate = json.loads(shown.stdout)
    assert (estimate["reports"], estimate["missing"], estimate["unknown"]) == (300, 0, 0)
    # 90 % of 300 people, who tell the truth with probability 9/11: within five standard errors, 5 * 3.1 points.
    assert abs(estimate["values"][0]["share"] - 0.9) < 0.155


def test_the_example_of_a_memo_gives_reports_from_one_permanent_response(tmp_path: Path) -> None:
    # The second round hides nothing here, so that reports are permanent responses: of 1,000 answers, all the same.
    bare = Memoized(RandomizedResponse(1000, odds=(2, 1)), RandomizedResponse(1000, odds=(1, 0)))
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "warner").symlink_to(WEB, target_is_directory=True)
    example = next(code for code in blocks("js") if "warner/memo.js" in code)
    lines = [
        "const store = new Map();",
        "const [getItem, setItem] = [(key) => store.get(key) ?? null, (key, text) => store.set(key, text)];",
        "globalThis.localStorage = { getItem, setItem };",
        f"const json = {json.dumps(bare.to_dict())};",
        example.replace('randomize(mine, "once")', "const reports = [1, 2, 3, 4].map(() => randomize(mine, 7))"),
        'const again = await memo(json, Uint8Array.from(JSON.parse(localStorage.getItem("secret"))));',
        "console.log(JSON.stringify([...reports, randomize(again, 7)]));",
    ]
    (tmp_path / "example.mjs").write_text("\n".join(lines), "utf-8")
    shown = subprocess.run([node(), "example.mjs"], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert len(set(json.loads(shown))) == 1


def test_what_npm_packs_is_what_its_readme_says(tmp_path: Path) -> None:
    command = [npm(), "pack", str(WEB), "--json", "--offline", "--pack-destination", str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    described = json.loads(done.stdout)
    packed = next(iter(described.values())) if isinstance(described, dict) else described[0]
    assert {file["path"] for file in packed["files"]} == PUBLISHED
    with tarfile.open(tmp_path / f"warner-{PACKAGE['version']}.tgz") as archive:
        archive.extractall(tmp_path / "node_modules", filter="data")
    (tmp_path / "node_modules" / "package").rename(tmp_path / "node_modules" / "warner")
    lines = [
        blocks("js")[0],
        'import "warner/sets.js"; import { fingerprint } from "warner/fingerprint.js";',
        "console.log(survey.epsilon, typeof fingerprint, survey.answers.indexOf(randomize(survey, 'once')));",
    ]
    (tmp_path / "example.mjs").write_text("\n".join(lines), encoding="utf-8")
    shown = subprocess.run([node(), "example.mjs"], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert re.fullmatch(r"1\.0986\d+ function [012]\n", shown)
