"""An operation of a sequence: a request, or records for a file or a topic."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

ID, FOLDER = "<id>", "<dir>"
"""Placeholders in paths and bodies: the prefix of the names of one side, and its folder."""

READING = ("GET", "HEAD", "OPTIONS")
"""Methods of requests that may be repeated."""


@dataclass(frozen=True, slots=True)
class Operation:
    """`method`: of HTTP, or APPEND (a line to the file `path`) or PRODUCE (a message to `path`: TOPIC-PARTITION)."""

    label: str
    method: str
    path: str
    body: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    hasty: bool = False
    """The next operation follows at once: only the status code of the response is compared."""

    @property
    def reads(self) -> bool:
        return self.method in READING

    def __str__(self) -> str:
        headers = f" {dict(self.headers)}" if self.headers else ""
        body = "" if self.body is None else f" {self.body[:300]}"
        return f"{self.method} {self.path[:200]}{headers}{body}  # {self.label}{', hasty' if self.hasty else ''}"


def request(label: str, method: str, path: str, body: Any = None, **headers: str) -> Operation:
    """A request whose body is this value as JSON. A `_` in the name of a header stands for a hyphen."""
    raw = None if body is None else json.dumps(body, ensure_ascii=False)
    return Operation(label, method, path, raw, tuple((name.replace("_", "-"), text) for name, text in headers.items()))


def connector(name: str, rest: str = "") -> str:
    """The path of a connector, whose name begins with the placeholder."""
    return f"/connectors/{ID}-{quote(name, safe='')}{rest}"
