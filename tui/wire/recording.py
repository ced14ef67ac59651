"""Recordings of sessions: requests and responses as JSONL, written by `--record` and shown by `--replay`.

    {"headrace": 1, "url": "http://…", "time": "2026-…"}                       the first line
    {"at": 0.2, "method": "GET", "path": "/…", "answer": …}                     seconds since the start
    {"at": 4.1, "method": "PUT", "path": "/…", "error": "Conflict", "status": 409, "message": "…"}
    {"at": 0.3, "stream": "/events", "line": "data: …"}

Secrets are hidden before a line is written, and headers are never recorded. Of configs, these are the values of type
PASSWORD, all values of plugins whose definitions the worker does not give, and all of a config without a connector
class.
"""

from __future__ import annotations

import json
import os
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tui import errors
from tui.client.calls import ApiCall, Transport
from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.errors import HeadraceError, NotFound, Refused, UsageError
from tui.scrubbing import scrubbed, without_user
from tui.wire.wrapper import TransportWrapper

Clock = Callable[[], float]


class RecordingTransport(TransportWrapper):
    """A transport that records requests and responses. Raises HeadraceError if the file cannot be created."""

    def __init__(self, inner: Transport, path: str, clock: Clock = time.monotonic) -> None:
        super().__init__(inner)
        self._password_keys = PasswordKeys(Connect(inner).plugin_config)
        self._clock, self._started_at = clock, clock()
        try:
            number = os.open(Path(path).expanduser(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise HeadraceError(f"cannot record to {path}: {error.strerror}") from error
        self._file = os.fdopen(number, "w", encoding="utf-8", errors="surrogateescape", buffering=1)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write({"headrace": 1, "url": without_user(self.url), "time": now})

    async def send(self, call: ApiCall) -> Any:
        try:
            response = await self.inner.send(call)
        except HeadraceError as error:
            failure = {"error": type(error).__name__, "message": error.message, "advice": error.advice}
            status = {"status": error.status} if isinstance(error, Refused) else {}
            self._note({**await self._asked(call), **failure, **status})
            raise
        self._note({**await self._asked(call), "answer": await self._scrubbed(response, _part(call))})
        return response

    async def _asked(self, call: ApiCall) -> dict[str, Any]:
        body = {} if call.body is None else {"body": await self._scrubbed(call.body, _part(call))}
        return {"method": call.method, "path": call.path, **body}

    async def _scrubbed(self, value: Any, part: str = "") -> Any:
        """The value without secrets; `part` is the key under which another value would contain it."""
        with suppress(HeadraceError):  # values of the plugins whose definitions are missing are hidden
            await self._password_keys.of(*_configs(value))
        return self._without_secrets(value, part)

    def _without_secrets(self, value: Any, part: str = "") -> Any:
        return scrubbed(self._without_passwords(value, part))

    def _without_passwords(self, value: Any, key: str = "") -> Any:
        """The value with its configs scrubbed, by the definitions that have been read."""
        if isinstance(value, list):
            return [self._without_passwords(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        if _is_config(value, key):
            return scrubbed(value, passwords=self._password_keys.hidden(value))
        definition = value.get("definition")
        if isinstance(definition, Mapping) and definition.get("type") == "PASSWORD":  # of a response to a validation
            return {**value, "value": scrubbed(value.get("value"), passwords=("value",))}
        return {name: self._without_passwords(item, str(name)) for name, item in value.items()}

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        async for line in self.inner.lines(path, last_id, lasting):
            self._note({"stream": path, "line": self._scrubbed_line(line)})
            yield line

    def _scrubbed_line(self, line: str) -> str:
        field, colon, data = line.partition(":")
        if field != "data" or not colon:
            return line
        try:
            return "data: " + json.dumps(self._without_secrets(json.loads(data)))
        except ValueError:
            return line

    def _note(self, entry: dict[str, Any]) -> None:
        self._write({"at": round(self._clock() - self._started_at, 3), **entry})

    def _write(self, entry: dict[str, Any]) -> None:
        """Writes a line. An error, such as a full disk, ends the recording and not the session."""
        try:
            self._file.write(json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n")
        except (OSError, ValueError):
            return

    async def close(self) -> None:
        self._file.close()
        await super().close()


def _part(call: ApiCall) -> str:
    """The last part of the path: `config` for requests whose body or response is a config."""
    return call.path.partition("?")[0].removesuffix("/validate").rpartition("/")[2]


def _is_config(value: Mapping[str, Any], key: str) -> bool:
    """Whether the value is a config, given the key that contains it: it names a connector class, or is flat as those
    of tasks and the body of a PATCH."""
    if isinstance(value.get("connector.class"), str):
        return True
    return key == "config" and not any(isinstance(part, Mapping | list) for part in value.values())


def _configs(value: Any) -> Iterator[Mapping[str, str]]:
    """The configs in the value that name a connector class."""
    if isinstance(value, Mapping):
        if isinstance(value.get("connector.class"), str):
            yield value
        else:
            for part in value.values():
                yield from _configs(part)
    elif isinstance(value, list):
        for part in value:
            yield from _configs(part)


class ReplayTransport:
    """A transport that replays a recording at its recorded pace. After the end it repeats the last responses."""

    def __init__(self, path: str, clock: Clock = time.monotonic) -> None:
        self.url, entries = _read(path)
        self._clock, self._started_at = clock, clock()
        self._responses: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        self._lines: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for entry in entries:
            if "stream" in entry:
                self._lines[entry["stream"]].append((entry["at"], entry["line"]))
            else:
                self._responses[entry["method"], entry["path"]].append(entry)

    @property
    def _elapsed(self) -> float:
        return self._clock() - self._started_at

    async def send(self, call: ApiCall) -> Any:
        responses = self._responses.get((call.method, call.path))
        if not responses:
            raise NotFound(f"{call.method} {call.path} is not in the recording", 404)
        sent = bisect_right(responses, self._elapsed, key=lambda entry: entry["at"])
        entry = responses[max(sent - 1, 0)]
        if "error" in entry:
            raise _error(entry)
        return entry["answer"]

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        import asyncio

        if path not in self._lines:
            raise NotFound("no event stream", 404)
        for at, line in self._lines[path]:
            if at > self._elapsed:
                await asyncio.sleep(at - self._elapsed)
            yield line
        while True:  # the end of the recording is not a lost connection, so the stream stays open
            await asyncio.sleep(10.0)
            yield ":"

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    async def close(self) -> None:
        self._responses.clear()


def _error(entry: dict[str, Any]) -> HeadraceError:
    kind, message, advice = getattr(errors, entry["error"], None), entry["message"], entry.get("advice", "")
    if not isinstance(kind, type) or not issubclass(kind, HeadraceError):
        return HeadraceError(message, advice)
    if issubclass(kind, Refused):
        return kind(message, int(entry.get("status", 500)), advice)
    return kind(message, advice)


def recorded_url(path: str) -> str:
    """The URL of the recorded cluster. Raises UsageError if the file is not a recording."""
    return _read(path)[0]


def _read(path: str) -> tuple[str, list[dict[str, Any]]]:
    try:
        lines = Path(path).expanduser().read_text("utf-8", "surrogateescape").rstrip("\n").split("\n")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    head, *entries = _decoded(lines)
    if not isinstance(head, dict) or head.get("headrace") != 1:
        raise UsageError(f"{path} is not a recording", "create one with: headrace --record FILE")
    return str(head["url"]), entries


def _decoded(lines: list[str]) -> list[Any]:
    """The lines up to the first damaged one: a console killed while writing leaves an incomplete last line."""
    entries: list[Any] = []
    for line in lines:
        try:
            entries.append(json.loads(line))
        except ValueError:
            break
    return entries or [None]
