"""The wheel in empty environments outside the repository: the console alone, and everything with the runtime extra."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from runtime import __version__
from tests.support.packages.installed_wheel import REPOSITORY, Installed, build

# Every module of the packages, with its location.
IMPORT_ALL = """
import importlib, json, pkgutil, sys
names = {packages!r}
for name in names:
    for found in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print(json.dumps({{"files": [importlib.import_module(n).__file__ for n in names], "loaded": sorted(sys.modules)}}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("base"), wheel, runtime=False)


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("full"), wheel, runtime=True)


def imported(installed: Installed, *packages: str) -> set[str]:
    """Imports all modules of these packages; returns the names of all modules loaded."""
    done = installed.execute(IMPORT_ALL.format(packages=packages))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert all(file.startswith(str(installed.folder)) for file in answer["files"])
    return set(answer["loaded"])


def test_both_packages_are_typed(wheel: Path) -> None:
    assert {"runtime/py.typed", "tui/py.typed"} <= set(zipfile.ZipFile(wheel).namelist())


def test_spark_finds_its_data_source_in_a_package_of_the_top_level(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if "pyspark_headrace" in name] == ["pyspark_headrace/__init__.py"]


def test_the_templates_of_plugin_projects_are_included(wheel: Path) -> None:
    templates = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".tmpl")}
    source = "runtime/plugin_kit/project/templates"
    assert {f"{source}/common/.gitignore.tmpl", f"{source}/source/src/package/module.py.tmpl"} <= templates
    assert len(templates) == len(list((REPOSITORY / source).rglob("*.tmpl")))


def test_the_console_needs_no_part_of_the_runtime(base: Installed) -> None:
    loaded = imported(base, "tui", "themes")
    assert loaded.isdisjoint({"pyspark", "confluent_kafka", "kafka", "starlette", "uvicorn", "runtime"})
    assert "textual" in loaded


def test_the_console_of_the_base_install(base: Installed) -> None:
    version = base.run("--version")
    assert (version.returncode, version.stdout) == (0, f"headrace {__version__}\n")
    nobody = base.run("http://127.0.0.1:9", "-c", "get connectors")
    assert (nobody.returncode, nobody.stdout) == (5, "")
    assert nobody.stderr.startswith("headrace: ")
    assert base.run("--help").returncode == 0


@pytest.mark.parametrize("words", [("worker", "distributed", "w.properties"), ("embedded", "up")])
def test_the_base_install_names_the_packages_that_the_worker_needs(base: Installed, words: tuple[str, ...]) -> None:
    done = base.run(*words)
    assert done.returncode == 1
    assert "pip install 'headrace[runtime]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_doctor_of_the_base_install(base: Installed) -> None:
    done = base.run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "note  runtime    not installed" in done.stdout


def test_all_of_the_runtime_can_be_imported(full: Installed) -> None:
    assert {"starlette", "uvicorn", "textual"} <= imported(full, "runtime", "tui", "themes")
    assert full.run("doctor").returncode == 0


@pytest.mark.slow
def test_demo_on_the_embedded_cluster(full: Installed, tmp_path: Path) -> None:
    """Broker, worker, Spark slots and the demo's connectors, from the wheel alone."""
    env = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("STATE", "CONFIG")}
    done = full.run("-c", "wait demo-source demo-sink RUNNING --timeout 120s", "-c", "get connectors -o name", **env)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["demo-sink", "demo-source"]
    state = tmp_path / "state" / "headrace" / "embedded"
    assert not (state / "state.json").exists()
