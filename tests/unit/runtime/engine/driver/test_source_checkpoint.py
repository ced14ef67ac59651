"""The checkpoint of a source follows the committed offset."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from runtime.engine.driver.session.source.checkpoint import CheckpointError, HadoopFolder, SourceCheckpoint


class DiskFolder:
    """A HadoopFolder without Hadoop."""

    def __init__(self, path: str, *names: str) -> None:
        self._root = Path(path, *names)

    def below(self, *names: str) -> DiskFolder:
        return DiskFolder(str(self._root), *names)

    def uri(self, *names: str) -> str:
        return str(self._root.joinpath(*names))

    def exists(self, *names: str) -> bool:
        return self._root.joinpath(*names).exists()

    def names(self, *names: str) -> list[str]:
        folder = self._root.joinpath(*names)
        if folder.is_file():  # as Hadoop
            return [folder.name]
        return [path.name for path in folder.iterdir()] if folder.exists() else []

    def create(self, *names: str) -> None:
        self._root.joinpath(*names).mkdir(parents=True, exist_ok=True)

    def read(self, *names: str) -> str | None:
        path = self._root.joinpath(*names)
        return path.read_text() if path.exists() else None

    def write(self, text: str, *names: str) -> None:
        self._root.joinpath(*names).write_text(text)

    def delete(self, *names: str) -> None:
        path = self._root.joinpath(*names)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _folder(path: Path) -> HadoopFolder:
    return cast(HadoopFolder, DiskFolder(str(path)))


def _numbers(path: Path) -> list[int]:
    return sorted(int(found.name) for found in path.iterdir())


def _made(folder: Path, planned: Sequence[int], committed: Sequence[int], spooled: Sequence[int]) -> SourceCheckpoint:
    """A checkpoint as Spark has left it."""
    found = SourceCheckpoint.create(_folder(folder))
    for name, numbers in (("query/offsets", planned), ("query/commits", committed), ("spool", spooled)):
        place = Path(found.place, name)
        place.mkdir(parents=True, exist_ok=True)
        for number in numbers:
            file = place / str(number) / "s1" / "_SUCCESS" if name == "spool" else place / str(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    return found


@pytest.mark.parametrize(
    ("batch", "rows", "planned", "committed", "spooled"),
    [
        (7, 0, [5, 6, 7, 8], [5, 6, 7], [8]),  # killed while batch 8 was being sent
        (8, 100, [5, 6, 7, 8], [5, 6, 7], [8]),  # the same, with a part of the batch committed
        (8, 0, [5, 6, 7, 8], [5, 6, 7], []),  # killed before Spark's commit of batch 8
        (5, 0, [5, 6], [5], []),  # set back by the user: batch 6 keeps its range
    ],
)
def test_everything_behind_the_committed_position_is_removed(
    tmp_path: Path, batch: int, rows: int, planned: list[int], committed: list[int], spooled: list[int]
) -> None:
    found = _made(tmp_path, [5, 6, 7, 8], [5, 6, 7], [8])
    for _ in range(2):  # may be repeated
        found.rewind(batch, rows, "s1", streaming=True)
        place = Path(found.place)
        assert _numbers(place / "query/offsets") == planned
        assert _numbers(place / "query/commits") == committed
        assert _numbers(place / "spool") == spooled


def test_state_that_is_newer_than_the_position_is_removed(tmp_path: Path) -> None:
    """Spark would prefer a later snapshot to the changes that the repeated batches write."""
    found = _made(tmp_path, [5, 6, 7, 8], [5, 6, 7], [8])
    state = Path(found.place, "query/state/0")
    for folder in (state / "0", state / "1" / "left-keyToNumValues", state / "_metadata"):
        folder.mkdir(parents=True)
        for name in ("6.delta", "7.delta", "8.snapshot", "8_f0a1.changelog", "10.snapshot", "metadata"):
            (folder / name).touch()
    found.rewind(6, 0, "", streaming=True)
    for folder in (state / "0", state / "1" / "left-keyToNumValues"):
        assert sorted(path.name for path in folder.iterdir()) == ["6.delta", "7.delta", "metadata"]
    assert len(list((state / "_metadata").iterdir())) == 6


def test_rows_of_a_batch_without_their_marker_are_not_complete(tmp_path: Path) -> None:
    found = _made(tmp_path, [5, 6, 7, 8], [5, 6, 7], [8])
    assert found.spooled(8) == "s1"
    Path(found.place, "spool/8/s1/_SUCCESS").unlink()
    assert found.spooled(8) is None
    advice = "To read batch 8 again, remove 'rows' and 'spool' and set 'batch' to 7"
    with pytest.raises(CheckpointError, match=f"rows of batch 8 in the spool s1 no longer exist.*{advice}"):
        found.rewind(8, 10, "s1", streaming=True)
    found.rewind(7, 0, "", streaming=True)  # as advised
    assert _numbers(Path(found.place, "query/offsets")) == [5, 6, 7, 8]
    assert _numbers(Path(found.place, "query/commits")) == [5, 6, 7], "Spark repeats batch 8"
    found.rewind(8, 0, "", streaming=True)


def test_reading_continues_with_the_rows_of_which_a_part_has_been_sent(tmp_path: Path) -> None:
    found = _made(tmp_path, [5, 6, 7, 8], [5, 6, 7], [8])
    later = Path(found.place, "spool/8/s0")  # completed by a driver that had been stopped for a while
    later.mkdir()
    (later / "_SUCCESS").touch()
    found.rewind(8, 10, "s1", streaming=True)
    assert found.spooled(8) == "s1"


def test_a_position_that_the_checkpoint_does_not_have_is_refused(tmp_path: Path) -> None:
    found = _made(tmp_path, [5, 6, 7], [5, 6], [7])
    for batch in (4, 8):
        with pytest.raises(CheckpointError, match=rf"does not have batch {batch} .* it has: 5 to 7"):
            found.rewind(batch, 0, "", streaming=True)
    with pytest.raises(CheckpointError, match="rows of batch 6 in the spool s1 no longer exist"):
        found.rewind(6, 10, "s1", streaming=True)
    assert _numbers(Path(found.place, "query/offsets")) == [5, 6, 7]
    with pytest.raises(CheckpointError, match=r"checkpoint .*/other of the committed offset does not exist"):
        SourceCheckpoint.open(_folder(tmp_path), "other")


@pytest.mark.parametrize("step", [1, 0, -3600])  # seconds; negative if the clock is set back
def test_a_reset_keeps_only_the_last_checkpoint_that_was_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    names = []
    for number in range(4):
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", lambda number=number: 1_800_000_000 + step * number)
            made = SourceCheckpoint.create(_folder(tmp_path))
        if number < 2:
            made.mark_committed()
        names.append(made.name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([names[1], names[3]])
