"""A move, step by step: each step is taken once, and what it should lead to is checked before the next one."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from runtime.migrate import move_state, offsets_compared
from runtime.migrate.connect_cluster import ClusterError
from runtime.migrate.move_state import ConnectorState, MovedConnector, MoveError, MoveState
from runtime.migrate.way import Action, Step, Way, WorkerKind
from runtime.offsets_tool import document
from runtime.offsets_tool.cluster import RunningWorker

_EVERY = 1.0  # seconds between two checks
_SHOWN = 20  # lines of problems


class MovedCluster(Protocol):
    """What a move reads: the group of the workers, its topics, and their REST API."""

    def workers(self) -> Sequence[RunningWorker]:
        """The running workers of the group."""

    def configs(self) -> Mapping[str, str]:
        """A digest of each connector's config."""

    def states(self, url: str) -> Mapping[str, ConnectorState]:
        """The states of all connectors. Raises ClusterError."""

    def unfinished(self) -> Sequence[str]:
        """Connectors whose offsets a Headrace worker was changing when it ended."""

    def export(self, file: Path) -> tuple[int, int]:
        """Writes all offsets to a file; returns the numbers of offsets and of connectors."""


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """`before` and `after` are URLs of the workers before and after the move; `commands` are shell commands for steps
    that the operator takes otherwise; `confirm` asks a question; `timeout` is in seconds."""

    before: str
    after: str
    commands: Mapping[Action, str]
    confirm: Callable[[str], bool]
    report: Callable[[str], None]
    timeout: float = 300.0
    sleep: Callable[[float], None] = time.sleep


