"""GET /health: Connect's sentences, and the cause."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from runtime.herder.monitoring.metrics import INTERNAL_TOPICS
from runtime.rest.monitoring import WorkerHandlers
from tests.support.never_called import NEVER_CALLED


@pytest.mark.parametrize(
    ("ready", "stage", "trouble", "status", "state", "message"),
    [
        (False, "", None, 503, "starting", "Worker is still starting up. Reading its storage topics"),
        (False, "", "waiting for the group g", 503, "starting", "Worker is still starting up. Waiting for the group g"),
        (
            False, INTERNAL_TOPICS, "waiting for Kafka at b:9092", 503, "starting",
            "Worker is still starting up. The worker is currently initializing and reading to the end of internal "
            "topics. Waiting for Kafka at b:9092",
        ),
        (
            True, "", "no connection to b:9092", 500, "unhealthy",
            "Worker was unable to handle this request and may be unable to handle other requests. No connection to "
            "b:9092",
        ),
        (True, "", None, 200, "healthy", "Worker has completed startup and is ready to handle requests."),
    ],
)  # fmt: skip
async def test_health(ready: bool, stage: str, trouble: str | None, status: int, state: str, message: str) -> None:
    health: Any = SimpleNamespace(ready=ready, stage=stage, trouble=trouble, tasks_trouble="")
    response = await WorkerHandlers(health, NEVER_CALLED).health(NEVER_CALLED)
    assert (response.status_code, orjson.loads(response.body)) == (status, {"status": state, "message": message})


async def test_a_worker_that_cannot_run_tasks_is_unhealthy() -> None:
    health: Any = SimpleNamespace(ready=True, stage="", trouble=None, tasks_trouble="Spark has not started: no Java")
    response = await WorkerHandlers(health, NEVER_CALLED).health(NEVER_CALLED)
    message = "Worker is ready to handle requests, but cannot run tasks. Spark has not started: no Java"
    assert (response.status_code, orjson.loads(response.body)) == (500, {"status": "unhealthy", "message": message})
