"""VerifiableSource and VerifiableSink."""

from __future__ import annotations

from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA
from runtime.connectors.verifiable import VerifiableSinkConnector, VerifiableSourceConnector
from runtime.plugin_kit import Case, SinkCase, SourceCase

CASES: list[Case] = [
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