class Move:
    """One move with its state in `folder`."""

    def __init__(self, cluster: MovedCluster, steps: Sequence[Step], folder: Path, options: MoveOptions) -> None:
        self._cluster, self._steps, self._folder, self._options = cluster, steps, folder, options

    def run(self, state: MoveState) -> MoveState:
        """Takes the steps that are not done; returns the final state. Raises MoveError, also if the operator declines.

        A step is recorded as done when its result has been observed. All may be repeated.
        """
        for number, step in enumerate(self._steps, 1):
            if step.action in state.done:
                continue
            self._options.report(f"{number}/{len(self._steps)} {step.text}")
            state = self._take(step, state).with_done(step.action)
            move_state.save(state, self._folder / STATE_FILE)
        return state

    def _take(self, step: Step, state: MoveState) -> MoveState:
        match step.action:
            case Action.READ:
                return self._read(state)
            case Action.EXPORT:
                return self._export(state)
            case Action.STOP:
                self._act(step, lambda: self._not_stopped(state))
            case Action.START:
                self._act(step, lambda: self._not_started(state))
            case Action.MIX | Action.UNMIX:
                self._confirmed(step)
            case Action.VERIFY:
                self._verify(state)
        return state

    def _read(self, state: MoveState) -> MoveState:
        workers = self._cluster.workers()
        if not workers:
            raise MoveError(
                "no worker of this group is running: start the workers, so that their connectors can be read"
            )
        if others := [worker.address for worker in workers if _kind(worker) is not _other(state.target)]:
            raise MoveError(f"not all workers are of the kind {_other(state.target)}: {', '.join(others)}")
        states, configs = self._cluster.states(self._options.before), self._cluster.configs()
        if states.keys() != configs.keys():
            differing = ", ".join(sorted(states.keys() ^ configs.keys()))
            raise MoveError(f"the workers' REST API and the config topic have different connectors: {differing}")
        connectors = {name: MovedConnector(configs[name], states[name]) for name in sorted(states)}
        running = sum(connector.states.state == "RUNNING" for connector in connectors.values())
        self._options.report(f"    {len(connectors)} connectors, {running} of them RUNNING")
        return replace(state, connectors=connectors)

    def _export(self, state: MoveState) -> MoveState:
        if state.way is Way.STOP and self._not_stopped(state):  # started again since the step before
            stop = next(step for step in self._steps if step.action is Action.STOP)
            self._options.report(f"again: {stop.text}")
            self._act(stop, lambda: self._not_stopped(state))
        if state.target is WorkerKind.APACHE and (names := self._cluster.unfinished()):
            raise MoveError(
                f"a change of the offsets of {', '.join(names)} was interrupted; a Headrace worker finishes it at its "
                "start: start and stop one first"
            )
        name = f"before-{state.target}.json"
        offsets, connectors = self._cluster.export(self._folder / name)
        self._options.report(f"    {offsets} offsets of {connectors} connectors in {self._folder / name}")
        return replace(state, references=(*state.references, name))

    def _verify(self, state: MoveState) -> None:
        self._wait(lambda: "\n".join([*self._wrong_workers(state), *self._differences(state)]))
        after = self._folder / f"after-{state.target}.json"
        self._cluster.export(after)
        now = document.read(after.read_bytes(), str(after))
        for name in state.references:
            before = document.read((self._folder / name).read_bytes(), name)
            if lines := list(offsets_compared.behind(before, now)):
                raise MoveError(_listed(f"{len(lines)} offsets are behind those in {name}:", lines))
            self._options.report(f"    {offsets_compared.count(before)} offsets of {name}: none is behind")
        self._options.report(f"    {len(state.connectors)} connectors are as before the move")

    # Steps of the operator

    def _act(self, step: Step, problem: Callable[[], str]) -> None:
        """Takes a step unless its result is there already, as after a death right after it."""
        if problem():
            self._confirmed(step)
            self._wait(problem)

    def _confirmed(self, step: Step) -> None:
        """Asks, and runs the step's command if there is one."""
        command = self._options.commands.get(step.action)
        if not self._options.confirm(f"run: {command}" if command else "do this now, then continue"):
            raise MoveError(f"ended before: {step.text}")
        if command is None:
            return
        code = subprocess.run(command, shell=True, check=False).returncode
        if code != 0:
            raise MoveError(f"the command ended with exit code {code}: {command}")

    def _wait(self, problem: Callable[[], str]) -> None:
        """Waits until there is no problem. Reports its first line when that changes."""
        deadline, reported = time.monotonic() + self._options.timeout, ""
        while text := problem():
            first, *rest = text.splitlines()
            if first != reported:
                self._options.report(f"    waiting: {first}{f' (and {len(rest)} more)' if rest else ''}")
                reported = first
            if time.monotonic() >= deadline:
                raise MoveError(_listed(f"not so after {self._options.timeout:g} s:", [first, *rest]))
            self._options.sleep(_EVERY)

    # Observation; the results are problems, empty if there are none

    def _not_stopped(self, state: MoveState) -> str:
        running = [worker.address for worker in self._cluster.workers() if _kind(worker) is not state.target]
        return f"workers are running: {', '.join(running)}" if running else ""

    def _not_started(self, state: MoveState) -> str:
        kinds = {_kind(worker) for worker in self._cluster.workers()}
        if state.target not in kinds:
            return "the group rebalances" if None in kinds else f"no {state.target} worker is in the group"
        return "\n".join(self._differences(state)) if state.way is Way.ROLLING else ""

    def _wrong_workers(self, state: MoveState) -> Iterator[str]:
        workers = self._cluster.workers()
        if not workers:
            yield "no worker is in the group"
        for worker in workers:
            if _kind(worker) is not state.target:
                yield f"{worker.address} is {'rebalancing' if worker.headrace is None else 'still in the group'}"

    def _differences(self, state: MoveState) -> Iterator[str]:
        """What differs from the connectors before the move."""
        try:
            states = self._cluster.states(self._options.after)
        except ClusterError as error:
            yield str(error)
            return
        configs = self._cluster.configs()
        for name, connector in state.connectors.items():
            if name not in states or name not in configs:
                yield f"{name} does not exist"
            elif configs[name] != connector.config:
                yield f"{name} has another config than before"
            elif difference := _difference(connector.states, states[name]):
                yield f"{name}: {difference}"


STATE_FILE = "state.json"
_KEPT = ("RUNNING", "PAUSED", "STOPPED")
"""States that must be the same after the move; a connector or task that was FAILED may run afterwards."""


def _difference(before: ConnectorState, now: ConnectorState) -> str:
    if before.state in _KEPT and now.state != before.state:
        return f"it was {before.state} and is {now.state}"
    tasks = now.tasks
    for task, state in enumerate(before.tasks):
        current = tasks[task] if task < len(tasks) else "missing"
        if state in _KEPT and current != state:
            return f"task {task} was {state} and is {current}"
    return ""


def _kind(worker: RunningWorker) -> WorkerKind | None:
    """None while the group rebalances."""
    if worker.headrace is None:
        return None
    return WorkerKind.HEADRACE if worker.headrace else WorkerKind.APACHE


def _other(kind: WorkerKind) -> WorkerKind:
    return WorkerKind.APACHE if kind is WorkerKind.HEADRACE else WorkerKind.HEADRACE


def _listed(head: str, lines: Sequence[str]) -> str:
    more = [f"… and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n  ".join([head, *lines[:_SHOWN], *more])
