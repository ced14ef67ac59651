"""The contexts file, and the choice of a context."""

from __future__ import annotations

import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tui import session
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Contexts, Profile
from tui.errors import HeadraceError, UsageError


@pytest.fixture
def profiles(tmp_path: Path) -> ContextsFile:
    return ContextsFile(tmp_path / "headrace" / "contexts.toml")


def test_round_trip(profiles: ContextsFile) -> None:
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


def write_file(profiles: ContextsFile, content: str) -> None:
    profiles.path.parent.mkdir()
    profiles.path.write_text(content)


@pytest.mark.parametrize(("content", "message"), [("x = [", "is not TOML"), ("contexts = 3", "must be a table")])
def test_an_error_names_the_unreadable_file(profiles: ContextsFile, content: str, message: str) -> None:
    write_file(profiles, content)
    with pytest.raises(HeadraceError, match=message) as caught:
        profiles.load()
    assert str(profiles.path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('curent = "prod"\n[contexts.prod]\nurl = "http://x"\n', "unknown key 'curent'.*did you mean current"),
        ('[context.prod]\nurl = "http://x"\n', "unknown key 'context'.*did you mean contexts"),
        ('[prod]\nurl = "http://x"\n', r"unknown key 'prod'; expected current and \[contexts.NAME\]"),
        ("current = 3\n", "current must be the name"),
    ],
)
def test_a_mistake_outside_the_contexts_is_reported_and_nothing_is_rewritten(
    profiles: ContextsFile, content: str, message: str
) -> None:
    write_file(profiles, content)
    with pytest.raises(HeadraceError, match=message) as caught:
        session.choose("", "", profiles, {})
    assert str(profiles.path) in str(caught.value)
    with pytest.raises(HeadraceError, match=message):
        profiles.put(Profile("http://b:1", "b"))
    assert profiles.path.read_text() == content


WRONG = [
    ("[contexts.a]\n", "'a' has no url"),
    ("[contexts]\na = 3\n", "'a' has no url"),
    ('[contexts.a]\nurl = "x"\n', "context 'a': 'x' is not the URL"),
    ('[contexts.a]\nurl = "http://x"\ncolour = "red"\n', "use the form #d7875f"),
    ('[contexts.a]\nurl = ["http://x", 2]\n', "others must be a list of URLs"),
    ('[contexts.a]\nurl = "http://x"\nothers = "abc"\n', "others must be a list of URLs"),
    ('[contexts.a]\nurl = "http://x"\ntimeout = "soon"\n', "timeout must be a number of seconds"),
    ('[contexts.a]\nurl = "http://x"\ntimeout = 1e300\n', "timeout must be a number of seconds"),
    ('[contexts.a]\nurl = "http://x"\nheaders = { A = 1 }\n', "headers must be a table of strings"),
    ('[contexts.a]\nurl = "http://x"\nbrand = [1.5, { "a b" = 1979-05-27 }]\n', "unknown key 'brand'"),
    ('[contexts.a]\nurl = "http://x"\nread-only = "yes"\n', "read-only must be true or false"),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_an_invalid_context_is_kept_and_does_not_affect_others(
    profiles: ContextsFile, content: str, message: str
) -> None:
    write_file(profiles, content + '[contexts.good]\nurl = "http://g:1"\n')
    invalid = tomllib.loads(content)["contexts"]["a"]
    profiles.use("good")
    profiles.put(Profile("http://h:1", "more"))
    assert tomllib.loads(profiles.path.read_text())["contexts"]["a"] == invalid
    assert session.choose("", "", profiles, {}) == Profile("http://g:1", "good")
    with pytest.raises(HeadraceError, match=message) as caught:
        session.choose("", "a", profiles, {})
    assert str(profiles.path) in str(caught.value)
    profiles.remove("a")
    assert profiles.load().names == ["good", "more"]


def test_an_invalid_context_is_not_written(profiles: ContextsFile) -> None:
    for wrong in (Profile("http://h:1", "a", colour="red"), Profile("h", "a"), Profile("http://h:1", "")):
        with pytest.raises(UsageError):
            profiles.put(wrong)
    assert not profiles.path.exists()


@pytest.mark.parametrize("spelling", ["bootstrap", "bootstrap-servers", "bootstrap_servers", "brokers"])
def test_spellings_of_the_brokers(profiles: ContextsFile, spelling: str) -> None:
    write_file(profiles, f'[contexts.a]\nurl = "http://h:1"\n{spelling} = "b:9"\n')
    profiles.use("a")
    assert profiles.get("a").bootstrap == "b:9"
    assert '\nbootstrap-servers = "b:9"\n' in profiles.path.read_text()


def test_choice_of_a_cluster(profiles: ContextsFile) -> None:
    assert session.choose("", "", profiles, {}) is None
    profiles.put(Profile("http://a:1", "a"))
    profiles.put(Profile("http://b:1", "b"))
    profiles.use("a")
    assert session.choose("", "", profiles, {}) == Profile("http://a:1", "a")
    assert session.choose("", "", profiles, {"HEADRACE_CONTEXT": "b"}) == Profile("http://b:1", "b")
    same = {"HEADRACE_URL": "http://b:1", "HEADRACE_CONTEXT": "b"}  # as in own commands of the console
    assert session.choose("", "", profiles, same) == Profile("http://b:1", "b")
    both = {"HEADRACE_URL": "http://u:1", "HEADRACE_CONTEXT": "b"}
    assert session.choose("", "", profiles, both) == Profile("http://u:1")
    assert session.choose("", "b", profiles, {"HEADRACE_URL": "http://u:1"}) == Profile("http://b:1", "b")
    with pytest.raises(UsageError, match=r"unknown context 'c' .*choose from: a, b"):
        session.choose("", "c", profiles, {})
    with pytest.raises(UsageError, match="not both"):
        session.choose("http://a:1", "a", profiles, {})


def test_a_file_of_another_encoding_is_refused_without_its_content(profiles: ContextsFile) -> None:
    profiles.path.parent.mkdir(parents=True, exist_ok=True)
    profiles.path.write_bytes('[contexts.a]\nurl = "http://a"\npassword = "geheim\xfc"\n'.encode("latin-1"))
    with pytest.raises(HeadraceError, match=r"contexts.toml is not UTF-8: invalid .* at byte") as raised:
        profiles.load()
    assert "password" not in str(raised.value)


def test_contexts_that_several_consoles_add_at_once_are_all_kept(profiles: ContextsFile) -> None:
    names = [f"c{number}" for number in range(16)]
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(lambda name: ContextsFile(profiles.path).put(Profile("http://x:1", name)), names))
    assert profiles.load().names == sorted(names)


def test_a_home_that_is_not_a_folder_has_no_contexts() -> None:
    profiles = ContextsFile(Path("/dev/null/.config/headrace/contexts.toml"))
    assert profiles.load().names == []
    with pytest.raises(HeadraceError, match=r"cannot write .*: Not a directory"):
        profiles.put(Profile("http://x:1", "a"))


def test_a_byte_order_mark_is_skipped(profiles: ContextsFile) -> None:
    """Some editors write it."""
    profiles.path.parent.mkdir(parents=True, exist_ok=True)
    profiles.path.write_text('[contexts.a]\nurl = "http://a"\n', "utf-8-sig")
    assert profiles.load().names == ["a"]
