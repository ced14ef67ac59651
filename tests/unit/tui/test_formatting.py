"""Messages on one line; times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tui.formatting import joined_lines, local_time, short_time
from tui.offsets.positions import TimePosition, parse
from tui.offsets.seek import SeekPlan, SeekRequest
from tui.screens.offsets.set_by_time import preview

SUMMER_TIME_ENDS = 1_792_890_000_000  # milliseconds: 2026-10-25 01:00 UTC, when Berlin's clocks go from 3:00 to 2:00


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def enter(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield enter
    monkeypatch.undo()
    time.tzset()


def test_lines_of_a_message_are_joined_by_punctuation() -> None:
    message = "2 error(s):\nInvalid value a for b: no number\nMissing c.\nSee the endpoint\n"
    assert joined_lines(message) == "2 error(s): Invalid value a for b: no number; Missing c. See the endpoint"
    assert joined_lines("one") == "one"
    assert joined_lines("") == ""


def test_a_local_time_is_a_position_in_any_zone(in_zone: Callable[[str], None]) -> None:
    for zone in ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"):
        in_zone(zone)
        for at in (SUMMER_TIME_ENDS - 1, SUMMER_TIME_ENDS, SUMMER_TIME_ENDS + 1_800_000, 1_234):
            assert parse(local_time(at)) == TimePosition(at)
    in_zone("Europe/Berlin")
    assert local_time(SUMMER_TIME_ENDS - 1) == "2026-10-25 02:59:59.999+02:00"
    assert local_time(SUMMER_TIME_ENDS) == "2026-10-25 02:00:00.000+01:00"
    in_zone("UTC")
    assert local_time(SUMMER_TIME_ENDS) == "2026-10-25 01:00:00.000"


def test_the_preview_of_a_time_shows_it_in_both_zones(in_zone: Callable[[str], None]) -> None:
    target = SeekRequest(parse("2026-10-25T02:30"))
    in_zone("Europe/Berlin")
    text = preview(SeekPlan((), (), 1), target).plain
    assert text.startswith("to 2026-10-25T02:30:00.000Z, here 2026-10-25 03:30:00.000+01:00: ")
    in_zone("UTC")
    assert preview(SeekPlan((), (), 1), target).plain.startswith("to 2026-10-25T02:30:00.000Z: ")


def test_a_time_of_another_day_has_its_date(in_zone: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    in_zone("Europe/Berlin")
    monkeypatch.setattr(time, "time", lambda: SUMMER_TIME_ENDS / 1000)
    assert short_time(SUMMER_TIME_ENDS / 1000 - 60) == "02:59:00"
    assert short_time(SUMMER_TIME_ENDS / 1000 - 86_400) == "10-24 03:00"
    assert short_time(SUMMER_TIME_ENDS / 1000 - 3 * 3600) == "00:00:00"
    assert short_time(SUMMER_TIME_ENDS / 1000 - 3 * 3600 - 1) == "10-24 23:59"
