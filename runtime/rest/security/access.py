"""Basic authentication, as in Apache's extension, and Headrace's own roles."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.herder.errors import Forbidden
from runtime.rest.http.responses import error

PRINCIPAL = "headrace.principal"
"""Key of the user's name in a request's scope; absent without authentication."""

ROLE = "headrace.role"
"""Key of the user's role in a request's scope; absent without authentication."""

ANY_USER = "*"
_INTERNAL = re.compile(rb"(POST /connectors/[^/]+/tasks|PUT /connectors/[^/]+/fence)/?")
"""Requests that only workers send. They have a signature and no password, as in Apache's extension; the resource
requires no role, and its handler verifies the signature."""

READ_ONLY = ("GET", "HEAD", "OPTIONS")


class Role(IntEnum):
    """The roles; each includes those before it."""

    NONE = 0
    READ = 1
    OPERATE = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Access:
    """Users with their passwords and roles. Without any roles, every user is an ADMIN."""

    passwords: Mapping[str, str]
    roles: Mapping[Role, frozenset[str]] = field(default_factory=dict)

    def authenticate(self, user: str, password: str) -> bool:
        """Whether the password is right; takes equally long for an unknown user and a wrong password."""
        known = self.passwords.get(user)
        given, expected = (sha256(text.encode()).digest() for text in (password, known or ""))  # of equal length
        return hmac.compare_digest(given, expected) and known is not None

    def role(self, user: str) -> Role:
        """The highest role of a user."""
        if not any(self.roles.values()):
            return Role.ADMIN
        return max((r for r, users in self.roles.items() if user in users or ANY_USER in users), default=Role.NONE)


def role_of(scope: Scope) -> Role:
    """The user's role. Without authentication every request has all roles."""
    return Role(scope.get(ROLE, Role.ADMIN))


def check_role(scope: Scope, required: Role) -> None:
    """Raises Forbidden if the user lacks the role."""
    if role_of(scope) < required:
        raise Forbidden(f"User {scope[PRINCIPAL]} lacks the role {required.name.lower()}, which this request needs")


class BasicAuth:
    """Admits authenticated users and puts name and role into the scope; the resource checks the role."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        user = self._user(Request(scope))
        if user is None and _needs_no_password(scope):
            scope.setdefault(PRINCIPAL, "-")
            scope.setdefault(ROLE, Role.NONE)
            await self._app(scope, receive, send)
            return
        if user is None:
            refusal = error(401, "User cannot access the resource.")
            refusal.headers["WWW-Authenticate"] = 'Basic realm="connect"'
            await refusal(scope, receive, send)
            return
        scope[PRINCIPAL], scope[ROLE] = user, self._access.role(user)
        try:
            check_role(scope, Role.READ)
        except Forbidden as e:
            await error(e.status, str(e))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _user(self, request: Request) -> str | None:
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            user, colon, password = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")
        except ValueError:  # not base64, not ASCII or not UTF-8
            return None
        return user if colon and self._access.authenticate(user, password) else None


def _needs_no_password(scope: Scope) -> bool:
    """Whether another worker vouches for the user, or verifies itself by the signature of an internal request."""
    if PRINCIPAL in scope and "authorization" not in Headers(scope=scope):
        return True
    return _INTERNAL.fullmatch(scope["method"].encode() + b" " + scope["raw_path"]) is not None
