"""`headrace plugin install` on the command line; downloads are tested in tests/unit/runtime/java/install."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from runtime.plugin_kit.cli import main
from tests.support.java.connect_jars import connect_jars

_COORDINATE = "org.apache.kafka:connect-file:4.3.0"


def test_an_installed_connector_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "plugins" / "connect-file-4.3.0"
    folder.mkdir(parents=True)
    shutil.copy(connect_jars() / "connect-file-4.3.0.jar", folder)
    (folder / "headrace-plugin.json").write_text(json.dumps({"coordinate": _COORDINATE}))
    worker = tmp_path / "worker.properties"
    worker.write_text(f"plugin.path={folder.parent}, /elsewhere\n")
    for where in (["--plugin-path", str(folder.parent)], ["--config", str(worker)]):
        assert main(["install", _COORDINATE, *where]) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"{_COORDINATE} is installed already in {folder}",
            "  org.apache.kafka.connect.file.FileStreamSinkConnector (sink, version 4.3.0)",
            "  org.apache.kafka.connect.file.FileStreamSourceConnector (source, version 4.3.0)",
        ]


def test_errors_name_the_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "connect-file", "--plugin-path", str(tmp_path)]) == 1
    assert "write GROUP:ARTIFACT:VERSION" in capsys.readouterr().err
    assert main(["install", _COORDINATE]) == 2
    assert "--plugin-path --config is required" in capsys.readouterr().err
    worker = tmp_path / "worker.properties"
    worker.write_text("group.id=g\n")
    assert main(["install", _COORDINATE, "--config", str(worker)]) == 2
    assert "plugin.path is empty" in capsys.readouterr().err
