"""Requests to other workers: copies of a client's request, and this worker's own, with the signed caller.

Any principal with READ on `group.id` can be a member of the group, and advertise any address. Each copy is therefore
signed for one worker, and has no password of the user. Only in a group with Apache's workers, which know no other proof
of a user, `Authorization` is passed on as Connect does: to them, and with requests that the leader may have to pass on
to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote_plus

from starlette.requests import Request

from runtime.herder.errors import Unavailable
from runtime.herder.group.group import Group
from runtime.herder.group.leader import worker_id
from runtime.rest.forwarding.worker_clients import REQUEST_TIMEOUT, WorkerRequest
from runtime.rest.internal import ALGORITHM_HEADER, SIGNATURE_HEADER
from runtime.rest.security import callers
from runtime.rest.security.access import Role
from runtime.rest.security.audit import REQUEST_ID, SCOPE_ID
from runtime.rest.security.callers import Caller, SignedCallers

_PASSED_ON = (
    "Content-Type", "Accept", "Headrace-User", "Headrace-Reason", SIGNATURE_HEADER, ALGORITHM_HEADER,
)  # fmt: skip
"""Headers of requests that are passed on. `Origin` is not: the first worker has checked it."""

_UNCOMPRESSED = {"Accept-Encoding": "identity"}


class RequestCopies:
    """Builds requests to other workers."""

    def __init__(self, group: Group, signed: SignedCallers, mixed: bool = False) -> None:
        """`mixed`: the group may have workers of Apache (`headrace.mixed.group`)."""
        self._group, self._callers, self._mixed = group, signed, mixed

    def of(
        self, request: Request, body: bytes, forward: str, url: str, timeout: float = REQUEST_TIMEOUT,
        onward: bool = False,
    ) -> WorkerRequest:  # fmt: skip
        """A client's request for the worker at this URL, with its user and this value of `forward`. `onward`: that
        worker may pass it on. Unavailable if it would not know the user, because there is no session key yet."""
        target = _target(request, forward)
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers} | _UNCOMPRESSED
        if SCOPE_ID in request.scope:
            headers[REQUEST_ID] = request.scope[SCOPE_ID]
        caller, password = Caller.of(request.scope, self._group.worker_id), self._password(request)
        if onward or url not in {worker.url for worker in self._group.peers()}:
            headers |= password
        try:
            headers[callers.HEADER] = self._callers.sign(caller, worker_id(url), request.method, target, body)
        except Unavailable:
            if caller.user is not None and not password:
                raise
            headers |= password
        return WorkerRequest(request.method, target, headers, body, timeout)

    def own(
        self, method: str, target: str, url: str, timeout: float = REQUEST_TIMEOUT, body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> WorkerRequest:  # fmt: skip
        """This worker's own request for the worker at this URL, with the role of an administrator. Unavailable while
        there is no session key."""
        own = self._group.worker_id
        caller = Caller(own, f"worker {own}", Role.ADMIN)
        signed = self._callers.sign(caller, worker_id(url), method, target, body)
        return WorkerRequest(
            method, target, {callers.HEADER: signed, **_UNCOMPRESSED, **(headers or {})}, body, timeout
        )

    def _password(self, request: Request) -> dict[str, str]:
        """The user's password, where a worker of Apache may need it."""
        given = request.headers.get("Authorization")
        return {} if given is None or not self._mixed else {"Authorization": given}


def _target(request: Request, forward: str) -> str:
    """Path and query as sent, with this value of `forward`."""
    query: str = request.scope["query_string"].decode("ascii", "replace")
    kept = [part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) != "forward"]
    return f"{request.scope['path']}?{'&'.join([*kept, f'forward={forward}'])}"
