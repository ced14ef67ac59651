"""What the screen says of a dead letter: its row, why it failed, what it holds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from textual.content import Content

from tui.dead_letters.brokers import SendResult
from tui.dead_letters.letters import CONTEXT, ByteView, DeadLetter, best_view, shown
from tui.formatting import counted
from tui.screens.base.stack_traces import chain
from tui.widgets.columns import Column
from tui.widgets.grid import Cell
from tui.widgets.jsontext import coloured
from tui.widgets.text import visible_lines

COLUMNS = (
    Column("mark", " ", 1),
    Column("time", "TIME", 14),
    Column("origin", "CAME FROM", 18, grows=True),
    Column("stage", "STAGE", 15, rank=1, grows=True),
    Column("error", "ERROR", 20, grows=True),
)
Part = str | Content | tuple[str, str]


def cells(letter: DeadLetter, marked: bool, sent: SendResult | None) -> Mapping[str, Cell]:
    """`sent`: what became of sending it again."""
    origin = letter.origin
    return {
        "mark": Cell("*" if marked else "", "grid--strong"),
        "time": Cell(time.strftime("%m-%d %H:%M:%S", time.localtime(letter.timestamp / 1000)), "grid--muted"),
        "origin": Cell(f"{origin[0]}-{origin[1]}@{origin[2]}" if origin else "?"),
        "stage": Cell(letter.error_header("stage"), "grid--muted"),
        "error": _error(letter) if sent is None else _sent(sent),
    }


def _error(letter: DeadLetter) -> Cell:
    return Cell(letter.error, "grid--error") if letter.error else Cell("no headers tell why", "grid--muted")


def _sent(sent: SendResult) -> Cell:
    return Cell(f"✗ {sent.error}", "grid--error") if sent.error else Cell(f"✓ sent to {sent.where}", "grid--success")


def explained(one: DeadLetter, topic: str, view: ByteView) -> Content:
    """Why it failed, where it was and is, its key, headers and value, the whole trace."""
    parts: list[Part] = []

    def line(key: str, value: str, ink: str = "") -> None:
        if value:
            first, *rest = visible_lines(value)
            parts.extend([(f"{key:<10} ", "$text-muted"), (first, ink), "\n"])
            parts.extend((f"{'':<11}{text}\n", ink) for text in rest)

    line("error", one.error, "bold $error")
    line("as", one.error_header("exception.class.name"), "$error")
    line("message", one.error_header("exception.message"), "$error")
    line("stage", one.error_header("stage"))
    line("in", one.error_header("class.name"))
    task = one.error_header("task.id")
    line("connector", one.error_header("connector.name") + (f", task {task}" if task else ""))
    if one.origin:
        line("came from", "{} partition {} offset {}".format(*one.origin))
    else:
        line("came from", f"not told: {CONTEXT} was not true when it failed", "$warning")
    line("is at", f"{topic} partition {one.partition} offset {one.offset}")
    line("key", shown(one.key, best_view(one.key), 400))
    for name, value in one.own_headers:
        line("header", f"{name} = {shown(value, ByteView.TEXT, 200)}")
    parts.append((f"\nvalue as {view.value}, {len(one.value or b''):,} bytes (v: another way)\n", "bold $accent"))
    text = shown(one.value, view)
    parts.append(coloured(text) if view is ByteView.JSON else Content("\n".join(visible_lines(text))))
    if trace := one.error_header("exception.stacktrace"):
        parts.append(("\n\nwhy\n", "bold $accent"))
        parts += [(f"{text}\n", "$error") for text in chain(trace)[::-1]]
        parts.append(("\nthe whole trace\n", "bold $accent"))
        parts += [(f"{text}\n", "$text-muted") for text in visible_lines(trace.rstrip())]
    return Content.assemble(*parts)


def warning(letters: Sequence[DeadLetter], again: int) -> Content:
    """Before letters are sent again, `again` of them not for the first time."""
    told = sum(letter.origin is not None for letter in letters)
    place = "to the partitions they came from" if told else "to partitions by their keys (no header tells theirs)"
    if 0 < told < len(letters):
        place += f", or by their keys where no header tells it ({len(letters) - told:,})"
    lines = [
        f"They are produced once more, with their keys, values and own headers, {place}; "
        "every consumer of that topic reads them. What still cannot be digested comes back as another dead letter."
    ]
    if again:
        lines.append(f"{counted(again, 'record')} of them were sent in this session already.")
    return Content("\n\n".join(lines))
