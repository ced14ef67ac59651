"""Fields of the parent that are added to each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.errors import ConnectError
from runtime.connectors.http.source.stream import parent_value
from runtime.connectors.http.source.walk import StreamRows


class ParentFields:
    """Fields as in `http.parent.fields`: paths in the parent, with a name for the record before a `=`."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._paths = dict(map(_field, fields))

    def added(self, rows: StreamRows) -> StreamRows:
        """The rows with the fields; those that are not objects remain as they are. ConnectError for rows that have such
        a field themselves."""
        if not self._paths:
            return rows
        values = {name: parent_value(path, rows.parents) for name, path in self._paths.items()}
        return rows._replace(rows=[self._with(row, values) if isinstance(row, dict) else row for row in rows.rows])

    def _with(self, row: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        if common := sorted(row.keys() & values.keys()):
            name = common[0]
            raise ConnectError(
                f"The records have a field {name} of their own: give that of the parent another name, such as "
                f"parent_{name}={self._paths[name]} (http.parent.fields)"
            )
        return {**row, **values}


def _field(text: str) -> tuple[str, str]:
    """The name of a field in the records, and its path in the parent."""
    name, _, path = text.strip().rpartition("=")
    return name or path.rpartition(".")[2], path
