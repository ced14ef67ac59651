"""The MERGE statement of a batch of changes."""

from __future__ import annotations

import pytest

from runtime.engine.driver.session.merge import Merge


@pytest.mark.parametrize(
    ("merge", "statement"),
    [
        (
            Merge(["id"], sequence=False, soft=False),
            "MERGE INTO t1 t USING c s ON t.`id` = s.`id`"
            " WHEN MATCHED AND s.__deleted THEN DELETE"
            " WHEN MATCHED AND NOT s.__deleted THEN UPDATE SET `id` = s.`id`, `n``m` = s.`n``m`"
            " WHEN NOT MATCHED AND NOT s.__deleted THEN INSERT (`id`, `n``m`) VALUES (s.`id`, s.`n``m`)",
        ),
        (
            Merge(["id", "n`m"], sequence=True, soft=True),
            "MERGE INTO t1 t USING c s ON t.`id` = s.`id` AND t.`n``m` = s.`n``m`"
            " WHEN MATCHED AND s.__deleted AND (t.__sequence IS NULL OR s.__sequence >= t.__sequence)"
            " THEN UPDATE SET `__deleted` = s.`__deleted`, `__sequence` = s.`__sequence`"
            " WHEN MATCHED AND NOT s.__deleted AND (t.__sequence IS NULL OR s.__sequence >= t.__sequence)"
            " THEN UPDATE SET `id` = s.`id`, `n``m` = s.`n``m`, `__deleted` = s.`__deleted`,"
            " `__sequence` = s.`__sequence`"
            " WHEN NOT MATCHED THEN INSERT (`id`, `n``m`, `__deleted`, `__sequence`)"
            " VALUES (s.`id`, s.`n``m`, s.`__deleted`, s.`__sequence`)",
        ),
    ],
)
def test_statement(merge: Merge, statement: str) -> None:
    names = ["id", "n`m", "__deleted", *(["__sequence"] if merge.sequence else [])]
    assert merge.statement("t1", "c", names) == statement
    assert Merge.parse(merge.text()) == merge


def test_unchanged_values_are_those_of_the_table() -> None:
    statement = Merge(["id"], False, False).statement("t1", "c", ["id", "it's", "__deleted", "__unchanged"])
    kept = r"CASE WHEN array_contains(s.__unchanged, 'it\'s') THEN t.`it's` ELSE s.`it's` END"
    assert f" THEN UPDATE SET `id` = s.`id`, `it's` = {kept} WHEN NOT MATCHED" in statement
    assert statement.endswith(" THEN INSERT (`id`, `it's`) VALUES (s.`id`, s.`it's`)")
