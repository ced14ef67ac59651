"""Completion of a command: verbs, names and options, from the declarations of the commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui.commands.registry import VERBS, find
from tui.commands.targets import is_glob
from tui.errors import UsageError
from tui.script.quoting import unfinished

if TYPE_CHECKING:
    from tui.commands.base import Command

# The possible values of these arguments.
_CHOICES = {"STATE": ("RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED"), "TYPE": ("source", "sink")}


def complete(
    line: str,
    names: Iterable[str],
    workers: Iterable[str] = (),
    plugins: Iterable[str] = (),
    contexts: Iterable[str] = (),
) -> list[str]:
    """Whole lines that begin with `line`, the most likely first. `names` are those of connectors or contexts, `plugins`
    classes."""
    verbs = [verb for verb in VERBS if verb.startswith(line) and verb != line]
    typed = unfinished(line)
    if not typed.before or line in VERBS:
        return verbs or [f"{line} "]
    fitting = [
        word
        for word in _words(typed.before, typed.text, names, workers, plugins, contexts)
        if word.startswith(typed.text)
    ]
    lines = [typed.with_last(word) for word in fitting]
    return [*verbs, *(whole for whole in lines if whole != line)]


def _words(
    before: Sequence[str],
    last: str,
    names: Iterable[str],
    workers: Iterable[str],
    plugins: Iterable[str],
    contexts: Iterable[str],
) -> Sequence[str]:
    try:
        command, count = find(tuple(before))
    except UsageError:
        return ()
    if last.startswith("-"):
        return [flag for argument in command.arguments().values() for flag in argument.flags if len(flag) > 2]
    option = _open_option(command, before)
    metavar = option if option is not None else _place(command, len(before) - count)
    if metavar.startswith("NAME"):  # where globs are allowed, brackets in names are escaped
        from glob import escape

        globs = any(argument.many and not argument.flags for argument in command.arguments().values())
        return [escape(name) if globs and is_glob(name) else name for name in sorted(names)]
    if metavar == "CONTEXT":
        return sorted(contexts)
    if metavar == "WORKER":
        return sorted(workers)
    if metavar == "PLUGIN":  # the last part of the class is enough
        return sorted({name if "." in last else name.rpartition(".")[2] for name in plugins})
    if "|" in metavar:
        return metavar.split("|")
    return _CHOICES.get(metavar, ())


def _open_option(command: type[Command], before: Sequence[str]) -> str | None:
    """The metavar of the last word if it is an option without its value."""
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


def hint(line: str, names: Iterable[str], workers: Iterable[str] = (), room: int = 0) -> str:
    """The hint under the prompt: the words that may follow, as many as fit into `room` characters (0: all), or the
    usage of the command."""
    completions = complete(line, names, workers) if line else list(VERBS)
    typed = unfinished(line)
    if len(completions) > 1:
        start = 0 if completions[0] in VERBS else typed.start
        return _listed([entry[start:].strip() for entry in completions], room)
    words = (
        tuple(completions[0].split()) if completions else (*typed.before, typed.text)
    )  # `patch off` is `patch offsets`
    try:
        command, _ = find(words)
    except UsageError:
        return ""
    return f"{command.usage()} · {command.summary()}"


def _listed(words: Sequence[str], room: int) -> str:
    """The words, and the number of those that have no room."""
    text = "  ".join(words)
    if not room or len(text) <= room:
        return text
    count = len(words)
    while count and len(text) > room:
        count -= 1
        text = "  ".join((*words[:count], f"and {len(words) - count} more"))
    return text
