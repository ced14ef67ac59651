"""Connectors of generated records: DatagenSource, VerifiableSource and VerifiableSink."""

from __future__ import annotations

from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA
from runtime.connectors.datagen.source import TEMPLATES, DatagenSourceConnector
from runtime.connectors.verifiable import VerifiableSinkConnector, VerifiableSourceConnector
from runtime.plugin_kit import Case, SinkCase, SourceCase

CASES: list[Case] = [
    SourceCase(
        name="DatagenSource",
        connector=DatagenSourceConnector,
        config={"topic": "generated", "template": next(iter(TEMPLATES)), "rate": "0", "count": "200", "tasks.max": "2"},
        invalid={"fields": "{", "template": "no-template"},
    ),
    SourceCase(connector=VerifiableSourceConnector, config={"topic": "numbers", "name": "v"}),
    SinkCase(
        connector=VerifiableSinkConnector,  # writes to the log only
        config={"topics": "numbers", "name": "v"},
        value=lambda number: number,
        schema=INT64_SCHEMA,
        key=lambda number: number % 2,
        key_schema=INT32_SCHEMA,
    ),
]
