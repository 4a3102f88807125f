"""The folder of the browser's modules is a package that npm can publish."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

from collecting.nodes import WEB, node

ROOT = Path(__file__).parents[2]
PACKAGE = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
PUBLISHED = {
    *("LICENSE", "README.md", "package.json", "warner.js", "warner.d.ts", "sets.js", "sets.d.ts"),
    *("fingerprint.js", "fingerprint.d.ts"),
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
    inner = {"check", "random", "ratio", "below", "spent", "truthOrLie", "labels", "mechanisms"}
    for module in ("warner", "fingerprint"):
        text, types = ((WEB / f"{module}{end}").read_text(encoding="utf-8") for end in (".js", ".d.ts"))
        names = set(re.findall(r"^export (?:async )?(?:function|const) (\w+)", text, re.MULTILINE))
        assert set(re.findall(r"^export function (\w+)", types, re.MULTILINE)) == names - inner


def test_what_npm_packs_is_what_its_readme_says(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm here, which packs the browser's modules; on Debian: apt install npm")
    command = [npm, "pack", str(WEB), "--json", "--offline", "--pack-destination", str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    described = json.loads(done.stdout)
    packed = next(iter(described.values())) if isinstance(described, dict) else described[0]
    assert {file["path"] for file in packed["files"]} == PUBLISHED
    with tarfile.open(tmp_path / f"warner-{PACKAGE['version']}.tgz") as archive:
        archive.extractall(tmp_path / "node_modules", filter="data")
    (tmp_path / "node_modules" / "package").rename(tmp_path / "node_modules" / "warner")
    example = re.search(r"```js\n(.*?)```", (WEB / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    lines = [
        example[1],
        'import "warner/sets.js"; import { fingerprint } from "warner/fingerprint.js";',
        "console.log(survey.epsilon, typeof fingerprint, survey.answers.indexOf(randomize(survey, 'once')));",
    ]
    (tmp_path / "example.mjs").write_text("\n".join(lines), encoding="utf-8")
    shown = subprocess.run([node(), "example.mjs"], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert re.fullmatch(r"1\.0986\d+ function [012]\n", shown)
