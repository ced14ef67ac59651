"""The protection that a worker's properties define: users, roles and the JAAS file."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.api.errors import ConfigError
from runtime.rest.security.jaas import MODULE, credentials
from runtime.rest.security.security import BASIC_AUTH, protection


def jaas(folder: Path, text: str) -> dict[str, str]:
    (folder / "users").write_text("ann=secret\n")
    (folder / "jaas.conf").write_text(text.replace("USERS", str(folder / "users")).replace("MODULE", MODULE))
    return {"rest.extension.classes": BASIC_AUTH, "headrace.jaas.file": str(folder / "jaas.conf")}


def test_users_are_read_from_the_file_named_in_jaas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        ("Other { MODULE required file=\"USERS\"; };", "the entry KafkaConnect .* is missing"),
        ("KafkaConnect { com.example.Ldap required; };", "must have the form"),
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
        ({"headrace.roles.reader": "ann"}, "unknown role"),
        ({"response.http.headers.config": "put X: y"}, "not of the form"),
    ],
)
def test_unsupported_protection_is_refused(
    props: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    with pytest.raises(ConfigError, match=message):
        protection(props)


def test_an_empty_file_of_users_is_refused(tmp_path: Path) -> None:
    props = jaas(tmp_path, 'KafkaConnect { MODULE required file="USERS"; };')
    (tmp_path / "users").write_text("")
    with pytest.raises(ConfigError, match="the file has no users"):
        protection(props)
