"""Staged batches of files on a disk that is not there for a while."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from pathlib import Path
from pyspark.sql import SparkSession
from runtime.engine.driver.session.operations import staged_batches
from tests.support.packages.lakehouse import LOCAL_SPARK

session = SparkSession.builder.master("local[1]").config(map=LOCAL_SPARK).getOrCreate()
target = {"format": "json", "options": {}, "partition_by": [], "path": str(Path("table").absolute())}
staged = staged_batches(session, "files", target, "orders")
staged.stage("0-a", session.range(2), {"orders": {"0": [0, 2]}})
assert staged.publish("0-a")
assert not staged.publish("0-a")
staged.stage("0-b", session.range(2, 5), {"orders": {"0": [2, 5]}})
Path("table").rename("unmounted")
Path("table").mkdir()
try:
    staged.publish("0-b")
except FileNotFoundError as error:
    print(error)
Path("table").rmdir()
Path("unmounted").rename("table")
assert staged.publish("0-b")
assert sorted(row.id for row in session.read.json("table").collect()) == [0, 1, 2, 3, 4]
"""


def test_a_batch_is_not_lost_with_the_disk(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", f"import sys; sys.path.append({root!r})\n{PROGRAM}"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert f"{tmp_path}/table/.headrace/orders no longer exists; is its disk mounted?" in run.stdout
