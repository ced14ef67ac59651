"""Batches of changes on real Delta and Iceberg tables: sequences, soft deletions, wider types, compaction."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.support.packages.lakehouse import LakeRecipe, run_batches

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

ORDER = "__deleted boolean, __sequence bigint"
NARROW = f"id int, n int, f float, d decimal(5,2), {ORDER}"
WIDE = f"id int, n bigint, f double, d decimal(7,2), more string, {ORDER}"
DAYS = 86_400.0


def test_changes_by_sequence_with_soft_deletions_and_wider_types(recipe: LakeRecipe) -> None:
    first, older, late, wide, narrow, kept, appended = run_batches(recipe, _target(recipe, soft=True), [
        _batch(_row(1, 10, n=1, f=0.5, d=1.5), _row(2, 11, n=2)),
        _batch(_row(1, 9, n=9), _deleted(2, 12), _deleted(3, 13)),
        _batch(_row(2, 5, n=5), _row(3, 20, n=3)),
        _batch(_row(1, 30, n=1 << 40, f=0.1, d=12345.5, more="x"), schema=WIDE),
        _batch(_row(4, 31, n=4)),  # of a task that does not know the wider types
        {"maintain": 7 * DAYS},
        {"target": {**_target(recipe), "mode": "append", "merge": None}, **_batch(_row(5, 32, n=5), schema=WIDE)},
    ])  # fmt: skip
    assert _numbers(first) == {1: (1, False), 2: (2, False)}
    assert _numbers(older) == {1: (1, False), 2: (2, True), 3: (None, True)}
    assert _numbers(late) == {1: (1, False), 2: (2, True), 3: (3, False)}
    assert _numbers(wide) == {1: (1 << 40, False), 2: (2, True), 3: (3, False)}
    (changed,) = [row for row in wide if row["id"] == 1]
    assert (changed["f"], changed["d"], changed["more"], changed["__sequence"]) == (0.1, "12345.50", "x", 30)
    assert _numbers(narrow) == {**_numbers(wide), 4: (4, False)}
    assert sorted(kept, key=itemgetter("id")) == sorted(narrow, key=itemgetter("id"))
    assert _numbers(appended) == {**_numbers(narrow), 5: (5, False)}


def test_hard_deletions_remove_rows(recipe: LakeRecipe) -> None:
    schema = "id int, n int, __deleted boolean"
    rows, fewer = run_batches(recipe, _target(recipe), [
        {"rows": [{"id": n, "n": n, "__deleted": False} for n in range(3)], "schema": schema},
        {"rows": [{"id": 1, "__deleted": True}, {"id": 7, "__deleted": True}], "schema": schema},
    ])  # fmt: skip
    assert sorted(row["id"] for row in rows) == [0, 1, 2]
    assert sorted(fewer, key=itemgetter("id")) == [{"id": 0, "n": 0}, {"id": 2, "n": 2}]


def test_unchanged_values_stay_in_the_table(recipe: LakeRecipe) -> None:
    schema = "id int, n int, text string, __deleted boolean"
    keeping = f"{schema}, __unchanged array<string>"
    _, rows = run_batches(recipe, _target(recipe), [
        {"rows": [{"id": n, "n": n, "text": f"long {n}", "__deleted": False} for n in range(3)], "schema": schema},
        {"rows": [
            {"id": 0, "n": 10, "text": None, "__deleted": False, "__unchanged": ["text"]},
            {"id": 1, "n": 11, "text": None, "__deleted": False},
            {"id": 2, "n": 12, "text": "other", "__deleted": False, "__unchanged": []},
            {"id": 3, "n": 13, "text": None, "__deleted": False, "__unchanged": ["text"]},
        ], "schema": keeping},
    ])  # fmt: skip
    texts = {row["id"]: (row["n"], row["text"]) for row in rows}
    assert texts == {0: (10, "long 0"), 1: (11, None), 2: (12, "other"), 3: (13, None)}
    assert all(row.keys() == {"id", "n", "text"} for row in rows)


@pytest.mark.parametrize("recipe", ["Iceberg"], indirect=True)
def test_names_of_tables_and_columns_are_quoted(recipe: LakeRecipe) -> None:
    schema = "`a.b` int, `ti``ck` string, `sp ace` int"
    first, second = ({"a.b": n, "ti`ck": f"t{n}", "sp ace": n} for n in (1, 2))
    named = {"table": "lake.`sh op`.`or.ders``x`", "partition_by": ["sp ace", "ti`ck"]}
    upsert = {**_target(recipe), **named, "merge": {"keys": ["a.b", "ti`ck"], "sequence": False, "soft": False}}
    append = {**_target(recipe), **named, "table": "lake.`sh op`.more", "mode": "append", "merge": None}
    changes = [{**row, "__deleted": False} for row in (first, second, second)]
    states = run_batches(recipe, upsert, [
        {"rows": changes[:2], "schema": f"{schema}, __deleted boolean"},
        {"rows": changes[2:], "schema": f"{schema}, __deleted boolean"},
        {"target": append, "rows": [first, second], "schema": schema},
    ])  # fmt: skip
    assert [sorted(rows, key=itemgetter("a.b")) for rows in states] == [[first, second]] * 3


def test_a_write_that_was_killed_leaves_nothing(recipe: LakeRecipe, tmp_path: Path) -> None:
    schema = "id int, n int, __deleted boolean"
    batch = {"rows": [{"id": n, "n": n, "__deleted": False} for n in range(500)], "schema": schema}
    with pytest.raises(AssertionError):
        run_batches(recipe, _target(recipe), [batch, {**batch, "killed": str(tmp_path)}])
    assert _staged_files(tmp_path)
    (made,) = run_batches(recipe, _target(recipe), [batch])
    assert sorted(row["id"] for row in made) == list(range(500))
    assert _staged_files(tmp_path) == []


def _staged_files(folder: Path) -> list[Path]:
    return [*folder.glob("**/.headrace/*/*"), *folder.glob("**/*__headrace_*/**/*.parquet")]


def _target(recipe: LakeRecipe, soft: bool = False) -> dict[str, Any]:
    """The target of a request, as the task sends it."""
    table = recipe.sink.get("spark.table", "")
    return {
        "format": recipe.sink["spark.format"], "path": recipe.sink.get("spark.path", ""), "table": table,
        "mode": "upsert", "partition_by": [], "options": {"mergeSchema": "true"}, "sql": "", "widen": True,
        "merge": {"keys": ["id"], "sequence": soft, "soft": soft},
    }  # fmt: skip


def _row(key: int, sequence: int, **columns: Any) -> dict[str, Any]:
    return {"id": key, "__deleted": False, "__sequence": sequence, **columns}


def _deleted(key: int, sequence: int) -> dict[str, Any]:
    return {"id": key, "__deleted": True, "__sequence": sequence}


def _batch(*rows: dict[str, Any], schema: str = NARROW) -> dict[str, Any]:
    return {"rows": rows, "schema": schema}


def _numbers(rows: list[dict[str, Any]]) -> dict[int, tuple[int | None, bool]]:
    numbers = {row["id"]: (row["n"], row["__deleted"]) for row in rows}
    assert len(numbers) == len(rows), "a key has several rows"
    return numbers
