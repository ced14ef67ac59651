"""The pages of the connectors list the configuration keys of their definitions, and their examples are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from runtime.api.config.types import to_text
from runtime.plugins.plugin import PluginType
from runtime.plugins.registry import load, registry
from tests.support.free_ports import free_port

DOCS = Path(__file__).parents[4] / "docs" / "connectors"
PAGES = {
    "data-source": ["DataSource", "DataSourceSink"],
    "datagen": ["DatagenSource"],
    "file-stream": ["FileStreamSource", "FileStreamSink"],
    "http": ["HttpSink", "HttpSource"],
    "kafka-query": ["KafkaQuery"],
    "jdbc": ["JdbcSource", "JdbcSink"],
    "postgres-cdc": ["PostgresCdcSource"],
    "spark": ["SparkSink"],
    "spark-source": ["SparkSource"],
    "verifiable": ["VerifiableSource", "VerifiableSink"],
}
_EXAMPLE = re.compile(r"```json\n(\{.*?\n\})\n```", re.DOTALL)
_ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \|([^|]*)\|", re.MULTILINE)


def _connector(name: str) -> Any:
    plugin = registry().find(name, (PluginType.SOURCE, PluginType.SINK))
    assert plugin is not None, name
    return load(plugin.kinds[0], name)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_are_valid(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text().replace("localhost:9092", f"localhost:{free_port()}")  # no broker
    found = [json.loads(example) for example in _EXAMPLE.findall(text)]
    assert {config["connector.class"] for config in found} == set(PAGES[page])
    for config in found:
        values = _connector(config["connector.class"])().validate(config)
        assert [value.errors for value in values if value.errors] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_table_has_every_key_with_type_and_default(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text().partition("## Configuration\n")[2].partition("\n## ")[0]
    rows = {key: (kind, default.strip()) for key, kind, default in _ROW.findall(text)}
    expected = {key.name: key for name in PAGES[page] for key in _connector(name).config_def}
    assert set(rows) == set(expected)
    for name, key in expected.items():
        kind, default = rows[name]
        assert kind == key.type.lower(), name
        if not key.required and key.default not in (None, ""):
            assert default == f"{to_text(key.typed_default())}", name
