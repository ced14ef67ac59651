"""Completing a command line from the registry's own declarations: verbs, connector names, options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui.commands.registry import VERBS, find
from tui.commands.targets import is_glob
from tui.errors import UsageError
from tui.script.grammar import split

if TYPE_CHECKING:
    from tui.commands.base import Command

# What stands behind these words of a command's declaration.
_CHOICES = {"STATE": ("RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED"), "TYPE": ("source", "sink")}


def complete(line: str, names: Iterable[str]) -> list[str]:
    """Whole lines that begin with `line`, the likeliest first."""
    head, _, last = line.rpartition(" ")
    verbs = [verb for verb in VERBS if verb.startswith(line) and verb != line]
    if not head or line in VERBS:
        return verbs or [f"{line} "]
    return [*verbs, *(f"{head} {word}" for word in _words(head, last, names) if word.startswith(last) and word != last)]


def _words(head: str, last: str, names: Iterable[str]) -> Sequence[str]:
    try:
        before = split(head)
        command, count = find(tuple(before))
    except UsageError:
        return ()
    if last.startswith("-"):
        return [flag for argument in command.arguments().values() for flag in argument.flags if len(flag) > 2]
    option = _open_option(command, before)
    metavar = option if option is not None else _place(command, len(before) - count)
    if metavar.startswith("NAME"):  # where globs are fine, a name with a bracket must not be one
        from glob import escape
        from shlex import quote

        globs = any(argument.many and not argument.flags for argument in command.arguments().values())
        return [quote(escape(name) if globs and is_glob(name) else name) for name in sorted(names)]
    if "|" in metavar:
        return metavar.split("|")
    return _CHOICES.get(metavar, ())


def _open_option(command: type[Command], before: Sequence[str]) -> str | None:
    """The metavar of an option that still waits for its value."""
    for argument in command.arguments().values():
        if before[-1] in argument.flags and argument.convert is not None:
            return argument.help if "|" in argument.help else argument.metavar
    return None


def _place(command: type[Command], given: int) -> str:
    places = [argument for argument in command.arguments().values() if not argument.flags]
    if not places:
        return ""
    place = places[min(given, len(places) - 1)]
    return place.metavar if given < len(places) or place.many else ""


def hint(line: str, names: Iterable[str]) -> str:
    """What may come next, for a line under the prompt: the words that fit, or how the command is used."""
    found = complete(line, names) if line else list(VERBS)
    if len(found) > 1:
        head = "" if found[0] in VERBS else line.rpartition(" ")[0]
        return "  ".join(entry.removeprefix(head).strip() for entry in found)
    try:
        command, _ = find(tuple(split(line)))
    except UsageError:
        return ""
    return f"{command.usage()} · {command.summary()}"
