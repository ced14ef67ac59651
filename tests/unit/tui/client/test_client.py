"""The API over a transport: quoting, retries during rebalances, the read-only guard, the blocking driver."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.tui.scripted import Scripted, status
from tui.client.calls import ApiCall, drive
from tui.client.client import MAY_BE_DONE, REBALANCE_WAITS, Connect
from tui.contexts import policy
from tui.contexts.profiles import Profile
from tui.errors import (
    NO_WORKER,
    Conflict,
    HeadraceError,
    MalformedResponse,
    NotFound,
    ReadOnly,
    ServerError,
    TimedOut,
    Unreachable,
)

REBALANCE = Conflict("Cannot complete request because of a conflicting operation (e.g. worker rebalance)", 409)
CUT, REFUSED = Unreachable("cannot reach it: Connection reset"), Unreachable("cannot reach it: Connection refused")
CUT.sent = True
NAME_EXISTS = Conflict("Connector a already exists", 409)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a", "a"),
        ("a b", "a%20b"),
        ("a/b", "a%2Fb"),
        ("[/oops]", "%5B%2Foops%5D"),
        ("grün+?#%", "gr%C3%BCn%2B%3F%23%25"),
        (b"gr\xc3\xbcn".decode("ascii", "surrogateescape"), "gr%C3%BCn"),  # of a command line with LC_ALL=C
    ],
)
def test_names_are_quoted(name: str, path: str) -> None:
    transport = Scripted(None)
    drive(Connect(transport).stop(name))
    assert transport.calls == [ApiCall("PUT", f"/connectors/{path}/stop")]


def test_requests_are_retried_with_a_notice_during_a_rebalance() -> None:
    transport, notices = Scripted(REBALANCE, REBALANCE, None), list[str]()
    drive(Connect(transport, notice=notices.append).resume("a"))
    assert len(transport.calls) == 3
    assert transport.slept == list(REBALANCE_WAITS[:2])
    assert len(notices) == 2
    assert notices[0].startswith("a: 409 Cannot complete request")


def test_retries_during_a_rebalance_are_limited() -> None:
    transport = Scripted(REBALANCE)
    with pytest.raises(Conflict, match="rebalance"):
        drive(Connect(transport).resume("a"))
    assert transport.slept == list(REBALANCE_WAITS)


def test_a_conflict_that_took_the_worker_long_is_not_tried_five_times() -> None:
    transport, times = Scripted(REBALANCE), iter([0.0, 0.0, 40.0, 40.0])
    with pytest.raises(Conflict) as caught:
        drive(Connect(transport, clock=lambda: next(times)).pause("a"))
    assert len(transport.calls) == 1
    assert "brokers" in caught.value.advice


def test_a_conflict_about_an_existing_name_is_not_retried() -> None:
    transport = Scripted(NAME_EXISTS)
    with pytest.raises(Conflict, match="already exists"):
        drive(Connect(transport).create({"name": "a"}))
    assert len(transport.calls) == 1


def test_a_read_only_context_sends_only_reads_and_validations() -> None:
    transport = Scripted({"offsets": []})
    connect = Connect(transport, policy.guard(Profile("http://x:1", "prod", read_only=True)))
    drive(connect.offsets("a"))
    drive(connect.validate("X", {}))
    calls_before = len(transport.calls)
    for change in (connect.stop("a"), connect.delete("a"), connect.reset_offsets("a"), connect.configure("a", {})):
        with pytest.raises(ReadOnly, match="prod is read-only"):
            drive(change)
    assert len(transport.calls) == calls_before


def test_connectors_are_read_one_by_one_from_workers_without_expand() -> None:
    transport = Scripted(["a"], status("a"), {"config": {}})
    assert drive(Connect(transport).expanded()) == {"a": {"status": status("a"), "info": {"config": {}}}}


def test_the_driver_refuses_a_coroutine_that_needs_an_event_loop() -> None:
    async def waits() -> None:
        await asyncio.sleep(1)

    with pytest.raises(RuntimeError):
        drive(waits())


def test_an_unknown_request_to_a_worker_does_not_question_its_url() -> None:
    unknown = NotFound("HTTP 404 Not Found", 404, NO_WORKER)
    with pytest.raises(NotFound) as refused:
        drive(Connect(Scripted(unknown)).workers())
    assert refused.value.advice == "this worker, version 4.3.0, does not know the request"


@pytest.mark.parametrize(
    "lost", [TimedOut("no response within 30 s"), CUT, ServerError("HTTP 504", 504), MalformedResponse("not JSON")]
)
def test_a_change_whose_response_is_lost_may_have_taken_effect(lost: HeadraceError) -> None:
    connect = Connect(Scripted(lost))
    with pytest.raises(type(lost)) as raised:
        drive(connect.stop("a"))
    assert raised.value.advice == MAY_BE_DONE


@pytest.mark.parametrize("refused", [REFUSED, ServerError("it failed", 500), Conflict("exists", 409)])
def test_a_change_that_did_not_arrive_or_was_refused_has_no_effect(refused: HeadraceError) -> None:
    with pytest.raises(type(refused)) as raised:
        drive(Connect(Scripted(refused)).create({"name": "a"}))
    assert not raised.value.advice


def test_an_address_without_a_worker_is_questioned() -> None:
    class Elsewhere(Scripted):
        async def send(self, call: ApiCall) -> Any:
            raise NotFound("HTTP 404 Not Found", 404, NO_WORKER)

    with pytest.raises(NotFound) as refused:
        drive(Connect(Elsewhere(None)).workers())
    assert refused.value.advice == NO_WORKER
