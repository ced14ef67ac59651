"""Users and roles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import httpx
import pytest
from starlette.routing import Route

from runtime.api.errors import ConfigError
from runtime.rest.admin import admin_routes
from runtime.rest.app import application
from runtime.rest.routes import routes
from runtime.rest.security.access import ROLE, Access, BasicAuth, Role
from runtime.rest.security.jaas import MODULE, credentials
from runtime.rest.security.masking import Masks
from runtime.rest.security.security import BASIC_AUTH, protection


@pytest.fixture(scope="module")
def resources() -> list[Route]:
    return [*routes(MagicMock()), *admin_routes(MagicMock())]


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
    """Decided by route and method: one role less is refused before any handler runs."""
    access = Access({"ann": "secret"}, {Role(role - 1): frozenset(["ann"])})
    app = BasicAuth(application(resources), access)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", auth=("ann", "secret")) as client:
        refused = await client.request(method, path)
    assert refused.status_code == 403
    assert f"User ann lacks the role {role.name.lower()}" in refused.json()["message"]


@pytest.mark.parametrize("role", [Role.READ, Role.OPERATE, Role.ADMIN, None])
async def test_passwords_are_shown_to_administrators_only(role: Role | None) -> None:
    config, hidden = {"a.password": "secret"}, {"a.password": "[hidden]"}

    class Keys:
        async def masked(self, config: Mapping[str, str], beside: Any = None) -> dict[str, str]:
            return dict(hidden)

    masks, scope = Masks(Keys()), {} if role is None else {ROLE: role}
    shown = config if role in (Role.ADMIN, None) else hidden
    assert await masks.config(scope, config) == shown
    assert await masks.info(scope, {"name": "c", "config": config}) == {"name": "c", "config": shown}
    assert await masks.entries(scope, {"c": {"info": {"config": config}}}) == {"c": {"info": {"config": shown}}}
    assert await masks.entries(scope, {"c": {"status": {}}}) == {"c": {"status": {}}}
    assert await masks.tasks(scope, {}, [{"id": 0, "config": config}]) == [{"id": 0, "config": shown}]


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


def jaas(folder: Path, text: str) -> dict[str, str]:
    (folder / "users").write_text("ann=secret\n")
    (folder / "jaas.conf").write_text(text.replace("USERS", str(folder / "users")).replace("MODULE", MODULE))
    return {"rest.extension.classes": BASIC_AUTH, "headrace.jaas.file": str(folder / "jaas.conf")}


def test_users_come_from_the_file_that_jaas_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    props = jaas(
        tmp_path,
        '// who may come in\nOther {\n  x required;\n};\nKafkaConnect {\n  MODULE required\n  file="USERS";\n};\n',
    )
    access = protection(props).access
    assert access is not None
    assert access.authenticate("ann", "secret")
    file = props.pop("headrace.jaas.file")
    monkeypatch.setenv("KAFKA_OPTS", f"-Xmx1g -Djava.security.auth.login.config={file} -Da=b")
    assert credentials(props) == tmp_path / "users"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Other { MODULE required file=\"USERS\"; };", "has no entry KafkaConnect"),
        ("KafkaConnect { com.example.Ldap required; };", "is not of the form"),
    ],
)  # fmt: skip
def test_other_login_modules_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        protection(jaas(tmp_path, text))


@pytest.mark.parametrize(
    ("props", "message"),
    [
        ({"rest.extension.classes": "com.example.Mine"}, "cannot run here"),
        ({"rest.extension.classes": BASIC_AUTH}, "needs a JAAS file"),
        ({"headrace.roles.read": "ann"}, "need users"),
        ({"headrace.roles.reader": "ann"}, "no such role"),
        ({"response.http.headers.config": "put X: y"}, "not of the form"),
    ],
)
def test_protection_that_cannot_be_had_is_refused(
    props: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    with pytest.raises(ConfigError, match=message):
        protection(props)


def test_an_empty_file_of_users_is_refused(tmp_path: Path) -> None:
    props = jaas(tmp_path, 'KafkaConnect { MODULE required file="USERS"; };')
    (tmp_path / "users").write_text("")
    with pytest.raises(ConfigError, match="holds no users"):
        protection(props)
