"""The order of records and refusals in one poll of the reader, and clients that cannot be created."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from runtime.kafka.errors import EndpointUnavailable, RightMissing
from runtime.kafka.log import reader
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.reader import Reader, ReaderEvents


class Message:
    """At the end of partition 0 of topic `t`, or a refusal."""

    def __init__(self, code: int) -> None:
        self._error = KafkaError(code)

    def error(self) -> KafkaError:
        return self._error

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 5


class Consumer:
    """One poll returns all these messages: the machine was busy."""

    def __init__(self, codes: list[int]) -> None:
        self._messages = [Message(code) for code in codes]

    def poll(self, timeout: float) -> Message:
        return self._messages[0]

    def consume(self, count: int, timeout: float) -> list[Message]:
        return self._messages[1:]


END, DENIED = KafkaError._PARTITION_EOF, KafkaError.TOPIC_AUTHORIZATION_FAILED


def step(codes: list[int]) -> None:
    """One poll of a reader that does not wait for rights."""
    events = ReaderEvents(*(lambda *args: None,) * 5)
    Reader(LogClients.alike({"bootstrap.servers": "x"}), [], events, await_rights=False)._step(Consumer(codes))


def test_a_right_withdrawn_behind_the_last_record_is_missing() -> None:
    """The client reports a refusal once: it must not be taken for one that is over."""
    with pytest.raises(RightMissing, match="not authorized to READ topic t"):
        step([END, DENIED])


def test_a_right_granted_before_the_last_record_is_not_missing() -> None:
    step([DENIED, END])


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (EndpointUnavailable("no token"), "no token"),
        (KafkaException(KafkaError(KafkaError._CRIT_SYS_RESOURCE, "no thread")), "no thread"),
    ],
)
@pytest.mark.parametrize("step", ["_load", "_follow_with"])
def test_the_thread_does_not_end_while_its_clients_cannot_be_created(
    step: str, error: Exception, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, broker, failed = list[str](), list[str](), list[Exception]()
    events = ReaderEvents(lambda read: None, calls.append, failed.append, broker.append, lambda topic, reason: None)
    one = Reader(LogClients.alike({"bootstrap.servers": "x"}), [], events)
    monkeypatch.setattr(reader, "_RETRY_DELAY", 0.0)
    monkeypatch.setattr(one, "_prepare", lambda: "loaded")

    def stand_in(name: str) -> None:
        calls.append(name)
        if calls.count(step) == 1 and name == step:
            raise error
        if name == "_follow_with":
            one._closing.set()

    monkeypatch.setattr(one, "_load", lambda: stand_in("_load"))
    monkeypatch.setattr(one, "_follow_with", lambda used: stand_in("_follow_with"))
    one._run()
    steps = ["_load", "loaded", "_follow_with"]
    steps.insert(steps.index(step), step)
    assert (calls, broker, failed) == (steps, [trouble], [])
