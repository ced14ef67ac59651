"""The leader's assignments, from the metadata of members."""

from __future__ import annotations

import time

from runtime.herder.group.assignor import Unit
from runtime.herder.group.leader import GroupView, lead, shared_urls
from runtime.kafka.group.protocol import Assignment, AssignmentError, Details, WorkerMetadata

WEIGHTS = {Unit(f"c{connector}", task): 1.0 for connector in range(4) for task in (-1, 0)}


def ours(port: int, held: Assignment | None = None, offset: int = 5, slots: int = 2) -> WorkerMetadata:
    return WorkerMetadata(f"http://127.0.0.1:{port}/", offset, held, Details("0.1.0", slots))


def java(port: int, offset: int = 5) -> WorkerMetadata:
    return WorkerMetadata(f"http://127.0.0.1:{port}/", offset)


def units(assignment: Assignment) -> set[Unit]:
    return {Unit(connector, task) for connector, tasks in assignment.assigned.items() for task in tasks}


def test_work_is_divided_among_the_members() -> None:
    found = lead("a", {"a": ours(1), "b": ours(2)}, GroupView(5, WEIGHTS)).assignments
    assert units(found["a"]) | units(found["b"]) == set(WEIGHTS)
    assert len(units(found["a"])) == len(units(found["b"])) == 4
    assert {(a.leader, a.leader_url, a.config_offset, a.delay) for a in found.values()} == {
        ("a", "http://127.0.0.1:1/", 5, 0)
    }


def test_nothing_is_assigned_while_a_member_has_read_more_than_the_leader() -> None:
    found = lead("a", {"a": ours(1), "b": ours(2, offset=9)}, GroupView(5, WEIGHTS)).assignments
    assert {a.error for a in found.values()} == {AssignmentError.CONFIG_MISMATCH}
    assert {a.config_offset for a in found.values()} == {9}
    assert not any(a.assigned for a in found.values())


def test_members_behind_the_leader_get_the_offset_to_read_to() -> None:
    found = lead("a", {"a": ours(1), "b": ours(2, offset=3)}, GroupView(5, WEIGHTS)).assignments
    assert found["b"].config_offset == 5
    assert units(found["b"])


def test_connectors_of_java_go_to_members_of_java() -> None:
    found = lead("a", {"a": ours(1), "b": java(2)}, GroupView(5, WEIGHTS, foreign=("c0", "c1"))).assignments
    assert {unit for unit in WEIGHTS if unit.connector in ("c0", "c1")} <= units(found["b"])


def test_the_next_rebalance_is_announced_while_work_waits_for_its_worker() -> None:
    view = GroupView(5, WEIGHTS, dict.fromkeys(WEIGHTS, "127.0.0.1:3"), {"127.0.0.1:3": time.time() - 1}, delay=10)
    found = lead("a", {"a": ours(1), "b": ours(2)}, view).assignments
    assert not any(a.assigned for a in found.values())
    assert {8000 <= a.delay <= 9001 for a in found.values()} == {True}


def test_what_waits_for_a_worker_goes_on_waiting_while_its_slots_start() -> None:
    view = GroupView(5, WEIGHTS, dict.fromkeys(WEIGHTS, "127.0.0.1:3"), {"127.0.0.1:3": time.time() - 1}, delay=10)
    found = lead("a", {"a": ours(1), "b": ours(2), "c": ours(3, slots=0)}, view)
    assert not any(a.assigned for a in found.assignments.values())
    assert found.snapshot is not None and set(found.snapshot.waiting) == set(WEIGHTS)
    ready = lead("a", {"a": ours(1), "b": ours(2), "c": ours(3)}, view).assignments
    assert units(ready["c"]) == set(WEIGHTS)


def test_revocations_are_sent_to_the_member_that_holds_the_work() -> None:
    held = Assignment("x", "", 5, {"c0": (-1, 0), "gone": (0,)})
    found = lead("a", {"a": ours(1, held)}, GroupView(5, WEIGHTS)).assignments
    assert found["a"].revoked == {"gone": (0,)}
    assert "c0" not in found["a"].assigned


def test_addresses_of_more_than_one_process_are_found() -> None:
    def at(port: int, **process: object) -> WorkerMetadata:
        return WorkerMetadata(f"http://w:{port}/", 5, None, Details(process=process))

    one, other = at(1, host="a", pid=7), at(1, host="b", pid=7)
    assert shared_urls({"m": one, "n": other, "o": at(2, host="a", pid=8)}) == {
        "http://w:1/": ["process 7 on a", "process 7 on b"]
    }
    assert shared_urls({"m": one, "java": WorkerMetadata("http://w:1/", 5)}) == {
        "http://w:1/": ["member java", "process 7 on a"]
    }
    assert not shared_urls({"old": one, "new": one}), "a worker that joined again is one process"
