"""Requests between workers: signed with the stored session key, or refused as in Connect."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from runtime.config.session_keys import SessionKeySettings
from runtime.herder.group.session_keys import SessionKeys
from runtime.herder.internal_requests import InternalRequests
from runtime.model.states import State, TargetState
from runtime.rest.app import application
from runtime.rest.internal import ALGORITHM_HEADER, SIGNATURE_HEADER, InternalHandlers
from runtime.rest.resource import Resource
from runtime.storage.configs import ConfigStore
from tests.support.herder.herder_rig import HerderRig

KEY, NEW_KEY = b"0123456789abcdef", b"fedcba9876543210"
TASKS = [{"task.class": "T", "n": "7"}]


@dataclass
class Worker:
    """A worker that serves only internal requests."""

    rig: HerderRig
    client: httpx.AsyncClient

    @property
    def configs(self) -> ConfigStore:
        return self.rig.configs

    async def store_key(self, key: bytes) -> None:
        """Writes a key as the leader of Apache's workers does."""
        now = int(time.time() * 1000)
        record = {"key": b64encode(key).decode(), "algorithm": "HmacSHA256", "creation-timestamp": now}
        await self.rig.logs.by_topic["c"].write_all([(b"session-key", json.dumps(record).encode())])

    async def post(self, name: str, tasks: Any, key: bytes = KEY) -> httpx.Response:
        return await self.client.post(f"/connectors/{name}/tasks", **_signed(json.dumps(tasks).encode(), key))

    async def fence(self, name: str, key: bytes = KEY) -> httpx.Response:
        return await self.client.put(f"/connectors/{name}/fence", **_signed(b"", key))


def _signed(body: bytes, key: bytes) -> dict[str, Any]:
    signature = b64encode(hmac.digest(key, body, hashlib.sha256)).decode()
    headers = {SIGNATURE_HEADER: signature, ALGORITHM_HEADER: "HmacSHA256", "Content-Type": "application/json"}
    return {"content": body, "headers": headers}


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    rig = HerderRig()
    handlers = InternalHandlers(
        InternalRequests(rig.herder, rig.configs, rig.connectors, rig.fencing),
        SessionKeys(rig.configs, SessionKeySettings()),
        mixed=True,
    )
    app = application([
        Route("/connectors/{name}/tasks", Resource(post=handlers.signed(handlers.task_configs))),
        Route("/connectors/{name}/fence", Resource(put=handlers.signed(handlers.fence))),
    ])  # fmt: skip
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker") as client:
        yield Worker(rig, client)
    await rig.close()


@pytest.mark.parametrize("has_key", [False, True])
@pytest.mark.parametrize(
    ("signature", "algorithm", "status", "message"),
    [
        (None, None, 400, "Internal request missing required signature"),
        ("eA==", None, 400, "Internal request missing required signature"),
        ("eA==", "Foo", 400, "Algorithm Foo not available"),
        ("eA==", "HmacSHA1", 400, "This worker does not support the 'HmacSHA1' key signing algorithm"),
        ("eA==", "HmacSHA256", 403, "Internal request contained invalid signature."),
        ("?", "HmacSHA256", 400, "The signature is not base64"),
    ],
)
async def test_requests_without_a_valid_signature_are_refused(
    worker: Worker, has_key: bool, signature: str | None, algorithm: str | None, status: int, message: str
) -> None:
    if has_key:
        await worker.store_key(KEY)
    given = {SIGNATURE_HEADER: signature, ALGORITHM_HEADER: algorithm}
    headers = {name: value for name, value in given.items() if value is not None}
    for answer in (
        await worker.client.put("/connectors/c/fence", headers=headers),
        await worker.client.post("/connectors/c/tasks", headers=headers, json=[{"a": "b"}]),
    ):
        assert answer.status_code == status
        assert answer.json()["message"].startswith(message)


async def test_signed_task_configs_are_stored_and_run(worker: Worker) -> None:
    await worker.store_key(KEY)
    await worker.rig.create("a")
    await worker.rig.until(lambda: worker.rig.tasks("a") == {0: State.RUNNING})
    answer = await worker.post("a", TASKS)
    assert (answer.status_code, answer.content) == (204, b"")
    stored = worker.configs.connector("a")
    assert stored is not None
    assert list(stored.tasks) == TASKS
    await worker.rig.until(lambda: [spec.config for spec in worker.rig.engine.running.values()] == TASKS)


async def test_the_stored_key_and_the_one_before_are_valid(worker: Worker) -> None:
    await worker.rig.create("a")
    assert (await worker.post("a", TASKS)).status_code == 403, "no key is stored yet"
    for key in (b"oldest", KEY, NEW_KEY):
        await worker.store_key(key)
    assert [(await worker.post("a", TASKS, key)).status_code for key in (b"oldest", KEY, NEW_KEY)] == [403, 204, 204]


async def test_task_configs_do_not_wait_long_for_another_request(worker: Worker) -> None:
    """The other request may be waiting for the connector to settle on the worker that sends the task configs."""
    await worker.store_key(KEY)
    await worker.rig.create("a")
    async with worker.rig.herder.exclusive("a"):
        answer = await worker.post("a", TASKS)
    assert (answer.status_code, "is in progress" in answer.json()["message"]) == (409, True)


async def test_the_signature_covers_the_body(worker: Worker) -> None:
    await worker.store_key(KEY)
    await worker.rig.create("a")
    other = _signed(json.dumps(TASKS).encode(), KEY)
    answer = await worker.client.post("/connectors/a/tasks", content=b"[]", headers=other["headers"])
    assert answer.status_code == 403


async def test_connectors_without_task_configs(worker: Worker) -> None:
    await worker.store_key(KEY)
    for answer in (await worker.post("nope", TASKS), await worker.fence("nope")):
        assert (answer.status_code, answer.json()["message"]) == (404, "Connector nope not found")
    await worker.rig.create("s", TargetState.STOPPED)
    assert (await worker.post("s", TASKS)).status_code == 400
    assert (await worker.post("s", [])).status_code == 204


async def test_signed_requests_for_fencing_are_carried_out_once(worker: Worker) -> None:
    await worker.store_key(KEY)
    await worker.rig.create("sink", connector_class="Sink", topics="t")
    refused = await worker.fence("sink")
    assert (refused.status_code, refused.json()["message"]) == (400, "Connector sink is not a source connector")
    await worker.rig.create("a", tasks_max="2")
    await worker.rig.until(lambda: len(worker.rig.tasks("a")) == 2)
    assert (await worker.fence("a", NEW_KEY)).status_code == 403
    assert [(await worker.fence("a")).status_code for _ in range(2)] == [204, 204]
    assert worker.configs.fencing_counts == {"a": 2}
    assert [key for key, _ in worker.rig.logs.by_topic["c"].written].count(b"tasks-fencing-a") == 1
