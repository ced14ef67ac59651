"""The JVM that runs one class of tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.embedded.processes.process import spawn
from tests.contract.apache.class_paths import JAVA, Suite
from tests.contract.apache.results import Result, read_report
from tests.support.packages.debian import installed

_PACKAGE = "org.apache.kafka.connect.integration"
_OPTIONS = ("-Xmx1200m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_STOP = 30.0  # seconds in which the workers of a test that is interrupted may end


@dataclass(frozen=True, slots=True)
class Run:
    """How tests are run: with which Java (of a JDK, since some tests compile plugins), below which folder, on Apache's
    workers or Headrace's, and with which limit in seconds for a class."""

    suite: Suite
    java: Path
    folder: Path
    apache: bool
    limit: float


def installed_java() -> Path:
    """The `java` of a JDK, which is installed if the machine has none. PackageMissing if it cannot be installed."""
    return installed(_java_of_jdk, "openjdk-17-jdk-headless")


def _java_of_jdk() -> Path | None:
    compiler = shutil.which("javac")
    return None if compiler is None else Path(compiler).resolve().with_name("java")


def run_class(run: Run, cls: str, methods: Sequence[str]) -> list[Result]:
    """The results of these methods of a class, or of all. Logs are in the folder of the class.

    A class that takes longer than its limit has one result more, a failure with the name of the class.
    """
    folder = run.folder / cls
    (folder / "xdg").mkdir(parents=True)
    process = spawn(_command(run, cls, methods, folder), folder / "output.txt", _environment(folder))
    try:
        process.wait(run.limit)
        over = []
    except subprocess.TimeoutExpired:
        over = [Result(cls, f"has not ended within {run.limit:g} s", run.limit)]
    finally:
        _end(process)
    report = folder / "TEST-junit-jupiter.xml"
    return [*(read_report(report) if report.is_file() else _finished(folder, cls)), *over]


def _command(run: Run, cls: str, methods: Sequence[str], folder: Path) -> list[str]:
    class_path = run.suite.apache if run.apache else run.suite.headrace
    chosen = "|".join(map(re.escape, methods)) or ".*"
    return [
        *(str(run.java), *_OPTIONS, f"-Dlog4j2.configurationFile={JAVA / 'log4j2.properties'}"),
        *(f"-Dsuite.folder={folder}", f"-Dsuite.plugins={run.suite.plugins}", f"-Dsuite.python={sys.executable}"),
        *("-Djava.net.preferIPv4Stack=true", "-cp", os.pathsep.join(map(str, class_path))),
        *("org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors"),
        *("--details=testfeed", f"--reports-dir={folder}", "-c", f"{_PACKAGE}.{cls}"),
        f"--include-methodname=.*#({chosen})(\\(.*)?",
    ]


def _environment(folder: Path) -> dict[str, str]:
    own = {f"XDG_{kind}_HOME": str(folder / "xdg" / kind.lower()) for kind in ("CONFIG", "STATE", "DATA")}
    return {**os.environ, **own}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the JVM, which stops its workers, and what it has left: all are in the session that starts with it."""
    process.terminate()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _finished(folder: Path, cls: str) -> list[Result]:
    """The tests that ended before the limit, from the feed: JUnit writes its report at the end."""
    text = (folder / "output.txt").read_text(errors="replace")
    found = re.findall(r"JUnit Jupiter > \w+ > (\w+)\(.*?\)(?: > \[(\d+)\].*?)? :: (SUCCESSFUL|FAILED)", text)
    return [
        Result(f"{cls}#{method}" + (f"[{number}]" if number else ""), "" if end == "SUCCESSFUL" else "failed", 0.0)
        for method, number, end in found
    ]
