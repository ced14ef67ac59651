"""The task of SparkSink: when batches are written, committed, published and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

from runtime.api import ConnectError, DataError, OffsetAndMetadata
from runtime.connectors.spark import session_client
from runtime.connectors.spark.sink.task import NO_BATCH
from runtime.model.task_errors import TaskLostError
from tests.support.tasks.spark_sink import ONE, ROW, ZERO, SparkSinkRig
from tests.support.tasks.task_contexts import DeadLetterList


@pytest.fixture(autouse=True)
def rows_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(session_client.ROWS, str(tmp_path_factory.mktemp("rows")))


def test_a_batch_is_written_at_the_trigger_committed_with_its_id_and_published() -> None:
    rig = SparkSinkRig()
    assert rig.opened["positions"] == [["orders", 0, 100, ""], ["orders", 1, 100, "0-earlier"]]
    rig.put(ZERO, ROW, ROW)
    rig.pass_time(9)
    assert rig.operations() == []
    rig.pass_time(1)
    assert rig.pre_commit() == {ONE: 100}  # nothing of a batch that is being written
    written = rig.session.take("write")
    assert written["ranges"] == {"orders": {"0": [100, 102]}}
    allowed = rig.pre_commit()
    found = allowed[ZERO]
    assert isinstance(found, OffsetAndMetadata)
    assert (found, found.metadata) == (102, written["id"])
    assert rig.operations() == []
    rig.task.committed(allowed)
    assert rig.session.take("publish")["batch"] == written["id"]
    assert [metric.value for metric in rig.task.metrics_owner.metrics] == [1, 2, 2, 0.1]
    rig.pass_time(0)
    allowed = rig.pre_commit()
    assert allowed == {ZERO: 102, ONE: 100}
    assert {offset.metadata for offset in allowed.values() if isinstance(offset, OffsetAndMetadata)} == {NO_BATCH}


def test_a_batch_is_published_only_when_all_its_offsets_have_been_committed() -> None:
    rig = SparkSinkRig()
    rig.write(ZERO, ONE)
    allowed = rig.pre_commit()
    rig.task.committed({ZERO: allowed[ZERO]})
    assert rig.operations() == []
    assert rig.pre_commit() == allowed  # again, for the other partition
    rig.task.committed({ONE: allowed[ONE]})
    assert rig.operations() == ["publish"]


def test_the_next_batch_is_collected_meanwhile_and_its_offsets_are_not_committed() -> None:
    rig = SparkSinkRig({"spark.batch.records": "2"})
    rig.put(ZERO, ROW, ROW)
    rig.put(ONE, ROW)
    assert rig.pre_commit() == {ONE: 100}
    rig.session.take("write")
    allowed = rig.pre_commit()
    assert set(allowed) == {ZERO}
    rig.task.committed(allowed)
    rig.pass_time(10)
    rig.session.take("publish")
    assert rig.session.take("write")["ranges"] == {"orders": {"1": [100, 101]}}


def test_closing_a_partition_discards_the_batch_and_reads_the_others_again() -> None:
    rig = SparkSinkRig()
    rig.put(ZERO, ROW)
    rig.put(ONE, ROW, ROW)
    rig.pass_time(10)
    rig.put(ONE, ROW)
    rig.task.close([ZERO])
    assert rig.context.sought == {ONE: 100}
    rig.session.take("write")
    rig.session.take("discard")
    assert rig.task.pre_commit({ONE: 100}) == {ONE: 100}


def test_a_lost_partition_prevents_a_commit_of_the_rest_of_its_batch() -> None:
    rig = SparkSinkRig()
    rig.write(ZERO, ONE)
    assert rig.pre_commit(ONE) == {}


def test_a_batch_whose_commit_is_pending_is_published_after_the_partitions_are_gone() -> None:
    rig = SparkSinkRig()
    rig.write(ZERO)
    allowed = rig.pre_commit()
    rig.task.close([ZERO, ONE])
    assert rig.context.sought == {}
    rig.task.committed(allowed)
    rig.session.take("publish")
    rig.task.stop()
    assert rig.session.closed


def test_a_batch_whose_commit_was_refused_is_left_to_the_next_owner() -> None:
    rig = SparkSinkRig()
    rig.write(ZERO)
    rig.pre_commit()
    rig.task.close([ZERO, ONE])
    rig.pass_time(0)
    assert rig.operations() == []


def test_a_task_with_a_partition_left_of_a_batch_whose_commit_was_refused_is_placed_again() -> None:
    rig = SparkSinkRig()
    rig.write(ZERO, ONE)
    assert set(rig.pre_commit()) == {ZERO, ONE}
    rig.task.close([ZERO])
    rig.pass_time(59)
    with pytest.raises(TaskLostError, match="not confirmed"):
        rig.pass_time(2)


def test_partitions_that_come_back_are_looked_up_in_the_group() -> None:
    rig = SparkSinkRig()
    rig.write(ZERO)
    rig.pre_commit()
    rig.task.close([ZERO, ONE])
    rig.task.open([ZERO, ONE])
    assert rig.session.take("resolve")["live"] == []
    rig.positions = {ZERO: 100, ONE: 100}
    assert rig.pre_commit() == {ZERO: 100, ONE: 100}


def test_all_records_of_a_topic_that_was_created_again_are_written() -> None:
    rig = SparkSinkRig()
    rig.put(ZERO, ROW, ROW, ROW)
    rig.pass_time(10)
    rig.session.take("write")
    rig.task.committed(rig.pre_commit())
    rig.session.take("publish")
    rig.positions[ZERO] = 0
    rig.put(ZERO, ROW)
    rig.pass_time(0)
    assert rig.pre_commit()[ZERO] == 0
    rig.pass_time(10)
    assert rig.session.take("write")["ranges"] == {"orders": {"0": [0, 1]}}
    assert rig.pre_commit()[ZERO] == 1


def test_a_failed_write_is_repeated_and_then_fails_the_task() -> None:
    rig = SparkSinkRig({"spark.write.retries": "1"}, delay=lambda attempt: 0.0)
    rig.put(ZERO, ROW)
    rig.pass_time(10)
    rig.session.refuse("no space left")
    rig.pass_time(0)
    rig.pass_time(0)
    rig.session.refuse("no space left")
    with pytest.raises(ConnectError, match="could not write a batch of 1 records: no space left"):
        rig.pass_time(0)


def test_columns_that_differ_only_in_case_are_errors_of_their_records() -> None:
    reporter = DeadLetterList()
    rig = SparkSinkRig(reporter=reporter)
    rig.put(ZERO, {"id": 1}, {"ID": 2}, {"id": 3})
    rig.pass_time(10)
    rig.session.refuse("[COLUMN_ALREADY_EXISTS] The column `id` already exists.", "query")
    rig.pass_time(0)
    rig.session.take("discard")
    assert rig.context.sought == {ZERO: 100}
    rig.positions[ZERO] = 100
    rig.put(ZERO, {"id": 1}, {"ID": 2}, {"id": 3})
    rig.pass_time(10)
    assert parquet.read_table(rig.session.take("write")["files"][0]).to_pylist() == [{"id": 1}, {"id": 3}]
    ((_, error),) = reporter.reported
    assert "orders-0 at offset 101" in str(error) and "differs from another one only in case" in str(error)


def test_a_session_that_ends_several_times_within_a_minute_does_not_fail_a_task_that_waits_for_it() -> None:
    rig = SparkSinkRig({"spark.write.retries": "1"}, delay=lambda attempt: 0.0)
    rig.put(ZERO, ROW)
    rig.pass_time(10)
    for _ in range(4):
        rig.session.lose()
        rig.pass_time(0)
        rig.pass_time(0)
    rig.session.take("write")


def test_rows_that_a_full_disk_refuses_are_written_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "later"
    monkeypatch.setenv(session_client.ROWS, str(folder))
    rig = SparkSinkRig({"spark.write.retries": "2"}, delay=lambda attempt: 0.0)
    rig.put(ZERO, ROW)
    rig.pass_time(10)
    rig.pass_time(0)
    assert rig.operations() == []
    folder.mkdir()
    rig.pass_time(0)
    assert parquet.read_table(rig.session.take("write")["files"][0]).to_pylist() == [ROW]


def test_records_for_which_the_query_fails_are_reported_and_the_rest_is_written() -> None:
    reporter = DeadLetterList()
    rig = SparkSinkRig({"spark.sql": "SELECT CAST(name AS INT) FROM record"}, reporter)
    rig.put(ZERO, {"name": "1"}, {"name": "x"})
    rig.put(ONE, {"name": "2"}, {"name": "y"})
    rig.pass_time(10)
    rig.session.refuse("[CAST_INVALID_INPUT] 'x'", "data")
    rig.pass_time(0)
    rig.session.take("probe", [(1, "bad x"), (3, "bad y")])
    rig.pass_time(0)
    assert [(r.kafka_partition, r.kafka_offset) for r, _ in reporter.reported] == [(0, 101), (1, 101)]
    assert "bad y" in str(reporter.reported[1][1])
    [(request, _)] = rig.session.requests
    assert parquet.read_table(request["files"][0])["name"].to_pylist() == ["1", "2"]
    rig.session.take("write")
    assert rig.pre_commit() == {ZERO: 102, ONE: 102}


def test_a_query_that_fails_on_data_fails_the_task_if_errors_are_not_tolerated() -> None:
    rig = SparkSinkRig({"spark.sql": "SELECT CAST(name AS INT) FROM record"})
    rig.put(ZERO, {"name": "x"})
    rig.pass_time(10)
    rig.session.refuse("[CAST_INVALID_INPUT] 'x'", "data")
    with pytest.raises(ConnectError, match="CAST_INVALID_INPUT"):
        rig.pass_time(0)


def test_a_full_batch_behind_a_slow_one_pauses_the_partitions() -> None:
    rig = SparkSinkRig({"spark.batch.records": "2"}, full_wait=0.0)
    rig.put(ZERO, ROW, ROW)
    rig.put(ZERO, ROW, ROW)
    assert rig.context.paused == set()
    rig.put(ZERO, ROW, ROW)
    assert rig.context.paused == {ZERO, ONE}
    rig.context.paused.clear()
    rig.task.open([ONE])  # assigned again by a rebalance
    assert rig.context.paused == {ONE}
    rig.session.take("write")
    rig.task.committed(rig.pre_commit())
    rig.pass_time(0)
    assert rig.context.paused == set()


def test_records_that_do_not_fit_are_reported_and_the_rest_is_written() -> None:
    reporter = DeadLetterList()
    rig = SparkSinkRig({"spark.schema": "id BIGINT NOT NULL, name STRING"}, reporter)
    rig.put(ZERO, ROW, {"id": "x"}, ROW)
    rig.pass_time(10)
    assert [record.kafka_offset for record, _ in reporter.reported] == [101]
    assert rig.session.take("write")["ranges"] == {"orders": {"0": [100, 103]}}


def test_a_record_that_does_not_fit_fails_the_task_without_a_reporter() -> None:
    rig = SparkSinkRig({"spark.schema": "id BIGINT"})
    with pytest.raises(DataError, match="orders-0 at offset 100 does not fit the columns"):
        rig.put(ZERO, {"id": "x"})


def test_records_without_rows_are_committed_without_a_write() -> None:
    rig = SparkSinkRig({"spark.schema": "id BIGINT"}, DeadLetterList())
    rig.put(ZERO, {"id": "x"})
    rig.pass_time(10)
    assert rig.operations() == []
    assert rig.pre_commit() == {ZERO: 101, ONE: 100}


def test_other_targets_are_committed_when_they_have_been_written() -> None:
    rig = SparkSinkRig({"spark.format": "jdbc", "spark.path": "", "spark.schema": "id BIGINT"})
    assert rig.opened == {}  # such targets have no files of earlier runs
    rig.put(ZERO, ROW)
    rig.pass_time(10)
    assert rig.pre_commit() == {ONE: 100}
    assert rig.session.take("write")["staging"] == ""
    assert rig.pre_commit() == {ZERO: 101, ONE: 100}
    assert rig.operations() == []


def test_a_text_that_is_no_query_ends_the_task_before_any_batch() -> None:
    rig = SparkSinkRig({"spark.sql": "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x"}, refused="no query")
    assert rig.task.idle_put is not None  # put() is called also if no records come
    with pytest.raises(ConnectError, match="no query"):
        rig.pass_time(0)


def test_a_committed_batch_that_cannot_be_published_fails_the_task() -> None:
    rig = SparkSinkRig()
    rig.write(ZERO)
    rig.task.committed(rig.pre_commit())
    rig.session.refuse("a constraint of the table is violated")
    with pytest.raises(ConnectError, match=r"constraint of the table .* published when the task is restarted"):
        rig.pass_time(0)


@pytest.mark.parametrize("operation", ["resolve", "publish"])
def test_a_task_whose_session_has_ended_is_placed_again(operation: str) -> None:
    rig = SparkSinkRig()
    if operation == "resolve":
        rig.task.open([ZERO])
    else:
        rig.write(ZERO)
        rig.task.committed(rig.pre_commit())
    assert rig.operations() == [operation]
    rig.session.lose()
    with pytest.raises(TaskLostError, match="session has closed"):
        rig.pass_time(0)


MAINTAINED = {"spark.format": "delta", "spark.compact.interval": "1 hour", "spark.expire.after": "7 days"}


def test_the_first_task_maintains_its_table_at_the_interval() -> None:
    rig = SparkSinkRig(MAINTAINED)
    rig.pass_time(3599)
    assert rig.operations() == []
    rig.pass_time(1)
    assert rig.operations() == ["maintain"]
    rig.pass_time(7200)
    assert rig.operations() == ["maintain"]  # the first one still runs
    rig.session.take("maintain", {"busy": True})
    rig.pass_time(0)
    rig.pass_time(60)
    (request,) = [request for request, _ in rig.session.requests]
    assert (request["op"], request["expire_after"]) == ("maintain", 604_800)
    rig.session.refuse("another application has changed the table")  # does not end the task
    rig.pass_time(0)
    rig.pass_time(3600)
    rig.session.take("maintain", {"busy": False, "seconds": 1.5})
    rig.pass_time(3599)
    assert rig.operations() == []


def test_other_tasks_do_not_maintain_the_table() -> None:
    rig = SparkSinkRig({**MAINTAINED, "spark.task": "1"})
    rig.pass_time(3600)
    assert rig.operations() == []


def test_a_batch_of_changes_names_its_key_columns() -> None:
    rig = SparkSinkRig({"spark.format": "delta", "spark.mode": "upsert", "spark.key.columns": "id"})
    rig.put(ZERO, ROW, {**ROW, "name": "b"})
    rig.pass_time(10)
    (request,) = [request for request, _ in rig.session.requests]
    assert request["target"]["merge"] == {"keys": ["id"], "sequence": False, "soft": False}
    assert parquet.read_table(request["files"]).to_pylist() == [{"id": 1, "name": "b", "__deleted": False}]
