"""The command `headrace` as a process: imports of a script line, and messages without a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest
import yaml

Run = Callable[..., subprocess.CompletedProcess[str]]
TIMEOUT = 120  # seconds, for a machine that is very busy
HEAVY = (
    "textual", "rich", "click", "httpx", "asyncio", "yaml", "tomllib", "subprocess", "argparse", "dataclasses",
    "inspect", "runtime",
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(*words: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("HEADRACE_")}
        env = {**clean, "XDG_CONFIG_HOME": str(tmp_path), **environ}
        return subprocess.run(
            [sys.executable, "-m", "tui.main", *words],
            input=stdin,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TIMEOUT,
        )

    return run


def test_a_script_line_loads_nothing_heavy(tmp_path: Path) -> None:
    finished = tmp_path / "headrace" / "changes" / "cluster"  # remains of a change of offsets
    finished.mkdir(parents=True)
    (finished / "connector.lock").touch()
    code = (
        "import sys; from tui.script.entry import ScriptOptions, run;"
        "code = run(ScriptOptions(url='http://127.0.0.1:1', commands=('get connectors',)));"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True, text=True, check=True, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.stdout == "5 []\n"


def test_a_missing_terminal_is_reported(run: Run) -> None:
    done = run()
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in ("--script", "-c", "embedded run"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nope"], "unknown option --nope"),
        (["frob"], "neither a URL nor a command"),
        (["get", "connectors"], "headrace -c 'get connectors'"),
        (["-c"], "-c needs a command"),
        (["--script"], "--script needs a value"),
        (["--script", "/no/such/file"], "cannot read /no/such/file"),
        (["--script", "-", "-c", "info"], "not both"),
        (["http://x:1", "--context", "a", "-c", "info"], "not both"),
        (["--context", "nope", "-c", "info"], "unknown context 'nope'"),
        (["--record", "x", "-c", "info"], "apply to the screen"),
        (["--record", "x", "--replay", "y"], "not both"),
        (["completion"], "name a shell: bash, zsh, fish"),
        (["http://x:port", "-c", "info"], "not the URL"),
        (["127.0.0.1:8083"], "did you mean http://127.0.0.1:8083?"),
        (["connect-1.example:8083/api", "-c", "info"], "did you mean http://connect-1.example:8083/api?"),
    ],
)
def test_usage(run: Run, words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_nothing_is_run_if_any_line_is_invalid(run: Run) -> None:
    done = run("http://127.0.0.1:1", "--script", "-", stdin="info\n\nfrob # no\nstop\n")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[0].startswith("headrace: line 3: unknown command 'frob'")
    assert lines[1].startswith("headrace: line 4: stop connector: missing NAME")


def test_contexts(run: Run) -> None:
    made = run("-c", "config set-context prod http://127.0.0.1:1 --read-only", "config current-context")
    assert (made.returncode, made.stdout, made.stderr) == (0, "prod\n", "prod: created\n")
    assert "prod" in run("-c", "get contexts -o name").stdout
    refused = run("-c", "stop anything")
    assert (refused.returncode, refused.stderr) == (
        7,
        "headrace: stop connector refused: the context prod is read-only\n",
    )
    assert run("-c", "info").returncode == 5
    assert "context prod" in run("config").stdout
    assert run("-c", "config remove-context prod", "current-context").returncode == 3


@pytest.mark.parametrize("words", [("--context", "nope", "check"), ("--read-only", "--context=nope", "check")])
def test_the_cluster_may_come_first(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 3, "UNKNOWN, in the words of monitoring plugins"
    assert "HEADRACE UNKNOWN - unknown context 'nope'" in done.stdout


@pytest.mark.parametrize("words", [("check", "--all"), ("check", "--context"), ("-c", "check --all")])
def test_a_check_that_is_invalid_is_unknown_on_standard_output(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 3 and done.stdout.startswith("HEADRACE UNKNOWN - ")


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (("check", "--all", "-ojson"), json.loads),
        (("check", "--output=yaml", "--context"), yaml.safe_load),
        (("--context", "nope", "check", "-o", "jsonl"), json.loads),
        (("-c", "check -o json --all"), json.loads),
    ],
)
def test_a_check_that_is_invalid_is_unknown_in_its_format(run: Run, words: tuple[str, ...], read: Any) -> None:
    done = run(*words)
    report = read(done.stdout)
    assert (done.returncode, report["status"], report["findings"][0]["level"]) == (3, "UNKNOWN", "UNKNOWN")


@pytest.mark.parametrize("command", ["get connectors -o json -s runing", "gte -ojson", "stop --output jsonl"])
def test_the_error_of_an_invalid_command_is_data(run: Run, command: str) -> None:
    done = run("-c", command)
    assert done.returncode == 2 and json.loads(done.stdout)["error"] in done.stderr


@pytest.mark.parametrize("words", ["check", "-c check"])
def test_a_check_with_an_internal_error_is_unknown(words: str, tmp_path: Path) -> None:
    code = (
        "import sys; from tui import main; from tui.watch.observing import Observer; Observer.observe = None;"
        f"sys.argv = ['headrace', 'http://127.0.0.1:1', *{words.split(' ')!r}]; sys.exit(main.main())"
    )
    done = _python(code, tmp_path)
    assert (done.returncode, done.stdout.count("\n")) == (3, 1)
    assert done.stdout.startswith("HEADRACE UNKNOWN - internal error: TypeError(")
    traced = _python(code, tmp_path, HEADRACE_TRACE="1")
    assert traced.stderr.startswith("Traceback") and not traced.stdout


def test_a_check_that_cannot_print_is_unknown(tmp_path: Path) -> None:
    code = "import sys; from tui import main; sys.argv = ['headrace', 'check', 'http://127.0.0.1:1']; main.entry()"
    with Path("/dev/full").open("w") as full:
        done = _python(code, tmp_path, stdout=full)
    assert (done.returncode, done.stderr) == (3, "headrace: standard output: No space left on device\n")


def _python(code: str, folder: Path, stdout: Any = subprocess.PIPE, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "XDG_CONFIG_HOME": str(folder), **environ},
        stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT,
    )  # fmt: skip


def test_help_and_version(run: Run) -> None:
    usage = run("--help").stdout
    assert "--script" in usage and max(map(len, usage.splitlines())) < 80
    assert run("--version").stdout.startswith("headrace ")
    listing = run("-c", "help").stdout
    assert "patch offsets" in listing
    assert "--kafka-offset" in run("-c", "help patch offsets").stdout


def test_a_closed_pipe_is_not_an_error(run: Run) -> None:
    script = f"{sys.executable} -m tui.main -c help help help | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=TIMEOUT)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")


def test_a_full_disk_is_reported() -> None:
    command = [sys.executable, "-m", "tui.main", "-c", "help"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT)
    assert done.returncode == 1
    assert done.stderr == "headrace: standard output: No space left on device\n"


def test_a_full_disk_for_messages_changes_neither_the_course_nor_the_exit_code(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui.main", "--script", str(tmp_path / "missing")]
    code = "from tui.script.runner import Printer; Printer().report('x'); print('next step')"
    changing = [sys.executable, "-c", code]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(command, stderr=full, check=False, timeout=TIMEOUT).returncode == 2
        done = subprocess.run(changing, stdout=subprocess.PIPE, stderr=full, text=True, check=False, timeout=TIMEOUT)
    assert done.stdout == "next step\n"


def test_no_cluster_is_started_for_a_missing_current_context(run: Run) -> None:
    done = run("-c", "config current-context", HEADRACE_KAFKA_PORT="1", HEADRACE_REST_PORT="1")
    assert done.returncode == 3
    assert done.stderr.startswith("headrace: there is no current context") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_scripts_of_other_systems(run: Run, tmp_path: Path, line_end: str) -> None:
    """With a byte order mark and the line ends of Windows and old Macs, from a file and from standard input."""
    text = "\ufeff" + line_end.join(("help pause # 1", "help stop", ""))
    file = tmp_path / "script"
    file.write_bytes(text.encode())
    for done in (run("--script", str(file)), run("--script", "-", stdin=text)):
        assert (done.returncode, done.stderr) == (0, "") and "stop" in done.stdout


def test_a_script_in_utf_16_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("help\n", "utf-16")
    done = run("--script", str(tmp_path / "script"))
    assert done.returncode == 2 and "it is UTF-16 (convert it to UTF-8)" in done.stderr


def test_settings_are_shown_although_the_current_context_is_unknown(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "headrace"
    folder.mkdir()
    (folder / "contexts.toml").write_text('current = "gone"\n')
    (folder / "config.toml").write_text('[[commands]]\nkey = "g"\n')
    done = run("-c", "config")
    assert done.returncode == 0
    assert "unknown context 'gone'" in done.stdout and "[[commands]]: expected key and run" in done.stdout


@pytest.mark.parametrize("home", ["", "relative"])
def test_no_settings_are_read_in_the_current_folder(home: str, tmp_path: Path) -> None:
    """Whose context may name a command to be run."""
    folder = tmp_path / home / ".config" / "headrace"
    folder.mkdir(parents=True)
    (folder / "contexts.toml").write_text('current = "planted"\n[contexts.planted]\nurl = "http://127.0.0.1:1"\n')
    clean = {key: value for key, value in os.environ.items() if key != "XDG_CONFIG_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "tui.main", "-c", "config"], env={**clean, "HOME": home}, cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 0 and "planted" not in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_text_can_be_printed(run: Run, encoding: str) -> None:
    """Surrogates stand for bytes that were never UTF-8; JSON stays JSON under every encoding."""
    name = "ü 日本 \U0001f600"
    done = run("-c", f"config set-context '{name}' http://h:1", "get contexts -o json", PYTHONIOENCODING=encoding)
    assert (done.returncode, json.loads(done.stdout)[0]["name"]) == (0, name)
    assert run("-c", "get contexts", PYTHONIOENCODING=encoding).returncode == 0


def test_names_beyond_ascii_without_utf8_mode(run: Run, tmp_path: Path) -> None:
    locale = {"PYTHONUTF8": "0", "LC_ALL": "C"}
    file = tmp_path / "büro.txt"
    file.write_text("config set-context ün http://h:1\n", "utf-8")
    assert run("--script", str(file), **locale).returncode == 0
    done = run("-c", "config set-context dä http://h:2", "get contexts -o json", **locale)
    assert done.returncode == 0, done.stderr
    assert [context["name"] for context in json.loads(done.stdout)] == ["dä", "ün"]


@pytest.mark.parametrize(
    ("term", "columns", "message"),
    [
        ("dumb", 80, "set TERM to the type of the terminal"),
        ("xterm", 30, "the screen needs 40 columns, this terminal has 30"),
    ],
)
def test_terminals_that_cannot_show_the_screen(term: str, columns: int, message: str) -> None:
    environ = {**os.environ, "TERM": term}
    child = pexpect.spawn(sys.executable, ["-m", "tui.main"], env=environ, dimensions=(24, columns), encoding="utf-8")
    output = child.read().replace("\r\n", "\n")
    child.close()
    assert message in output
    assert child.exitstatus == 2


@pytest.mark.parametrize("words", ["--help", "--version", "-c config", "-c 'get contexts'"])
def test_a_closed_standard_output_is_an_error_without_a_traceback(words: str, tmp_path: Path) -> None:
    line = f"{sys.executable} -m tui.main {words} >&-"
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        ["/bin/sh", "-c", line], env=env, capture_output=True, text=True, check=False, timeout=TIMEOUT
    )
    assert (done.returncode, done.stderr) == (1, "headrace: standard output: Bad file descriptor\n")


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- 2>&-"])
def test_other_closed_streams_are_harmless(closed: str, tmp_path: Path) -> None:
    line = f"{sys.executable} -m tui.main -c 'get contexts -o json' {closed}"
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        ["/bin/sh", "-c", line], env=env, capture_output=True, text=True, check=False, timeout=TIMEOUT
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_the_screen_is_drawn_while_standard_error_is_a_file(tmp_path: Path) -> None:
    line = f"exec {sys.executable} -m tui.main http://127.0.0.1:1 2>{tmp_path}/errors"
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TERM": "xterm-256color"}
    screen = pexpect.spawn("/bin/sh", ["-c", line], env=env, dimensions=(24, 80), encoding="utf-8", timeout=TIMEOUT)
    screen.expect("cannot reach|connecting")
    screen.send("q")
    screen.expect(pexpect.EOF)
    assert (tmp_path / "errors").read_text() == ""
