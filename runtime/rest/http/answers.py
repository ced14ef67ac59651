"""Answers as Connect writes them: compact JSON, and errors as `{"error_code","message"}`."""

from __future__ import annotations

import json
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

JSON = "application/json"


class RouterError(Exception):
    """Refused before any handler: unknown path, wrong method, unacceptable media type.

    Connect answers these without a Content-Type (FACTS 1).
    """

    PHRASES = {  # noqa: RUF012 - constant
        404: "Not Found",
        405: "Method Not Allowed",
        406: "Not Acceptable",
        408: "Request Timeout",
        413: "Request Entity Too Large",
        415: "Unsupported Media Type",
    }

    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"HTTP {status} {self.PHRASES[status]}")
        self.status, self.headers = status, headers


def json_answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A body as compact JSON."""
    return Response(dumps(body), status, headers, media_type=JSON)


def dumps(body: Any) -> bytes:
    """Compact JSON; stored values beyond 64 bits and half surrogate pairs are kept."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, separators=(",", ":")).encode()


def empty(status: int) -> Response:
    """202 and 204 come without body and type."""
    return Response(status_code=status)


def error(status: int, message: str) -> Response:
    """Connect's error body."""
    return json_answer({"error_code": status, "message": message}, status)


async def on_router_error(_: Request, e: Exception) -> Response:
    assert isinstance(e, RouterError)
    body = orjson.dumps({"error_code": e.status, "message": str(e)})
    return Response(body, e.status, e.headers)
