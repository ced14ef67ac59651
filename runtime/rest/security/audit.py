"""The audit log: user, request and status of each request, with an id that is also in the response."""

from __future__ import annotations

import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.logs.formats import FIELDS
from runtime.rest.http.protocol import HEALTH_PATHS
from runtime.rest.security.access import PRINCIPAL, READ_ONLY
from runtime.rest.security.callers import WORKER

log = logging.getLogger(__name__)

REQUEST_ID = "X-Request-ID"

SCOPE_ID = "headrace.request"
"""Key of the request's id in its scope."""

_VALID_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)


class Audit:
    """Logs each answered request at INFO; at DEBUG successful reads, and probes that find the worker unhealthy."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _VALID_ID.fullmatch(given) else uuid.uuid4().hex[:16]
        scope[SCOPE_ID] = request_id
        started, status = time.monotonic(), 500

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
                _write(scope, request_id, status, time.monotonic() - started)
            await send(message)

        await self._app(scope, receive, respond)


def _write(scope: Scope, request_id: str, status: int, seconds: float) -> None:
    refused = 400 <= status < 500 if scope["path"].rstrip("/") in HEALTH_PATHS else status >= 400  # 503 is no refusal
    quiet = scope["method"] in READ_ONLY and not refused
    fields = {
        "request": request_id,
        "principal": _one_word(scope.get(PRINCIPAL, "-")),
        "client": (scope.get("client") or ("-", 0))[0],
        **({"forwarded_by": _one_word(scope[WORKER])} if WORKER in scope else {}),
        "method": scope["method"],
        "path": _one_word(scope["raw_path"].decode("ascii", "replace")),  # as sent
        "status": status,
        "ms": int(seconds * 1000),
    }
    line = " ".join(f"{name}={value}" for name, value in fields.items())
    log.log(logging.DEBUG if quiet else logging.INFO, "%s", line, extra={FIELDS: fields})


def _one_word(text: str) -> str:
    return re.sub(r"[^\x21-\x7e]", "?", text)
