"""New tables of Iceberg."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.engine.driver.session.table_names import quoted


def create_table(
    session: Any, table: str, rows: Any, partition_by: Sequence[str] = (), properties: Mapping[str, str] | None = None
) -> None:
    """Create an empty table with the columns of `rows`. `table` as in SQL. Spark's writer takes no partition columns
    whose names have spaces."""
    parts = [f"CREATE TABLE {table} ({rows._jdf.schema().asNullable().toDDL()}) USING iceberg"]
    if partition_by:
        parts.append(f"PARTITIONED BY ({', '.join(map(quoted, partition_by))})")
    if properties:
        pairs = [f"'{key}'='{value}'" for key, value in properties.items()]
        parts.append(f"TBLPROPERTIES ({', '.join(pairs)})")
    session.sql(" ".join(parts))
