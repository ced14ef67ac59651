"""Roles: the role that each request needs, and the roles of users."""

from __future__ import annotations

import httpx
import pytest
from starlette.routing import Route

from runtime.rest.admin import admin_routes
from runtime.rest.app import application
from runtime.rest.routes import routes
from runtime.rest.security.access import Access, BasicAuth, Role
from tests.support.never_called import NEVER_CALLED


@pytest.fixture(scope="module")
def resources() -> list[Route]:
    return [*routes(NEVER_CALLED), *admin_routes(NEVER_CALLED)]


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "/connectors", Role.READ),
        ("OPTIONS", "/connectors", Role.READ),
        ("PUT", "/connector-plugins/FileStreamSource/config/validate", Role.READ),
        ("POST", "/connectors/a/offsets/resolve", Role.READ),
        ("PUT", "/connectors/a/pause", Role.OPERATE),
        ("PUT", "/connectors/a/resume", Role.OPERATE),
        ("PUT", "/connectors/a/stop", Role.OPERATE),
        ("POST", "/connectors/a/restart", Role.OPERATE),
        ("POST", "/connectors/a/tasks/0/restart", Role.OPERATE),
        ("PUT", "/connectors/a/topics/reset", Role.OPERATE),
        ("POST", "/connectors", Role.ADMIN),
        ("PUT", "/connectors/a/config", Role.ADMIN),
        ("PATCH", "/connectors/a/offsets", Role.ADMIN),
        ("DELETE", "/connectors/a", Role.ADMIN),
        ("DELETE", "/connectors/pause", Role.ADMIN),
        ("DELETE", "/connectors/x%2Fconfig%2Fvalidate", Role.ADMIN),
        ("PUT", "/connectors/x%2Foffsets%2Fresolve/config", Role.ADMIN),
        ("DELETE", "/orphaned-offsets/x%2Fconfig%2Fvalidate", Role.ADMIN),
        ("PUT", "/admin/loggers/root", Role.ADMIN),
        ("PUT", "/admin/loggers/pause", Role.ADMIN),
        ("PUT", "/admin/loggers/x%2Fconfig%2Fvalidate", Role.ADMIN),
    ],
)
async def test_the_role_that_a_request_needs(resources: list[Route], method: str, path: str, role: Role) -> None:
    """The role follows from route and method; the next lower role is refused before any handler runs."""
    access = Access({"ann": "secret"}, {Role(role - 1): frozenset(["ann"])})
    app = BasicAuth(application(resources), access)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", auth=("ann", "secret")) as client:
        refused = await client.request(method, path)
    assert refused.status_code == 403
    assert f"User ann lacks the role {role.name.lower()}" in refused.json()["message"]


@pytest.mark.parametrize(
    "header", [b"Basic \x8c", b"Basic YTpi\xff", b"Basic %%%", b"Basic /w==", b"Basic YQ", b"\xff\xfe", b""]
)
async def test_a_password_that_cannot_be_read_is_refused(resources: list[Route], header: bytes) -> None:
    transport = httpx.ASGITransport(BasicAuth(application(resources), Access({"a": "b"})))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        refused = await client.get("/connectors", headers={b"Authorization": header})
    assert refused.status_code == 401


def test_without_roles_every_user_may_do_everything() -> None:
    access = Access({"ann": "secret"})
    assert access.role("ann") is Role.ADMIN
    assert access.authenticate("ann", "secret")
    for user, password in (("ann", "Secret"), ("ann", ""), ("bob", "secret"), ("bob", ""), ("", "")):
        assert not access.authenticate(user, password)


def test_roles() -> None:
    access = Access({}, {Role.READ: frozenset("*"), Role.OPERATE: frozenset(["op"]), Role.ADMIN: frozenset(["root"])})
    assert [access.role(u) for u in ("any", "op", "root")] == [Role.READ, Role.OPERATE, Role.ADMIN]
    assert Access({}, {Role.ADMIN: frozenset(["root"])}).role("any") is Role.NONE
