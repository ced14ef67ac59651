"""Python plugins in the folders of plugin.path."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from runtime.plugins.registry import PluginRegistry, entries

CONNECTOR = """
from runtime.api import SourceConnector
class {name}(SourceConnector):
    def version(self): return "7.1"
    def start(self, config): pass
    def task_configs(self, max_tasks): return []
"""


def test_python_plugins_of_a_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "hr_single.py").write_text(CONNECTOR.format(name="OrdersSource"))
    package = tmp_path / "hr_package"
    package.mkdir()
    (package / "__init__.py").write_text("from hr_package.inner import BillsSource\n")
    (package / "inner.py").write_text(CONNECTOR.format(name="BillsSource"))
    (tmp_path / "hr_broken.py").write_text("import a_module_that_is_not_there")
    (tmp_path / "hr_exiting.py").write_text("raise SystemExit(3)")
    (tmp_path / "json.py").write_text("1 / 0")
    registry = PluginRegistry([str(tmp_path)])
    assert [e for e in registry.entries(True) if e["type"] == "source" and "hr_" in e["class"]] == [
        {"class": "hr_package.inner.BillsSource", "type": "source", "version": "7.1"},
        {"class": "hr_single.OrdersSource", "type": "source", "version": "7.1"},
    ]
    plugin = registry.find("OrdersSource")
    assert plugin is not None and registry.load_class(plugin).__name__ == "OrdersSource"
    errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert [name for name in ("hr_broken", "hr_exiting", "json") if any(f": {name} in " in e for e in errors)] == [
        "hr_broken",
        "hr_exiting",
        "json",
    ]


def test_java_plugins_are_ignored_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "debezium").mkdir()
    (tmp_path / "debezium" / "debezium-core.jar").touch()
    assert PluginRegistry([str(tmp_path)]).entries(True) == entries(True)
    assert [r.getMessage() for r in caplog.records] == [
        f"plugin.path: Java plugins in {tmp_path} are ignored, this worker runs Python plugins only"
    ]


def test_a_missing_folder_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert PluginRegistry([str(tmp_path / "none")]).entries(True) == entries(True)
    assert "is not a folder" in caplog.text
