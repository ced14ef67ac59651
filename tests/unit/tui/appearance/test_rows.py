"""Frames without what the terminal shows leave the same screen as whole frames."""

from __future__ import annotations

import random

import pyte

from tests.support.clock import Clock
from tui.appearance.rows import KNOWN, RESIZED, KnownRows

WIDTH, HEIGHT = 24, 4
STYLES = ("\x1b[1;38;5;74;48;5;16m", "\x1b[7m", "\x1b[38;5;188m")
TEXTS = ("abc", "x", "      ", "● RUNNING", "日本語", "é", "grün", "e\u0301", "│", "● ")
LINK = "\x1b]8;id=1;http://host/\x1b\\{}\x1b]8;;\x1b\\"


def _strip(chance: random.Random, width: int) -> str:
    """A text of exactly so many cells, as Textual writes it."""
    parts: list[str] = []
    while width:
        text = chance.choice(TEXTS)
        cells = sum(2 if ord(c) > 0x2FFF else c != "\u0301" for c in text)
        if cells > width:
            text, cells = " ", 1
        style = chance.choice(("", *STYLES))
        text = f"{style}{text}\x1b[0m" if style else text
        parts.append(LINK.format(text) if chance.random() < 0.1 else text)
        width -= cells
    return "".join(parts)


def _frame(chance: random.Random, rows: list[str]) -> str:
    """A whole screen, of which some rows have changed, or parts of some rows, with the cursor's place at its end."""
    if chance.random() < 0.5:
        for row in range(HEIGHT):
            if chance.random() < 0.4:
                rows[row] = _strip(chance, WIDTH)
        writes = [(row, 0, rows[row]) for row in range(HEIGHT)]
    else:
        starts = [(row, chance.randrange(WIDTH)) for row in chance.sample(range(HEIGHT), 2)]
        writes = [(row, start, _strip(chance, chance.randint(1, WIDTH - start))) for row, start in starts]
    end = "\n" if chance.random() < 0.5 else ""
    moved = [f"\x1b[{row + 1};{start + 1}H{text}" + ("" if row == HEIGHT - 1 else end) for row, start, text in writes]
    return "".join(moved) + f"\x1b[{chance.randint(1, HEIGHT)};{chance.randint(1, WIDTH)}H"


def test_random_frames_leave_the_same_screen() -> None:
    for seed in range(100):
        chance, clock = random.Random(seed), Clock()
        known = KnownRows(clock)
        screens = pyte.Screen(WIDTH, HEIGHT), pyte.Screen(WIDTH, HEIGHT)
        streams = [pyte.Stream(screen) for screen in screens]
        for stream in streams:
            stream.feed("\x1b[?7l")  # Textual's mode: no line continues on the next row
        rows, whole, sent = [" " * WIDTH] * HEIGHT, 0, 0
        for _ in range(30):
            data = chance.choice((_frame(chance, rows), "\x1b[?2026h", _frame(chance, rows), "\a"))
            clock.now += chance.choice((0.0, KNOWN / 3))
            part = known.unknown(data)
            streams[0].feed(data)
            streams[1].feed(part)
            whole, sent = whole + len(data), sent + len(part)
            assert _cells(screens[0]) == _cells(screens[1]), f"seed {seed}"
            assert (screens[0].cursor.x, screens[0].cursor.y) == (screens[1].cursor.x, screens[1].cursor.y)
        assert sent <= whole


def _cells(screen: pyte.Screen) -> list[list[pyte.screens.Char]]:
    return [[screen.buffer[row][column] for column in range(WIDTH)] for row in range(HEIGHT)]


def test_a_row_that_is_shown_is_not_sent_until_it_may_have_been_overwritten() -> None:
    clock = Clock()
    known = KnownRows(clock)
    frame = "\x1b[1;1H\x1b[1mname\x1b[0m    RUNNING                  2/2\n\x1b[2;1Hsecond\x1b[1;1H"
    assert known.unknown(frame) == frame.replace("\n", "")
    assert known.unknown(frame) == "\x1b[1;1H"
    assert known.unknown(frame.replace("2/2", "1/2")) == "\x1b[1;34H1\x1b[1;1H"
    assert known.unknown("\x1b[?2026h") == "\x1b[?2026h"
    assert known.unknown(frame) == "\x1b[1;34H2\x1b[1;1H"
    clock.now += KNOWN
    assert known.unknown(frame) == frame.replace("\n", "")
    for other in ("\x1b[?1049h", "\a"):
        assert known.unknown(other) == other
        assert known.unknown(frame) == frame.replace("\n", "")


def test_control_sequences_within_a_row_are_sent_as_they_are() -> None:
    known = KnownRows()
    frame = "\x1b[1;1Ha\x1b[Kb\x1b[1;1H"
    assert known.unknown(frame) == frame
    assert known.unknown(frame) == frame


def test_frames_are_whole_for_a_while_after_another_size() -> None:
    clock = Clock()
    known = KnownRows(clock)
    frame = "\x1b[1;1Hname\x1b[1;1H"
    known.unknown(frame)
    known.resized()
    assert known.unknown(frame) == known.unknown(frame) == frame
    clock.now += RESIZED
    assert [known.unknown(frame) for _ in range(2)] == [frame, "\x1b[1;1H"]
