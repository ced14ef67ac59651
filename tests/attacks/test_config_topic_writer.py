"""Attacks by a Kafka user who had WRITE or READ on the config topic, and no longer has it: the session keys that it
wrote or read must end. While it has these rights it may do everything that ADMIN may do."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest

from runtime.config.session_keys import SessionKeySettings
from runtime.herder.errors import Forbidden
from runtime.herder.group.session_keys import PREVIOUS_KEY_TIME, SessionKeys
from runtime.rest.security.callers import Caller, SignedCallers
from runtime.storage.configs import ConfigStore
from tests.support.herder.memory_logs import TestLogs, topic

OWN = b64encode(b"0123456789abcdef0123456789abcdef").decode()


class Worker:
    """The leader, whose clock a test sets; `callers` are those of any worker with the same key."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.configs = ConfigStore(TestLogs(), topic("c"))
        self.keys = SessionKeys(self.configs, SessionKeySettings(), lambda: self.now)
        self.callers = SignedCallers(self.keys, "w:1", lambda: self.now)

    def signed(self) -> str:
        return self.callers.sign(Caller("w:9", "mallory"), "w:1", "PUT", "/connectors/c/config", b"")

    async def accepts(self, header: str) -> bool:
        try:
            await self.callers.verify(header, "PUT", "/connectors/c/config")
        except Forbidden:
            return False
        return True


async def test_a_forged_key_from_the_future_is_replaced() -> None:
    """It would otherwise never expire."""
    worker = Worker()
    for ahead, due in ((30.0, False), (3600.0, True), (1e12, True)):
        created = int((worker.now + ahead) * 1000)
        forged = {"key": OWN, "algorithm": "HmacSHA256", "creation-timestamp": created}
        await worker.configs.put_session_key(forged)
        assert worker.keys.due is due


async def test_requests_signed_with_a_forged_key_end_with_it() -> None:
    worker = Worker()
    await worker.configs.put_session_key({
        "key": OWN, "algorithm": "HmacSHA256", "creation-timestamp": int((worker.now + 1e6) * 1000),
    })  # fmt: skip
    used, unused, late = worker.signed(), worker.signed(), worker.signed()
    assert await worker.accepts(used)
    assert worker.keys.due
    await worker.keys.rotate()
    assert not await worker.accepts(used), "used before the rotation"
    assert await worker.accepts(unused), "under way while the key was replaced"
    worker.now += PREVIOUS_KEY_TIME + 1
    assert not await worker.accepts(late)


@pytest.mark.parametrize(
    "record",
    [
        {"key": "", "algorithm": "HmacSHA256", "creation-timestamp": 1},
        {"key": OWN, "algorithm": "HmacSHA256", "creation-timestamp": 10**400},
        {"key": OWN, "algorithm": "HmacSHA256", "creation-timestamp": None},
        {"key": "\u2603", "algorithm": "HmacSHA256", "creation-timestamp": 1},
        {"key": [], "algorithm": {}, "creation-timestamp": 1},
        {},
    ],
)
async def test_a_malformed_key_replaces_no_key_and_ends_no_worker(record: Mapping[str, Any]) -> None:
    """Nobody could sign with an empty key, or everybody could."""
    worker = Worker()
    await worker.keys.rotate()
    signed = worker.signed()
    await worker.configs.put_session_key(record)
    assert await worker.accepts(signed)
