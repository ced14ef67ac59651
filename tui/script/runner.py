"""Runs the lines of a script, after parsing all of them, and prints their results.

Data goes to standard output; confirmations, narration and errors go to standard error, so that the output of a script
can be piped into jq. With -o, a confirmation is data, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tui.client.calls import drive
from tui.commands.base import Command, execute
from tui.commands.context import CommandContext
from tui.commands.result import Result, common_code
from tui.errors import DONE, USAGE, HeadraceError, UsageError
from tui.formatting import MESSAGE_LENGTH, cut, joined_lines
from tui.model import Verdict
from tui.offsets import partitions
from tui.script.grammar import parse
from tui.script.output import plain, render

_WIDTHS = (8, 10, 32, 0)


class ScriptLine(NamedTuple):
    """A command and its position: `line 3` of a script, or empty."""

    where: str
    command: Command


class Printer:
    """The only place that writes to the standard streams. Messages that cannot be written to standard error, as on a
    full disk, are discarded: they must not end a change in the middle."""

    def __init__(self, colour: bool = False) -> None:
        self.colour = colour
        self.codes: list[int] = []

    def report(self, text: str) -> None:
        """Prints a message on one line of standard error."""
        with suppress(OSError):
            print(plain(cut(joined_lines(text), MESSAGE_LENGTH)), file=sys.stderr, flush=True)

    def signal(self, sequence: str) -> None:
        """Writes a control sequence, such as a bell, to the terminal of standard error."""
        with suppress(OSError):
            print(sequence, end="", file=sys.stderr, flush=True)

    def error(self, error: HeadraceError, where: str = "", form: str | None = None) -> None:
        """Prints an error and records its exit code. In formats for programs, it is data, too."""
        self.report(f"headrace: {where}{': ' if where else ''}{error}")
        form = form or error.form
        if form in ("json", "jsonl", "yaml"):
            parts = {"name": error.subject, "error": error.message, "advice": error.advice}
            data = error.data or {key: text for key, text in parts.items() if text}
            print(_one(Result(data), form), end="", flush=True)
        elif error.output:
            print(plain(error.output), flush=True)
        self.codes.append(error.exit_code)

    def result(self, result: Result, form: str | None, where: str = "") -> None:
        """Prints a result in the format `form` and records its exit code."""
        printed = not result.is_confirmation or form is not None or bool(result.text)
        if printed and result != Result():  # empty if its items were already printed
            exact = not sys.stdout.isatty()
            sys.stdout.write(render(_fitting(result), form or "table", self.colour, exact))
        if result.is_confirmation:
            self._outcomes(result, printed, where)
        sys.stdout.flush()
        self.codes.append(result.exit_code)

    def item(self, item: Any, form: str, row: Sequence[str]) -> None:
        """Prints one item of a stream."""
        if form in ("table", "wide"):
            text = "  ".join(f"{plain(cut(cell)):<{width}}" for cell, width in zip(row, _WIDTHS, strict=False))
            sys.stdout.write(text.rstrip() + "\n")
        else:
            sys.stdout.write(_one(Result(item, names=(str(item.get("connector", "")),)), form))
        sys.stdout.flush()

    def _outcomes(self, result: Result, printed: bool, where: str) -> None:
        for outcome in result.outcomes:
            line = f"{outcome.name}: {outcome.message}"
            if outcome.failed:
                self.report(f"headrace: {where}{': ' if where else ''}{line}")
            elif outcome.verdict is not None:
                self._verdict(outcome.name, outcome.verdict, printed)
            elif not printed:
                self.report(line)
        names = {outcome.name for outcome in result.outcomes}  # a dry run may have several outcomes for one target
        failed = {outcome.name for outcome in result.outcomes if outcome.failed}
        if failed and len(names) > 1:
            self.report(f"headrace: {len(failed)} of {len(names)} failed")

    def _verdict(self, name: str, verdict: Verdict, printed: bool) -> None:
        """Prints the server's message as data, and the remaining manual step as narration."""
        if not printed:
            sys.stdout.write(plain(f"{name}: {verdict.message}") + "\n")
            sys.stdout.flush()
        if by_hand := partitions.by_hand(verdict):
            self.report(f"{name}: {by_hand}")

    @property
    def exit_code(self) -> int:
        """The common exit code of all results and errors."""
        return common_code(self.codes)


def _one(result: Result, form: str) -> str:
    """An item of a stream, or the error that may end the stream: in JSON one line, in YAML one document."""
    if form == "yaml":
        return "---\n" + render(result, form)
    return render(result, "jsonl" if form == "json" else form)


def _fitting(result: Result) -> Result:
    """Folds prose to the terminal's width; piped output and tables are never folded."""
    if not (result.prose and sys.stdout.isatty()):
        return result
    from os import get_terminal_size  # not shutil's, since COLUMNS may be outdated

    from tui.script.folding import folded

    columns = get_terminal_size(sys.stdout.fileno()).columns or 80
    return result._replace(text=folded(result.text, columns))


def lines_of(texts: Iterable[str], numbered: bool) -> tuple[list[ScriptLine], list[tuple[str, UsageError]]]:
    """The commands of a script, and the errors of invalid lines."""
    lines, errors = [], []
    for number, text in enumerate(texts, 1):
        where = f"line {number}" if numbered else ""
        try:
            command = parse(text)
        except UsageError as error:
            errors.append((where, error))
            continue
        if command is not None:
            lines.append(ScriptLine(where, command))
    return lines, errors


def run_lines(lines: Sequence[ScriptLine], context: CommandContext, printer: Printer, keep_going: bool) -> int:
    """Runs the lines up to the first failure, or all with `keep_going`, and returns the exit code."""
    for number, line in enumerate(lines, 1):
        try:
            result = drive(execute(line.command, context))
        except HeadraceError as error:
            printer.error(error, line.where, line.command.output)
        except (KeyboardInterrupt, SystemExit) as interrupt:
            if left := lines[number:]:
                interrupt.add_note(_not_run(line, left))
            raise
        else:
            printer.result(result, line.command.output, line.where)
        if printer.codes[-1] != DONE and not keep_going:
            break
    return printer.exit_code


def _not_run(interrupted: ScriptLine, left: Sequence[ScriptLine]) -> str:
    """The lines of a script, or the commands after -c, that follow the interrupted one."""
    if not interrupted.where:
        return f"not run: the last {len(left)} of the commands"
    first, last = (line.where.removeprefix("line ") for line in (left[0], left[-1]))
    rest = f"lines {first} to {last}" if left[1:] else f"line {first}"
    return f"interrupted in {interrupted.where}; not run: {rest}"


def run_texts(texts: Sequence[str], context: CommandContext, printer: Printer, keep_going: bool, numbered: bool) -> int:
    """Parses and runs a script and returns the exit code; nothing is run if any line is invalid."""
    lines, errors = lines_of(texts, numbered)
    for where, error in errors:
        printer.error(error, where)
    if errors:
        return errors[0][1].exit_code if len(texts) == 1 else USAGE
    return run_lines(lines, context, printer, keep_going)
