"""`headrace plugin list`: types, versions and origins of plugins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.plugin_kit.cli import main
from runtime.plugin_kit.project.new import new_project
from tests.support.java.sources.edge_cases import edge_case_jar


def test_plugins_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = new_project("listed-source", "source", False, tmp_path)
    assert main(["list", "--own", "--plugin-path", str(folder / "src")]) == 0
    source = folder / "src" / "listed_source"
    assert capsys.readouterr().out == (
        f"\nsource\n  listed_source.listed_source.ListedSourceConnector  0.1.0  python  {source}\n"
    )


def test_the_plugin_path_of_a_worker_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = new_project("listed-sink", "sink", False, tmp_path)
    worker = tmp_path / "worker.properties"
    worker.write_text(f"plugin.path={folder / 'src'}\n")
    assert main(["list", "--config", str(worker), "--json"]) == 0
    rows = {row["class"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["listed_sink.listed_sink.ListedSinkConnector"]["type"] == "sink"
    assert rows["org.apache.kafka.connect.file.FileStreamSourceConnector"]["from"] == "bundled"


def test_java_plugins_have_their_jar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jar = edge_case_jar(tmp_path)
    assert main(["list", "--own", "--json", "--plugin-path", str(jar)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["language"], row["from"]) for row in rows} == {("java", str(jar))}


def test_without_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--own"]) == 0
    assert capsys.readouterr().out == "No plugins besides the bundled ones.\n"


def test_a_missing_properties_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--config", str(tmp_path / "none.properties")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error() -> None:
    """As with `headrace plugin list | head -1`."""
    command = [sys.executable, "-u", "-m", "runtime", "plugin", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as listing:
        assert listing.stdout is not None and listing.stderr is not None
        listing.stdout.close()
        assert listing.stderr.read() == b""
        assert listing.wait(30) == 141
