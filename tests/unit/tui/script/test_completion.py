"""Completion in a real shell: bash always; zsh and fish read their scripts where they are installed."""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from runtime.plugin_kit.cli import _parser
from runtime.plugin_kit.suite import CHECKS
from tests.support.waiting import soon
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.script import completion, plugin_words
from tui.script.completion import candidates, others
from tui.script.shells import SCRIPTS, in_fish

QUOTES = ("'", '"')


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path))
    profiles = ContextsFile(tmp_path / "headrace" / "contexts.toml")
    profiles.put(Profile("http://127.0.0.1:1", "prod"))
    profiles.put(Profile("http://127.0.0.1:1", "staging"))
    profiles.use("prod")
    kept = completion.cache_file("prod")
    kept.parent.mkdir(parents=True)
    kept.write_text('["orders sink", "orders-source", "payments", "two\\u0027s company", "cost$in", "glob[1]"]')
    return tmp_path


def test_candidates(home: Path) -> None:
    assert candidates([], "em") == ["embedded"]
    assert "--read-only" in candidates(["--context", "prod"], "--")
    assert candidates(["--context"], "st") == ["staging"]
    assert candidates(["embedded"], "") == ["up", "down", "status", "run"]
    assert candidates(["config"], "use") == ["use-context"]
    assert candidates(["config", "use-context"], "p") == ["prod"]
    assert candidates(["-c"], "get con") == ["get connectors", "get contexts", "get config history"]
    assert candidates(["-c"], "restart connector ord") == [
        "restart connector orders\\ sink",
        "restart connector orders-source",
    ]
    assert candidates(["-c"], "stop pay") == ["stop payments"]
    assert candidates(["-c", "stop x"], "resume pay") == ["resume payments"]
    assert candidates(["-c"], "stop x --dry") == ["stop x --dry-run"]
    assert candidates(["--script"], "x") == []


def test_a_cluster_that_does_not_answer_delays_completion_briefly(home: Path) -> None:
    began = time.monotonic()
    assert completion.print_candidates(["--context", "staging", "-c", "stop o"]) == 0
    assert time.monotonic() - began < soon(2.5)


@pytest.fixture
def bash(home: Path) -> Iterator[pexpect.spawn[str]]:
    folder = str(Path(sys.executable).parent)
    environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "$ "}
    shell = pexpect.spawn("bash", ["--norc", "--noprofile"], env=environ, encoding="utf-8", timeout=30)
    shell.sendline("bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; echo re''ady")
    shell.expect("ready")
    shell.sendline("source <(headrace completion bash); echo sour''ced")
    shell.expect("sourced")
    yield shell
    shell.close(force=True)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("headrace emb", "headrace embedded |"),
        ("headrace --context st", "headrace --context staging |"),
        ("headrace completion f", "headrace completion fish |"),
        ("headrace plugin new rivers --so", "headrace plugin new rivers --source |"),
        ("headrace -c 'get plug", "headrace -c 'get plugins|"),
        ("headrace -c 'stop pay", "headrace -c 'stop payments|"),
        ("headrace -c 'stop ord", "headrace -c 'stop orders|"),
        ("headrace -c ge", "'get |"),
        ('headrace -c "restart connector orders-', 'headrace -c "restart connector orders-source|'),
        ("headrace --context prod -c 'stop x' -c 'resume pay", "-c 'resume payments|"),
    ],
)
def test_completion_in_bash(bash: pexpect.spawn[str], typed: str, completed: str) -> None:
    """Text typed after the completion shows the cursor: an open quote must remain open."""
    bash.send(f"{typed}\t|")
    bash.expect(re.escape(completed))


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ("'stop orders\\ ", "stop orders\\ sink"),
        ("'stop two", "stop two\\'s\\ company"),
        ("'stop two\\'\\''s\\ company pay", "stop two\\'s\\ company payments"),
        ('"stop two', "stop two\\'s\\ company"),
        ('"stop cos', "stop cost$in"),
        ("stop\\ cos", "stop cost$in"),
        ("'stop glo", "stop glob[[]1]"),
    ],
)
def test_names_reach_the_program_unchanged(bash: pexpect.spawn[str], typed: str, heard: str) -> None:
    bash.sendline('headrace() { [[ $1 == __* ]] && command headrace "$@" || printf "<%s>" "$@"; }; echo de""fined')
    bash.expect("defined")
    bash.send(f"headrace -c {typed}\t{typed[0] if typed[0] in QUOTES else ''}\r")
    bash.expect(re.escape(f"<-c><{heard}>"))


def test_bash_lists_the_words_that_differ(bash: pexpect.spawn[str]) -> None:
    bash.send("headrace -c 'restart connector orders\t\t")
    bash.expect(r"\n(orders\\ sink +orders-source|orders-source +orders\\ sink)")  # sorted by locale


