"""The lines of the demo."""

from __future__ import annotations

from pathlib import Path

from runtime.demo.feeder import LINE_BYTES, Feeder, line


def test_all_lines_have_the_same_length() -> None:
    for number in (1, 99, 45 * 314, 99_999_999):
        assert len(line(number, 1_800_000_000.0)) == LINE_BYTES
    assert line(7, 0.0).startswith(b"00000007 1970-01-01T00:00:00Z gate=4 flow=")


def test_one_line_is_written_each_second_and_numbers_continue(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    feeder = Feeder(file)
    feeder.feed()
    feeder.feed()
    assert file.stat().st_size == LINE_BYTES
    Feeder(file).feed()
    assert [entry[:8] for entry in file.read_text().splitlines()] == ["00000001", "00000002"]
