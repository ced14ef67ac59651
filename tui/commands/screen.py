"""`copy` and `export screen`: what the screen shows. The screen carries them out itself."""

from __future__ import annotations

from typing import NoReturn

from tui.commands.arguments import choice, optional_positional, positional
from tui.commands.base import Command
from tui.commands.context import CommandContext
from tui.errors import UsageError

WHAT = ("table", "json", "jsonl", "row", "text", "screen")
SCRIPTS = "scripts use -o tsv, json or jsonl, and redirect the output"


class ScreenCommand(Command):
    """A command of the screen alone."""

    local = True

    async def run(self, context: CommandContext) -> NoReturn:
        raise UsageError(f"`{self.verb}` needs the screen", SCRIPTS)


class CopyShown(ScreenCommand):
    """Copy what the screen shows: the table as TSV (the default), as JSON or as lines of JSON, the row under the
    cursor, the text, or the screen as it is. On every screen, ^Y shows these as a menu."""

    verb = "copy"

    what = optional_positional("|".join(WHAT), "the part to copy; default: table")

    def check(self) -> None:
        choice(*WHAT)(self.what or WHAT[0])


class ExportScreen(ScreenCommand):
    """Write the table that the screen shows to a file: all its rows and columns, in their order and under their filter.

    The end of its name is .tsv, .json, .jsonl or, for the text of the page, .txt. On every screen, ^Y shows a menu.
    """

    verb = "export screen"

    file = positional("FILE", "such as connectors.tsv")
