"""Apache's worker and ours, with the plugins that write down their calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp

from runtime.java.host.install import compile_sources
from tests.support.broker import unique
from tests.support.connect import STRINGS, Connect
from tests.support.java.host import settings
from tests.support.java.transcript.writer import read, transcript_plugins
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker, our_worker

_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


EXACTLY_ONCE = {"exactly.once.source.support": "enabled"}
"""With it, sources have transactions, and use all three clients."""


@dataclass(frozen=True, slots=True)
class Side:
    """A worker, and the folder of its transcripts."""

    connect: Connect
    folder: Path

    @property
    def worker(self) -> WorkerProcess:
        return self.connect.worker

    def start(
        self, cls: str, chain: Callable[[Path], Mapping[str, str]] = lambda file: STRINGS, /, **more: str
    ) -> tuple[str, Path]:
        """Starts a connector and waits until it is RUNNING; returns its name and transcript. `__` in the name of an
        option is a dot; `chain` gives the options of the plugins of its chain."""
        name = unique("telling")
        transcript = self.folder / name
        config = {"connector.class": cls, "tasks.max": "2", "transcript": str(transcript)}
        self.connect.create(name, {**config, **chain(transcript), **dotted(more)})
        self.connect.wait(name, "RUNNING", ["RUNNING"], 120)
        return name, transcript

    def failure(self, name: str) -> list[str]:
        """The exceptions in the trace of a connector's only task."""
        (task,) = self.connect.status(name)["tasks"]
        return exceptions(task.get("trace", ""))


def dotted(options: Mapping[str, str]) -> dict[str, str]:
    """`__` in the name of an option becomes a dot."""
    return {key.replace("__", "."): value for key, value in options.items()}


def exceptions(trace: str) -> list[str]:
    """The lines of a trace without its frames."""
    return [line for line in trace.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "... "))]


def wait_for(transcript: Path, part: str, start: str, count: int = 1, timeout: float = 60.0) -> None:
    """Waits until so many lines of a part start with a text."""

    def is_told() -> bool:
        return sum(text.startswith(start) for text in read(transcript).get(part, ())) >= count

    wait_until(is_told, timeout, f"{count} lines `{part}: {start}` in {transcript}")


@contextmanager
def workers(
    bootstrap: str, folders: tuple[Path, Path], properties: Callable[[Path, bool], Mapping[str, str]] = lambda *_: {}
) -> Iterator[list[Side]]:
    """Apache's worker and ours, started. `properties` gets the folder, and whether the worker is Apache's."""
    sides = []
    for make, folder in zip((apache_worker, our_worker), folders, strict=True):
        own = {"plugin.path": transcript_plugins(), "offset.flush.interval.ms": "500"}
        more = {**own, **properties(folder, make is apache_worker)}
        sides.append(Side(Connect(make(folder, bootstrap, more)), folder))
    try:
        for side in sides:
            side.worker.start(wait=False)
        for side in sides:
            side.worker.wait_healthy(180)
        yield sides
    finally:
        for side in sides:
            if side.worker.running():
                side.worker.stop()


def apache_worker(folder: Path, bootstrap: str, overrides: Mapping[str, str]) -> WorkerProcess:
    """Apache's worker with a diagnostic context (MDC), as with the log4j of its distribution; slf4j-simple has none."""
    worker = java_worker(folder, bootstrap, overrides, _JVM)
    at = worker.command.index("-cp") + 1
    worker.command[at] = os.pathsep.join((_diagnostic_context(), worker.command[at]))
    return worker


@lru_cache(maxsize=1)
def _diagnostic_context() -> str:
    """A folder of classes with the binding that our JVMs have."""
    given, name = settings(), "org/slf4j/impl/StaticMDCBinder.java"
    source = files("runtime.java.host").joinpath("src", name).read_text(encoding="utf-8")
    work = Path(mkdtemp(prefix="headrace-mdc-"))
    return str(compile_sources(given.java, given.classpath, {name: source}, work))
