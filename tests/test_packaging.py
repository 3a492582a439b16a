"""Wheel and sdist: reproducible, complete, installable; and what the lock file and the citation promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

import freegap
from freegap.cli import app
from freegap.cli.cite import AUTHORS, PAPERS, TITLE

ROOT = Path(__file__).parent.parent
PARTS = ("src", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "pyproject.toml")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

DEV = [Requirement(line) for line in PROJECT["optional-dependencies"]["dev"]]


def build(tree: Path) -> dict[str, bytes]:
    """Both files, built without any network by the backend itself; a day in 2024 as their time."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1704067200"}
    command = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True)  # noqa: S603
    return {path.name: path.read_bytes() for path in (tree / "dist").iterdir()}


def copy(target: Path, *, times: int) -> Path:
    """The tree as another checkout would have it: other times, other rights, other order."""
    target.mkdir()
    for part in reversed(PARTS) if times % 2 else PARTS:
        here = ROOT / part
        if here.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(here, target / part, ignore=ignored, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(here, target / part)
    for path in target.rglob("*"):
        os.utime(path, (times, times))
        path.chmod(0o755 if path.is_dir() else (0o640 if times % 2 else 0o644))
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return build(copy(tmp_path_factory.mktemp("first") / "tree", times=1_000_000_000))


def test_two_builds_are_the_same_byte_for_byte(built: dict[str, bytes], tmp_path: Path) -> None:
    again = build(copy(tmp_path / "elsewhere", times=1_500_000_001))
    assert sorted(built) == [f"freegap-{freegap.__version__}-py3-none-any.whl", sdist_name()]
    assert built == again


def test_the_sdist_builds_the_same_wheel(built: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / sdist_name()).write_bytes(built[sdist_name()])
    with tarfile.open(tmp_path / sdist_name()) as archive:
        archive.extractall(tmp_path, filter="data")
    again = build(tmp_path / sdist_name().removesuffix(".tar.gz"))
    assert {name: again[name] for name in again if name.endswith(".whl")} == wheel_of(built)


def test_the_wheel_installs_and_runs(built: dict[str, bytes], tmp_path: Path) -> None:
    ((name, content),) = wheel_of(built).items()
    (tmp_path / name).write_bytes(content)
    with zipfile.ZipFile(tmp_path / name) as archive:
        assert {"freegap/py.typed", "freegap/cli/__init__.py"} <= set(archive.namelist())
        assert {inside.partition("/")[0] for inside in archive.namelist()} == {
            "freegap",
            f"freegap-{freegap.__version__}.dist-info",
        }, "neither tests nor evidence"
    site = tmp_path / "site"
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(site)]
    subprocess.run([sys.executable, *install, str(tmp_path / name)], check=True, capture_output=True)  # noqa: S603
    environment = {**os.environ, "PYTHONPATH": str(site)}
    script = "import freegap; print(freegap.__file__); from freegap.cli import main; main()"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, "--version"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    where, version = done.stdout.splitlines()
    assert where == str(site / "freegap" / "__init__.py")
    assert version == f"freegap {freegap.__version__}"


def test_evidence_is_a_wheel_of_its_own(tmp_path: Path) -> None:
    """Of the same version, for exactly that version of freegap, with every module and nothing else."""
    tree = tmp_path / "evidence"
    shutil.copytree(ROOT / "evidence", tree, ignore=shutil.ignore_patterns("__pycache__", "dist"))
    ((name, content),) = wheel_of(build(tree)).items()
    assert name == f"freegap_evidence-{freegap.__version__}-py3-none-any.whl"
    (tmp_path / name).write_bytes(content)
    with zipfile.ZipFile(tmp_path / name) as archive:
        carried = {inside for inside in archive.namelist() if ".dist-info/" not in inside}
        metadata = archive.read(f"freegap_evidence-{freegap.__version__}.dist-info/METADATA").decode()
    source = tree / "src"
    assert carried == {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert "freegap_evidence/commands/assure.py" in carried
    needed = [Requirement(line) for line in re.findall(r"^Requires-Dist: (.*)", metadata, flags=re.MULTILINE)]
    assert [(found.name, str(found.specifier)) for found in needed] == [
        ("freegap", f"=={freegap.__version__}")
    ]
    (locked,) = [found for found in DEV if found.name == "freegap"]
    assert needed[0].extras <= locked.extras, "the lock file is that of freegap[dev]"


def sdist_name() -> str:
    return f"freegap-{freegap.__version__}.tar.gz"


def wheel_of(built: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in built.items() if name.endswith(".whl")}


def requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    named = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    return [found for found in map(Requirement, named) if found.name != "freegap"]


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    for requirement in requirements():
        assert {s.operator for s in requirement.specifier} == {">=", "<"}, requirement


def test_the_lock_has_every_dependency_within_its_bounds_and_with_hashes() -> None:
    text = (ROOT / "requirements" / "ci.txt").read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|index", text), "no address of any registry"
    locked: dict[str, list[str]] = {}
    for name, version, rest in re.findall(r"^([\w.-]+)==(\S+)(.*(?:\n    .*)*)", text, flags=re.MULTILINE):
        assert "--hash=sha256:" in rest, name
        locked.setdefault(name, []).append(version)
    assert len(locked) > 50
    # Not for CI, each with an environment of its own: the fuzzer, the maker of mutants, the second solver.
    elsewhere = {"atheris", "cosmic-ray", "coverage", "cvc5"}
    for requirement in (found for found in requirements() if found.name not in elsewhere):
        versions = locked[requirement.name]
        assert all(version in requirement.specifier for version in versions), (requirement, versions)


def test_the_citation_is_that_of_this_version() -> None:
    assert PROJECT["version"] == freegap.__version__
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {freegap.__version__}" in lines
    assert f'title: "{TITLE}"' in lines
    assert f"  - name: {AUTHORS}" in lines
    assert f"license: {PROJECT['license']}" in lines
    text = "\n".join(lines)
    for paper in PAPERS:
        assert f"title: {paper.title}\n" in text
        assert f"year: {paper.year}" in text
        assert paper.identifier[1] in text
        for author in paper.authors:
            given, family = author.split(" ")
            assert f"given-names: {given}\n        family-names: {family}" in text
    shown = CliRunner().invoke(app, ["cite"]).stdout
    assert f"Version {freegap.__version__}" in shown
    assert shown.count("@") == 1 + len(PAPERS)
    bibtex = CliRunner().invoke(app, ["cite", "--bibtex"]).stdout
    assert bibtex.startswith("@software{freegap,\n")
    assert f"version = {{{freegap.__version__}}}" in bibtex
    assert bibtex.count("{") == bibtex.count("}")
    assert f'"version": "{freegap.__version__}"' in CliRunner().invoke(app, ["cite", "--json"]).stdout


def test_the_pythons_that_are_named_are_those_that_were_run() -> None:
    """The metadata name no Python without a row in the table of runs, and begin where freegap does."""
    prefix = "Programming Language :: Python :: 3."
    named = [f"3.{name.removeprefix(prefix)}" for name in PROJECT["classifiers"] if name.startswith(prefix)]
    page = (ROOT / "docs" / "supply-chain.md").read_text(encoding="utf-8")
    assert named == re.findall(r"^\| (3\.\d+) \|.*\d+ passed", page, flags=re.MULTILINE)
    assert PROJECT["requires-python"] == f">={named[0]}"
