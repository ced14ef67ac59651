"""Debezium's envelope: the schemas of change events, transactions and heartbeats."""

from __future__ import annotations

from runtime.api.data.schema import (
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Field,
    Schema,
    Type,
)

CONNECTOR = "postgresql"
"""The value of `source.connector`, by which consumers recognize the fields of `source`."""


def _struct(name: str, version: int, optional: bool = False, /, **fields: Schema) -> Schema:
    return Schema(
        Type.STRUCT, optional=optional, name=name, version=version,
        fields=tuple(Field(field, schema) for field, schema in fields.items()),
    )  # fmt: skip


_SNAPSHOT = Schema(
    Type.STRING,
    optional=True,
    default="false",
    name="io.debezium.data.Enum",
    version=1,
    parameters=(("allowed", "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"),),
)

SOURCE = _struct(
    "io.debezium.connector.postgresql.Source", 1,
    version=STRING_SCHEMA, connector=STRING_SCHEMA, name=STRING_SCHEMA, ts_ms=INT64_SCHEMA, snapshot=_SNAPSHOT,
    db=STRING_SCHEMA, sequence=OPTIONAL_STRING_SCHEMA, ts_us=OPTIONAL_INT64_SCHEMA, ts_ns=OPTIONAL_INT64_SCHEMA,
    schema=STRING_SCHEMA, table=STRING_SCHEMA, txId=OPTIONAL_INT64_SCHEMA, lsn=OPTIONAL_INT64_SCHEMA,
    xmin=OPTIONAL_INT64_SCHEMA, origin=OPTIONAL_STRING_SCHEMA, origin_lsn=OPTIONAL_INT64_SCHEMA,
)  # fmt: skip

TRANSACTION = _struct(
    "event.block", 1, True, id=STRING_SCHEMA, total_order=INT64_SCHEMA, data_collection_order=INT64_SCHEMA
)

TRANSACTION_KEY = _struct("io.debezium.connector.common.TransactionMetadataKey", 1, id=STRING_SCHEMA)

TRANSACTION_VALUE = _struct(
    "io.debezium.connector.common.TransactionMetadataValue", 1,
    status=STRING_SCHEMA, id=STRING_SCHEMA, event_count=OPTIONAL_INT64_SCHEMA,
    data_collections=Schema(
        Type.ARRAY, optional=True,
        values=_struct("event.collection", 1, True, data_collection=STRING_SCHEMA, event_count=INT64_SCHEMA),
    ),
    ts_ms=INT64_SCHEMA,
)  # fmt: skip

HEARTBEAT_KEY = _struct("io.debezium.connector.common.ServerNameKey", 1, serverName=STRING_SCHEMA)
HEARTBEAT_VALUE = _struct("io.debezium.connector.common.Heartbeat", 1, ts_ms=INT64_SCHEMA)


def envelope_schema(topic: str, row: Schema) -> Schema:
    """The schema of a table's change events; `row` is that of its rows."""
    return _struct(
        f"{topic}.Envelope", 2,
        before=row, after=row, source=SOURCE, transaction=TRANSACTION, op=STRING_SCHEMA, ts_ms=OPTIONAL_INT64_SCHEMA,
        ts_us=OPTIONAL_INT64_SCHEMA, ts_ns=OPTIONAL_INT64_SCHEMA,
    )  # fmt: skip
