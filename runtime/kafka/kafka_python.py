"""What confluent-kafka cannot do, through kafka-python: requests about groups of any protocol.

The import takes 0.3 seconds and the calls block: for threads. Uses a few names that are not public API; kafka-python is
pinned for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from runtime.kafka.clients import kafka_python_config
from runtime.kafka.errors import BrokerUnavailable, GroupError, GroupNotEmpty

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, as its coordinator knows it."""

    member_id: str
    client_id: str
    host: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its coordinator knows it; one that does not exist has no members."""

    protocol_type: str
    protocol: str
    state: str
    members: tuple[Member, ...]


def ask(settings: Mapping[str, Any], group: str, request: Callable[[Any], _T], timeout: float) -> _T | None:
    """The answer to a request to the admin client; None when there is no such group."""
    from kafka import errors
    from kafka.admin import KafkaAdminClient

    milliseconds = int(timeout * 1000)
    admin = None
    try:
        admin = KafkaAdminClient(
            **kafka_python_config(settings), bootstrap_timeout_ms=milliseconds, request_timeout_ms=milliseconds
        )
        return request(admin)
    except errors.GroupIdNotFoundError:
        return None
    except errors.NonEmptyGroupError:
        raise not_empty(group) from None
    except errors.KafkaError as e:
        if isinstance(e, errors.RetriableError) or e.retriable:
            raise BrokerUnavailable(f"Kafka did not answer about group {group}: {e}") from None
        raise GroupError(f"Kafka refused a request about group {group}: {e}") from None
    finally:
        if admin is not None:
            admin.close()


def describe(group: str) -> Callable[[Any], Group]:
    """Request: the group with its members' metadata as it is. (The public call takes every group for a consumer's
    and fails on Connect's.)"""

    def request(admin: Any) -> Group:
        from kafka import errors
        from kafka.protocol.admin.groups import DescribeGroupsRequest

        async def send() -> Any:
            node = await admin._find_coordinator_id(group)
            return await admin._manager.send(DescribeGroupsRequest(groups=[group]), node_id=node)

        found = admin._manager.run(send).groups[0]
        error = errors.for_code(found.error_code)
        if error is not errors.NoError:
            raise error(group)
        members = (
            Member(m.member_id, m.client_id, m.client_host, bytes(m.member_metadata or b"")) for m in found.members
        )
        return Group(found.protocol_type, found.protocol_data, found.group_state, tuple(members))

    return request


def evict(group: str, members: list[str]) -> Callable[[Any], None]:
    """Request: make the coordinator forget these members; unknown ones are no error."""

    def request(admin: Any) -> None:
        from kafka.admin import MemberToRemove

        gone = [MemberToRemove(member_id=m, reason="found dead by a worker") for m in members]
        errors = admin.remove_group_members(group, gone)
        refused = {m.member_id: e.__name__ for m, e in errors.items() if e.errno != 0}
        refused = {m: name for m, name in refused.items() if name != "UnknownMemberIdError"}
        if refused:
            raise GroupError(f"members of group {group} could not be removed: {refused}")

    return request


def not_empty(group: str) -> GroupNotEmpty:
    return GroupNotEmpty(f"group {group} still has members; stop whoever consumes in it, then try again")
