"""The instructions for a new thing are followed; workflows, addresses and changelog hold together."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import freegap

ROOT = Path(__file__).parent.parent
HOME = "https://github.com/freegap/freegap"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def _script() -> ModuleType:
    path = str(ROOT / "scripts" / "try-contributing")
    loader = importlib.machinery.SourceFileLoader("try_contributing", path)
    specification = importlib.util.spec_from_loader("try_contributing", loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    loader.exec_module(module)
    return module


SCRIPT = _script()
PAGES = {
    page.stem: page.read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs" / "extending").glob("*.md"))
    if page.stem != "index"
}


def is_runnable(command: str) -> bool:
    """Whether the first words of a command are a target of the Makefile or a script of the checkout."""
    program, *arguments = command.split()
    if program == "make":
        return arguments[0] in TARGETS
    return os.access(ROOT / program, os.X_OK)


# Instructions for a new thing ---------------------------------------------------------------------


def blocks(page: str) -> list[tuple[str, str, str]]:
    return [(language, title, text) for language, title, text in SCRIPT.BLOCK.findall(page)]


def files(page: str) -> set[str]:
    """What the instructions of a page touch."""
    return {title for language, title, _ in blocks(page) if language != "sh"}


def test_there_is_a_page_for_each_kind_of_thing() -> None:
    assert set(PAGES) == {"law", "mechanism", "engine", "event", "experiment"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_lists_the_files_that_it_touches(name: str) -> None:
    listed = re.findall(r"^\| `([^`]+)` \|", PAGES[name], flags=re.MULTILINE)
    assert sorted(listed) == sorted(files(PAGES[name]))
    (row,) = re.findall(
        rf"^\| \[[^\]]*\]\(docs/extending/{name}\.md\) \|(.*)$", CONTRIBUTING, flags=re.MULTILINE
    )
    assert set(re.findall(r"`([^`]+)`", row)) == files(PAGES[name])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_all_checks(name: str) -> None:
    commands = [
        line for language, _, text in blocks(PAGES[name]) if language == "sh" for line in text.splitlines()
    ]
    assert commands[:4] == ["ruff check .", "ruff format --check .", "mypy", "lint-imports"]
    assert commands[4].startswith("python -m pytest ")


def test_a_law_touches_at_most_three_files_outside_tests_and_docs() -> None:
    touched = {file for file in files(PAGES["law"]) if not file.startswith(("tests/", "docs/"))}
    assert 1 <= len(touched) <= 3


def tried(*arguments: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "try-contributing"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr


def test_to_follow_the_pages_is_to_have_the_things() -> None:
    """All in one tree, and without mypy, which takes a minute on one that it has not seen."""
    tried("--quick")


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_to_follow_a_page_alone_is_to_have_the_thing(name: str) -> None:
    tried(name)


def test_instructions_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    text = "one\ntwo\nthree\ntwo\n"
    assert SCRIPT.changed(text, " one\n-two\n+2\n three\n", "x") == "one\n2\nthree\ntwo\n"
    assert SCRIPT.changed(text, "-one\n@@ there\n three\n+3\n", "x") == "two\nthree\n3\ntwo\n"
    for unfit in ("-two\n", "-four\n", "-tw\n", "+new\n"):  # twice, not there, a part of a line, nowhere
        with pytest.raises(SystemExit, match="exactly once"):
            SCRIPT.changed(text, unfit, "x")
    page = tmp_path / "page.md"
    page.write_text(
        '```python title="a/b.py"\nx = 1\n```\n\n```sh title="check"\ntrue\n```\n', encoding="utf-8"
    )
    assert SCRIPT.follow(page, tmp_path) == ["true"]
    assert (tmp_path / "a" / "b.py").read_text(encoding="utf-8") == "x = 1\n"
    with pytest.raises(SystemExit, match="there already"):
        SCRIPT.follow(page, tmp_path)


def test_the_commands_of_the_guide_exist() -> None:
    commands = re.findall(r"`((?:make|scripts/|\.ci/)[^`]*)`", CONTRIBUTING)
    commands += [
        line.partition("#")[0]
        for block in re.findall(r"```sh\n(.*?)```", CONTRIBUTING, flags=re.DOTALL)
        for line in block.splitlines()
        if line.startswith(("make", "scripts/", ".ci/"))
    ]
    assert len(commands) >= 10
    for command in commands:
        assert is_runnable(command), command


def test_the_guide_links_to_files_that_are_there() -> None:
    for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8")):
            assert target.startswith("https://") or (ROOT / target).exists(), f"{name}: {target}"


# Addresses ----------------------------------------------------------------------------------------


def test_all_name_the_same_home() -> None:
    """The metadata of both distributions, the citation, the policy and the templates."""
    evidence = tomllib.loads((ROOT / "evidence" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert PROJECT["urls"] == evidence["urls"]
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog", "Security"} == set(PROJECT["urls"])
    assert PROJECT["urls"]["Homepage"] == PROJECT["urls"]["Source"] == HOME
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["repository-code"] == citation["url"] == HOME
    for url in PROJECT["urls"].values():
        assert url == HOME or url.startswith(f"{HOME}/")
        if "/blob/main/" in url:
            assert (ROOT / url.partition("/blob/main/")[2]).is_file()
    private = f"{HOME}/security/advisories/new"
    for name in (
        "SECURITY.md",
        *(f".github/ISSUE_TEMPLATE/{t}.yml" for t in ("bug", "config", "privacy-question")),
    ):
        assert private in (ROOT / name).read_text(encoding="utf-8"), name


def test_no_page_names_another_repository_of_this_name() -> None:
    texts = [
        ROOT / name
        for name in ("README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff")
    ]
    texts += [
        ROOT / "evidence" / "README.md",
        *(ROOT / ".github").rglob("*.*"),
        *(ROOT / "docs").rglob("*.md"),
    ]
    found = 0
    for path in texts:
        for owner in re.findall(r"https://[\w.]+/([\w-]+/freegap)\b", path.read_text(encoding="utf-8")):
            assert owner == "freegap/freegap", path
            found += 1
    assert found >= 6


# Workflows ----------------------------------------------------------------------------------------


def jobs(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each workflow with each of its jobs."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    for job in workflow["jobs"].values():
        yield workflow, job


def commands_of(job: dict[str, Any]) -> Iterator[str]:
    """What a job runs, with every value of its matrix."""
    choices = job.get("strategy", {}).get("matrix", {})
    for step in job["steps"]:
        run = [step["run"]] if "run" in step else []
        for key, values in choices.items():
            run = [r.replace(f"${{{{ matrix.{key} }}}}", v) for r in run for v in values]
        yield from run


def test_the_workflows_are_checks_long_checks_and_release() -> None:
    assert [path.stem for path in WORKFLOWS] == ["checks", "long-checks", "release"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_exists_with_few_rights_and_fixed_versions(path: Path) -> None:
    for workflow, job in jobs(path):
        assert workflow["permissions"] in ({}, {"contents": "read"})
        assert job.get("permissions", {}) in ({}, {"contents": "read"}, {"id-token": "write"})
        assert job["timeout-minutes"] <= 360
        for command in commands_of(job):
            assert "${{" not in command, "nothing from outside is pasted into a shell"
            assert command.startswith("python -m pip install ") or is_runnable(command), command
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"(actions|pypa)/[\w-]+@v\d+\.\d+\.\d+", step["uses"]), step["uses"]
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


def all_commands(stem: str) -> set[str]:
    return {
        command
        for _, job in jobs(ROOT / ".github" / "workflows" / f"{stem}.yml")
        for command in commands_of(job)
    }


def test_what_is_checked_when() -> None:
    assert {".ci/run", "scripts/check-versions newest python"} <= all_commands("checks")
    weekly = all_commands("long-checks")
    assert {"make test-long", "make mutants", "make try-contributing", "scripts/check-advisories"} <= weekly
    assert {f"scripts/check-versions {end} python" for end in ("lowest", "newest")} <= weekly
    assert ".ci/run" in all_commands("release")


def test_every_python_that_is_named_is_checked() -> None:
    prefix = "Programming Language :: Python :: 3."
    named = [f"3.{name.removeprefix(prefix)}" for name in PROJECT["classifiers"] if name.startswith(prefix)]
    for stem in ("checks", "long-checks"):
        (matrix,) = (
            job["strategy"]["matrix"]["python"]
            for _, job in jobs(ROOT / ".github" / "workflows" / f"{stem}.yml")
            if "python" in job.get("strategy", {}).get("matrix", {})
        )
        assert matrix == named


def test_a_release_is_trusted_and_attested() -> None:
    (publish,) = (job for _, job in jobs(WORKFLOWS[-1]) if job.get("permissions") == {"id-token": "write"})
    assert publish["environment"] == "pypi"
    assert publish["needs"] == "build"
    steps = [step for step in publish["steps"] if step["uses"].startswith("pypa/gh-action-pypi-publish@")]
    script = (ROOT / "scripts" / "build").read_text(encoding="utf-8")
    assert [step["with"]["packages-dir"] for step in steps] == ["dist/freegap", "dist/freegap-evidence"]
    for step in steps:
        assert step["with"]["attestations"] is True
        assert step["with"]["packages-dir"] in script
        assert "password" not in step["with"]


def test_a_tag_of_another_version_builds_nothing() -> None:
    done = subprocess.run([ROOT / "scripts" / "build", "v0.0.1"], capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 1
    assert freegap.__version__ in done.stderr


def test_a_commit_is_checked_by_what_make_test_runs_first() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0][
        "hooks"
    ]
    first = re.findall(
        r"^(ruff|mypy|lint-imports)(.*)$", (ROOT / "scripts" / "check").read_text(), re.MULTILINE
    )
    quick = [f"{tool}{rest}".removesuffix(" .") for tool, rest in first]
    entries = [
        hook["entry"].removeprefix(".venv/test/bin/").removesuffix(" --force-exclude") for hook in hooks
    ]
    assert entries == quick == ["ruff check", "ruff format --check", "mypy", "lint-imports"]


def test_the_forms_for_issues_ask_something() -> None:
    forms = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert {path.stem for path in forms} == {"bug", "mechanism", "privacy-question"}
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert {"name", "description", "labels", "body"} == set(form)
        questions = [part for part in form["body"] if part["type"] != "markdown"]
        assert any(part.get("validations", {}).get("required") for part in questions)
        assert len({part["id"] for part in questions}) == len(questions)


# The changelog ------------------------------------------------------------------------------------


def test_the_changelog_has_a_section_and_a_link_for_each_version() -> None:
    sections = re.findall(r"^## (.*)$", CHANGELOG, flags=re.MULTILINE)
    names = [
        re.match(r"\[(Unreleased|\d+\.\d+\.\d+)\]( - \d{4}-\d\d-\d\d)?$", section) for section in sections
    ]
    assert all(names), sections
    versions = [name[1] for name in names if name]
    assert versions[0] == "Unreleased"
    numbers = [tuple(map(int, version.split("."))) for version in versions[1:]]
    assert numbers == sorted(numbers, reverse=True)
    assert versions[1] == freegap.__version__
    links = dict(re.findall(r"^\[(.+)\]: (\S+)$", CHANGELOG, flags=re.MULTILINE))
    assert list(links) == versions
    assert all(link.startswith(HOME) for link in links.values())
