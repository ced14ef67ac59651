"""The embedded cluster, which the console starts and queries by the command line of the runtime."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit

from tui.errors import HeadraceError

QUIET_START = 0.5  # seconds; a slower start is announced
RUNTIME_PACKAGES = ("pyspark", "confluent_kafka", "starlette")


def check_installed() -> None:
    """Raises HeadraceError if the packages of the extra `runtime` are not installed."""
    if any(find_spec(package) is None for package in RUNTIME_PACKAGES):
        raise HeadraceError("the Headrace runtime is not installed", "pip install 'headrace[runtime]'")


def exec_runtime(words: Sequence[str]) -> NoReturn:
    """Replaces this process by `python -m runtime …`, so that signals and exit codes are those of the runtime."""
    if words[0] != "doctor":  # doctor reports missing packages itself
        check_installed()
    sys.stdout.flush()
    sys.stderr.flush()
    if words[0] == "worker":  # which unblocks the signal when it has a handler
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    os.execv(sys.executable, _command(words))


class Embedded(NamedTuple):
    """An embedded cluster to which this process is attached; it stops after the last process has detached."""

    url: str
    bootstrap: str

    def detach(self) -> None:
        """Detaches this process. Raises HeadraceError."""
        _runtime(["embedded", "detach", "--pid", str(os.getpid())])


def attach(quiet_start: float = QUIET_START) -> Embedded:
    """Starts the embedded cluster if necessary and attaches to it. Raises HeadraceError.

    A start that takes longer than `quiet_start` seconds is announced.
    The runtime prints progress to standard error and the address as the last line of standard output."""
    check_installed()
    starting = "starting the embedded cluster (Kafka broker and worker); this takes a few seconds"
    output = _runtime(["embedded", "up", "--json", "--attach", str(os.getpid())], starting, quiet_start)
    try:
        response = json.loads(output.strip().rpartition("\n")[2])
        return Embedded(response["url"], response["bootstrap"])
    except (ValueError, KeyError, TypeError):
        raise HeadraceError(
            "the embedded cluster did not report its address", "see: headrace embedded status"
        ) from None


def brokers_of(url: str) -> str:
    """The bootstrap servers of the embedded cluster if its worker has this URL and runs, otherwise empty."""
    if any(find_spec(package) is None for package in RUNTIME_PACKAGES):
        return ""
    words = ["embedded", "status", "--json"]
    done = subprocess.run(_command(words), capture_output=True, text=True, check=False)
    try:
        response = json.loads(done.stdout)
        same = _port(response["url"]) == _port(url) and urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
        return str(response["bootstrap"]) if same else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _command(words: Sequence[str]) -> list[str]:
    """The runtime's command line. `-P`: modules are not searched in the current folder, which others may write to."""
    return [sys.executable, "-P", "-m", "runtime", *words]


def _port(url: str) -> int | None:
    return urlsplit(url).port


def _output(process: subprocess.Popen[str], doing: str, quiet: float) -> str:
    try:
        return process.communicate(timeout=quiet if doing else None)[0]
    except subprocess.TimeoutExpired:
        print(doing, file=sys.stderr, flush=True)
        return process.communicate()[0]


def _runtime(words: Sequence[str], doing: str = "", quiet: float = 0.0) -> str:
    """The output of the command; `doing` is printed if the command takes longer than `quiet` seconds."""
    with subprocess.Popen(_command(words), stdout=subprocess.PIPE, text=True) as process:
        try:
            output = _output(process, doing, quiet)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise HeadraceError(f"`headrace {' '.join(words[:2])}` failed", "see its output above")
    return output
