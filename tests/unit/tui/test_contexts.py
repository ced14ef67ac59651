"""The verbs about contexts: what they write, what they show, and what they never show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui.client import drive
from tui.commands.base import Context, execute
from tui.commands.result import Result
from tui.errors import HeadraceError, UsageError
from tui.profiles import Profile, Profiles
from tui.script.grammar import parse
from tui.script.output import render
from tui.session import read_text


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(tmp_path / "headrace" / "contexts.toml")


def run(profiles: Profiles, line: str) -> Result:
    command = parse(line)
    assert command is not None

    def current() -> Profile:
        return profiles.get(profiles.load().current)

    context = Context(lambda: pytest.fail("no cluster is needed"), profile=current, profiles=profiles, read=read_text)
    return drive(execute(command, context))


def test_all_of_a_context(profiles: Profiles) -> None:
    line = (
        "set-context prod https://a:8083 https://b:8083 --username ops --password env:PW --token plain:t "
        "--header X-Org=env:ORG --proxy none --timeout 20s --connect-timeout 500ms --colour '#d7875f' --production "
        "--bootstrap-servers k:9092 --client-config sasl.password=hunter2 --client-config sasl.mechanism=PLAIN "
        "--read-only"
    )
    run(profiles, line)
    made = profiles.get("prod")
    assert (made.url, made.others) == ("https://a:8083", ("https://b:8083",))
    assert (made.timeout, made.connect_timeout, made.read_only, made.production) == (20.0, 0.5, True, True)
    assert made.client == {"sasl.password": "hunter2", "sasl.mechanism": "PLAIN"}
    run(profiles, "set-context prod --writable --header X-More=y")
    assert profiles.get("prod").read_only is False
    assert profiles.get("prod").headers == {"X-Org": "env:ORG", "X-More": "y"}

    shown = render(run(profiles, "config"), "table")
    for text in (
        "https://a:8083, https://b:8083",
        "env:PW",
        "headers.X-Org",
        "env:ORG",
        "20 s",
        "0.5 s",
        "k:9092",
        "PLAIN",
    ):
        assert text in shown, text
    assert "hunter2" not in shown and "plain:t" not in shown
    rows = {entry["setting"]: entry for entry in run(profiles, "config").raw}
    assert rows["timeout"]["from"] == "context prod" and rows["read-only"]["from"] == "default"
    assert rows["token"]["value"] == rows["client.sasl.password"]["value"] == "[hidden]"


def test_a_url_with_a_password_is_shown_without(profiles: Profiles) -> None:
    run(profiles, "set-context x http://u:hunter2@h:8083")
    assert "hunter2" not in "".join(render(run(profiles, line), "wide") for line in ("config", "get contexts"))
    assert profiles.get("x").url == "http://u:hunter2@h:8083"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("set-context new", "give its URL"),
        ("set-context new http://h:1 --header X", "NAME=VALUE"),
        ("set-context new http://h:1 --read-only --writable", "not both"),
        ("set-context new nonsense", "not the URL"),
    ],
)
def test_what_cannot_be(profiles: Profiles, line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(profiles, line)


def test_kcctls_contexts(profiles: Profiles, tmp_path: Path) -> None:
    theirs = {
        "currentContext": "local",
        "local": {"cluster": "http://localhost:8083", "bootstrapServers": "localhost:9092", "offsetTopic": "o"},
        "prod": {"cluster": "https://p:8083", "username": "u", "password": "p", "clientConfig": {"ssl.x": 1}},
    }
    file = tmp_path / "kcctl"
    file.write_text(json.dumps(theirs))
    assert [(o.name, o.message) for o in run(profiles, f"config import-kcctl {file}").outcomes] == [
        ("local", "imported"),
        ("prod", "imported"),
    ]
    contexts = profiles.load()
    assert contexts.current == "local" and contexts.profiles["local"].bootstrap == "localhost:9092"
    assert contexts.profiles["prod"] == Profile("https://p:8083", "prod", "u", "p", client={"ssl.x": "1"})
    again = run(profiles, f"config import-kcctl {file}").outcomes
    assert all("left out" in outcome.message for outcome in again)
    file.write_text("currentContext=x")
    with pytest.raises(HeadraceError, match="not JSON"):
        run(profiles, f"config import-kcctl {file}")
