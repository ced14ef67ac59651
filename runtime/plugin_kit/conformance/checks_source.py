"""Checks of source connectors in this process: lifecycle, records, offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from runtime.api.connector import ExactlyOnceSupport
from runtime.api.data.record import SourceRecord
from runtime.api.data.validate import validate_value
from runtime.api.errors import ConnectError, DataError, UnsupportedOffsetsError
from runtime.plugin_kit.conformance.case import Config, SourceCase
from runtime.plugin_kit.conformance.connector_run import SourceRun, task_configs
from runtime.plugin_kit.conformance.leaks import check_leaks
from runtime.plugin_kit.conformance.marks import ReferenceRun, committed, mark
from runtime.plugin_kit.conformance.outcome import CheckFailed, CheckSkipped

_LONGEST_POLL = 1.5  # seconds; poll() may wait for about one
_LONGEST_STOP = 1.0


def lifecycle(case: SourceCase) -> str:
    """start(), poll() until the example's records have arrived, stop(); each call returns in time."""
    with case.opened() as config:
        total, stop = 0, 0.0
        for task in task_configs(case.connector, config):
            run = SourceRun(case.connector, task)
            try:
                run.start()
                records = run.read(case.records)
            finally:
                stop = max(stop, run.stop())
            for record in records:
                _check_record(record)
            total += len(records)
            if run.longest_poll > _LONGEST_POLL:
                raise CheckFailed(
                    f"poll() took {run.longest_poll:.1f} s",
                    "Return None or an empty list after about a second without data: a task is stopped between polls",
                )
    if total < case.records:
        raise CheckFailed(
            f"The example produced {total} records, but its case promises {case.records}",
            "Correct `records` of the case, or the configuration of the example",
        )
    _check_stop(stop)
    return f"{total} records, stop {stop:.2f} s"


def _check_record(record: Any) -> None:
    advice = "See docs/plugins.md, Values"
    if not isinstance(record, SourceRecord):
        raise CheckFailed(f"poll() returned {type(record).__name__} objects", "Return SourceRecord objects")
    if not isinstance(record.topic, str) or not record.topic:
        raise CheckFailed(f"A record has the topic {record.topic!r}", "The topic is text that is not empty")
    for name, origin in (("partition", record.source_partition), ("offset", record.source_offset)):
        if origin is not None and not isinstance(origin, Mapping):
            raise CheckFailed(f"A record has the source {name} {origin!r}", "It is a mapping, or None")
        for key, value in (origin or {}).items():
            if not isinstance(key, str) or not isinstance(value, str | int | float | bool | None):
                raise CheckFailed(
                    f"A source {name} contains {key!r}: {value!r}",
                    "Keys are text, values are text, numbers, booleans or None, since they are stored as JSON",
                )
    for schema, value, part in (
        (record.key_schema, record.key, "key"),
        (record.value_schema, record.value, "value"),
    ):
        if schema is not None:
            try:
                validate_value(schema, value)
            except DataError as error:
                raise CheckFailed(f"A record's {part} does not match its schema: {error}", advice) from error


def _check_stop(seconds: float) -> None:
    if seconds > _LONGEST_STOP:
        raise CheckFailed(
            f"stop() took {seconds:.1f} s", "Close connections without waiting: a worker moves tasks while data flows"
        )


def stop_without_start(case: SourceCase) -> str:
    """stop() also works if start() was never called, and after a start() that failed."""
    with case.opened() as config:
        seconds = SourceRun(case.connector, config).stop()
    _check_stop(seconds)
    return f"stop {seconds:.2f} s"


def stop_while_idle(case: SourceCase) -> str:
    """A task that is waiting for data stops within a second after its poll."""
    with case.opened() as config:
        run = SourceRun(case.connector, task_configs(case.connector, config)[0])
        try:
            run.start()
            run.read(case.records)
            until = time.monotonic() + 1.0
            while time.monotonic() < until:
                run.poll()
        finally:
            seconds = run.stop()
    _check_stop(seconds)
    return f"stop {seconds:.2f} s"


def leaks(case: SourceCase) -> str:
    """Nothing is left after stop(): threads, child processes, open files."""
    with case.opened() as config:

        def once() -> None:
            with SourceRun(case.connector, task_configs(case.connector, config)[0]) as run:
                run.read(1)

        return check_leaks(once)


def resume(case: SourceCase) -> str:
    """A task that starts from a committed offset continues with exactly the next record."""
    tried = repeated = 0
    with case.opened() as config:
        exact = case.connector().exactly_once_support(config) is ExactlyOnceSupport.SUPPORTED
        for task in task_configs(case.connector, config):
            reference = ReferenceRun.of(case, task)
            for position in _positions(reference):
                repeated = max(repeated, _check_resume(case, task, reference, position, exact))
                tried += 1
    if not tried:
        raise CheckSkipped("the records of the example have no offsets")
    again = f", repeats up to {repeated} records that share an offset" if repeated else ""
    return f"from {tried} positions{again}"


