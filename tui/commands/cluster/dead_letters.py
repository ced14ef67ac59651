"""The verbs for dead letters of sinks: listing them by error, and replaying them, with edited values if needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tui.commands.arguments import flag, integer, option, positional, positionals
from tui.commands.base import ChangingCommand, Command, Danger, refuse
from tui.commands.context import CommandContext, CommandFiles, CommandTerminal
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.targets import require_confirmation
from tui.dead_letters.brokers import DeadLetterTopic, DeadLetterWindow
from tui.dead_letters.letters import CONTEXT, TOPIC, DeadLetter, as_json, connectors_of, original_topic
from tui.errors import FAILED, NOT_FOUND, UsageError, WrongState
from tui.formatting import counted, utc_time
from tui.offsets import positions
from tui.offsets.positions import TimePosition
from tui.offsets.seek import in_thread
from tui.topics import exact_json
from tui.topics.byte_views import bytes_of
from tui.topics.exact_json import ExactNumber
from tui.topics.page_scan import PAGE_TIME, limits_text
from tui.user_files import parse_json

Json = Any
MAX_LETTERS = 10_000
DEFAULT_LETTERS = 1_000
WIDE = frozenset({"OLDEST", "ORIGIN", "NEWEST AT"})
EXPORTED = "the output of `get deadletters -o jsonl` with edited values"


class _Selection(NamedTuple):
    """The letters that a command reads, those of them that its options select, and those of other connectors, which
    they leave out."""

    topic: DeadLetterTopic
    config: Mapping[str, str]
    letters: tuple[DeadLetter, ...]
    others: tuple[DeadLetter, ...]


class _DeadLettersCommand(Command):
    """Options that select dead letters."""

    name = positional("NAME", "a sink")
    error = option(
        "--error", metavar="TEXT", help="only those whose stage or error contains the text, in any case", convert=str
    )
    since = option("--since", metavar="TIME", help="only those that failed since: a time, or `1h ago`", convert=str)
    limit = option(
        "-n",
        "--limit",
        metavar="N",
        help=f"how many of the newest of each partition are read, by default {DEFAULT_LETTERS:,}",
        convert=integer,
    )

    all_connectors = flag("--all-connectors", help="also those of other connectors that share the topic")

    def check(self) -> None:
        refuse(not 1 <= self._limit <= MAX_LETTERS, f"-n must be between 1 and {MAX_LETTERS:,}")
        self._since()

    @property
    def _limit(self) -> int:
        return DEFAULT_LETTERS if self.limit is None else self.limit

    def _since(self) -> int:
        """Milliseconds since 1970. Raises UsageError."""
        if self.since is None:
            return 0
        position = positions.parse(self.since)
        if not isinstance(position, TimePosition):
            raise UsageError(f"--since {self.since}: expected a time, such as 2026-01-31T12:00:00Z or `1h ago`")
        return position.milliseconds

    async def selected(self, context: CommandContext) -> _Selection:
        """Reads the letters. Raises WrongState if the connector has no dead letter topic."""
        config = await context.cluster.connect.config(self.name)
        name = config.get(TOPIC, "").strip()
        if not name:
            raise WrongState(f"{self.name} has no dead letter topic: {TOPIC} is not set", 409)
        topic = DeadLetterTopic(name, context.cluster.kafka_settings())
        window = await in_thread(lambda: topic.newest(self._limit))
        report_rest(context.terminal, window)
        matching = tuple(filter(self._matches(), window.letters))
        if self.all_connectors:
            return _Selection(topic, config, matching, ())
        own = tuple(letter for letter in matching if letter.may_be_of(self.name))
        others = tuple(letter for letter in matching if not letter.may_be_of(self.name))
        if others:
            context.terminal.report(
                f"{counted(len(others), 'dead letter')} of {', '.join(connectors_of(others))} left out; "
                "--all-connectors includes them"
            )
        return _Selection(topic, config, own, others)

    def _matches(self) -> Callable[[DeadLetter], bool]:
        text, since = (self.error or "").lower(), self._since()

        def matches(letter: DeadLetter) -> bool:
            whole = f"{letter.kind_of_error}\n{letter.error}\n{letter.error_header('exception.class.name')}"
            return letter.timestamp >= since and text in whole.lower()

        return matches


def report_rest(terminal: CommandTerminal, window: DeadLetterWindow) -> None:
    if window.has_older:
        terminal.report(f"read the newest {len(window.letters):,} of {window.total:,}; {_remedy(window)}")


def _remedy(window: DeadLetterWindow) -> str:
    return (
        f"the rest exceeds {limits_text(PAGE_TIME)}: the screen reads older ones" if window.is_cut else "-n reads more"
    )


class GetDeadLetters(_DeadLettersCommand):
    """List the dead letters of a sink, grouped by error; -o json, jsonl and name list each one.

    If sinks share a dead letter topic, those of other connectors are left out, as far as headers name the connector.
    The context must name its brokers. Nothing is committed and no group is joined.
    """

    verb = "get deadletters"

    async def run(self, context: CommandContext) -> Result:
        selection = await self.selected(context)
        groups: dict[tuple[str, str], list[DeadLetter]] = {}
        for letter in selection.letters:
            connector = letter.connector if self.all_connectors else ""
            groups.setdefault((connector, letter.kind_of_error), []).append(letter)
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        rows = tuple((connector, *_row(kind, letters)) for (connector, kind), letters in ordered)
        table = Table(("CONNECTOR", "COUNT", "NEWEST", "ERROR", "OLDEST", "ORIGIN", "NEWEST AT"), rows, WIDE)
        if not self.all_connectors:
            table = Table(table.columns[1:], tuple(row[1:] for row in rows), WIDE)
        return Result(
            [as_json(selection.topic.topic, letter) for letter in selection.letters],
            table if rows else None,
            "" if rows else "no dead letters",
            tuple(letter.position for letter in selection.letters),
        )


def _row(kind: str, letters: Sequence[DeadLetter]) -> tuple[str | int, ...]:
    """The row of the letters with the same kind of error, newest first."""
    origins = sorted({letter.origin[0] for letter in letters if letter.origin})
    times = [letter.timestamp for letter in letters]
    return len(letters), utc_time(max(times)), kind, utc_time(min(times)), ", ".join(origins), letters[0].position


class ReplayDeadLetters(_DeadLettersCommand, ChangingCommand):
    """Send dead letters of a sink to their original topics again: those at positions, by error, edited ones, or all.

    Keys, values and the original headers are sent, to the original partition if headers name it. The dead letters
    themselves remain in their topic. Those of other connectors that share the topic are left out.
    """

    verb = "replay deadletters"
    danger = Danger.ASK
    noun = "dead letter"

    name = positional("NAME", "a sink")  # before the positions
    places = positionals("PARTITION@OFFSET", "positions, as listed by `get deadletters -o name`", at_least=0)
    edit = option("--edit", metavar="@FILE", help=f"send the values of this file: {EXPORTED}", convert=str)
    all = flag("-a", "--all", help="all that were read")

    def check(self) -> None:
        super().check()
        chosen = self.places or self.error or self.since or self.edit or self.all
        refuse(not chosen, "choose dead letters: PARTITION@OFFSET, --error, --since, --edit or --all")

    async def run(self, context: CommandContext) -> Result:
        values = self._values(context.files)
        selection = await self.selected(context)
        letters = {letter.position: letter for letter in selection.letters}
        wanted = list(dict.fromkeys(self.places or (letters if self.edit is None else values)))
        missing = [place for place in wanted if place not in letters]
        if missing:
            others = {letter.position: letter.connector for letter in selection.others}
            return confirmation([TargetOutcome(place, _why_missing(others.get(place)), NOT_FOUND) for place in missing])
        if not wanted:
            return Result([], text="no dead letters to replay")
        instead = original_topic(selection.config)
        chosen = [letters[place]._replace(value=values.get(place, letters[place].value)) for place in wanted]
        if self.dry_run:
            return confirmation([_would(letter, instead, letter.position in values) for letter in chosen])
        topics = sorted({letter.origin[0] if letter.origin else instead for letter in chosen} - {""})
        unnamed = sum(not letter.connector for letter in chosen)
        if unnamed:
            context.terminal.report(
                f"{unnamed:,} of {len(chosen):,} do not name their connector: {CONTEXT} was not set"
            )
        connectors = connectors_of(chosen) or [self.name]
        question = f"send {counted(len(chosen), 'record')} of {', '.join(connectors)} again to"
        require_confirmation(context.terminal, self.yes, question, topics)
        outcomes = await in_thread(lambda: selection.topic.replay(chosen, instead))
        return confirmation(
            [
                TargetOutcome(result.letter.position, result.error, FAILED)
                if result.error
                else TargetOutcome(result.letter.position, f"sent to {result.where}")
                for result in outcomes
            ]
        )

    def _values(self, files: CommandFiles) -> dict[str, bytes | None]:
        """The edited values by position. Raises UsageError."""
        if self.edit is None:
            return {}
        text = files.read(self.edit.removeprefix("@"))
        return dict(_edited(text, self.edit))


def _why_missing(other: str | None) -> str:
    """The reason why a position is not among the selected letters; `other` is the connector in which it failed."""
    if other:
        return f"a dead letter of {other}; --all-connectors includes it"
    return "not among the dead letters that were read"


def _would(letter: DeadLetter, instead: str, edited: bool) -> TargetOutcome:
    topic = letter.origin[0] if letter.origin else instead
    if not topic:
        return TargetOutcome(letter.position, "its headers do not name the original topic", FAILED)
    where = f"{topic}-{letter.origin[1]}" if letter.origin else topic
    return TargetOutcome(letter.position, f"would be sent to {where}" + (" with the edited value" if edited else ""))


def _edited(text: str, where: str) -> Iterable[tuple[str, bytes | None]]:
    """Position and value of each object in a JSON array or in JSON lines."""
    try:
        whole = exact_json.loads(text)
        entries = whole if isinstance(whole, list) else [whole]
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        entries = [parse_json(line, where, f"expected {EXPORTED}", ExactNumber) for line in lines]
    for number, entry in enumerate(entries, 1):
        try:
            yield f"{int(entry['partition'])}@{int(entry['offset'])}", bytes_of(entry["value"])
        except (TypeError, KeyError, ValueError):
            raise UsageError(
                f"{where}: dead letter {number} needs partition, offset and value", f"expected {EXPORTED}"
            ) from None
