"""What a member does with the answers of its coordinator, without a broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import errors

from runtime.kafka.errors import KafkaProblem
from runtime.kafka.group.group_coordinator import GroupCoordinator, connect
from runtime.kafka.group.ownership import Ownership
from runtime.kafka.group.protocol import (
    Assignment,
    AssignmentError,
    WorkerMetadata,
    decode_assignment,
    encode_metadata,
)

OWN = WorkerMetadata("http://w:1/", 7)


def lead(leader: str, members: Mapping[str, WorkerMetadata]) -> Mapping[str, Assignment]:
    return dict.fromkeys(members, Assignment(leader, OWN.url, 7, {"c": (0,)}))


@pytest.fixture
def client() -> Iterator[Any]:
    """A client without a broker."""
    client = connect({"bootstrap.servers": "127.0.0.1:1"}, "test")
    yield client
    client.close()


@pytest.fixture
def coordinator(client: Any) -> GroupCoordinator:
    return GroupCoordinator(client, Ownership(), lambda: OWN, lead, lambda: None, lambda: None, group_id="g")


def decided(coordinator: GroupCoordinator, members: Mapping[str, bytes]) -> Mapping[str, Assignment]:
    asked = [SimpleNamespace(member_id=name, metadata=metadata) for name, metadata in members.items()]
    found = coordinator._perform_assignment("me", "sessioned", asked)
    return {name: decode_assignment(assignment) for name, assignment in found.items()}


def test_nothing_is_assigned_while_the_metadata_of_a_member_cannot_be_read(
    coordinator: GroupCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    ours = {"me": encode_metadata(OWN), "you": encode_metadata(replace(OWN, config_offset=9))}
    assert decided(coordinator, ours)["you"].assigned == {"c": (0,)}
    found = decided(coordinator, {**ours, "alien": b"\x00\x02\x7f"})
    assert set(found) == {"me", "you", "alien"}
    assert {(a.error, a.config_offset, bool(a.assigned)) for a in found.values()} == {
        (AssignmentError.CONFIG_MISMATCH, 9, False)
    }
    assert "alien" in caplog.text


def test_an_unreadable_assignment_ends_no_worker(coordinator: GroupCoordinator, client: Any) -> None:
    coordinator.rejoin_needed = False

    async def complete() -> None:
        await coordinator._on_join_complete_async(1, "me", "sessioned", b"\x00")

    with pytest.raises(KafkaProblem, match="the assignment of the leader is not Connect's"):  # the member tries again
        client._manager.run(complete)
    assert coordinator.rejoin_needed


def test_a_heartbeat_confirms_nothing_for_the_time_of_a_suspended_machine(client: Any) -> None:
    """The response arrives after the machine continues; the session has ended meanwhile."""
    now = 1000.0
    coordinator = GroupCoordinator(
        client, Ownership(), lambda: OWN, lead, lambda: None, lambda: None, clock=lambda: now, group_id="g"
    )
    coordinator.heartbeat.sent_heartbeat()
    now += 300.0
    coordinator.heartbeat.received_heartbeat()
    assert coordinator.confirmed_until == 1000.0 + coordinator.heartbeat.duration < now


def test_a_join_request_that_could_not_be_sent_is_not_pending(coordinator: GroupCoordinator, client: Any) -> None:
    coordinator.coordinator_id = "bootstrap-0"
    with pytest.raises(errors.KafkaError):
        client._manager.run(coordinator._do_join_and_sync_async)
    assert coordinator.join_sent is None


def test_a_rebalance_and_the_loss_of_the_membership_are_reported_at_once(client: Any) -> None:
    """The member's thread sleeps for half a second between two steps."""
    reported = []
    coordinator = GroupCoordinator(
        client, Ownership(), lambda: OWN, lead, lambda: None, lambda: reported.append("rejoin"), group_id="g"
    )
    for error in (errors.RebalanceInProgressError, errors.IllegalGenerationError, errors.UnknownMemberIdError):
        reported.clear()
        with pytest.raises(error):
            coordinator._handle_heartbeat_response(SimpleNamespace(error_code=error.errno), 0.0)
        assert reported == ["rejoin"]
        assert coordinator.need_rejoin()
