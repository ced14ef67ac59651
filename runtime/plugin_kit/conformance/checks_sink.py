"""Checks of sink connectors in this process: lifecycle, repeated and invalid records, offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from runtime.api.connector import SinkConnector
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.data.schema import STRING_SCHEMA, Schema, struct_schema
from runtime.api.errors import ConnectError, DataError, RetriableError, UnsupportedOffsetsError
from runtime.plugin_kit.conformance.case import Config, SinkCase
from runtime.plugin_kit.conformance.connector_run import SinkRun, task_configs, topic_of
from runtime.plugin_kit.conformance.contexts import KitReporter
from runtime.plugin_kit.conformance.leaks import check_leaks
from runtime.plugin_kit.conformance.outcome import CheckFailed

_LONGEST_STOP = 1.0


def _first_task(case: SinkCase, config: Config) -> Config:
    """The first task's configuration, with the topics, which the worker adds."""
    return {"topics": topic_of(config), **task_configs(case.connector, config)[0]}


def _records(case: SinkCase, config: Config, start: int, stop: int) -> list[SinkRecord]:
    return [case.record(number, topic_of(config)) for number in range(start, stop)]


def lifecycle(case: SinkCase) -> str:
    """start(), open(), put() in batches, pre_commit(), close(), stop(): every record is in the target system."""
    with case.opened() as config:
        run = SinkRun(case.connector, _first_task(case, config))
        try:
            run.start()
            run.put([])
            step = max(1, case.records // 5)
            for start in range(0, case.records, step):
                run.put(_records(case, config, start, min(start + step, case.records)))
            _check_commit(run, case.records)
        finally:
            stop = run.stop()
        written = check_written(case, config, once=True)
    _check_stop(stop)
    return f"{case.records} records, {written}, stop {stop:.2f} s"


def _check_commit(run: SinkRun, end: int) -> None:
    for partition, offset in run.commit().items():
        if partition != run.partition or not 0 <= offset <= end:
            raise CheckFailed(
                f"pre_commit() returned {offset} for {partition.topic}-{partition.partition} after {end} records",
                "Return the next offsets to read, not beyond those that were passed",
            )


def check_written(case: SinkCase, config: Config, once: bool) -> str:
    """Checks that all records are in the target system, and `once` that none is there twice."""
    if case.written is None:
        return "not read back, since the case has no written()"
    written = Counter(case.written(config))
    missing = sorted(set(range(case.records)) - set(written))
    if missing:
        raise CheckFailed(
            f"{len(missing)} of {case.records} records are missing in the target system, the first has the number "
            f"{missing[0]}",
            "pre_commit() or flush() must not return before the records are durable; stop() must not discard records",
        )
    doubled = sorted(number for number, count in written.items() if count > 1)
    if doubled and once:
        raise CheckFailed(
            f"{len(doubled)} records were written twice, the first is number {doubled[0]}",
            "Write each record once, or set exactly_once=False in the case if repeated delivery may repeat records",
        )
    return f"{len(doubled)} written twice" if doubled else "none written twice"


def _check_stop(seconds: float) -> None:
    if seconds > _LONGEST_STOP:
        raise CheckFailed(
            f"close() and stop() took {seconds:.1f} s",
            "Write in put() and flush(), and close connections without waiting",
        )


def stop_without_start(case: SinkCase) -> str:
    """stop() also works if start() was never called, and after a start() that failed."""
    with case.opened() as config:
        seconds = SinkRun(case.connector, config).stop(opened=False)
    _check_stop(seconds)
    return f"stop {seconds:.2f} s"


def stop_without_records(case: SinkCase) -> str:
    """A task without records commits and stops."""
    with case.opened() as config:
        run = SinkRun(case.connector, _first_task(case, config))
        try:
            run.start()
            run.put([])
            run.commit()
        finally:
            seconds = run.stop()
    _check_stop(seconds)
    return f"stop {seconds:.2f} s"


def leaks(case: SinkCase) -> str:
    """Nothing is left after stop(): threads, child processes, open files."""
    with case.opened() as config:

        def once() -> None:
            with SinkRun(case.connector, _first_task(case, config)) as run:
                run.put(_records(case, config, 0, 1))
                run.commit()

        return check_leaks(once)


def delivered_again(case: SinkCase) -> str:
    """Records that are delivered a second time, as after every crash, are accepted."""
    with case.opened() as config:
        for _ in range(2):
            with SinkRun(case.connector, _first_task(case, config)) as run:
                run.put(_records(case, config, 0, case.records))
                run.commit()
        return check_written(case, config, case.exactly_once)


_POISON: Sequence[tuple[Schema | None, Any]] = (
    (None, None),
    (STRING_SCHEMA, "not what the sink expects"),
    (None, {"unexpected": [1, {"nested": None}]}),
    (None, 3.5),
    (struct_schema({"unexpected": STRING_SCHEMA}), {"unexpected": "x"}),
)
"""Values that many sinks cannot write."""


def poison(case: SinkCase) -> str:
    """A record that cannot be written is reported, or fails the task with a clear error, and harms no other record."""
    written = reported = raised = 0
    for schema, value in (*_POISON, *case.poison):
        with case.opened() as config:
            reporter = KitReporter()
            good, bad = _records(case, config, 0, case.records), _poisoned(case, config, schema, value)
            try:
                with SinkRun(case.connector, _first_task(case, config), reporter) as run:
                    middle = case.records // 2
                    run.put([*good[:middle], bad, *good[middle:]])
                    run.commit()
            except RetriableError:
                raise
            except (DataError, ConnectError):
                raised += 1
                continue
            except Exception as error:  # third-party code
                raise CheckFailed(
                    f"put() raised {type(error).__name__} for the value {value!r}: {error}",
                    "Report the record to context.errant_record_reporter, or raise DataError if there is none",
                ) from error
            if reporter.reports:
                reported += 1
                _check_reports(reporter, bad)
                check_written(case, config, once=case.exactly_once)
            else:
                written += 1
    return f"{reported} reported, {raised} refused, {written} written"


def _poisoned(case: SinkCase, config: Config, schema: Schema | None, value: Any) -> SinkRecord:
    bad = case.record(case.records, topic_of(config))
    bad.value_schema, bad.value = schema, value
    return bad


def _check_reports(reporter: KitReporter, bad: SinkRecord) -> None:
    for record, error in reporter.reports:
        if record is not bad:
            raise CheckFailed(
                f"A record that can be written was reported: {error}",
                "Find the record at fault, for example by writing the records of a failed batch one by one",
            )


def alter_offsets(case: SinkCase) -> str:
    """alter_offsets() answers for changed and for reset offsets without a start."""
    with case.opened() as config:
        partition = TopicPartition(topic_of(config), 0)
        for offset in (1, None):
            connector: SinkConnector = case.connector()
            try:
                response = connector.alter_offsets(config, {partition: offset})
            except UnsupportedOffsetsError as error:
                return f"not supported by the connector: {error}"
            if not isinstance(response, bool):
                raise CheckFailed(f"alter_offsets() returned {response!r}", "Return True or False")
    return "checks offsets" if response else "does not check offsets, and says so (returns False)"
