"""Requests to other workers: copies of a client's request, and this worker's own, with the signed caller."""

from __future__ import annotations

from urllib.parse import unquote_plus

from starlette.requests import Request

from runtime.herder.errors import Unavailable
from runtime.rest.forwarding.worker_clients import REQUEST_TIMEOUT, WorkerRequest
from runtime.rest.internal import ALGORITHM_HEADER, SIGNATURE_HEADER
from runtime.rest.security import callers
from runtime.rest.security.access import Role
from runtime.rest.security.audit import REQUEST_ID, SCOPE_ID
from runtime.rest.security.callers import Caller, SignedCallers

_PASSED_ON = (
    "Content-Type", "Accept", "Authorization", "Headrace-User", "Headrace-Reason", SIGNATURE_HEADER, ALGORITHM_HEADER,
)  # fmt: skip
"""Headers of requests that are passed on. `Origin` is not: the first worker has checked it."""

_UNCOMPRESSED = {"Accept-Encoding": "identity"}


class RequestCopies:
    """Builds requests to other workers."""

    def __init__(self, worker_id: str, signed: SignedCallers) -> None:
        self._worker_id, self._callers = worker_id, signed

    def of(self, request: Request, body: bytes, forward: str, timeout: float = REQUEST_TIMEOUT) -> WorkerRequest:
        """A client's request, with its user and this value of `forward`. Unavailable if the other worker would not know
        the user, because there is no session key yet."""
        target = _target(request, forward)
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers} | _UNCOMPRESSED
        if SCOPE_ID in request.scope:
            headers[REQUEST_ID] = request.scope[SCOPE_ID]
        caller = Caller.of(request.scope, self._worker_id)
        try:
            headers[callers.HEADER] = self._callers.sign(caller, request.method, target, body)
        except Unavailable:
            if caller.user is not None and "Authorization" not in headers:
                raise
        return WorkerRequest(request.method, target, headers, body, timeout)

    def own(self, method: str, target: str, timeout: float = REQUEST_TIMEOUT) -> WorkerRequest:
        """This worker's own request, with the role of an administrator. Unavailable while there is no session key."""
        caller = Caller(self._worker_id, f"worker {self._worker_id}", Role.ADMIN)
        headers = {callers.HEADER: self._callers.sign(caller, method, target, b""), **_UNCOMPRESSED}
        return WorkerRequest(method, target, headers, b"", timeout)


def _target(request: Request, forward: str) -> str:
    """Path and query as sent, with this value of `forward`."""
    query: str = request.scope["query_string"].decode("ascii", "replace")
    kept = [part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) != "forward"]
    return f"{request.scope['path']}?{'&'.join([*kept, f'forward={forward}'])}"
