"""The targets of commands: selection by name, glob or regular expression, confirmation, and one action for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from typing import TYPE_CHECKING

from tui.commands.context import CommandTerminal
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.errors import HeadraceError, NotFound, cluster_is_down
from tui.patterns import Pattern

if TYPE_CHECKING:
    from tui.client.client import Connect
    from tui.commands.base import Command


def is_glob(pattern: str) -> bool:
    """Whether the name has wildcards."""
    return not {"*", "?", "["}.isdisjoint(pattern)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name equals a pattern or matches it as a glob."""
    from fnmatch import fnmatchcase

    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def selector(patterns: Sequence[str], regex: bool) -> Callable[[str], bool]:
    """Whether a name matches one of the patterns, as `matches`, or with `regex` an expression completely. Raises
    UsageError if one is invalid or takes too long."""
    if not regex:
        return lambda name: matches(name, patterns)
    compiled = [Pattern(pattern) for pattern in patterns]
    return lambda name: any(pattern.matches(name) for pattern in compiled)


async def select_names(connect: Connect, patterns: Sequence[str], regex: bool) -> list[str]:
    """The selected connectors in the order of the patterns. Plain names are not looked up; the server responds with 404
    for an unknown one. Raises NotFound if a pattern matches nothing."""
    if not regex and not any(map(is_glob, patterns)):
        return list(dict.fromkeys(patterns))
    existing = sorted(await connect.names())
    selected: dict[str, None] = {}
    for pattern in patterns:
        hits = list(filter(selector([pattern], regex), existing))
        if not hits and (regex or is_glob(pattern)):
            raise NotFound(f"no connector matches {pattern}", 404)
        selected.update(dict.fromkeys(hits or [pattern]))
    return list(selected)


def pinned(command: Command, shown: Result) -> Command:
    """The command for the connectors that its dry run has shown, whichever its patterns match by now."""
    if not command.selects:
        return command
    names = tuple(dict.fromkeys(escape(outcome.name) for outcome in shown.outcomes))
    return type(command)(**{**command.values, "names": names, "regex": False})


async def dry_run_existing(connect: Connect, names: Sequence[str], would: str) -> Result:
    """The result of a dry run: `would` for each existing connector, a failure for each missing one."""
    known = set(await connect.names())
    missing = NotFound("", 404).exit_code
    return confirmation(
        [
            TargetOutcome(n, would) if n in known else TargetOutcome(n, f"Connector {n} not found", missing)
            for n in names
        ]
    )


def failed_outcome(name: str, error: HeadraceError) -> TargetOutcome:
    """The outcome of a target whose action raised the error."""
    message = f"{error.message} ({error.advice})" if error.advice else error.message
    return TargetOutcome(name, message, error.exit_code)


async def for_each(names: Iterable[str], act: Callable[[str], Awaitable[TargetOutcome]]) -> Result:
    """Runs the action for each target. Continues after an error, unless the cluster is unreachable or needed unusually
    long for it, as without its brokers: each further request would take as long."""
    outcomes: list[TargetOutcome] = []
    await _each(names, act, outcomes)
    return confirmation(outcomes)


async def change_each(names: Iterable[str], act: Callable[[str], Awaitable[TargetOutcome]]) -> Result:
    """`for_each` for changes. An interrupt gets a note for each target, which the script prints."""
    targets, outcomes = list(names), list[TargetOutcome]()
    with noted_on_interrupt(outcomes, targets):
        await _each(targets, act, outcomes)
    return confirmation(outcomes)


@contextmanager
def noted_on_interrupt(outcomes: Sequence[TargetOutcome], targets: Sequence[str] = ()) -> Iterator[None]:
    """Adds the outcomes until then to ^C and SIGTERM, and the targets that have none."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as interrupt:
        is_asked = bool(getattr(interrupt, "__notes__", ()))  # a note of the question says that nothing was changed
        for outcome in outcomes:
            interrupt.add_note(f"{outcome.name}: {outcome.message}")
        if (left := targets[len(outcomes) :]) and not is_asked:
            interrupt.add_note(f"{left[0]}: interrupted; the change may have taken effect")
        if len(left) > 1:
            interrupt.add_note(f"not tried: {', '.join(left[1:])}")
        raise


async def _each(
    names: Iterable[str], act: Callable[[str], Awaitable[TargetOutcome]], outcomes: list[TargetOutcome]
) -> None:
    last: HeadraceError | None = None
    for name in names:
        if last is not None and (reason := _end(last)):
            outcomes.append(TargetOutcome(name, f"not tried: {reason}", last.exit_code))
            continue
        try:
            outcomes.append(await act(name))
        except HeadraceError as error:
            last = error
            outcomes.append(failed_outcome(name, error))


def _end(error: HeadraceError) -> str:
    """The reason why no further target is tried after an error; empty if the others are."""
    if cluster_is_down(error):
        return "the cluster is unreachable"
    return f"the worker took {error.delay:.0f} s for the previous request" if error.delay else ""


def require_confirmation(terminal: CommandTerminal, yes: bool, verb: str, names: Sequence[str]) -> None:
    """Asks once for all targets. Raises HeadraceError if the user declines."""
    targets = ", ".join(names)
    if not yes and not terminal.confirm(f"{verb} {targets}?"):
        raise HeadraceError(f"{verb} {targets}: not confirmed; nothing was changed")
