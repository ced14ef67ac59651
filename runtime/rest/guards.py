"""Wrappers of handlers: when a request is carried out, and by which worker of the group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.errors import NOT_HERE, Conflict, Unavailable
from runtime.herder.group.assignor import Unit
from runtime.kafka.group.protocol import CONNECTOR
from runtime.rest.forwarding.forwarding import Forwarding
from runtime.rest.http.parameters import parameter, path_name, task_number
from runtime.rest.offsets import origin
from runtime.rest.resource import Handler
from runtime.storage.config_history import REQUEST_ORIGIN


class Health(Protocol):
    """State of the worker, shown by GET / and GET /health."""

    @property
    def ready(self) -> bool:
        """Whether the storage topics have been read and requests can be served."""

    @property
    def trouble(self) -> str | None:
        """The reason why the worker is not ready or not healthy; None if the worker is ready and healthy."""

    @property
    def tasks_trouble(self) -> str:
        """The reason why the worker cannot run tasks; empty if it can."""

    @property
    def stage(self) -> str:
        """A sentence about the start of a worker that is not ready; empty if there is none."""

    @property
    def root(self) -> dict[str, str | None]:
        """Version, commit and cluster id."""


def starting(health: Health) -> str:
    """The message of a worker that is not ready."""
    sentence = f"Worker is still starting up. {health.stage}".rstrip()
    return with_cause(sentence, health.trouble or "reading its storage topics")


def with_cause(sentence: str, cause: str) -> str:
    """Connect's sentence, which its clients look for, and the cause. A property at its start keeps its name."""
    named = "=" in cause.partition(" ")[0]
    return f"{sentence} {cause if named else cause[0].upper() + cause[1:]}"


class Guards:
    """Handlers wrapped in `ready` answer 503 until the stores have been read; those wrapped in `leader` also run at the
    leader, and those in `owner` where the connector or task runs."""

    def __init__(self, health: Health, forwarding: Forwarding, check_exists: Callable[[Unit], object]) -> None:
        """`check_exists` raises NotFound for an unknown connector or task."""
        self._health, self._forwarding, self._check_exists = health, forwarding, check_exists

    def ready(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            if not self._health.ready:
                if parameter(request, "forward"):  # from a worker that does not know yet that this one starts or ends
                    raise Conflict(NOT_HERE)
                raise Unavailable(starting(self._health))
            return await handler(request)

        return guarded

    def leader(self, handler: Handler) -> Handler:
        async def at_leader(request: Request) -> Response:
            REQUEST_ORIGIN.set(origin(request))
            return await self._forwarding.at_leader(request, handler)

        return self.ready(at_leader)

    def owner(self, handler: Handler) -> Handler:
        async def at_owner(request: Request) -> Response:
            return await self._forwarding.at_owner(request, _unit(request), self._check_exists, handler)

        return self.ready(at_owner)


def _unit(request: Request) -> Unit:
    """The connector or task in the path."""
    return Unit(path_name(request), task_number(request) if "task" in request.path_params else CONNECTOR)
