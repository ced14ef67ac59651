"""The checker of the chaos finds each kind of fault, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.chaos.checker import SinkCheck, Verdict, check_positions, judge_source
from tests.soak.chaos.connectors import Source, numbered_source, sink
from tests.soak.chaos.plan import FAULTS, rounds
from tests.soak.chaos.records import Records

TOPICS = ("first", "second")


def source(boundary: str = "poll") -> Source:
    return numbered_source("s", TOPICS, 1, 1, boundary=boundary)


def record(number: int, at: float = 0.0, epoch: int = 0, life: str = "a", incarnation: int = 0) -> tuple[str, bytes]:
    return TOPICS[incarnation % 2], f"s {incarnation} 0 {epoch} {number} 0 {life} {at or number / 10}".encode()


def records(*written: tuple[str, bytes]) -> Records:
    found = Records()
    for offset, (topic, value) in enumerate(written):
        found.add(topic, 0, offset, value)
    return found


def judge(judged: Source, *written: tuple[str, bytes]) -> Verdict:
    verdict = Verdict()
    judge_source(verdict, judged, records(*written))
    return verdict


@pytest.mark.parametrize("boundary", ["poll", ""])
def test_numbers_in_order_are_sound(boundary: str) -> None:
    verdict = judge(source(boundary), record(0), record(1), record(2, life="b"), record(3, life="b"))
    assert verdict.sound, verdict.faults


@pytest.mark.parametrize(("boundary", "missing"), [("poll", 2), ("", 2)])
def test_a_gap_is_missing(boundary: str, missing: int) -> None:
    assert judge(source(boundary), record(0), record(3)).missing == missing


def test_repeated_numbers_are_doubled_only_with_transactions() -> None:
    written = [record(0), record(1), record(0, 2.0, life="b"), record(1, 2.1, life="b"), record(2, 2.2, life="b")]
    assert (judge(source(), *written).doubled, judge(source(), *written).disordered) == (2, 1)
    verdict = judge(source(""), *written)
    assert (verdict.doubled, verdict.repeated, verdict.sound) == (0, 2, True)


def test_an_altered_offset_starts_another_epoch() -> None:
    altered = source()
    epoch = altered.new_epoch({0: 7})
    assert judge(altered, record(0), record(7, epoch=epoch), record(8, epoch=epoch)).sound
    assert judge(altered, record(0), record(9, epoch=epoch)).missing == 2
    assert judge(altered, record(7, epoch=epoch), record(1, epoch=0)).disordered == 1


def test_a_successor_continues_where_the_deleted_connector_ended() -> None:
    recreated = source()
    recreated.successor()
    recreated.deleted[0] = 1.0
    assert judge(recreated, record(0), record(1), record(2, incarnation=1)).sound
    assert judge(recreated, record(0), record(2, incarnation=1)).missing == 1


def test_a_record_of_a_deleted_connector_is_revived() -> None:
    recreated = source("")
    recreated.successor()
    recreated.deleted[0] = 1.0
    verdict = judge(recreated, record(0), record(1, incarnation=1), record(1, 60.0, life="b"))
    assert verdict.revived == 1


def test_a_life_that_polls_after_its_successor_is_a_second_owner() -> None:
    written = [record(0, 1.0), record(1, 2.0, life="b"), record(1, 3.0), record(2, 4.0, life="b")]
    assert judge(source(""), *written).owners == 1


def test_the_committed_position_follows_the_last_record() -> None:
    for position, faults in ((2, 0), (1, 1), (3, 1)):
        verdict = Verdict()
        check_positions(verdict, source(), 0, [(0, 1), (0, position)], records(record(0), record(1)))
        assert verdict.positions == faults


def test_a_position_that_was_committed_again_is_found() -> None:
    verdict = Verdict()
    check_positions(verdict, source(), 0, [(0, 2), (0, 1), (0, 2)], records(record(0), record(1)))
    assert verdict.positions == 1


def test_sinks_write_every_committed_record_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "records"
    written = records(record(0), record(1))
    file.write_bytes(b"first 0 0 " + record(0)[1] + b"\nfirst 0 7 " + record(7)[1] + b"\nfirst 0 0 half a li")
    check = SinkCheck(sink("k", TOPICS, file), written)
    check.run()
    assert (check.missing, check.foreign, check.repeated) == (1, 1, 0)


def test_records_after_an_altered_offset_are_written_again(tmp_path: Path) -> None:
    file = tmp_path / "records"
    lines = [b"first 0 %d " % number + record(number)[1] + b"\n" for number in range(2)]
    file.write_bytes(b"".join(lines))
    reread = sink("k", TOPICS, file)
    reread.rereads["first", 0] = (file.stat().st_size, 1)
    check = SinkCheck(reread, records(record(0), record(1)))
    check.run()
    assert check.missing == 1
    file.write_bytes(b"".join([*lines, lines[1]]))
    check.missing = 0
    check.run()
    assert (check.missing, check.repeated) == (0, 1)


def test_the_faults_follow_from_the_seed_and_each_gets_a_turn() -> None:
    first, again = rounds(7), rounds(7)
    plan = [next(first) for _ in range(9)]
    assert plan == [next(again) for _ in range(9)]
    assert {fault.kind for faults in plan for fault in faults} == set(FAULTS)
