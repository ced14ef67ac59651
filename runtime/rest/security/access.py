"""Who may ask what: basic authentication as Apache's extension has it, and roles of ours."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.herder.errors import Forbidden
from runtime.rest.http.answers import error

PRINCIPAL = "headrace.principal"
"""Where a request's scope names who asks."""

ROLE = "headrace.role"
"""Key of the user's role in a request's scope; absent without authentication."""

ANYBODY = "*"
READ_ONLY = ("GET", "HEAD", "OPTIONS")


class Role(IntEnum):
    """Each may do what those before it may."""

    NONE = 0
    READ = 1
    OPERATE = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Access:
    """The users, and their roles; with no roles given, every user may do everything."""

    passwords: Mapping[str, str]
    roles: Mapping[Role, frozenset[str]] = field(default_factory=dict)

    def authenticate(self, user: str, password: str) -> bool:
        """Takes as long for an unknown user as for a wrong password."""
        known = self.passwords.get(user)
        given, wanted = password.encode(), (known if known is not None else "").encode()
        return hmac.compare_digest(given, wanted) and known is not None

    def role(self, user: str) -> Role:
        if not any(self.roles.values()):
            return Role.ADMIN
        return max((r for r, users in self.roles.items() if user in users or ANYBODY in users), default=Role.NONE)


def check_role(scope: Scope, wanted: Role) -> None:
    """Forbidden if the user lacks the role; without authentication every user has all roles."""
    if scope.get(ROLE, Role.ADMIN) < wanted:
        raise Forbidden(f"User {scope[PRINCIPAL]} lacks the role {wanted.name.lower()} that this request needs")


class BasicAuth:
    """Admits authenticated users and passes on name and role; the resource determines the role that a request needs."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        user = self._user(Request(scope))
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
        except (binascii.Error, UnicodeDecodeError):
            return None
        return user if colon and self._access.authenticate(user, password) else None
