"""DataSource with several tasks: shares of micro-batches, kills between any two steps, altered offsets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.api.errors import ConnectError
from runtime.connectors.data_source.shared_batches import SharedBatch, ShareProgress, position_of
from runtime.connectors.data_source.source import DataSourceConnector
from runtime.kafka.formats import canonical
from tests.support.tasks.shared_source import SharedSource
from tests.unit.runtime.connectors.data_source.test_data_source import LETTERS, NUMBERS, PARTITION, config_of

PLAN = SharedBatch({"n": 40}, {"n": 80}, 7, 6, 2)


@contextmanager
def sharing(tasks: int, seed: int = 0, source: str = NUMBERS, **options: str) -> Iterator[SharedSource]:
    found = SharedSource(config_of(source, **options), tasks, seed)
    try:
        yield found
    finally:
        found.stop()


def at_end(source: SharedSource, total: int) -> bool:
    return source.offsets.offset(PARTITION) == {"offset": f'{{"n":{total}}}'}


def test_each_task_reads_its_partitions_and_batches_follow_one_another() -> None:
    with sharing(2, total="120", step="40", partitions="4") as source:
        source.until(lambda: at_end(source, 120))
    assert sorted(source.values("n")) == list(range(120))
    assert [n // 40 for n in source.values("n")] == [0] * 40 + [1] * 40 + [2] * 40
    by_task = {record.value["n"]: (record.source_partition or {})["task"] for record in source.committed}
    assert [by_task[n] for n in range(0, 40, 10)] == [0, 1, 0, 1]
    progress = [ShareProgress.of(source.offsets.stored[canonical({**PARTITION, "task": n})]) for n in (0, 1)]
    assert [found.done for found in progress] == [True, True]
    assert progress[0].batch == progress[1].batch


def test_the_partitions_of_a_batch_are_read_at_the_same_time(tmp_path: Path) -> None:
    with sharing(4, total="40", partitions="4", together=str(tmp_path)) as source:
        source.until(lambda: at_end(source, 40))


def test_more_tasks_than_partitions_and_batches_without_partitions_or_rows() -> None:
    with sharing(4, total="9", step="3", partitions="2") as source:
        source.until(lambda: at_end(source, 9))
    assert sorted(source.values("n")) == list(range(9))
    with sharing(3, total="3", step="1", partitions="3") as source:  # each batch has one row
        source.until(lambda: at_end(source, 3))
    assert source.values("n") == [0, 1, 2]
    with sharing(2, total="30", step="10", partitions="1") as source:
        source.until(lambda: at_end(source, 30))
    assert {str(record.source_partition) for record in source.committed} == {str(PARTITION)}


@pytest.mark.parametrize("seed", range(4))
def test_killed_tasks_continue_where_their_transactions_ended(seed: int) -> None:
    with sharing(3, seed, total="900", step="150", partitions="5") as source:
        source.until(lambda: at_end(source, 900), kills=0.05)
    assert source.kills > 3
    assert sorted(source.values("n")) == list(range(900))


def test_without_transactions_no_record_is_lost() -> None:
    found = SharedSource(config_of(NUMBERS, total="900", step="150", partitions="5"), 3, 7, exactly_once=False)
    found.until(lambda: at_end(found, 900), kills=0.05)
    found.stop()
    assert found.kills > 3
    assert set(found.values("n")) == set(range(900))


def test_offsets_that_cannot_be_read_are_read_again() -> None:
    with sharing(2, total="80", step="40", partitions="4") as source:
        source.offsets.failures = 20
        source.until(lambda: at_end(source, 80))
        assert source.offsets.failures == 0
    assert sorted(source.values("n")) == list(range(80))


@pytest.mark.parametrize("counts", [(1, 3, 2, 1, 4), (5, 1, 2, 3, 1)])
def test_the_number_of_tasks_changes_within_batches(counts: tuple[int, ...]) -> None:
    with sharing(2, total="900", step="150", partitions="5") as source:
        for n, count in enumerate(counts, 1):
            source.until(lambda n=n: len(source.committed) > n * 130)  # type: ignore[misc]
            source.scale(count)
        source.until(lambda: len(source.committed) >= 900)
    assert sorted(source.values("n")) == list(range(900))


def test_altered_offsets_apply_whatever_the_progress_of_the_shares() -> None:
    with sharing(2, total="80", step="40", partitions="4") as source:
        source.until(lambda: at_end(source, 80))
        source.stop()
        source.offsets.stored[canonical(PARTITION)] = {"offset": '{"n":40}'}
        source.scale(2)
        source.until(lambda: len(source.committed) == 120)
    assert sorted(source.values("n")[80:]) == list(range(40, 80))


def test_an_overwritten_end_of_a_share_is_committed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.connectors.data_source.reading._REPEAT", 0.05)
    with sharing(2, total="40", partitions="2", delay="0.1") as source:
        share = canonical({**PARTITION, "task": 1})
        source.until(lambda: source.offsets.stored.get(share, {}).get("done") is True)
        source.offsets.stored[share] = {**source.offsets.stored[share], "records": 3, "done": False}
        source.until(lambda: at_end(source, 40))
    assert sorted(source.values("n")) == list(range(40))


def test_the_leader_tells_the_reader_what_all_tasks_have_committed(tmp_path: Path) -> None:
    commits = tmp_path / "commits"
    with sharing(2, total="80", step="40", partitions="4", commits=str(commits)) as source:
        source.until(lambda: at_end(source, 80))
        source.until(lambda: commits.exists() and commits.read_text().endswith('{"n": 80}\n'))


def test_different_partitions_for_the_same_offsets_fail_the_task() -> None:
    with sharing(2, total="80", step="40", partitions="4") as source:
        source.offsets.stored[canonical(PARTITION)] = PLAN.offset()
        source.scale(2)
        with pytest.raises(ConnectError, match=r"returned 4 partitions .* and 6 when"):
            source.until(lambda: at_end(source, 80))


def test_simple_readers_have_one_task() -> None:
    connector = DataSourceConnector()
    for name, expected in ((LETTERS, 1), (NUMBERS, 3)):
        connector.start(config_of(name))
        assert len(connector.task_configs(3)) == expected


def test_offsets_of_shared_batches_are_checked() -> None:
    connector, config = DataSourceConnector(), config_of(NUMBERS)
    share = {**PARTITION, "task": 1}
    progress = ShareProgress(7, 5, False).offset()
    assert position_of(PLAN.offset()) == PLAN
    assert connector.alter_offsets(config, [(PARTITION, PLAN.offset()), (share, progress), (share, None)])
    wrong: list[tuple[dict[str, Any], Any]] = [
        (PARTITION, {**PLAN.offset(), "tasks": 0}), (PARTITION, {**PLAN.offset(), "records": 5}), (PARTITION, progress),
        (share, PLAN.offset()), (share, {"batch": 7, "records": 5}), (share, {**progress, "done": 1}),
        (share, {**progress, "records": -1}), ({**PARTITION, "task": "1"}, progress), ({"task": 1}, progress),
    ]  # fmt: skip
    for partition, offset in wrong:
        with pytest.raises(ConnectError):
            connector.alter_offsets(config, [(partition, offset)])
