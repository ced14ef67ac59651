"""The report of a bulk operation while its requests are under way."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tests.unit.tui.screens.builders import connector
from tui.errors import Unreachable
from tui.model import Connector
from tui.screens.operations.actions import ACTIONS, ConnectorAction
from tui.screens.operations.bulk import MAX_REQUESTS, BulkOperation, chosen
from tui.screens.services.operations import Operation, Operations


def not_sent(operations: Operations, action: ConnectorAction, target: Connector, why: str) -> Operation:
    """What the screen does with a target to which nothing is sent."""
    operation = operations.begin(action.name, target.name, doing=action.doing)
    operations.failed(operation, why)
    return operation


async def test_requests_that_were_sent_do_not_wait_and_cannot_be_cancelled() -> None:
    """They may have taken effect already."""
    connectors = [connector(f"c{number}") for number in range(MAX_REQUESTS + 2)]
    operations, response, sent = Operations(lambda operation: None), asyncio.Event(), asyncio.Semaphore(0)
    summaries: list[str] = []

    async def act(action: ConnectorAction, target: Connector) -> Operation:
        operation = operations.begin(action.name, target.name, doing=action.doing)
        sent.release()
        await response.wait()
        operations.done(operation, "stopped")
        return operation

    by_name = {target.name: target for target in connectors}
    bulk = BulkOperation(
        ACTIONS["stop"],
        chosen(ACTIONS["stop"], connectors, operations.pending),
        act,
        partial(not_sent, operations),
        by_name.get,
        lambda: summaries.append(bulk.summary()),
    )
    running = asyncio.create_task(bulk.run())
    for _ in range(MAX_REQUESTS):
        await sent.acquire()
    assert summaries[-1] == "stop 6 connectors: 4 requested, 2 waiting"
    assert bulk.can_be_cancelled and bulk.waiting == 2
    bulk.cancel()
    assert not bulk.can_be_cancelled
    response.set()
    await running
    assert bulk.summary() == "stop 6 connectors: 2 failed, 4 observed"
    assert [operation.last for operation in operations.log[MAX_REQUESTS:]] == ["not sent: cancelled"] * 2
    assert bulk.retryable == 2 and bulk.waiting == 0


@pytest.mark.parametrize(("sent", "last"), [(True, "gone"), (False, "not sent: the cluster does not respond")])
async def test_a_worker_that_ends_during_a_request_does_not_end_the_others(sent: bool, last: str) -> None:
    connectors = [connector(f"c{number}") for number in range(MAX_REQUESTS + 1)]
    operations, error = Operations(lambda operation: None), Unreachable("gone")
    error.sent = sent

    async def act(action: ConnectorAction, target: Connector) -> Operation:
        operation = operations.begin(action.name, target.name, doing=action.doing)
        operations.failed(operation, "gone", error)
        return operation

    by_name = {target.name: target for target in connectors}
    targets = chosen(ACTIONS["stop"], connectors, operations.pending)
    await BulkOperation(ACTIONS["stop"], targets, act, partial(not_sent, operations), by_name.get, lambda: None).run()
    assert targets[-1].message == last


async def test_a_connector_that_was_created_again_after_the_question_is_left_out() -> None:
    shown, now = connector("a"), connector("a", topics="other")

    async def act(action: ConnectorAction, one: Connector) -> Operation:
        raise AssertionError("nothing is sent")

    def not_sent(action: ConnectorAction, one: Connector, why: str) -> Operation:
        raise AssertionError(why)

    targets = chosen(ACTIONS["delete"], [shown], lambda name: None)
    await BulkOperation(ACTIONS["delete"], targets, act, not_sent, lambda name: now, lambda: None).run()
    assert "created a again" in targets[0].left_out


async def test_a_retry_leaves_out_a_connector_that_was_created_again_after_the_question() -> None:
    shown, operations = connector("a"), Operations(lambda operation: None)
    current = {"a": shown}

    async def act(action: ConnectorAction, one: Connector) -> Operation:
        operation = operations.begin(action.name, one.name, doing=action.doing)
        operations.failed(operation, "no leader")
        return operation

    def not_sent(action: ConnectorAction, one: Connector, why: str) -> Operation:
        raise AssertionError(why)

    targets = chosen(ACTIONS["delete"], [shown], operations.pending)
    bulk = BulkOperation(ACTIONS["delete"], targets, act, not_sent, current.get, lambda: None)
    await bulk.run()
    current["a"] = connector("a", topics="other")
    again = bulk.retry()
    assert again is not None
    await again.run()
    assert "created a again" in again.targets[0].left_out
