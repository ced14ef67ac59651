"""The verbs for contexts: the file they write, their output, and secrets, which are never shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.console.command_context import run_command
from tui.commands.result import Result
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, UsageError
from tui.script.output import render
from tui.user_files import read_text


@pytest.fixture
def profiles(tmp_path: Path) -> ContextsFile:
    return ContextsFile(tmp_path / "headrace" / "contexts.toml")


def run(profiles: ContextsFile, line: str) -> Result:
    def current() -> Profile:
        return profiles.get(profiles.load().current)

    return run_command(line, None, current, profiles=profiles, read=read_text)


def test_all_settings_of_a_context(profiles: ContextsFile) -> None:
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


def test_urls_are_shown_without_passwords(profiles: ContextsFile) -> None:
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
        ("set-context new http://h:1 --colour red", "use the form #d7875f"),
        ("set-context new http://h:1 --production --no-production", "not both"),
    ],
)
def test_invalid_arguments(profiles: ContextsFile, line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(profiles, line)
    assert not profiles.path.exists()


def test_an_invalid_context_is_shown_and_can_be_corrected(profiles: ContextsFile) -> None:
    profiles.path.parent.mkdir()
    wrong = '[contexts.f]\nurl = "http://u:hunter2@f:1"\nbrokers = "b:1"\ncolor = "red"\n'
    profiles.path.write_text(f'{wrong}[contexts.j]\nurl = "http://j:1"\n')
    listed = run(profiles, "get contexts")
    assert "use the form #d7875f" in listed.raw[0]["error"] and "hunter2" not in str(listed)
    assert "error" not in listed.raw[1]
    with pytest.raises(UsageError, match="use the form"):
        run(profiles, "set-context f --production")
    run(profiles, "set-context f --colour '#d7875f' --bootstrap-servers b:2")
    assert profiles.get("f")[:2] == ("http://u:hunter2@f:1", "f")
    assert (profiles.get("f").bootstrap, profiles.get("f").colour) == ("b:2", "#d7875f")
    profiles.path.write_text(wrong)
    run(profiles, "config remove-context f")
    assert profiles.load().names == []


def test_the_production_setting_can_be_reverted(profiles: ContextsFile) -> None:
    run(profiles, "set-context p http://p:1 --production")
    assert run(profiles, "get contexts -o json").raw[0]["production"] is True
    run(profiles, "set-context p --no-production")
    assert run(profiles, "get contexts").raw[0]["production"] is False


def test_removal_asks_and_refuses_the_context_on_the_screen(profiles: ContextsFile) -> None:
    for name in ("here", "there"):
        profiles.put(Profile("http://h:1", name))
    asked: list[str] = []

    def say_no(question: str) -> bool:
        asked.append(question)
        return False

    def typed(line: str) -> Result:
        here = profiles.get("here")
        return run_command(line, None, here, profiles=profiles, confirm=say_no, screen_profile="here")

    with pytest.raises(HeadraceError, match="not confirmed"):
        typed("config remove-context there")
    with pytest.raises(UsageError, match="the screen shows context here"):
        typed("config remove-context here -y")
    with pytest.raises(UsageError, match="unknown context 'x'"):
        typed("config remove-context x --dry-run")
    assert "would be removed" in typed("config remove-context there --dry-run").outcomes[0].message
    assert profiles.load().names == ["here", "there"]
    profiles.use("there")
    (done,) = typed("config remove-context there -y").outcomes
    assert done.message == "removed; there is no current context now"
    assert (profiles.load().names, profiles.load().current, len(asked)) == (["here"], "", 1)


def test_import_of_kcctl_contexts(profiles: ContextsFile, tmp_path: Path) -> None:
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
    assert all("skipped" in outcome.message for outcome in again)
    file.write_text(
        json.dumps({"currentContext": "odd", "odd": {"cluster": "nonsense"}, "ok": {"cluster": "http://h"}})
    )
    odd = run(profiles, f"config import-kcctl {file}")
    assert [one.failed for one in odd.outcomes] == [True, False] and "not the URL" in odd.outcomes[0].message
    assert profiles.load().names == ["local", "ok", "prod"]
    file.write_text("currentContext=x")
    with pytest.raises(HeadraceError, match="not JSON"):
        run(profiles, f"config import-kcctl {file}")


def test_mistakes_in_mappings_for_promotion_are_listed_by_config(profiles: ContextsFile) -> None:
    profiles.put(Profile("http://b:1", "prod"))
    (profiles.path.parent / "config.toml").write_text(
        """[promote.prod]
name = { "staging-" = "" }
[promote.prd.set]
"tasks.max" = "8"
"""
    )
    result = run(profiles, "config")
    mistakes = [row["value"] for row in result.raw if row["setting"] == "mistake"]
    assert mistakes == [
        "config.toml: [promote.prod] has the unknown key 'name'; expected names, values, set and remove",
        "config.toml: [promote.prd] is not used: the context does not exist; did you mean prod?",
    ]
