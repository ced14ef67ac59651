"""Which connectors a command means (names, globs, regular expressions), and doing one thing to each."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tui.commands.base import CommandContext
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.errors import HeadraceError, NotFound, Unreachable, UsageError

if TYPE_CHECKING:
    from tui.client.client import Connect


def is_glob(pattern: str) -> bool:
    return not {"*", "?", "["}.isdisjoint(pattern)


def matches(name: str, patterns: Sequence[str], regex: bool = False) -> bool:
    """Whether a name is meant: as it stands, as a glob, or as a regular expression over the whole name."""
    if regex:
        return any(compiled(pattern).fullmatch(name) for pattern in patterns)
    from fnmatch import fnmatchcase

    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern!r} is not a regular expression: {error}") from None


async def chosen(connect: Connect, patterns: Sequence[str], regex: bool = False) -> list[str]:
    """The names meant, in the order given. Plain names are not looked up: the server's own 404 says it best."""
    if not regex and not any(map(is_glob, patterns)):
        return list(dict.fromkeys(patterns))
    there = sorted(await connect.names())
    found: dict[str, None] = {}
    for pattern in patterns:
        hits = [name for name in there if matches(name, [pattern], regex)]
        if not hits and (regex or is_glob(pattern)):
            raise NotFound(f"no connector matches {pattern}", 404)
        found.update(dict.fromkeys(hits or [pattern]))
    return list(found)


async def there(connect: Connect, names: Sequence[str], would: str) -> Result:
    """What a dry run says of connectors: of those that are not there, that they are not."""
    known = set(await connect.names())
    missing = NotFound("", 404).exit_code
    return confirmation(
        [
            TargetOutcome(n, would) if n in known else TargetOutcome(n, f"Connector {n} not found", missing)
            for n in names
        ]
    )


def failure(name: str, error: HeadraceError) -> TargetOutcome:
    message = f"{error.message} ({error.advice})" if error.advice else error.message
    return TargetOutcome(name, message, error.exit_code)


async def each(names: Iterable[str], act: Callable[[str], Awaitable[TargetOutcome]]) -> Result:
    """Does it to one after the other; a refusal of one does not spare the rest, an unreachable cluster does."""
    outcomes: list[TargetOutcome] = []
    down: Unreachable | None = None
    for name in names:
        if down is not None:
            outcomes.append(TargetOutcome(name, "not tried", down.exit_code))
            continue
        try:
            outcomes.append(await act(name))
        except HeadraceError as error:
            down = error if isinstance(error, Unreachable) else None
            outcomes.append(failure(name, error))
    return confirmation(outcomes)


def must_confirm(context: CommandContext, yes: bool, verb: str, names: Sequence[str]) -> None:
    """Asks once for all targets, where there is somebody to ask."""
    if not yes and not context.confirm(f"{verb} {', '.join(names)}?"):
        raise HeadraceError(f"{verb} {', '.join(names)}: not confirmed, nothing was done")
