"""What Spark's daemon imports before it forks slots."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PROGRAM = """
import importlib, sys
from runtime.engine.driver.daemon import modules
for name in modules():
    importlib.import_module(name)
print(*sorted({"pyarrow", "sqlalchemy", "fsspec", "fastavro"} & set(sys.modules)))
print("runtime.connectors.file_source" in sys.modules)
"""


def test_libraries_of_single_connectors_are_left_to_their_slots() -> None:
    environment = {**os.environ, "HEADRACE_SLOT_RUNNER": "runtime.pipeline.runner"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=Path(__file__).parents[5], capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == ["", "True"]


@pytest.mark.parametrize("process", ["engine.driver.driver", "host.server", "worker.worker"])
def test_a_process_loads_libraries_when_it_needs_them(process: str) -> None:
    """Arrow alone takes 30 MB."""
    program = f"""import sys, runtime.{process}
print(*sorted({{"pyarrow", "pyspark", "sqlalchemy", "fsspec", "fastavro", "google.protobuf"}} & set(sys.modules)))"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[5], capture_output=True, check=True
    )
    assert done.stdout.decode().split() == []


FORGETTING = """
import org, sys  # as pickle of Python 3.11 does, which looks for org.python of Jython
assert sys.modules["org"].__path__, "the archive must have been read"
from runtime.engine.driver import daemon
daemon._prefer_compiled()
import importlib, pickle
importlib.invalidate_caches()  # as Spark does in each slot
found = [*sys.path, *sys.path_importer_cache, *importlib.import_module("zipimport")._zip_directory_cache]
print(*(path for path in found if "core.jar" in path))
print("org" in sys.modules, "pyspark" in sys.modules)
"""


def test_archives_on_the_path_are_forgotten(tmp_path: Path) -> None:
    jar = tmp_path / "pyspark" / "core.jar"
    jar.parent.mkdir()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.mkdir("org")
    root = Path(__file__).parents[5]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(jar), str(root)])}
    done = subprocess.run([sys.executable, "-c", FORGETTING], env=environment, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ["", "False False"]
