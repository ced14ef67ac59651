"""Requests about groups of any protocol, through kafka-python: confluent-kafka supports only consumer groups.

The import takes 0.3 seconds and the calls block: from threads only. A thread imports from the package first, as in
`from kafka import errors`: an import of a submodule locks the submodule before the package, and if another thread
imports the package at that time, both get modules without names. Uses a few names that are not public API,
so kafka-python is pinned."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from runtime.kafka.clients.client_log import refusal_of
from runtime.kafka.clients.oauth.tokens import await_token
from runtime.kafka.clients.settings import kafka_python_config
from runtime.kafka.denials import denial
from runtime.kafka.errors import BrokerUnavailable, GroupError, GroupNotAuthorized, GroupNotEmpty, OffsetsRefused

_T = TypeVar("_T")
_RETRY_DELAY = 0.2  # seconds between two attempts
_ATTEMPT = 1.0  # seconds for connecting to a server, at least
_REFUSAL_WAIT = 2.0  # seconds for the reason of a failure

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group, as known to the coordinator."""

    member_id: str
    client_id: str
    host: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class KafkaGroup:
    """A group, as known to its coordinator."""

    protocol_type: str
    protocol: str
    state: str
    members: tuple[Member, ...]


def ask(
    settings: Mapping[str, Any], group: str, request: Callable[[Any], _T], timeout: float, operation: str = "READ"
) -> _T | None:
    """The response to a request to the admin client; None if the group does not exist. `operation`: the right on the
    group that the request needs.

    Repeats the request while the group's coordinator is unknown or loading (about a second on a new cluster); all
    requests in this module may be repeated. Raises BrokerUnavailable after `timeout` seconds, or GroupError.
    """
    from kafka import errors

    deadline = time.monotonic() + timeout
    while True:
        try:
            return _ask_once(settings, request, max(deadline - time.monotonic(), 0.5))
        except errors.GroupIdNotFoundError:
            return None
        except (errors.NonEmptyGroupError, errors.UnknownMemberIdError):
            raise not_empty(group) from None
        except errors.GroupAuthorizationFailedError:
            raise GroupNotAuthorized(denial(settings, operation, f"group {group}")) from None
        except errors.KafkaError as e:
            if not (isinstance(e, errors.RetriableError) or e.retriable):
                raise GroupError(f"Kafka refused a request about group {group}: {e}") from None
            if time.monotonic() + _RETRY_DELAY >= deadline:
                why = _refusal(settings) or e
                raise BrokerUnavailable(f"Kafka did not respond to a request about the group {group}: {why}") from None
        time.sleep(_RETRY_DELAY)


def _refusal(settings: Mapping[str, Any]) -> str | None:
    """Why all brokers refuse the client, which kafka-python does not say."""
    secured = str(settings.get("security.protocol", "PLAINTEXT")) != "PLAINTEXT"
    return refusal_of(settings, _REFUSAL_WAIT) if secured else None


def _ask_once(settings: Mapping[str, Any], request: Callable[[Any], _T], timeout: float) -> _T:
    """With a new client, which takes ten milliseconds and has no stale state."""
    admin = open_admin(settings, timeout)
    try:
        return request(admin)
    finally:
        admin.close()


def open_admin(settings: Mapping[str, Any], timeout: float, **more: Any) -> Any:
    """An admin client with this many seconds for each request, and for connecting. `more`: settings of kafka-python.

    It would choose one of the servers at random and spend all the time on it, even if it does not respond: first, each
    server gets a second, then its share of the rest, but not less than a second, since a handshake has many steps."""
    from kafka import errors

    from runtime.kafka.clients.next_address import no_response

    await_token(settings)
    deadline = time.monotonic() + timeout
    limits = {"request_timeout_ms": int(timeout * 1000), **more}
    servers = kafka_python_config(settings)["bootstrap_servers"]
    random.shuffle(servers)
    for number, server in enumerate(servers * 2):
        left = deadline - time.monotonic()
        share = _ATTEMPT if number < len(servers) else max(_ATTEMPT, left / (2 * len(servers) - number))
        if left <= 0:
            break
        try:
            return _open_admin(settings, server, min(share, left), limits)
        except errors.KafkaTimeoutError:
            no_response(server)
    raise errors.KafkaTimeoutError(f"Unable to bootstrap from {', '.join(servers)}")


def _open_admin(settings: Mapping[str, Any], server: str, timeout: float, limits: Mapping[str, Any]) -> Any:
    """The constructor starts a thread and then connects: without close() it would leave the thread and its sockets
    behind when it cannot."""
    from kafka import KafkaAdminClient, errors

    from runtime.kafka.clients.next_address import FAILED_LAST

    admin: Any = KafkaAdminClient.__new__(KafkaAdminClient)
    reaching = {**kafka_python_config(settings), "bootstrap_servers": server, **FAILED_LAST}
    try:
        admin.__init__(**reaching, **limits, bootstrap_timeout_ms=int(timeout * 1000))
    except errors.KafkaError:
        admin._closed = False
        admin.close()
        raise
    return admin


def log_in_again(client: Any, settings: Mapping[str, Any]) -> None:
    """Give a running client the current credentials of its login, for new connections and when sessions end."""
    manager = client._manager
    config = kafka_python_config(settings)
    for part in (manager, *list(manager._conns.values())):
        part.config.update({key: value for key, value in config.items() if key.startswith(("sasl_", "ssl_"))})


