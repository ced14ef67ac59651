"""Appending lines to a file that several tasks share."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.api.errors import ConnectError
from runtime.connectors.line_appender import LineAppender


@pytest.mark.parametrize("kept", [b"", b"one\ntwo\n", b"x" * 200_000 + b"\n"])
@pytest.mark.parametrize("torn", [b"tor", b"t" * 150_000])
def test_an_incomplete_last_line_is_moved_away(
    tmp_path: Path, kept: bytes, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(kept + torn)
    file = LineAppender(str(path))
    file.append(b"next\n")
    file.close()
    assert path.read_bytes() == kept + b"next\n"
    assert (tmp_path / "out.txt.torn").read_bytes() == torn + b"\n"
    assert "torn" in caplog.text


def test_an_incomplete_line_of_another_writer_is_moved_away_before_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    file = LineAppender(str(path))
    file.append(b"one\n")
    with path.open("ab") as other:
        other.write(b"killed her")
    file.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_device_is_written_without_checks() -> None:
    file = LineAppender("/dev/null")
    file.append(b"one\n")
    file.sync()
    file.close()


def test_errors_contain_the_path(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="Cannot write to /dev/full: No space left on device"):
        LineAppender("/dev/full").append(b"one\n")
    with pytest.raises(ConnectError, match=f"Cannot open {tmp_path}: Is a directory"):
        LineAppender(str(tmp_path))


@contextmanager
def _full_at(size: int) -> Iterator[None]:
    """Files become no longer than `size` bytes: a write up to it is as short as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_takes_no_part_of_a_batch(tmp_path: Path) -> None:
    """The batch would be written again, after its first lines and a torn one."""
    path = tmp_path / "out.txt"
    file = LineAppender(str(path))
    file.append(b"one\n")
    with _full_at(1000), pytest.raises(ConnectError, match=f"Cannot write to {path}: File too large"):
        file.append(b"two\n" * 500)
    assert path.read_bytes() == b"one\n"
    file.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert not (tmp_path / "out.txt.torn").exists()


def test_an_incomplete_line_stays_where_it_is_if_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(b"one\n" + b"t" * 1500)
    with _full_at(1000), pytest.raises(ConnectError, match=f"Cannot write to {path}"):
        LineAppender(str(path))
    assert path.stat().st_size == 1504
