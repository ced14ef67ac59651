"""Session keys: Connect's record, rotation, and the signatures that each worker accepts."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable

import pytest

from runtime.api.errors import ConfigError
from runtime.config.session_keys import SessionKeySettings
from runtime.config.worker_config import distributed
from runtime.herder.errors import Forbidden, Unavailable
from runtime.herder.group.session_keys import CHECK_INTERVAL, PREVIOUS_KEY_TIME, SessionKeys
from runtime.kafka.log.log import Awaited
from runtime.storage.configs import ConfigStore
from tests.support.herder.herder_rig import WORKER
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.waiting import until


class Worker:
    """One worker's keys, with a clock of its own."""

    def __init__(self, settings: SessionKeySettings | None = None, every: float = CHECK_INTERVAL) -> None:
        self.logs, self.now = TestLogs(), 1_000.0
        self.configs = ConfigStore(self.logs, topic("c"))
        self.keys = SessionKeys(self.configs, settings or SessionKeySettings(), lambda: self.now, every)

    async def rotated(self) -> bytes:
        """Writes a new key, and returns it as stored."""
        await self.keys.rotate()
        assert self.configs.session_key is not None
        return b64decode(self.configs.session_key["key"])

    async def accepts(self, content: bytes, key: bytes) -> bool:
        signature = b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
        try:
            await self.keys.verify(content, signature, "HmacSHA256")
        except Forbidden:
            return False
        return True


async def test_the_record_is_that_of_connect() -> None:
    worker = Worker()
    await worker.keys.rotate()
    ((key, value),) = worker.logs.by_topic["c"].written
    assert key == b"session-key"
    assert value is not None
    found = json.loads(value)
    assert list(found) == ["key", "algorithm", "creation-timestamp"]
    assert (len(b64decode(found["key"])), found["algorithm"], found["creation-timestamp"]) == (
        32,
        "HmacSHA256",
        1_000_000,
    )


async def test_signatures_are_those_of_connect() -> None:
    worker = Worker()
    with pytest.raises(Unavailable, match="the leader has not written a session key"):
        worker.keys.sign(b"[]")
    key = await worker.rotated()
    signature = worker.keys.sign(b"[]")
    assert signature.algorithm == "HmacSHA256"
    assert b64decode(signature.text) == hmac.digest(key, b"[]", "sha256")
    await worker.keys.verify(b"[]", signature.text, signature.algorithm)
    with pytest.raises(Forbidden):
        await worker.keys.verify(b"[ ]", signature.text, signature.algorithm)


async def test_a_replaced_key_is_valid_for_a_short_time() -> None:
    worker = Worker()
    first, second = await worker.rotated(), await worker.rotated()
    worker.now += PREVIOUS_KEY_TIME - 1
    assert (await worker.accepts(b"x", first), await worker.accepts(b"x", second)) == (True, True)
    worker.now += 1
    assert (await worker.accepts(b"x", first), await worker.accepts(b"x", second)) == (False, True)


async def test_the_leader_replaces_keys_that_expired_or_do_not_match_its_settings() -> None:
    worker = Worker(SessionKeySettings(ttl=60))
    assert worker.keys.due
    await worker.keys.rotate()
    assert not worker.keys.due
    worker.now += 60
    assert worker.keys.due
    await worker.keys.rotate()
    record = worker.configs.session_key
    assert record is not None
    for other in (SessionKeySettings(size=64), SessionKeySettings(algorithm="HmacSHA1"), SessionKeySettings(ttl=0)):
        changed = Worker(other)
        await changed.configs.put_session_key(record)
        changed.now += 1_000_000
        assert changed.keys.due == (other.ttl > 0)


async def _until_a_key_is_written(worker: Worker, leads: Callable[[], bool]) -> None:
    worker.keys.start(leads)
    try:
        await until(lambda: worker.configs.session_key is not None)
    finally:
        worker.keys.close()


async def test_only_the_leader_writes_keys() -> None:
    worker, asked = Worker(), 0

    def leads() -> bool:
        nonlocal asked
        asked += 1
        return asked == 3

    await _until_a_key_is_written(worker, leads)
    assert asked == 3


