"""FileStreamSink: every line in the file is a whole one."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.api.data.record import SinkRecord
from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.file_sink import FileStreamSinkConnector, FileStreamSinkTask
from runtime.connectors.line_appender import LineAppender


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


@pytest.mark.parametrize("kept", [b"", b"one\ntwo\n", b"x" * 200_000 + b"\n"])
@pytest.mark.parametrize("torn", [b"tor", b"t" * 150_000])
def test_a_torn_tail_is_moved_away(tmp_path: Path, kept: bytes, torn: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(kept + torn)
    file = LineAppender(str(path))
    file.append(b"next\n")
    file.close()
    assert path.read_bytes() == kept + b"next\n"
    assert (tmp_path / "out.txt.torn").read_bytes() == torn + b"\n"
    assert "torn" in caplog.text


def test_a_line_torn_by_another_writer_is_moved_away_before_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    file = LineAppender(str(path))
    file.append(b"one\n")
    with path.open("ab") as other:
        other.write(b"killed her")
    file.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_what_is_no_regular_file_is_written_to_as_it_is() -> None:
    file = LineAppender("/dev/null")
    file.append(b"one\n")
    file.sync()
    file.close()


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="Cannot write to /dev/full: No space left on device"):
        LineAppender("/dev/full").append(b"one\n")
    with pytest.raises(ConnectError, match=f"Cannot open {tmp_path}: Is a directory"):
        LineAppender(str(tmp_path))


def test_the_connector_wants_a_file() -> None:
    with pytest.raises(ConfigError, match="file"):
        FileStreamSinkConnector().start({})
    assert FileStreamSinkConnector().alter_offsets({}, {})
