"""DatagenSource."""

from __future__ import annotations

from runtime.connectors.datagen.source import TEMPLATES, DatagenSourceConnector
from runtime.plugin_kit import Case, SourceCase

CASES: list[Case] = [
    SourceCase(
        name="DatagenSource",
        connector=DatagenSourceConnector,
        config={"topic": "generated", "template": next(iter(TEMPLATES)), "rate": "0", "count": "200", "tasks.max": "2"},
        invalid={"fields": "{", "template": "no-template"},
    ),
]