async def test_an_unexpected_error_does_not_end_the_writing_of_keys(caplog: pytest.LogCaptureFixture) -> None:
    worker, asked = Worker(every=0.01), 0

    def leads() -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise ValueError("unexpected")
        return True

    await _until_a_key_is_written(worker, leads)
    assert "Could not write a session key" in caplog.text


async def test_a_newer_key_in_the_topic_is_read_before_a_request_is_refused() -> None:
    sender, receiver = Worker(), Worker()
    await receiver.rotated()
    key = await sender.rotated()

    async def read_to_end(awaited: Awaited | None = None) -> None:
        assert sender.configs.session_key is not None
        await receiver.configs.put_session_key(sender.configs.session_key)

    receiver.logs.by_topic["c"].read_to_end = read_to_end  # type: ignore[method-assign]  # the topic of both workers
    assert await receiver.accepts(b"x", key)


async def test_a_worker_that_reads_an_old_key_and_its_successor_accepts_only_the_successor() -> None:
    leader, started = Worker(), Worker()
    old = await leader.rotated()
    records = [leader.configs.session_key]
    leader.now += 60
    new = await leader.rotated()
    records.append(leader.configs.session_key)
    started.now = leader.now + PREVIOUS_KEY_TIME
    for record in records:
        assert record is not None
        await started.configs.put_session_key(record)
    assert (await started.accepts(b"x", old), await started.accepts(b"x", new)) == (False, True)


async def test_bad_signatures_cause_at_most_one_read_a_second() -> None:
    worker, reads = Worker(), 0
    await worker.rotated()

    async def read_to_end(awaited: Awaited | None = None) -> None:
        nonlocal reads
        reads += 1

    worker.logs.by_topic["c"].read_to_end = read_to_end  # type: ignore[method-assign]  # counts the reads
    for _ in range(3):
        assert not await worker.accepts(b"x", b"wrong")
    assert reads == 1
    worker.now += 1
    assert not await worker.accepts(b"x", b"wrong")
    assert reads == 2
    worker.now -= 3600  # the clock is set back
    assert not await worker.accepts(b"x", b"wrong")
    assert reads == 3


async def test_keys_do_not_appear_in_logs(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker()
    with caplog.at_level(logging.DEBUG):
        key = await worker.rotated()
        await worker.accepts(b"x", b"wrong")
    assert "session key" in caplog.text
    shown = f"{caplog.text}{worker.keys._key!r}"
    assert b64encode(key).decode() not in shown
    assert repr(key)[2:-1] not in shown


async def test_a_malformed_key_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker()
    key = await worker.rotated()
    for record in ({"key": 1}, {"key": "?", "algorithm": "HmacSHA256", "creation-timestamp": 1}):
        await worker.configs.put_session_key(record)
    assert await worker.accepts(b"x", key)
    assert caplog.text.count("malformed session key") == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, SessionKeySettings()),
        ({"inter.worker.key.ttl.ms": "60000", "inter.worker.key.size": "100"}, SessionKeySettings(size=13, ttl=60.0)),
        (
            {"inter.worker.key.generation.algorithm": "HmacSHA1"},
            SessionKeySettings(algorithm="HmacSHA1", size=64),
        ),
        (
            {
                "inter.worker.signature.algorithm": "HmacSHA512",
                "inter.worker.verification.algorithms": "HmacSHA256,HmacSHA512",
            },
            SessionKeySettings(signature="HmacSHA512", verification=("HmacSHA256", "HmacSHA512")),
        ),
    ],
)
def test_the_worker_properties(given: dict[str, str], expected: SessionKeySettings) -> None:
    assert distributed({**WORKER, **given}).session_keys == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("inter.worker.key.generation.algorithm", "AES"),
        ("inter.worker.signature.algorithm", "HmacSHA512"),
        ("inter.worker.verification.algorithms", ""),
        ("inter.worker.verification.algorithms", "HmacSHA256,Foo"),
        ("inter.worker.key.size", "8"),
        ("inter.worker.key.ttl.ms", "-1"),
    ],
)
def test_invalid_worker_properties_are_named(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        distributed({**WORKER, key: value})
