"""Fencing of transactional producers (KIP-618): their open transactions are aborted and their later writes refused.

Sends the InitProducerId request that Apache's admin client sends for this, so that no producer is needed for each id.
confluent-kafka has no such call, so the requests go through kafka-python, which is pinned since a few of the names are
not public API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Any

from runtime.kafka.clients.addresses import check_resolvable
from runtime.kafka.clients.client_log import refusal_of
from runtime.kafka.clients.kafka_python import open_admin
from runtime.kafka.denials import not_authorized
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem

FENCE_TIMEOUT = 15.0
"""Seconds for all attempts; aborting an open transaction takes milliseconds."""

_RETRY_DELAY = 0.05  # seconds between two attempts
_ATTEMPT = 1.0  # seconds that an attempt needs; with less, it would end with another error than the last one
_TRANSACTION_TIMEOUT = 10_000  # milliseconds; brokers also use it to replicate the new epoch
_PIPELINED = 1_000  # requests that may be in flight on a connection

_RETRIED = ("ProducerFencedError", "InvalidProducerEpochError")  # another producer started meanwhile
_NO_PRODUCER = -1


async def fence(settings: Mapping[str, Any], transactional_ids: Collection[str], within: float = FENCE_TIMEOUT) -> None:
    """Fence all producers that have used these ids so far; unused ids are fenced, too. `settings` are
    librdkafka settings that reach the cluster. Safe to repeat.

    BrokerUnavailable if Kafka does not respond in time, NotAuthorizedError if a right is missing, ClientConfigError if
    no bootstrap server exists, any other KafkaProblem if Kafka refuses."""
    if transactional_ids:
        await asyncio.to_thread(_fence, settings, list(dict.fromkeys(transactional_ids)), within)


def _fence(settings: Mapping[str, Any], wanted: list[str], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    check_resolvable(str(settings["bootstrap.servers"]))
    while True:
        failed = _attempt(settings, wanted, max(deadline - time.monotonic(), 0.5))
        for transactional_id, error in failed.items():
            _raise_final(settings, transactional_id, error)
        wanted = list(failed)
        if not wanted:
            return
        if time.monotonic() + _RETRY_DELAY + _ATTEMPT >= deadline:
            if (refusal := refusal_of(settings)) is not None:
                raise KafkaProblem(f"Kafka refuses the client that fences producers: {refusal}")
            names = ", ".join(wanted)
            raise BrokerUnavailable(
                f"Kafka did not fence producers with the transactional id {names} within {timeout:g} seconds: "
                f"{failed[wanted[0]]}"
            )
        time.sleep(_RETRY_DELAY)


def _raise_final(settings: Mapping[str, Any], transactional_id: str, error: Exception) -> None:
    """Raise an error that another attempt would not change."""
    from kafka import errors

    resource = f"transactional id {transactional_id}"
    if isinstance(error, _Denied):
        raise not_authorized(settings, error.operation, resource)
    if isinstance(error, errors.RetriableError) or type(error).__name__ in _RETRIED:
        return
    raise KafkaProblem(f"Kafka refused to fence producers with the {resource}: {error}")


def _attempt(settings: Mapping[str, Any], wanted: list[str], timeout: float) -> dict[str, Exception]:
    """The ids that could not be fenced, with the reasons. Uses a new client, which knows no stale coordinators and
    takes ten milliseconds."""
    from kafka import errors

    try:
        admin = open_admin(settings, timeout, max_in_flight_requests_per_connection=_PIPELINED)
    except errors.KafkaError as e:
        return dict.fromkeys(wanted, e)
    try:
        failed: dict[str, Exception] = admin._manager.run(_send, admin, wanted)
        return failed
    finally:
        admin.close()


async def _send(admin: Any, wanted: list[str]) -> dict[str, Exception]:
    """One request for each id, sent without waiting for the responses to the others."""
    from kafka import errors

    failed: dict[str, Exception] = {}
    sent = {}
    for transactional_id, coordinator in (await _coordinators(admin, wanted, failed)).items():
        sent[transactional_id] = admin._manager.send(_request(transactional_id), node_id=coordinator)
    for transactional_id, response in sent.items():
        try:
            error = errors.for_code((await response).error_code)
        except errors.KafkaError as e:
            failed[transactional_id] = e
            continue
        if error is errors.TransactionalIdAuthorizationFailedError:
            failed[transactional_id] = _Denied("WRITE")
        elif error is not errors.NoError:
            failed[transactional_id] = error()
    return failed


async def _coordinators(admin: Any, wanted: list[str], failed: dict[str, Exception]) -> dict[str, Any]:
    """The coordinator of each id; ids without one are added to `failed`."""
    from kafka import errors
    from kafka.protocol.metadata import CoordinatorType

    async def find(keys: list[str]) -> dict[str, Any]:
        coordinators: dict[str, Any] = await admin._find_coordinator_ids(keys, key_type=CoordinatorType.TRANSACTION)
        return coordinators

    try:
        return await find(wanted)
    except errors.KafkaError as e:
        if len(wanted) == 1:
            denied = isinstance(e, errors.TransactionalIdAuthorizationFailedError)
            failed[wanted[0]] = _Denied("DESCRIBE") if denied else e
            return {}
    coordinators: dict[str, Any] = {}
    for transactional_id in wanted:  # a response for several ids does not tell which of them was refused
        coordinators |= await _coordinators(admin, [transactional_id], failed)
    return coordinators


def _request(transactional_id: str) -> Any:
    from kafka.protocol.producer.transaction import InitProducerIdRequest

    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=_TRANSACTION_TIMEOUT,
        producer_id=_NO_PRODUCER,
        producer_epoch=_NO_PRODUCER,
        max_version=4,
    )


class _Denied(Exception):
    """A right on a transactional id is missing; `operation` names it."""

    def __init__(self, operation: str) -> None:
        super().__init__(f"{operation} is missing")
        self.operation = operation
