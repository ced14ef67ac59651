"""The ways from Apache's workers to Headrace's and back, with their steps in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_ROLLING = (4, 0)
"""Headrace's workers share a group with Apache's from Connect 4.0 on (`headrace.mixed.group`)."""


class WorkerKind(StrEnum):
    """Whose workers run the connectors."""

    APACHE = "apache"
    HEADRACE = "headrace"


class Way(StrEnum):
    """Whether all workers stop before the first new one starts, or are replaced one after another."""

    STOP = "stop"
    ROLLING = "rolling"


class Action(StrEnum):
    """What a step does, in the state file of a move."""

    READ = "read"
    EXPORT = "export"
    STOP = "stop"
    START = "start"
    MIX = "mix"
    UNMIX = "unmix"
    VERIFY = "verify"


@dataclass(frozen=True, slots=True)
class Step:
    """An action, and its description for the operator."""

    action: Action
    text: str


@dataclass(frozen=True, slots=True)
class Names:
    """The names in the descriptions: the workers' properties file, their group, and Headrace's additional topic."""

    file: str
    group: str
    journal: str


def way_from(release: tuple[int, int]) -> Way:
    """The way for Apache's workers of this release of Kafka."""
    return Way.ROLLING if release >= _ROLLING else Way.STOP


def steps(way: Way, target: WorkerKind, names: Names) -> list[Step]:
    """The steps that lead to workers of the `target` kind."""
    if way is Way.ROLLING:
        return _rolling_there(names) if target is WorkerKind.HEADRACE else _rolling_back(names)
    return _stop_there(names) if target is WorkerKind.HEADRACE else _stop_back(names)


def plan(way: Way, names: Names) -> Iterator[str]:
    """The lines of `headrace migrate check`."""
    if way is Way.ROLLING:
        yield "Without a stop, since Connect 4.x and Headrace can share a group:"
    else:
        yield (
            "With a stop, since Connect before 4.0 cannot share a group with Headrace. Nothing is copied: the topics "
            "stay."
        )
    yield from _numbered(steps(way, WorkerKind.HEADRACE, names))
    yield "Back:"
    yield from _numbered(steps(way, WorkerKind.APACHE, names))
    yield f"headrace migrate run {names.file} --connect URL takes these steps, and with --back those back"


def _numbered(steps: list[Step]) -> Iterator[str]:
    return (f"{number}. {step.text}" for number, step in enumerate(steps, 1))


def _stop_there(names: Names) -> list[Step]:
    return [
        _install(names),
        Step(Action.STOP, f"stop all Apache workers of the group {names.group} with SIGTERM"),
        _export(names),
        Step(Action.START, f"on each machine: headrace worker distributed {names.file}"),
        _VERIFY,
    ]


def _stop_back(names: Names) -> list[Step]:
    return [
        _KEEP,
        Step(Action.STOP, f"stop all Headrace workers of the group {names.group} with SIGTERM"),
        _export(names),
        Step(Action.START, f"start Apache's workers with their own file; they ignore the topic {names.journal}"),
        _VERIFY,
    ]


def _rolling_there(names: Names) -> list[Step]:
    return [
        _install(names),
        _export(names),
        Step(
            Action.START,
            "set scheduled.rebalance.max.delay.ms=0 on Apache's workers, one after another; add "
            f"headrace.mixed.group=true to {names.file}; on each new machine: headrace worker distributed {names.file}",
        ),
        Step(Action.STOP, "stop Apache's workers one after another with SIGTERM"),
        Step(Action.UNMIX, "remove headrace.mixed.group, and restart the Headrace workers one after another"),
        _VERIFY,
    ]


def _rolling_back(names: Names) -> list[Step]:
    return [
        _KEEP,
        _export(names),
        Step(
            Action.MIX,
            f"add headrace.mixed.group=true to {names.file}, and restart the Headrace workers one after another",
        ),
        Step(Action.START, "start Apache's workers with their own file and scheduled.rebalance.max.delay.ms=0"),
        Step(
            Action.STOP,
            "stop the Headrace workers one after another with SIGTERM; Apache's ignore the topic " + names.journal,
        ),
        _VERIFY,
    ]


def _install(names: Names) -> Step:
    return Step(Action.READ, f"install Headrace on each machine, and run: headrace doctor --config {names.file}")


def _export(names: Names) -> Step:
    return Step(Action.EXPORT, f"keep the offsets: headrace offsets --config {names.file} --export before.json")


_KEEP = Step(Action.READ, "keep the connectors and their states")
_VERIFY = Step(
    Action.VERIFY, "wait until all connectors are in the states that they had; no offset may be behind before.json"
)
