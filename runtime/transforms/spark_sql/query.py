"""What a query needs and gives for records with certain columns, as Spark has analysed it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import DataError
from runtime.connectors.spark.session_client import PREPARE_SQL
from runtime.transforms.tables.record_table import RecordTable

MAX_SHAPES = 200
"""The most kinds of records that are remembered."""

Ask = Callable[[Mapping[str, Any]], Any]
"""Sends a request to the Spark session and returns its result."""


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """`inputs`: the types of the columns with which Spark computes; `outputs`: the name of each column of the result,
    and the column of the records that it is, unchanged, or None; `changes_count`: a record may give none or several
    results; `common`: what all requests have in common; `problem`: why the query does not fit the columns."""

    inputs: Mapping[str, Any]
    outputs: tuple[tuple[str, str | None], ...] = ()
    changes_count: bool = False
    common: Mapping[str, Any] | None = None
    problem: str = ""

    @property
    def needs_spark(self) -> bool:
        """Whether something is computed."""
        return self.changes_count or any(source is None for _, source in self.outputs)

    def fits(self, table: RecordTable) -> bool:
        """Whether the columns of a table with the same shape have these types."""
        return all(
            table.schema(name) is not None or table.array(name).type == kind for name, kind in self.inputs.items()
        )


class PreparedQueries:
    """The forms of one query for the kinds of records that have come."""

    def __init__(self, sql: str, ask: Ask) -> None:
        self._sql, self._ask = sql, ask
        self._known: dict[Hashable, list[PreparedQuery]] = {}
        self._missing: dict[Hashable, dict[str, None]] = {}
        self._schemas: list[Any] = []  # keeps the ids in shapes valid

    def of(self, make: Callable[[Mapping[str, None]], RecordTable]) -> tuple[PreparedQuery, RecordTable]:
        """The query for the table that `make` returns, which gets the names of fields to add. DataError if the query
        does not fit the columns."""
        table = make({})
        shape = table.shape
        if missing := self._missing.get(shape):
            table = make(missing)
        known = self._known.get(shape, ())
        query = next((query for query in known if query.fits(table)), None)
        if query is None:
            query, table = self._prepared(table, make, shape)
        if query.problem:
            raise DataError(f"sql does not fit the record: {query.problem}")
        return query, table

    def _prepared(
        self, table: RecordTable, make: Callable[[Mapping[str, None]], RecordTable], shape: Hashable
    ) -> tuple[PreparedQuery, RecordTable]:
        if len(self._known) >= MAX_SHAPES:
            self._known, self._missing, self._schemas = {}, {}, []
        missing = dict(self._missing.get(shape, {}))
        while True:
            schema = table.arrow_schema()
            text = base64.b64encode(schema.serialize().to_pybytes()).decode()
            common = {"sql": self._sql, "schema": text, "fields": table.fields}
            response = self._ask({**common, "op": PREPARE_SQL})
            name = (response.get("column") or "").strip("`")
            if "unresolved" not in response or not table.may_lack_fields or not name or table.is_field(name):
                break
            missing[name] = None  # values without a schema often lack fields
            table = make(missing)
        if missing:
            self._missing[shape] = missing
        types = dict(zip(schema.names, schema.types, strict=True))
        if "unresolved" in response:
            query = PreparedQuery(types, problem=response["unresolved"])
        else:
            outputs = tuple((name, source) for name, source in response["outputs"])
            inputs = {name: types[name] for name in response["inputs"]}
            query = PreparedQuery(inputs, outputs, response["changes_count"], common)
        self._known.setdefault(shape, []).append(query)
        self._schemas += [table.values.schema, table.key_schema]
        return query, table
