"""Runs the commands that only the screen has: `copy` and `export screen`."""

from __future__ import annotations

from pathlib import Path

from tui.commands.screen import CopyShown, ExportScreen, ScreenCommand
from tui.errors import UsageError
from tui.screens.base.shown import SUFFIXES, TABLE, TEXT, ShownContents
from tui.screens.home.base import HomeBase
from tui.script.grammar import parse


def run(home: HomeBase, line: str) -> bool:
    """Runs the line. False if it is another command."""
    try:
        command = parse(line)
    except UsageError:
        return False  # reported when the line is run as a command
    if not isinstance(command, ScreenCommand):
        return False
    contents = ShownContents(home)
    if isinstance(command, ExportScreen):
        _export(home, contents, command.file)
    elif isinstance(command, CopyShown):
        part = contents.parts().get(command.what or TABLE)
        if part is None:
            home.report(f"nothing to copy: the screen shows no {command.what or TABLE}", "warn")
        else:
            contents.take(part)
    return True


def _export(home: HomeBase, contents: ShownContents, file: str) -> None:
    kind, parts = SUFFIXES.get(Path(file).suffix), contents.parts()
    if kind is None:
        home.report(f"the name of the file must end in {', '.join(SUFFIXES)}", "bad")
    elif kind not in parts:
        home.report(f"nothing to export: the screen shows no {'text' if kind == TEXT else 'table'}", "warn")
    else:
        contents.take(parts[kind], file)
