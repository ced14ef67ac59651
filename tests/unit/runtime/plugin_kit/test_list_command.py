"""`headrace plugin list`: types, versions and origins of plugins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.plugin_kit.cli import main
from runtime.plugin_kit.project.new import new_project


def test_plugins_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = new_project("listed-source", "source", False, tmp_path)
    assert main(["list", "--own", "--plugin-path", str(folder / "src")]) == 0
    assert capsys.readouterr().out == (
        f"\nsource\n  listed_source.connector.ListedSourceConnector  0.1.0  {folder / 'src' / 'listed_source'}\n"
    )


def test_the_plugin_path_of_a_worker_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = new_project("listed-sink", "sink", False, tmp_path)
    worker = tmp_path / "worker.properties"
    worker.write_text(f"plugin.path={folder / 'src'}\n")
    assert main(["list", "--config", str(worker), "--json"]) == 0
    rows = {row["class"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["listed_sink.connector.ListedSinkConnector"]["type"] == "sink"
    assert rows["org.apache.kafka.connect.file.FileStreamSourceConnector"]["from"] == "bundled"


def test_without_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--own"]) == 0
    assert capsys.readouterr().out == "No plugins besides the bundled ones.\n"


def test_a_missing_properties_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--config", str(tmp_path / "none.properties")]) == 2
    assert "no such file" in capsys.readouterr().err
