"""The configurations of the demo are valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runtime.demo.connectors import DemoFiles, configs
from runtime.plugins.registry import load


def test_the_configurations_have_no_errors(tmp_path: Path) -> None:
    found = configs(DemoFiles(tmp_path))
    for kind, name in (("source", "demo-source"), ("sink", "demo-sink")):
        connector: Any = load(kind, found[name]["connector.class"])
        assert [value.errors for value in connector().validate(found[name]) if value.errors] == []
