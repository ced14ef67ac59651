"""References to secrets: resolved when needed, named in errors, never printed. Files are written without secrets."""

from __future__ import annotations

import pytest

from tui import session
from tui.contexts import secrets
from tui.contexts.kafka import client_properties
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError
from tui.scrubbing import HIDDEN, scrubbed, without_user


def test_sources_of_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SECRET", "a:b")
    assert [secrets.resolve(text) for text in ("", "itself", "env:TEST_SECRET", "command:printf 'x\\ny'")] == [
        "",
        "itself",
        "a:b",
        "x",
    ]
    assert secrets.resolve("plain:env:X") == "env:X" and secrets.resolve("http://h") == "http://h"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("env:NO_SUCH_SECRET", "NO_SUCH_SECRET is not set"),
        ("command:echo no >&2; exit 3", "failed with code 3: no"),
        ("keyring:connect/me", "keyring:connect/me"),
    ],
)
def test_a_missing_secret_is_named(reference: str, message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        secrets.resolve(reference)


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SECRET", "s3cret")
    profile = Profile("http://h", password="s3cret", token="s3cret", headers={"X": "s3cret"}, client={"y": "s3cret"})
    assert "s3cret" not in repr(profile) + repr(session.endpoint(profile))
    assert secrets.shown("s3cret") == HIDDEN and secrets.shown("env:TEST_SECRET") == "env:TEST_SECRET"
    named = Profile("http://h", bootstrap="b:9", client={"sasl.password": "env:TEST_SECRET"})
    assert client_properties(named) == {"bootstrap.servers": "b:9", "sasl.password": "s3cret"}


def test_secrets_are_removed_before_writing() -> None:
    config = {
        "connection.password": "p",
        "sasl.jaas.config": "x",
        "db.password": "${file:/a:b}",
        "masked.secret": "********",
        "connection.url": "jdbc:x://user:pw@host/db",
        "topics": "a@b",
        "tokens": 3,
        "key.converter": "k",
    }
    assert scrubbed({"config": config}) == {
        "config": {
            "connection.password": HIDDEN,
            "sasl.jaas.config": HIDDEN,
            "db.password": "${file:/a:b}",
            "masked.secret": "********",
            "connection.url": "jdbc:x://host/db",
            "topics": "a@b",
            "tokens": HIDDEN,
            "key.converter": "k",
        }
    }
    answer = {"configs": [{"value": {"name": "my.password", "value": "p", "errors": []}}]}
    assert scrubbed(answer)["configs"][0]["value"]["value"] == HIDDEN
    assert without_user("https://u:p@h:1/x") == "https://h:1/x"
