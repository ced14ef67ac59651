"""Responses in Connect's format: compact JSON, and errors as `{"error_code","message"}`."""

from __future__ import annotations

import json
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

JSON = "application/json"


class RouterError(Exception):
    """A request refused before any handler runs: unknown path, wrong method, unacceptable media type.

    Connect answers these without a Content-Type (FACTS.md, 1).
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


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(dumps(body), status, headers, media_type=JSON)


def dumps(body: Any) -> bytes:
    """Compact JSON. Supports integers beyond 64 bits and unpaired surrogates, which orjson refuses."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, separators=(",", ":")).encode()


def empty(status: int) -> Response:
    """A response without body and type (202, 204)."""
    return Response(status_code=status)


def error(status: int, message: str) -> Response:
    """An error in Connect's format."""
    return json_response({"error_code": status, "message": message}, status)


async def on_router_error(_: Request, e: Exception) -> Response:
    assert isinstance(e, RouterError)
    body = orjson.dumps({"error_code": e.status, "message": str(e)})
    return Response(body, e.status, e.headers)