def test_fish_gets_a_second_candidate_so_that_the_quote_remains_open(home: Path) -> None:
    assert in_fish(["-c"], "'stop pay", others) == ["stop payments\tas typed", "stop payments \tand more"]
    assert in_fish(["-c"], "stop\\ orders\\\\\\ s", others)[0] == "stop orders\\ sink\tas typed"
    assert in_fish(["--context"], "st", others) == ["staging"]
    assert len(in_fish(["-c"], "'stop ord", others)) == 2


@pytest.mark.parametrize("shell", [name for name in SCRIPTS if shutil.which(name) or name == "bash"])
def test_the_shell_reads_its_script(shell: str) -> None:
    """Runs for each installed shell; bash is required."""
    script = SCRIPTS[shell]
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


# Importing these takes a share of the 0.1 s, and cached names, valid for 30 s, need none of them.
FAT = {
    "asyncio",
    "dataclasses",
    "email",
    "hashlib",
    "http",
    "httpx",
    "inspect",
    "orjson",
    "socket",
    "ssl",
    "subprocess",
}
STANDARD = "import json, pathlib, tomllib, typing"  # modules that completion requires
LIKE = "import sys; from tui.main import main; sys.argv = ['headrace', '__complete', '-c', 'stop pay']; main()"


def test_completion_imports_few_modules(home: Path) -> None:
    code = f"{LIKE}; print(*(name.partition('.')[0] for name in sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=240)
    assert done.stdout == "stop payments\n"
    assert not {*FAT, "textual", "rich", "runtime"} & {*done.stderr.split()}


def test_completion_is_fast(home: Path, tmp_path: Path) -> None:
    """Compares processor time, which other processes do not affect, with that of importing the standard modules used,
    since a slow machine takes longer for both. Bytecode exists, as in an installed program."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")

    def seconds(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=240, env=environ)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    pairs = [(seconds(LIKE), seconds(STANDARD)) for _ in range(7)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    assert ours < 2 * theirs, f"{ours:.3f} s, of which Python's own imports {theirs:.3f} s"


def test_workers_complete_where_a_worker_is_expected(home: Path) -> None:
    kept = completion.cache_file("prod", completion.WORKERS)
    kept.parent.mkdir(parents=True)
    kept.write_text('["w-1:8083", "w-2:8083"]')
    assert candidates(["-c"], "drain w") == ["drain worker", "drain w-1:8083", "drain w-2:8083"]
    assert candidates(["-c"], "cordon worker w-2") == ["cordon worker w-2:8083"]
    assert candidates(["-c"], "stop w-") == []


def test_plugins_complete_where_a_plugin_is_expected(home: Path) -> None:
    kept = completion.cache_file("prod", completion.PLUGINS)
    kept.parent.mkdir(parents=True)
    kept.write_text('["org.example.FileSource", "files.FilesSink"]')
    assert candidates(["-c"], "describe plugin F") == ["describe plugin FileSource", "describe plugin FilesSink"]
    assert candidates(["-c"], "reload plugin org.") == ["reload plugin org.example.FileSource"]
    assert candidates(["-c"], "describe plugin pay") == []


@pytest.mark.parametrize(
    ("before", "current", "words"),
    [
        ("", "pl", ["plugin"]),
        ("plugin", "", ["new", "list", "test", "run", "install", "update", "remove", "lock"]),
        ("plugin new", "", []),
        ("plugin new rivers", "--s", ["--source", "--sink"]),
        ("plugin new rivers --sink", "", ["--async", "--into"]),
        ("plugin new rivers --into", "", []),  # the shell completes folders
        ("plugin test", "", []),
        ("plugin test . --only", "ki", ["kill"]),
        ("plugin run .", "--r", ["--records"]),
        ("plugin install org.example:c:1", "--o", ["--offline"]),
        ("plugin nonsense", "--", []),
    ],
)
def test_the_words_of_the_command_plugin(before: str, current: str, words: list[str]) -> None:
    assert candidates(before.split(), current) == words


def test_the_table_of_the_command_plugin_equals_its_parser() -> None:
    (verbs,) = [action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    for verb, parser in verbs.choices.items():
        named = [action for action in parser._actions if action.option_strings and action.dest != "help"]
        assert sorted(plugin_words.OPTIONS[verb]) == sorted(flag for action in named for flag in action.option_strings)
        with_value = {flag for action in named if action.nargs != 0 for flag in action.option_strings}
        assert with_value == plugin_words.WITH_VALUE & set(plugin_words.OPTIONS[verb])
    assert list(verbs.choices) == list(plugin_words.OPTIONS)
    assert set(plugin_words.CHECKS) == {name for names in CHECKS.values() for name in names}
