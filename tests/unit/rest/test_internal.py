"""Requests that only Apache's workers make are refused as they refuse each other's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.routing import Route

from runtime.rest import internal
from runtime.rest.app import application
from runtime.rest.resource import Resource


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = application([
        Route("/connectors/{name}/tasks", Resource(post=internal.task_configs)),
        Route("/connectors/{name}/fence", Resource(put=internal.fence)),
    ])  # fmt: skip
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://worker") as client:
        yield client


@pytest.mark.parametrize(
    ("signature", "algorithm", "status", "message"),
    [
        (None, None, 400, "Internal request missing required signature"),
        ("eA==", None, 400, "Internal request missing required signature"),
        ("eA==", "Foo", 400, "Algorithm Foo not available"),
        ("eA==", "HmacSHA1", 400, "This worker does not support the 'HmacSHA1' key signing algorithm"),
        ("eA==", "HmacSHA256", 403, "Internal request contained invalid signature."),
    ],
)
async def test_nothing_gets_in(
    client: httpx.AsyncClient, signature: str | None, algorithm: str | None, status: int, message: str
) -> None:
    given = {internal.SIGNATURE: signature, internal.ALGORITHM: algorithm}
    headers = {name: value for name, value in given.items() if value is not None}
    for answer in (
        await client.put("/connectors/c/fence", headers=headers),
        await client.post("/connectors/c/tasks", headers=headers, json=[{"a": "b"}]),
    ):
        assert answer.status_code == status and answer.json()["message"].startswith(message)
