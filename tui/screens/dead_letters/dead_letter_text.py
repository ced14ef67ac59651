"""Texts about a dead letter: its row in the table, error, contents, and the question before a replay."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from textual.content import Content

from tui.causes import chain
from tui.dead_letters.brokers import SendResult
from tui.dead_letters.letters import CONTEXT, DeadLetter, connectors_of
from tui.formatting import counted
from tui.topics.byte_views import ByteView, best_view, shown
from tui.widgets.columns import Column
from tui.widgets.grid import MARK, Cell
from tui.widgets.jsontext import coloured
from tui.widgets.text import visible, visible_lines

COLUMNS = (
    Column("mark", " ", 1),
    Column("time", "TIME", 14),
    Column("origin", "ORIGIN", 18, grows=True),
    Column("stage", "STAGE", 15, rank=1, grows=True),
    Column("error", "ERROR", 20, grows=True),
)
OF_ALL_COLUMNS = (
    *COLUMNS[:2],
    Column("connector", "CONNECTOR", 16, grows=True, middle=True),
    COLUMNS[2]._replace(rank=2),
    *COLUMNS[3:],
)  # of letters of several connectors
INDENT = 11  # columns before the key and the headers
Part = str | Content | tuple[str, str]


def group_cells(kind: str, letters: Sequence[DeadLetter], marked: int) -> Mapping[str, Cell]:
    """The row of the letters that failed for the same reason."""
    stage, _, error = kind.rpartition(": ") if ": " not in kind else kind.partition(": ")
    newest = max(letter.timestamp for letter in letters)
    connectors = connectors_of(letters)
    return {
        "mark": Cell(MARK if marked == len(letters) else "+" if marked else "", "grid--accent"),
        "time": Cell(time.strftime("%m-%d %H:%M:%S", time.localtime(newest / 1000)), "grid--muted"),
        "connector": Cell(connectors[0] if len(connectors) == 1 else counted(len(connectors), "connector")),
        "origin": Cell(counted(len(letters), "record")),
        "stage": Cell(stage, "grid--muted"),
        "error": Cell(error, "grid--error"),
    }


def cells(letter: DeadLetter, marked: bool, sent: SendResult | None, edited: bool = False) -> Mapping[str, Cell]:
    """`sent` is the result of replaying the letter; `edited` if its value was changed for a replay."""
    origin = letter.origin
    return {
        "mark": Cell(MARK if marked else "e" if edited else "", "grid--accent"),
        "time": Cell(time.strftime("%m-%d %H:%M:%S", time.localtime(letter.timestamp / 1000)), "grid--muted"),
        "connector": Cell(letter.connector or "?"),
        "origin": Cell(f"{origin[0]}-{origin[1]}@{origin[2]}" if origin else "?"),
        "stage": Cell(letter.error_header("stage"), "grid--muted"),
        "error": _error(letter) if sent is None else _sent(sent),
    }


def _error(letter: DeadLetter) -> Cell:
    return Cell(letter.error, "grid--error") if letter.error else Cell("no error headers", "grid--muted")


def _sent(sent: SendResult) -> Cell:
    return Cell(f"✗ {sent.error}", "grid--error") if sent.error else Cell(f"✓ sent to {sent.where}", "grid--success")


def explained(letter: DeadLetter, topic: str, view: ByteView, columns: int = 80) -> Content:
    """The error, contents, origin and trace of a letter; `columns` is the width of the text.

    Key and value follow the error directly: in a small terminal there is room for few lines.
    """
    parts: list[Part] = []

    def line(key: str, value: str, style: str = "") -> None:
        if value:
            first, *rest = visible_lines(value)
            parts.extend([(f"{key:<{INDENT - 1}} ", "$text-muted"), (first, style), "\n"])
            parts.extend((f"{'':<{INDENT}}{text}\n", style) for text in rest)

    line("error", letter.error, "bold $error")
    line("key", shown(letter.key, best_view(letter.key), 400, columns - INDENT))
    parts.append((f"\nvalue as {view.value}, {len(letter.value or b''):,} bytes (v: other format)\n", "bold $accent"))
    text = shown(letter.value, view, columns=columns)
    parts.append(coloured(text) if view is ByteView.JSON else Content("\n".join(visible_lines(text))))
    parts.append("\n\n")
    for name, value in letter.own_headers:
        line("header", f"{name} = {shown(value, ByteView.TEXT, 200)}")
    line("as", letter.error_header("exception.class.name"), "$error")
    line("message", letter.error_header("exception.message"), "$error")
    line("stage", letter.error_header("stage"))
    line("in", letter.error_header("class.name"))
    task = letter.error_header("task.id")
    line("connector", letter.connector + (f", task {task}" if task else ""))
    if letter.origin:
        line("origin", "{} partition {} offset {}".format(*letter.origin))
    else:
        line("origin", f"unknown: {CONTEXT} was not enabled when the record failed", "$warning")
    line("is at", f"{topic} partition {letter.partition} offset {letter.offset}")
    if trace := letter.error_header("exception.stacktrace"):
        parts.append(("\nwhy\n", "bold $accent"))
        parts += [(f"{visible(text)}\n", "$error") for text in chain(trace)[::-1]]
        parts.append(("\nfull trace\n", "bold $accent"))
        parts += [(f"{text}\n", "$text-muted") for text in visible_lines(trace.rstrip())]
    return Content.assemble(*parts)


def warning(
    letters: Sequence[DeadLetter], again: int, edited: int = 0, connector: str = "", sharing: Sequence[str] = ()
) -> Content:
    """The text of the question before a replay; `again` is the number of letters that were replayed before, `edited`
    of those with a changed value. `sharing` are the other connectors with the dead letter topic of `connector`."""
    known = sum(letter.origin is not None for letter in letters)
    place = (
        "to their original partitions"
        if known
        else "to partitions chosen by key (no header names the original partition)"
    )
    if 0 < known < len(letters):
        place += f", or chosen by key if no header names it ({len(letters) - known:,})"
    lines = [
        f"The records are produced again with their keys, values and original headers, {place}; "
        "every consumer of the topic reads them. A record that fails again becomes another dead letter."
    ]
    if others := [letter for letter in letters if not letter.may_be_of(connector)]:
        lines.append(f"{len(others):,} of them failed in other connectors: {_names(connectors_of(others))}.")
    if sharing and (unnamed := sum(not letter.connector for letter in letters)):
        lines.append(
            f"{unnamed:,} of them may be of other connectors with this dead letter topic ({_names(sharing)}): "
            "no header names the connector."
        )
    if edited:
        lines.append(f"{edited:,} of them {'is' if edited == 1 else 'are'} sent with the edited value.")
    if again:
        lines.append(f"{again:,} of them {'was' if again == 1 else 'were'} already replayed in this session.")
    return Content("\n\n".join(lines))


def _names(connectors: Sequence[str]) -> str:
    return visible(", ".join(connectors))