def _positions(reference: ReferenceRun) -> list[int]:
    """Positions of records after which to resume: the first, some in between, the last."""
    end = len(reference.records) - 1
    if end < 0 or not reference.has_offsets:
        return []
    return sorted({0, 1, end // 3, end // 2, end - 1, end} & set(range(end + 1)))


def _check_resume(case: SourceCase, task: Config, reference: ReferenceRun, position: int, exact: bool) -> int:
    """Returns how many records were repeated."""
    last = reference.records[position]
    done = reference.marks(reference.records[: position + 1])
    expected = reference.marks(reference.records[position + 1 :])
    with SourceRun(case.connector, task, committed(reference.records[: position + 1])) as run:
        redelivered = run.read_until(
            lambda records: not expected - reference.marks(records), len(reference.records) * 2
        )
    shown = f"A task that started from the offset {last.source_offset}"
    if missing := expected - reference.marks(redelivered):
        first = next(iter(missing))
        raise CheckFailed(
            f"{shown} does not continue behind it: {missing.total()} records are missing, the first has the offset "
            f"{first.offset}",
            "Read context.offsets.offset(partition) in start() and continue behind it. The offset of a record is the "
            "position behind this record, not behind others of the same poll()",
        )
    again = [record for record in redelivered if reference.known(mark(record)) in done]
    if wrong := [record for record in again if exact or mark(record).offset != mark(last).offset]:
        raise CheckFailed(
            f"{shown} produced the record with the offset {wrong[0].source_offset} again",
            "Read context.offsets.offset(partition) in start(), and continue with the record behind this offset",
        )
    return len(again)


def alter_offsets(case: SourceCase) -> str:
    """alter_offsets() accepts offsets of the connector's own records and resets, and refuses nonsense."""
    with case.opened() as config:
        with SourceRun(case.connector, task_configs(case.connector, config)[0]) as run:
            record = next(iter(run.read(1)), None)
        if record is None or record.source_offset is None or record.source_partition is None:
            raise CheckSkipped("the records of the example have no offsets")
        partition, offset = record.source_partition, record.source_offset

        def alter(offsets: Any) -> bool:
            connector = case.connector()  # the worker does not start it
            return connector.alter_offsets(config, [(partition, offsets)])

        try:
            checks = _confirmed(lambda: alter(offset), f"of its own offset {offset}")
            _confirmed(lambda: alter(None), "of a reset")
        except UnsupportedOffsetsError as error:
            return f"not supported by the connector: {error}"
        if not checks:
            return "accepts all offsets without checking them, and says so (returns False)"
        for wrong in ({}, {"no-such-key": 1}, *({**offset, key: {"a": 1}} for key in offset)):
            _expect_refusal(lambda wrong=wrong: alter(wrong), f"the offset {wrong}")  # type: ignore[misc]  # a default binds the loop variable
    return "checks offsets, refuses invalid ones"


def _confirmed(alter: Callable[[], bool], what: str) -> bool:
    try:
        response = alter()
    except UnsupportedOffsetsError:
        raise
    except ConnectError as error:
        raise CheckFailed(
            f"alter_offsets() refuses a change {what}: {error}", "Accept what the task produces"
        ) from error
    if not isinstance(response, bool):
        raise CheckFailed(
            f"alter_offsets() returned {response!r}", "Return True if it has checked the offsets, or False"
        )
    return response


def _expect_refusal(alter: Callable[[], bool], what: str) -> None:
    try:
        response = alter()
    except ConnectError:
        return
    except Exception as error:  # third-party code
        raise CheckFailed(
            f"alter_offsets() raised {type(error).__name__} for {what}: {error}", "Raise ConnectError with the reason"
        ) from error
    if response:
        raise CheckFailed(
            f"alter_offsets() returned True for {what}, from which no task can continue",
            "Return True only for offsets that were checked; raise ConnectError for invalid ones",
        )


def exactly_once(case: SourceCase) -> str:
    """exactly_once_support() and can_define_transaction_boundaries() answer without a start."""
    with case.opened() as config:
        connector = case.connector()
        support = connector.exactly_once_support(config)
        boundaries = connector.can_define_transaction_boundaries(config)
    if support is not None and not isinstance(support, ExactlyOnceSupport):
        raise CheckFailed(f"exactly_once_support() returned {support!r}", "Return ExactlyOnceSupport.SUPPORTED or None")
    if not isinstance(boundaries, bool):
        raise CheckFailed(f"can_define_transaction_boundaries() returned {boundaries!r}", "Return True or False")
    return "not reported" if support is None else support.value.lower()
