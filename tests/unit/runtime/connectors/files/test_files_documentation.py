"""docs/connectors/files.md: its tables have the keys of the connectors, its configurations are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from runtime.api.config.definition import ConfigDef, ConfigKey
from runtime.api.config.types import to_text
from runtime.connectors.files.sink.connector import FilesSinkConnector
from runtime.connectors.files.source.connector import FilesSourceConnector

PAGE = (Path(__file__).parents[5] / "docs/connectors/files.md").read_text()
CONNECTORS = {"FilesSink": FilesSinkConnector, "FilesSource": FilesSourceConnector}


def row(key: ConfigKey) -> str:
    """The line of a key in the table of the page."""
    default = "" if key.required else to_text(key.typed_default()) or ""
    shown = f"`{default}`" if default else ""
    return f"| `{key.name}` | {key.type.lower()} | {shown} | {key.doc} |"


@pytest.mark.parametrize("config_def", [connector.config_def for connector in CONNECTORS.values()], ids=CONNECTORS)
def test_the_tables_have_all_keys(config_def: ConfigDef) -> None:
    missing = [row(key) for key in config_def if key.name != "url" and row(key) not in PAGE]
    assert not missing, "\n".join(missing)


def test_the_configurations_are_valid() -> None:
    found = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert {config["connector.class"] for config in found} == set(CONNECTORS)
    for config in found:
        values = CONNECTORS[config["connector.class"]]().validate(config)
        assert not [(value.name, value.errors) for value in values if value.errors]
