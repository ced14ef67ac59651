"""The steps of a move on a cluster in memory, whose operator does what the steps ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from runtime.migrate import move_state, way
from runtime.migrate.connect_cluster import ClusterError
from runtime.migrate.move import STATE_FILE, Move, MoveOptions
from runtime.migrate.move_state import ConnectorState, MovedConnector, MoveError, MoveState
from runtime.migrate.way import Action, Names, Way, WorkerKind
from runtime.offsets_tool.cluster import RunningWorker

NAMES = Names("worker.properties", "company", "o-headrace")
RUNNING = ConnectorState("RUNNING", ("RUNNING",))


class Death(Exception):
    """The process of the move dies."""


class Cluster:
    """Workers of one or both kinds with one source, whose offset grows while they run."""

    def __init__(self, *kinds: WorkerKind) -> None:
        self.kinds, self.position, self.names, self.pending = set(kinds), 10, {"lines": RUNNING}, list[str]()

    def workers(self) -> Sequence[RunningWorker]:
        return [RunningWorker(f"http://{kind}:8083", kind is WorkerKind.HEADRACE) for kind in sorted(self.kinds)]

    def configs(self) -> Mapping[str, str]:
        return dict.fromkeys(self.names, "digest")

    def states(self, url: str) -> Mapping[str, ConnectorState]:
        if not self.kinds:
            raise ClusterError(f"{url} is not a Connect worker that can be read")
        return dict(self.names)

    def unfinished(self) -> Sequence[str]:
        return self.pending

    def export(self, file: Path) -> tuple[int, int]:
        self.position += bool(self.kinds)
        offsets = [{"partition": {"file": "a"}, "offset": {"position": self.position}}]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"lines": offsets}))
        return 1, 1


class Operator:
    """Does what a step asks for; dies at the call with the number `death`."""

    def __init__(self, cluster: Cluster, target: WorkerKind, way: Way, death: int = 0) -> None:
        self.cluster, self.target, self.way, self.death, self.asked = cluster, target, way, death, list[str]()
        self._calls = count(1)
        self._step = ""

    def report(self, line: str) -> None:
        if not line.startswith(" "):
            self._step = line
        self._live()

    def confirm(self, question: str) -> bool:
        self._live()
        self.asked.append(self._step)
        if " stop " in self._step:
            self.cluster.kinds -= {kind for kind in WorkerKind if kind is not self.target}
        elif "start " in self._step or "headrace worker distributed" in self._step:
            assert self.way is Way.ROLLING or not self.cluster.kinds, "both kinds of workers would run"
            self.cluster.kinds.add(self.target)
        self._live()
        return True

    def sleep(self, seconds: float) -> None:
        self._live()

    def _live(self) -> None:
        if next(self._calls) == self.death:
            raise Death


def run(folder: Path, operator: Operator, state: MoveState | None = None) -> MoveState:
    options = MoveOptions("http://old", "http://new", {}, operator.confirm, operator.report, 5, operator.sleep)
    state = state or move_state.load(folder / STATE_FILE) or MoveState(operator.target, operator.way)
    return Move(operator.cluster, way.steps(operator.way, operator.target, NAMES), folder, options).run(state)


@pytest.mark.parametrize("chosen", Way)
@pytest.mark.parametrize("target", WorkerKind)
def test_a_move_continues_after_a_death_at_any_call(chosen: Way, target: WorkerKind, tmp_path: Path) -> None:
    old = next(kind for kind in WorkerKind if kind is not target)
    for death in count(1):
        cluster, folder = Cluster(old), tmp_path / str(death)
        try:
            state = run(folder, Operator(cluster, target, chosen, death))
            break  # it ended before this call
        except Death:
            state = run(folder, Operator(cluster, target, chosen))
        assert state.finished and cluster.kinds == {target}
        assert move_state.load(folder / STATE_FILE) == state
    assert death > 5 and state.finished


def test_a_step_whose_result_is_there_already_asks_nothing(tmp_path: Path) -> None:
    cluster = Cluster(WorkerKind.HEADRACE)
    operator = Operator(cluster, WorkerKind.HEADRACE, Way.STOP)
    before = MoveState(WorkerKind.HEADRACE, Way.STOP, (Action.READ,), {"lines": MovedConnector("digest", RUNNING)})
    assert run(tmp_path, operator, before).finished and operator.asked == []


def change_state(cluster: Cluster) -> None:
    cluster.names["lines"] = ConnectorState("RUNNING", ("FAILED",))


def set_offset_back(cluster: Cluster) -> None:
    cluster.position = 3


def delete(cluster: Cluster) -> None:
    cluster.names.clear()


def return_old_worker(cluster: Cluster) -> None:
    cluster.kinds.add(WorkerKind.APACHE)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (change_state, "lines: task 0 was RUNNING and is FAILED"),
        (delete, "lines does not exist"),
        (set_offset_back, '1 offsets are behind those in before-headrace.json:\n  lines {"file":"a"}'),
        (return_old_worker, "http://apache:8083 is still in the group"),
    ],
)
def test_what_differs_after_the_move_is_named_and_the_last_step_stays_open(
    damage: Callable[[Cluster], None], reason: str, tmp_path: Path
) -> None:
    cluster = Cluster(WorkerKind.APACHE)
    operator = Operator(cluster, WorkerKind.HEADRACE, Way.STOP)
    run(tmp_path, operator)
    state = replace(load(tmp_path), done=tuple(a for a in load(tmp_path).done if a is not Action.VERIFY))
    damage(cluster)
    options = MoveOptions("", "http://new", {}, operator.confirm, operator.report, 0, operator.sleep)
    with pytest.raises(MoveError) as error:
        Move(cluster, way.steps(Way.STOP, WorkerKind.HEADRACE, NAMES), tmp_path, options).run(state)
    assert reason in str(error.value)


def test_an_old_worker_that_runs_again_is_stopped_again_before_the_export(tmp_path: Path) -> None:
    cluster = Cluster(WorkerKind.APACHE)
    operator = Operator(cluster, WorkerKind.HEADRACE, Way.STOP)
    run(tmp_path, operator, MoveState(WorkerKind.HEADRACE, Way.STOP, (Action.READ, Action.STOP)))
    assert operator.asked[0] == "again: stop all Apache workers of the group company with SIGTERM"
    assert cluster.kinds == {WorkerKind.HEADRACE}


def test_an_interrupted_change_of_offsets_is_finished_by_headrace_first(tmp_path: Path) -> None:
    cluster = Cluster(WorkerKind.HEADRACE)
    cluster.pending = ["lines"]
    with pytest.raises(MoveError, match="a change of the offsets of lines was interrupted"):
        run(tmp_path, Operator(cluster, WorkerKind.APACHE, Way.STOP))
    cluster.pending, cluster.kinds = [], {WorkerKind.HEADRACE}
    assert run(tmp_path, Operator(cluster, WorkerKind.APACHE, Way.STOP)).finished


def test_the_operator_may_decline_and_commands_may_fail(tmp_path: Path) -> None:
    cluster = Cluster(WorkerKind.APACHE)
    operator = Operator(cluster, WorkerKind.HEADRACE, Way.STOP)
    steps = way.steps(Way.STOP, WorkerKind.HEADRACE, NAMES)
    state = MoveState(WorkerKind.HEADRACE, Way.STOP)
    options = MoveOptions("http://old", "http://new", {}, lambda question: False, operator.report, 5, operator.sleep)
    with pytest.raises(MoveError, match="ended before: stop all Apache workers of the group company with SIGTERM"):
        Move(cluster, steps, tmp_path, options).run(state)
    failing = replace(options, confirm=lambda question: True, commands={Action.STOP: "exit 3"})
    with pytest.raises(MoveError, match="the command ended with exit code 3: exit 3"):
        Move(cluster, steps, tmp_path, failing).run(load(tmp_path))


def test_a_state_file_of_another_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / STATE_FILE).write_text('{"target": "moon"}')
    with pytest.raises(MoveError, match="is not the state of a move"):
        move_state.load(tmp_path / STATE_FILE)


def load(folder: Path) -> MoveState:
    state = move_state.load(folder / STATE_FILE)
    assert state is not None
    return state
