"""FileStreamSink."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.api.data.record import SinkRecord
from runtime.api.errors import ConfigError
from runtime.connectors.file_sink import FileStreamSinkConnector, FileStreamSinkTask


def _records(*values: object) -> list[SinkRecord]:
    return [SinkRecord("t", 0, None, None, None, value, offset) for offset, value in enumerate(values)]


def test_values_become_lines(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    task = FileStreamSinkTask()
    task.start({"file": str(file)})
    task.put(_records("a", None, 1e8, {"b": 1, "a": None}, [True, "x"], "gr\udcfcn"))
    task.put([])
    task.flush({})
    task.stop()
    task.stop()
    assert file.read_bytes() == b"a\nnull\n1.0E8\n{a=null, b=1}\n[true, x]\ngr\xfcn\n"


def test_the_connector_requires_a_file() -> None:
    with pytest.raises(ConfigError, match="file"):
        FileStreamSinkConnector().start({})
    assert FileStreamSinkConnector().alter_offsets({}, {})
