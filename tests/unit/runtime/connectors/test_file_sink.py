"""FileStreamSink."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from runtime.api.data.record import SinkRecord
from runtime.connectors.file_sink import FileStreamSinkConnector, FileStreamSinkTask


def _records(*values: object) -> list[SinkRecord]:
    return [SinkRecord("t", 0, None, None, None, value, offset) for offset, value in enumerate(values)]


def test_values_become_lines(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    task = FileStreamSinkTask()
    task.start({"file": str(file)})
    task.put(_records("a", None, 1e8, {"b": 1, "a": None}, [True, "x"], "gr\udcfcn", "\ud800"))
    task.put([])
    task.flush({})
    task.stop()
    task.stop()
    assert file.read_bytes() == b"a\nnull\n1.0E8\n{a=null, b=1}\n[true, x]\ngr\xfcn\n?\n"


def test_without_a_file_the_lines_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    task = FileStreamSinkTask()
    with caplog.at_level(logging.INFO):
        task.start({})
        task.put(_records("a", None))
        task.flush({})
        task.stop()
    assert caplog.messages == ["a", "null"]


def test_offsets_can_be_altered() -> None:
    assert FileStreamSinkConnector().alter_offsets({}, {})
