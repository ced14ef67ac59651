"""Requests to the Connect REST API as plain data, and the transports that send them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote

from tui.formatting import one_line

T = TypeVar("T")
Json = Any


class ApiCall(NamedTuple):
    """One request: plain data, so that it can be logged, shown as curl, and refused by a policy."""

    method: str
    path: str  # quoted, with its query
    body: Json = None
    headers: tuple[tuple[str, str], ...] = ()  # in addition to those of every request

    @property
    def repeatable(self) -> bool:
        """Whether the request is idempotent, so that it may be sent again if its response is lost."""
        return self.method != "POST"

    @property
    def is_text(self) -> bool:
        """Whether the response is plain text instead of JSON."""
        return self.path == "/metrics"

    @property
    def config(self) -> dict[str, Json]:
        """The config that the request sends, of a PATCH the changed keys; empty if it sends none."""
        path = self.path.partition("?")[0]
        if not isinstance(self.body, dict):
            return {}
        if path.endswith(("/config", "/config/validate")):
            return self.body
        config = self.body.get("config")
        return config if isinstance(config, dict) else self.body if path == "/connectors" else {}

    @property
    def connector(self) -> str:
        """The connector that the request concerns; empty if it concerns another thing."""
        parts = self.path.partition("?")[0].split("/")
        if len(parts) > 2 and parts[1] == "connectors":
            return unquote(parts[2])
        return str(self.body.get("name", "")) if isinstance(self.body, dict) else ""

    @property
    def changes(self) -> bool:
        return self.method != "GET" and not self.path.endswith(("/config/validate", "/offsets/resolve", "/preview"))


class RequestOrigin(NamedTuple):
    """The user and the reason of a change of offsets. Headrace workers store both in the history."""

    who: str = ""
    why: str = ""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        given = (("Headrace-User", self.who), ("Headrace-Reason", self.why))
        return tuple((name, _header(text)) for name, text in given if text)


def _header(text: str) -> str:
    """The text on one line, with each byte of its UTF-8 form as one character, as headers require."""
    return one_line(text).encode("utf-8", "replace").decode("latin-1")


NO_ORIGIN = RequestOrigin()


class Transport(Protocol):
    """Sends one call and returns the decoded body (None when empty); raises the errors of `tui.errors`."""

    @property
    def url(self) -> str: ...

    async def send(self, call: ApiCall) -> Json: ...

    def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]: ...

    async def sleep(self, seconds: float) -> None: ...

    async def close(self) -> None: ...


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that only awaits a blocking transport."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # a generator's result is not typed
    coroutine.close()
    raise RuntimeError("a command suspended without an event loop: it awaited something outside its context")
