"""Calls to Kafka when a broker answers with errors, damaged, late or not at all: each ends in time with an error that
names its cause, leaves no client behind, and never ends the process."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.broker import KafkaBroker
from tests.support.kafka.fault_cases import ALL_CALLS, LONG, FaultCases, Outcome, Run, faults
from tests.support.kafka.faulty_broker import CREATE_TOPICS, INIT_PRODUCER_ID, OFFSET_FETCH, PRODUCE, Damage, Fault

pytestmark = pytest.mark.slow

COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 15, 16  # in a rolling restart
NOT_CONTROLLER = 41
OUT_OF_ORDER_SEQUENCE_NUMBER, TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 45, 53  # fatal for an idempotent producer
_QUICK = (
    "positions", "end_offsets", "group_requests", "group_changes", "fence", "tail", "membership",
    "transactional_writer", "console_brokers", "console_lag", "console_topic",
)  # fmt: skip
_QUICK_LIMIT = 30.0  # seconds; these calls make up to five requests with timeouts of one second
_LIMIT = 90.0  # seconds; the longest of the other calls makes four requests with timeouts of 15 seconds
_DAMAGES = (Damage.CODE, Damage.TRUNCATED, Damage.CLOSED, Damage.LATE)
_EXPECTED = ("KafkaProblem", "HeadraceError", "ToolError", "ConnectError", "TaskLostError")
_BATCH = 200  # cases in one process
_PROCESSES = 4  # at a time; the cases mostly wait
_SECONDS = 600.0  # for which batches are started; all 22,000 cases take 15 minutes or more on two cores
_IN_USE = ("exactly_once_task", "offsets_tool")
"""Calls whose producer may outlive them: a commit under way when the task ends, and errors that the client leaks."""


@pytest.fixture(scope="module")
def cases(broker: KafkaBroker) -> Iterator[FaultCases]:
    found = FaultCases(broker)
    yield found
    found.close()


@pytest.mark.parametrize("call", ["console_lag", "group_requests"])
def test_a_coordinator_that_moves_does_not_end_the_process(cases: FaultCases, call: str) -> None:
    """librdkafka's admin client reads the group of such a response without a check (issue 5040)."""
    codes = COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
    run = cases.run([(call, Fault(OFFSET_FETCH, Damage.CODE, code)) for code in codes])
    _check(run, _QUICK_LIMIT)
    assert all("group" in found.error or "committed offsets" in found.error for found in run.outcomes), run.outcomes


@pytest.mark.parametrize("call", ["console_lag", "group_requests"])
def test_offsets_are_read_when_the_coordinator_has_moved(cases: FaultCases, call: str) -> None:
    run = cases.run([(call, Fault(OFFSET_FETCH, Damage.CODE, NOT_COORDINATOR, times=1))], LONG)
    _check(run, _QUICK_LIMIT)
    assert [found.error for found in run.outcomes] == ["ok"]


def test_a_broker_without_committed_offsets_does_not_end_the_process(cases: FaultCases) -> None:
    """librdkafka reads the offsets of partitions that it assigns by itself without a check (issue 4789)."""
    run = cases.run([("sink_task", Fault(OFFSET_FETCH, Damage.UNSUPPORTED))])
    _check(run, _QUICK_LIMIT)
    assert "committed offsets" in run.outcomes[0].error, run.outcomes


@pytest.mark.parametrize("call", ["topic_creation", "storage"])
def test_topics_are_created_when_the_controller_has_moved(cases: FaultCases, call: str) -> None:
    run = cases.run([(call, Fault(CREATE_TOPICS, Damage.CODE, NOT_CONTROLLER, times=1))], LONG)
    _check(run, _QUICK_LIMIT)
    assert [found.error for found in run.outcomes] == ["ok"]


def test_faults_end_in_errors_that_name_the_cause(cases: FaultCases) -> None:
    """One error code and the ways in which a broker breaks off, for all requests of calls with short timeouts."""
    chosen = [
        (call, fault)
        for call, requests in cases.requests(_QUICK).items()
        for fault in faults(requests, [NOT_COORDINATOR])
        if fault.damage in _DAMAGES
    ]
    run = cases.run([*chosen, ("console_letters", Fault(PRODUCE, Damage.CODE, OUT_OF_ORDER_SEQUENCE_NUMBER))])
    _check(run, _QUICK_LIMIT)
    failed = [found for found in run.outcomes if found.error != "ok"]
    assert failed and all(found.error.split(": ", 1)[1] for found in failed), failed


@pytest.mark.soak
def test_a_producer_that_may_not_register_is_replaced_and_freed(cases: FaultCases) -> None:
    """Its fatal error is found in the poll that reports the refused records, in some of the cases."""
    fault = Fault(INIT_PRODUCER_ID, Damage.CODE, TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    _check(cases.run([("storage", fault)] * 40), _QUICK_LIMIT)


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_every_call_with_every_error_code(cases: FaultCases) -> None:
    """As many of all cases as ten minutes allow, in an order that HEADRACE_FAULT_SEED repeats; HEADRACE_FAULT_SECONDS
    allows more. Each process must be as small at its end as at its start."""
    seed = int(os.environ.get("HEADRACE_FAULT_SEED") or random.randrange(10**6))
    chosen = [(call, f) for call, requests in cases.requests(ALL_CALLS).items() for f in faults(requests)]
    batches = _batches([(call, f) for call, f in chosen if f.damage not in _FOREIGN], random.Random(seed))
    until = time.monotonic() + float(os.environ.get("HEADRACE_FAULT_SECONDS", _SECONDS))
    wrong: list[object] = []
    done = 0
    with ThreadPoolExecutor(_PROCESSES) as processes:
        runs = processes.map(lambda batch: cases.run(batch) if time.monotonic() < until else None, batches)
        for run in filter(None, runs):
            done += 1
            wrong += (problems := _problems(run, _LIMIT))
            print(f"seed {seed}: {done} of {len(batches)} batches", *problems, sep="\n", flush=True)
    assert done and not wrong, f"seed {seed}, {done} of {len(batches)} batches:\n" + "\n".join(map(str, wrong))


def _batches(chosen: list[tuple[str, Fault]], order: random.Random) -> list[list[tuple[str, Fault]]]:
    """The cases in random order; those whose producers may outlive them have batches of their own."""
    order.shuffle(chosen)
    batches = []
    for in_use in (False, True):
        some = [case for case in chosen if (case[0] in _IN_USE) is in_use]
        batches += [some[start : start + _BATCH] for start in range(0, len(some), _BATCH)]
    order.shuffle(batches)
    return batches


_FOREIGN = (Damage.WRONG_VERSION, Damage.NOISE)
"""Bodies that no broker sends: librdkafka allocates memory for lengths that it reads from them, and aborts."""


def _check(run: Run, limit: float) -> None:
    assert not _problems(run, limit)


def _problems(run: Run, limit: float) -> list[object]:
    """A crash, outcomes that name no cause or came late, and what was not closed."""
    found: list[object] = [run.crash] if run.crash else []
    found += [outcome for outcome in run.outcomes if not _is_expected(outcome) or outcome.seconds > limit]
    if not run.crash and not _any_in_use(run.outcomes) and any(run.left):
        found.append(f"clients, threads and descriptors left: {run.left}; {run.output}")
    return found


def _any_in_use(outcomes: Sequence[Outcome]) -> bool:
    return any(found.call in _IN_USE for found in outcomes)


def _is_expected(found: Outcome) -> bool:
    return found.error == "ok" or bool(set(_EXPECTED) & set(found.error.split(":")[0].split("/")))
