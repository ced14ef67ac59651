"""The MERGE statement that applies a batch of changes to a table, the same for Delta and Iceberg.

The rows of the source are the last changes of their keys, with a column `__deleted`, `__sequence` if changes have one,
and `__unchanged` if some rows of the table keep values. A change is ignored if the row in the table has a greater
sequence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runtime.connectors.spark.staging import DELETED, SEQUENCE, UNCHANGED
from runtime.engine.driver.session.table_names import quoted


@dataclass(frozen=True, slots=True)
class Merge:
    """How changes are applied. `keys`: the key columns. `sequence`: whether changes have one. `soft`: deletions keep
    the row, with `__deleted`."""

    keys: Sequence[str]
    sequence: bool
    soft: bool

    @classmethod
    def of(cls, target: Mapping[str, Any]) -> Merge | None:
        """The merge of a request's target; None if rows are appended."""
        return None if target.get("merge") is None else cls(**target["merge"])

    @classmethod
    def parse(cls, text: str) -> Merge:
        """From the result of text()."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """JSON, to store it with a batch."""
        return json.dumps(asdict(self))

    def columns(self, names: Sequence[str]) -> list[str]:
        """The columns of a batch that are columns of the table."""
        return [name for name in names if name != UNCHANGED and (name != DELETED or self.soft)]

    def statement(self, table: str, source: str, names: Sequence[str]) -> str:
        """The statement. `table` and `source` as in SQL, `names` the columns of the source."""
        columns = self.columns(names)
        matches = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in self.keys)
        newer = f" AND (t.{SEQUENCE} IS NULL OR s.{SEQUENCE} >= t.{SEQUENCE})" if self.sequence else ""
        values = ", ".join(f"s.{quoted(name)}" for name in columns)
        update = _assignments(columns)
        if UNCHANGED in names:
            update = ", ".join(f"{quoted(name)} = {self._new_value(name)}" for name in columns)
        return (
            f"MERGE INTO {table} t USING {source} s ON {matches}"
            f" WHEN MATCHED AND s.{DELETED}{newer} THEN {self._deletion()}"
            f" WHEN MATCHED AND NOT s.{DELETED}{newer} THEN UPDATE SET {update}"
            f" WHEN NOT MATCHED{'' if self.soft else f' AND NOT s.{DELETED}'}"
            f" THEN INSERT ({', '.join(map(quoted, columns))}) VALUES ({values})"
        )

    def _new_value(self, name: str) -> str:
        if name in (*self.keys, DELETED, SEQUENCE):
            return f"s.{quoted(name)}"
        text = name.replace("\\", "\\\\").replace("'", "\\'")
        return f"CASE WHEN array_contains(s.{UNCHANGED}, '{text}') THEN t.{quoted(name)} ELSE s.{quoted(name)} END"

    def _deletion(self) -> str:
        if not self.soft:
            return "DELETE"
        return f"UPDATE SET {_assignments([DELETED, *([SEQUENCE] if self.sequence else [])])}"


def _assignments(names: Sequence[str]) -> str:
    return ", ".join(f"{quoted(name)} = s.{quoted(name)}" for name in names)
