"""The conformance suite finds each fault of a connector, and no fault in connectors without one."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.api import SinkConnector, SourceConnector
from runtime.connectors.file_source import FileStreamSourceConnector
from runtime.plugin_kit import Case, Outcome, Result, SinkCase, SourceCase, checks
from runtime.plugin_kit.conformance.case import Config
from tests.support.tasks import faulty_connectors as faulty

SOURCE_FAULTS: list[tuple[type[SourceConnector], str, str]] = [
    (faulty.Undocumented, "documentation", "No documentation for topic"),
    (faulty.InvalidDefault, "documentation", "The default of limit is invalid"),
    (faulty.FailingValidator, "invalid-values", "The validator of topic raised"),
    (faulty.SilentValidation, "missing-keys", "no error is reported"),
    (faulty.SilentValidation, "invalid-values", "no error is reported"),
    (faulty.RaisingValidation, "missing-keys", "KeyError is raised"),
    (faulty.TooManyTasks, "lifecycle", "returned 2 configurations"),
    (faulty.UntypedTaskConfig, "lifecycle", "'number': 1"),
    (faulty.WrongSchema, "lifecycle", "does not match its schema"),
    (faulty.NestedOffset, "lifecycle", "A source offset contains"),
    (faulty.NeedsStart, "stop-without-start", "AttributeError"),
    (faulty.SlowStop, "lifecycle", "stop() took"),
    (faulty.LeavesThread, "leaks", "thread"),
    (faulty.LeavesFile, "leaks", "open files"),
    (faulty.IgnoresOffsets, "resume", "again"),
    (faulty.OffsetAhead, "resume", "does not continue behind it"),
    (faulty.SkipsOne, "resume", "does not continue behind it"),
    (faulty.CredulousAltering, "alter-offsets", "returned True for the offset"),
    (faulty.CrashingAltering, "alter-offsets", "raised KeyError"),
]

SINK_FAULTS: list[tuple[type[SinkConnector], str, str]] = [
    (faulty.LosesRecords, "lifecycle", "100 of 100 records are missing"),
    (faulty.AssumesNumbers, "poison", "raised TypeError for the value None"),
    (faulty.BlamesAll, "poison", "A record that can be written was reported"),
    (faulty.CommitsTooMuch, "lifecycle", "pre_commit() returned 101"),
    (faulty.NeedsRecords, "stop-without-records", "IndexError"),
]


def _source(connector: type[SourceConnector]) -> SourceCase:
    return SourceCase(connector=connector, config={"topic": "numbers"})


@contextmanager
def _one_line(folder: Path) -> Iterator[Config]:
    file = folder / "in.txt"
    file.write_text("line\n")
    yield {"file": str(file)}


def _written(config: Config) -> Iterable[int]:
    return map(int, Path(config["file"]).read_text().split())


def _sink(connector: type[SinkConnector]) -> SinkCase:
    return SinkCase(
        connector=connector, config={"file": "{folder}/out.txt"}, value=lambda number: number, written=_written
    )


def _outcome(case: Case, name: str) -> Outcome:
    [check] = [check for check in checks([case]) if check.name == name]
    return check.run()


@pytest.mark.parametrize(("connector", "check", "problem"), SOURCE_FAULTS)
def test_a_fault_of_a_source_is_found(connector: type[SourceConnector], check: str, problem: str) -> None:
    outcome = _outcome(_source(connector), check)
    assert outcome.result is Result.FAILED
    assert problem in outcome.detail
    assert outcome.advice


def test_a_file_left_open_is_found_while_others_close_theirs() -> None:
    others = [socket.socket() for _ in range(20)]

    class ClosesOthers(faulty.LeavesFile):
        def start(self, config: Config) -> None:
            super().start(config)
            others.pop().close()

    assert _outcome(_source(ClosesOthers), "leaks").result is Result.FAILED
    for one in others:
        one.close()


@pytest.mark.parametrize(("connector", "check", "problem"), SINK_FAULTS)
def test_a_fault_of_a_sink_is_found(connector: type[SinkConnector], check: str, problem: str) -> None:
    outcome = _outcome(_sink(connector), check)
    assert outcome.result is Result.FAILED
    assert problem in outcome.detail
    assert outcome.advice


@pytest.mark.parametrize(
    "case", [_source(faulty.NumbersConnector), _sink(faulty.LinesConnector)], ids=["source", "sink"]
)
def test_connectors_without_faults_conform(case: Case) -> None:
    assert not [outcome for check in checks([case]) if (outcome := check.run()).result is Result.FAILED]


def test_a_kill_shows_that_an_offset_is_ahead_of_its_record() -> None:
    outcome = _outcome(_source(faulty.OffsetAhead), "kill")
    assert outcome.result is Result.FAILED
    assert "records are missing" in outcome.detail


def test_a_source_that_has_committed_everything_before_it_is_killed_conforms() -> None:
    case = SourceCase(connector=FileStreamSourceConnector, config={"topic": "lines"}, environment=_one_line, records=1)
    assert _outcome(case, "kill").result is Result.OK


def test_a_kill_shows_that_offsets_are_committed_before_records_are_written() -> None:
    outcome = _outcome(_sink(faulty.WritesTooLate), "kill")
    assert outcome.result is Result.FAILED
    assert "records are missing in the target system" in outcome.detail


def test_a_check_that_cannot_apply_is_skipped_with_its_reason() -> None:
    case = SourceCase(connector=faulty.SlowStop, config={"topic": "t"}, skip={"lifecycle": "stops slowly"})
    outcome = _outcome(case, "lifecycle")
    assert (outcome.result, outcome.detail) == (Result.SKIPPED, "stops slowly")
