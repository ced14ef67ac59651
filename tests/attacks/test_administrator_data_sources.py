"""ADMIN, with classes of data sources: no other module of the worker's environment is imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runtime.api.errors import ConfigError
from runtime.connectors.data_source.sink import DataSourceSinkConnector
from runtime.connectors.data_source.source import DataSourceConnector

SOURCE = "from pyspark.sql.datasource import DataSource\nclass X(DataSource):\n    pass\n"


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules can be imported, as in the worker's environment."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("connector", [DataSourceConnector, DataSourceSinkConnector])
@pytest.mark.parametrize("call", ["validate", "start"])
@pytest.mark.parametrize("code", ["", "class X: pass", "import os\nX = os.path", "from json import decoder as X"])
def test_a_module_without_a_data_source_is_not_imported(
    connector: type[DataSourceConnector | DataSourceSinkConnector], call: str, code: str, environment: Path
) -> None:
    marker = environment / "imported"
    (environment / "harmful.py").write_text(f"open({str(marker)!r}, 'w')\n{code}\nraise SystemExit\n")
    config = {"data.source": "harmful.X", "topic": "t"}
    if call == "validate":
        (value,) = [value for value in connector().validate(config) if value.name == "data.source"]
        assert any("harmful.X" in error and "not imported" in error for error in value.errors)
    else:
        with pytest.raises(ConfigError, match="not imported"):
            connector().start(config)
    assert not marker.exists() and "harmful" not in sys.modules


@pytest.mark.parametrize("module", ["test.autotest", "unittest.__main__", "this", "antigravity", "idlelib.idle"])
def test_programs_of_the_standard_library_do_not_run(module: str) -> None:
    sys.modules.pop(module, None)
    with pytest.raises(ConfigError, match=r"not imported|there is no module"):
        DataSourceConnector().start({"data.source": f"{module}.X", "topic": "t"})
    assert module not in sys.modules


def test_a_data_source_that_ends_its_process_is_an_error(environment: Path) -> None:
    (environment / "ending.py").write_text(f"{SOURCE}raise SystemExit(1)\n")
    with pytest.raises(ConfigError, match="SystemExit"):
        DataSourceConnector().start({"data.source": "ending.X", "topic": "t"})


def test_data_sources_are_found_through_packages_and_entry_points(environment: Path) -> None:
    (environment / "inner_source.py").write_text(SOURCE)
    (environment / "facade.py").write_text("from inner_source import X as Y\n")
    (environment / "dynamic.py").write_text(f"{SOURCE}Z = type('Z', (X,), {{}})\n")
    with pytest.raises(ConfigError, match=r"not imported.*headrace.data_sources"):
        DataSourceSinkConnector().start({"data.source": "dynamic.Z"})
    (declaring := environment / "dynamic-1.0.dist-info").mkdir()
    (declaring / "METADATA").write_text("Metadata-Version: 2.1\nName: dynamic\nVersion: 1.0\n")
    (declaring / "entry_points.txt").write_text("[headrace.data_sources]\nz = dynamic:Z\n")
    for name in ("facade.Y", "dynamic.Z"):
        with pytest.raises(ConfigError, match="no streaming writer"):
            DataSourceSinkConnector().start({"data.source": name})
