"""Apache Connect's own classes as a process: Referee.java, compiled by the Janino that PySpark ships."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from runtime.embedded.broker import broker
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.java.connect_jars import connect_jars

_SOURCE = Path(__file__).with_name("Referee.java")


class Referee:
    """Answers of one JVM to a list of cases, read after the JVM has ended."""

    def __init__(self, process: subprocess.Popen[bytes], answers: IO[bytes], log: IO[bytes]) -> None:
        self._process, self._answers, self._log = process, answers, log

    def answers(self, expected: int) -> tuple[int, list[dict[str, Any]]]:
        """The JVM's feature version, and an answer for each case."""
        code = self._process.wait()
        self._answers.seek(0)
        first, *found = [json.loads(line) for line in self._answers] or [None]
        if code or first is None or len(found) != expected:
            self._log.seek(0)
            output = self._log.read().decode("utf-8", "replace")[-2000:]
            raise AssertionError(f"the JVM ended with {code} after {len(found)} of {expected} answers: {output}")
        return first["java"], found


@contextmanager
def running(cases: Sequence[dict[str, Any]]) -> Iterator[Referee]:
    """A JVM that processes the cases."""
    with TemporaryFile() as asked, TemporaryFile() as answers, TemporaryFile() as log:
        asked.writelines(json.dumps(case).encode() + b"\n" for case in cases)
        asked.flush()
        asked.seek(0)
        process = subprocess.Popen(_command(), stdin=asked, stdout=answers, stderr=log)
        try:
            yield Referee(process, answers, log)
        finally:
            process.kill()
            process.wait()


def _command() -> list[str]:
    java = find_java()
    sets = (jars.fetch("broker", broker.BROKER, java), connect_jars())
    class_path = [*map(str, _janino()), *(f"{folder}/*" for folder in sets)]
    return [
        *(str(java.program), "-Xmx256m", "-Xss4m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US", "-Dfile.encoding=UTF-8"),
        *("-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", os.pathsep.join(class_path)),
        *("org.codehaus.janino.SimpleCompiler", str(_SOURCE), "Referee"),
    ]


def _janino() -> list[Path]:
    spec = importlib.util.find_spec("pyspark")
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "", "jars")
    return [*folder.glob("janino-*.jar"), *folder.glob("commons-compiler-*.jar")]
