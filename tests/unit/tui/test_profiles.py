"""Contexts on disk, and which one is meant."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tui import session
from tui.errors import HeadraceError, UsageError
from tui.profiles import Contexts, Profile, Profiles


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(tmp_path / "headrace" / "contexts.toml")


def test_round_trip(profiles: Profiles) -> None:
    odd = Profile("https://h:1", 'a.b "q" \x7f é', "u", 'p"\\w\n', read_only=True, production=True, bootstrap="b:9",
                  others=("https://i:1", "https://j:1"), token="env:T", certificate="/c", key="/k", key_password="x",
                  proxy="http://p:1", connect_timeout=2, timeout=7.5, colour="#d7875f",
                  headers={"X-A b": "env:H"}, client={"sasl.password": "command:pass kafka"})  # fmt: skip
    profiles.put(odd)
    profiles.put(Profile("http://h:2", "plain"))
    profiles.use("plain")
    assert profiles.load() == Contexts("plain", {odd.name: odd, "plain": Profile("http://h:2", "plain")})
    assert stat.S_IMODE(profiles.path.stat().st_mode) == 0o600
    profiles.remove("plain")
    assert profiles.load() == Contexts("", {odd.name: odd})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = [", "is not TOML"),
        ("[contexts.a]\n", "'a' has no url"),
        ('[contexts.a]\nurl = "x"\ncolour = "red"\n', "must be like #d7875f"),
        ('[contexts.a]\nurl = ["x", 2]\n', "others must be a list of URLs"),
        ('[contexts.a]\nurl = "x"\ntimeout = "soon"\n', "timeout must be a number of seconds"),
        ('[contexts.a]\nurl = "x"\nheaders = { A = 1 }\n', "headers must be a table of text"),
        ('[contexts.a]\nurl = "x"\nbrand = "red"\n', "unknown key 'brand'"),
        ('[contexts.a]\nurl = "x"\nread-only = "yes"\n', "read-only must be true or false"),
    ],
)
def test_a_broken_file_is_named(profiles: Profiles, content: str, message: str) -> None:
    profiles.path.parent.mkdir()
    profiles.path.write_text(content)
    with pytest.raises(HeadraceError, match=message) as caught:
        profiles.load()
    assert str(profiles.path) in str(caught.value)


def test_which_cluster(profiles: Profiles) -> None:
    assert session.choose("", "", profiles, {}) is None
    profiles.put(Profile("http://a:1", "a"))
    profiles.put(Profile("http://b:1", "b"))
    profiles.use("a")
    assert session.choose("", "", profiles, {}) == Profile("http://a:1", "a")
    assert session.choose("", "", profiles, {"HEADRACE_CONTEXT": "b"}) == Profile("http://b:1", "b")
    both = {"HEADRACE_URL": "http://u:1", "HEADRACE_CONTEXT": "b"}
    assert session.choose("", "", profiles, both) == Profile("http://u:1")
    assert session.choose("", "b", profiles, {"HEADRACE_URL": "http://u:1"}) == Profile("http://b:1", "b")
    with pytest.raises(UsageError, match=r"no context 'c' .*there: a, b"):
        session.choose("", "c", profiles, {})
    with pytest.raises(UsageError, match="not both"):
        session.choose("http://a:1", "a", profiles, {})
