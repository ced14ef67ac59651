"""The audit log: which requests have a line."""

from __future__ import annotations

import logging

import httpx
import pytest
from starlette.responses import Response

from runtime.rest.security.audit import Audit

AUDIT = "runtime.rest.security.audit"


@pytest.mark.parametrize(
    ("path", "status", "lines"),
    [
        ("/health", 503, 0),
        ("/health/live/", 503, 0),
        ("/health", 401, 1),
        ("/health", 200, 0),
        ("/connectors", 503, 1),
        ("/connectors", 200, 0),
    ],
)
async def test_probes_of_an_unhealthy_worker_leave_no_lines(
    path: str, status: int, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A probe without a password may ask a hundred times a second while the worker starts."""
    caplog.set_level(logging.INFO, AUDIT)
    transport = httpx.ASGITransport(Audit(Response(status_code=status)))
    async with httpx.AsyncClient(transport=transport, base_url="http://w") as client:
        await client.get(path)
    assert sum(record.name == AUDIT for record in caplog.records) == lines
