"""`headrace plugin new`: the projects are formatted, typed and conform; nothing is overwritten."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.plugin_kit import Result, checks
from runtime.plugin_kit.author_code import AuthorCode, load
from runtime.plugin_kit.cli import main
from runtime.plugin_kit.errors import KitUsageError
from runtime.plugin_kit.project.new import new_project

KINDS = ["source", "sink", "transform", "converter"]
VARIANTS = [*((kind, False) for kind in KINDS), ("source", True), ("sink", True)]
_numbers = itertools.count(1)
SLOW = ("kill", "stop-while-idle", "leaks")  # covered by other tests of the suite


def written(folder: Path, name: str, kind: str, is_async: bool = False) -> Path:
    return new_project(name, kind, is_async, folder)[0]


def run(project: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=project, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize(("kind", "is_async"), VARIANTS)
@pytest.mark.parametrize("name", ["ab", "quite-a-long-name-of-a-project", "zoo"])
def test_projects_are_formatted(tmp_path: Path, name: str, kind: str, is_async: bool) -> None:
    project = written(tmp_path, name, kind, is_async)
    assert not run(project, "ruff", "check", "--no-cache", ".")
    assert not run(project, "ruff", "format", "--no-cache", "--diff", ".")


@pytest.mark.parametrize(("kind", "is_async"), VARIANTS)
def test_projects_pass_strict_type_checks(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, kind: str, is_async: bool
) -> None:
    cache = tmp_path_factory.getbasetemp() / "mypy-of-projects"
    assert not run(written(tmp_path, "river-levels", kind, is_async), "mypy", "--cache-dir", str(cache))


@pytest.mark.parametrize(("kind", "is_async"), VARIANTS)
def test_projects_conform(tmp_path: Path, kind: str, is_async: bool) -> None:
    code = loaded(tmp_path, kind, is_async)
    assert not code.without_case
    outcomes = [check.run() for check in checks(code.cases) if check.name not in SLOW]
    assert len(outcomes) >= 7
    assert not [outcome for outcome in outcomes if outcome.result is Result.FAILED]


@pytest.mark.parametrize("kind", KINDS)
def test_the_tests_of_projects_pass(tmp_path: Path, kind: str) -> None:
    project = written(tmp_path, "river-levels", kind)
    assert not run(project, "pytest", "-q", "--disable-plugin-autoload", "-k", "not test_conformance")


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_names_the_plugin(tmp_path: Path, kind: str) -> None:
    code = loaded(tmp_path, kind, False)
    names = {f"{plugin.__module__}.{plugin.__qualname__}" for plugin in code.plugins}
    assert names & set(json.loads((code.folder / "example.json").read_text()).values())


def loaded(folder: Path, kind: str, is_async: bool) -> AuthorCode:
    """The plugins of a new project whose package no other test has imported."""
    return load(written(folder, f"river-{kind}-{next(_numbers)}", kind, is_async))


def test_existing_folders_are_not_overwritten(tmp_path: Path) -> None:
    project = written(tmp_path, "river-levels", "source")
    (project / "README.md").write_text("mine")
    with pytest.raises(KitUsageError, match="exists already, and nothing was written"):
        written(tmp_path, "river-levels", "sink")
    assert (project / "README.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "River", "1st", "a--b", "x" * 31, "../up", "class"])
def test_names_that_cannot_be_packages_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(KitUsageError, match="is not a suitable name: use lower-case letters"):
        written(tmp_path, name, "source")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "kind", "module"),
    [
        ("river-levels", "source", "river_levels_source"), ("river-sink", "sink", "river_sink"),
        ("mask-email", "transform", "mask_email"), ("forms", "converter", "forms_converter"),
    ],
)  # fmt: skip
def test_modules_and_tests_are_named_as_the_plugin(tmp_path: Path, name: str, kind: str, module: str) -> None:
    project = written(tmp_path, name, kind)
    package = name.replace("-", "_")
    assert (project / "src" / package / f"{module}.py").exists()
    assert (project / "tests" / f"test_{module}.py").exists()
    assert f"`src/{package}/{module}.py`" in (project / "README.md").read_text()


def test_a_plugin_cannot_be_named_as_the_module_with_the_version(tmp_path: Path) -> None:
    with pytest.raises(KitUsageError, match="has a module version of its own"):
        written(tmp_path, "version", "transform")


@pytest.mark.parametrize("name", ["json", "runtime", "pytest"])
def test_names_of_other_modules_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(KitUsageError, match="exists already"):
        written(tmp_path, name, "source")


def test_transformations_cannot_be_async(tmp_path: Path) -> None:
    with pytest.raises(KitUsageError, match="--async is for --source and --sink"):
        written(tmp_path, "river-levels", "transform", True)


def test_the_command_lists_files_and_next_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "river-levels", "--source", "--into", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert str(tmp_path / "river-levels" / "pyproject.toml") in printed
    assert "headrace plugin test ." in printed


def test_the_command_needs_a_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "river-levels"]) == 2
    assert "--source --sink --transform --converter" in capsys.readouterr().err.replace(" |", "")


def test_the_command_reports_errors_on_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "json", "--source", "--into", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "--source", "x", "--into", "/proc/1"]) == 1
    assert capsys.readouterr().err == "headrace plugin: /proc/1/x: No such file or directory\n"
