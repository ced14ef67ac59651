"""The embedded cluster, seen from the console: another process, spoken to by its command line alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit

from tui.errors import HeadraceError

MOMENT = 0.5  # seconds within which a running cluster answers
NEEDED = ("pyspark", "confluent_kafka", "starlette")


def check_installed() -> None:
    """The runtime's packages come with an extra; a console over SSH has no use for them."""
    if any(find_spec(package) is None for package in NEEDED):
        raise HeadraceError("this needs the runtime, which is not installed", "pip install 'headrace[runtime]'")


def hand_over(words: Sequence[str]) -> NoReturn:
    """Becomes `python -m runtime …`: same process, so signals and exit codes are its own."""
    if words[0] != "doctor":  # the doctor's very business is to say what is missing
        check_installed()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "runtime", *words])


class Embedded(NamedTuple):
    """A cluster this process is attached to; `detach` lets it stop if nobody else is."""

    url: str
    bootstrap: str

    def detach(self) -> None:
        _runtime(["embedded", "detach", "--pid", str(os.getpid())])


def attach() -> Embedded:
    """Starts the embedded cluster when absent. Its progress goes to standard error, its address comes on the last
    line of standard output."""
    check_installed()
    starting = "starting the embedded cluster (Kafka broker and worker); this takes a few seconds"
    output = _runtime(["embedded", "up", "--json", "--attach", str(os.getpid())], starting)
    try:
        answer = json.loads(output.strip().rpartition("\n")[2])
        return Embedded(answer["url"], answer["bootstrap"])
    except (ValueError, KeyError, TypeError):
        raise HeadraceError("the embedded cluster did not say where it is", "see: headrace embedded status") from None


def brokers_of(url: str) -> str:
    """The brokers of the embedded cluster if its worker is at this URL; empty if it is not, or does not run."""
    if any(find_spec(package) is None for package in NEEDED):
        return ""
    words = [sys.executable, "-m", "runtime", "embedded", "status", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
        same = _port(answer["url"]) == _port(url) and urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
        return str(answer["bootstrap"]) if same else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _port(url: str) -> int | None:
    return urlsplit(url).port


def _output(process: subprocess.Popen[str], doing: str) -> str:
    try:
        return process.communicate(timeout=MOMENT if doing else None)[0]
    except subprocess.TimeoutExpired:
        print(doing, file=sys.stderr, flush=True)
        return process.communicate()[0]


def _runtime(words: Sequence[str], doing: str = "") -> str:
    """The output of the command; `doing` is printed when the command takes longer than MOMENT."""
    with subprocess.Popen([sys.executable, "-m", "runtime", *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            output = _output(process, doing)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise HeadraceError(f"`headrace {' '.join(words[:2])}` failed", "what it said is above")
    return output
