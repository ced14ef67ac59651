"""Iceberg tables of a REST catalog: batches, changes by key, and the errors of a catalog that cannot be used."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.packages.lakehouse import LakeRecipe, lake_recipe, older_pyspark, run_batches

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

_KEY = "spark.sql.catalog.lake"
_SCHEMA = "id int, n int, __deleted boolean"


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LakeRecipe]:
    """The recipe of Iceberg with a REST catalog, whose server runs meanwhile."""
    monkeypatch.setenv("PYTHONPATH", str(older_pyspark()))
    command = [sys.executable, "-m", "tests.support.packages.rest_catalog_server", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        port = next(line.split()[1] for line in server.stdout if line.startswith("PORT "))
        plain = lake_recipe("Iceberg", tmp_path)
        worker = {key: value for key, value in plain.worker.items() if not key.startswith(f"{_KEY}.")}
        yield dataclasses.replace(
            plain, worker={**worker, f"{_KEY}.type": "rest", f"{_KEY}.uri": f"http://127.0.0.1:{port}"}
        )
        server.stdin.close()
        server.wait(30)


def test_changes_and_rows_of_a_table_in_the_catalog(recipe: LakeRecipe) -> None:
    rows, fewer, appended = run_batches(recipe, _target(), [
        {"rows": [{"id": n, "n": n, "__deleted": False} for n in range(3)], "schema": _SCHEMA},
        {"rows": [{"id": 1, "__deleted": True}, {"id": 2, "n": 7, "__deleted": False}], "schema": _SCHEMA},
        {"target": {**_target(), "mode": "append", "merge": None}, "rows": [{"id": 9, "n": 9}],
         "schema": "id int, n int"},
    ])  # fmt: skip
    assert _numbers(rows) == {0: 0, 1: 1, 2: 2}
    assert _numbers(fewer) == {0: 0, 2: 7}
    assert _numbers(appended) == {0: 0, 2: 7, 9: 9}


_BATCH = {"rows": [{"id": 1, "n": 1, "__deleted": False}], "schema": _SCHEMA}
_UNUSABLE = {
    "unreachable": ({f"{_KEY}.uri": "http://127.0.0.1:1"}, f"The catalog lake is unreachable: .* Check {_KEY}.uri"),
    "no class": ({_KEY: "no.such.Catalog"}, f"The catalog lake has no class: .* Check {_KEY} and spark.packages"),
    "undefined": ({}, "The worker's file has no catalog lake, which the table lake.shop.orders needs"),
}


@pytest.mark.parametrize("case", _UNUSABLE)
def test_a_catalog_that_cannot_be_used_is_an_error_and_not_a_missing_table(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(older_pyspark()))
    properties, message = _UNUSABLE[case]
    plain = lake_recipe("Iceberg", tmp_path)
    worker = {key: value for key, value in plain.worker.items() if not key.startswith(_KEY)}
    if properties:
        worker |= {_KEY: plain.worker[_KEY], f"{_KEY}.type": "rest", **properties}
    with pytest.raises(AssertionError, match=message):  # of the program's exit code, with its standard error
        run_batches(dataclasses.replace(plain, worker=worker), _target(), [_BATCH])


def _target() -> dict[str, Any]:
    return {
        "format": "iceberg", "path": "", "table": "lake.shop.orders", "mode": "upsert", "partition_by": [],
        "options": {"mergeSchema": "true"}, "sql": "", "widen": False,
        "merge": {"keys": ["id"], "sequence": False, "soft": False},
    }  # fmt: skip


def _numbers(rows: list[dict[str, Any]]) -> dict[int, int]:
    numbers = {row["id"]: row["n"] for row in rows}
    assert len(numbers) == len(rows), "a key has several rows"
    return numbers
