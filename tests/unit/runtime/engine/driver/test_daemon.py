"""What Spark's daemon imports before it forks slots."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