def committed(group: str) -> Callable[[Any], dict[TopicPartition, int]]:
    """Request: committed offsets. (librdkafka's own crashes the process when the coordinator has moved:
    confluentinc/librdkafka issue 5040.)"""

    def request(admin: Any) -> dict[TopicPartition, int]:
        offsets = admin.list_group_offsets(group)[group]
        return {(tp.topic, tp.partition): o.offset for tp, o in offsets.items() if o.offset >= 0}

    return request


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group in the list of all groups. `state` is Kafka's: Stable, Empty, Dead, …"""

    group: str
    protocol_type: str
    state: str


def list_groups() -> Callable[[Any], list[ListedGroup]]:
    """Request: all groups of the cluster, of any protocol."""

    def request(admin: Any) -> list[ListedGroup]:
        return [ListedGroup(g["group_id"], g["protocol_type"], g["group_state"]) for g in admin.list_groups()]

    return request


def alter(group: str, offsets: Mapping[TopicPartition, int]) -> Callable[[Any], None]:
    """Request: set committed offsets."""

    def request(admin: Any) -> None:
        from kafka import TopicPartition as At
        from kafka.structs import OffsetAndMetadata

        wanted = {At(topic, number): OffsetAndMetadata(o, "", -1) for (topic, number), o in offsets.items()}
        _raise_refused(admin.alter_group_offsets(group, wanted))

    return request


def delete_offsets(group: str, partitions: Sequence[TopicPartition]) -> Callable[[Any], None]:
    """Request: remove committed offsets; partitions without offset are ignored."""

    def request(admin: Any) -> None:
        from kafka import TopicPartition as At
        from kafka import errors

        responses = admin.delete_group_offsets(group, [At(topic, number) for topic, number in partitions])
        if errors.GroupSubscribedToTopicError in responses.values():
            raise errors.NonEmptyGroupError(group)
        _raise_refused({at: e for at, e in responses.items() if e is not errors.UnknownTopicOrPartitionError})

    return request


def delete(group: str) -> Callable[[Any], None]:
    """Request: remove the group with all its offsets."""

    def request(admin: Any) -> None:
        from kafka import errors

        response = admin.delete_groups([group])[group]
        if response != "OK":
            raise getattr(errors, response)(group)

    return request


def _raise_refused(responses: Mapping[Any, Any]) -> None:
    """Raise an error of the whole group unchanged, so that the request is repeated or the error reported. Raise
    errors of partitions as OffsetsRefused."""
    from kafka import errors

    refused = {at: e for at, e in responses.items() if e is not errors.NoError}
    for e in refused.values():
        of_group = e in (errors.UnknownMemberIdError, errors.GroupAuthorizationFailedError)
        if of_group or "Coordinator" in e.__name__:
            raise e()
    if refused:
        raise OffsetsRefused({(at.topic, at.partition): e.description or e.__name__ for at, e in refused.items()})


def describe(group: str) -> Callable[[Any], KafkaGroup | None]:
    """Request: the group with its members' raw metadata; None if it does not exist."""
    return lambda admin: describe_all([group])(admin).get(group)


def describe_all(groups: Sequence[str]) -> Callable[[Any], dict[str, KafkaGroup]]:
    """Request: the existing groups among these. (The public call expects consumer groups and fails on Connect's.)"""

    def request(admin: Any) -> dict[str, KafkaGroup]:
        from kafka import errors
        from kafka.protocol.admin.groups import DescribeGroupsRequest

        async def send() -> list[Any]:
            by_node: dict[int, list[str]] = {}
            for group, node in (await admin._find_coordinator_ids(list(groups))).items():
                by_node.setdefault(node, []).append(group)
            responses = [
                await admin._manager.send(DescribeGroupsRequest(groups=asked), node_id=node)
                for node, asked in by_node.items()
            ]
            return [listed for response in responses for listed in response.groups]

        described = {}
        for reply in admin._manager.run(send):
            error = errors.for_code(reply.error_code)
            if error is errors.NoError:
                described[reply.group_id] = _group(reply)
            elif error is not errors.GroupIdNotFoundError:
                raise error(reply.group_id)
        return described

    return request


def _group(described: Any) -> KafkaGroup:
    members = (
        Member(m.member_id, m.client_id, m.client_host, bytes(m.member_metadata or b"")) for m in described.members
    )
    return KafkaGroup(described.protocol_type, described.protocol_data, described.group_state, tuple(members))


def evict(group: str, members: list[str]) -> Callable[[Any], None]:
    """Request: remove these members from the group; unknown members are ignored."""

    def request(admin: Any) -> None:
        from kafka.admin import MemberToRemove

        removed = [MemberToRemove(member_id=m, reason="its process or task has ended") for m in members]
        errors = admin.remove_group_members(group, removed)
        refused = {m: e.__name__ for m, e in errors.items() if e.__name__ not in ("NoError", "UnknownMemberIdError")}
        if refused:
            raise GroupError(f"members of group {group} could not be removed: {refused}")

    return request


def not_empty(group: str) -> GroupNotEmpty:
    """The error for a change of offsets of a group that has members."""
    return GroupNotEmpty(f"group {group} still has members: stop its consumers, then try again")
