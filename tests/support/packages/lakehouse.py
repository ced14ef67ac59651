"""The recipes in docs/connectors/lakehouse.md, and the PySpark for which they are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.system.cache import cache_folder
from runtime.system.locks import exclusive

PYSPARK = "4.1.4"
_PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "lakehouse.md"


@dataclass(frozen=True, slots=True)
class LakeRecipe:
    """Properties of the worker, and the configurations of a sink into a table and of a source from it."""

    worker: dict[str, str]
    sink: dict[str, str]
    source: dict[str, str]


def lake_recipe(section: str, folder: Path) -> LakeRecipe:
    """The recipe of a section, with tables and checkpoints in a folder instead of /data."""
    text = _section(section)
    text = text.replace("/data/", f"{folder}/")
    (properties,) = _blocks("properties", text)
    sink, source = map(json.loads, _blocks("json", text))
    return LakeRecipe(dict(line.split("=", 1) for line in properties.splitlines()), sink, source)


def page_steps(section: str) -> list[str]:
    """The commands of a section, step by step."""
    return _blocks("sh", _section(section))


def _section(name: str) -> str:
    return _PAGE.read_text(encoding="utf-8").partition(f"## {name}\n")[2].partition("\n## ")[0]


LOCAL_SPARK = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings of a Spark application that serves a test."""

_TOOL = """
import json, sys
from pyspark.sql import SparkSession
from runtime.engine.driver.class_path import with_packages
from tests.support.packages.lakehouse import LOCAL_SPARK

conf, statements = json.load(sys.stdin)
settings = {**LOCAL_SPARK, **with_packages(conf)}
session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
for statement in statements:
    rows = session.sql(statement).collect()
print("RESULT", json.dumps([row.asDict(recursive=True) for row in rows], default=str))
"""
_PROCEDURES = {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"}


def run_sql(recipe: LakeRecipe, *statements: str) -> list[dict[str, Any]]:
    """Executes statements in another Spark application, as other users of the tables do. The rows of the last one."""
    conf = {**_PROCEDURES, **recipe.worker}
    rows: list[dict[str, Any]] = _result([sys.executable, "-c", _TOOL], [conf, statements])
    return rows


def run_batches(recipe: LakeRecipe, target: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The rows of a table after each step: see lake_batches.py."""
    program = [sys.executable, "-m", "tests.support.packages.lake_batches"]
    states: list[Any] = _result(program, [recipe.worker, target, steps])
    return states


def _result(program: Sequence[str], request: Any) -> Any:
    done = subprocess.run(
        program, input=json.dumps(request), capture_output=True, text=True, timeout=600, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    (result,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return json.loads(result.removeprefix("RESULT "))


def _blocks(language: str, text: str) -> list[Any]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def older_pyspark() -> Path:
    """A folder for PYTHONPATH with that PySpark, installed once into the cache."""
    folder = cache_folder() / f"pyspark-{PYSPARK}"
    with exclusive(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
            subprocess.run([*command, f"pyspark=={PYSPARK}"], check=True, env={**os.environ, "PYTHONPATH": ""})
            (folder / "complete").touch()
    return folder
