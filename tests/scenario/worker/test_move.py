"""The move from Apache's workers to ours and back with `headrace migrate run`, whose process is killed on the way."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runtime.main import main
from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.worker_group import QUICK
from tests.support.connect import Connect
from tests.support.java.connect_versions import connect_worker
from tests.support.kafka.topics import count
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker, our_worker

COPIES = 4
MIXED = {"headrace.mixed.group": "true"}

Act = Callable[[], None]


class Pipelines:
    """Ten connectors: file sources with sinks, of which one has a transformation, a paused and a stopped source."""

    def __init__(self, folder: Path, broker: KafkaBroker) -> None:
        self._folder, self._broker, self.lines = folder, broker, 0
        self.sources = [unique("lines") for _ in range(COPIES)]
        self.sinks = [unique("copy") for _ in range(COPIES)]
        self.topics = [broker.create_topic() for _ in range(COPIES)]
        self.paused, self.stopped = unique("paused"), unique("stopped")

    def create(self, connect: Connect) -> None:
        for number, (source, sink, topic) in enumerate(zip(self.sources, self.sinks, self.topics, strict=True)):
            self._file(number, "in").touch()
            hoist = "org.apache.kafka.connect.transforms.HoistField$Value"
            more = {"transforms": "h", "transforms.h.type": hoist, "transforms.h.field": "line"} if number == 0 else {}
            connect.source(source, str(self._file(number, "in")), topic)
            connect.sink(sink, str(self._file(number, "out")), topic, **more)
        for name, verb, state in ((self.paused, "pause", "PAUSED"), (self.stopped, "stop", "STOPPED")):
            connect.source(name, str(self._folder / "none"), self.topics[0])
            connect.put(name, verb)
            connect.wait(name, state)

    def write(self, number: int) -> None:
        """Appends lines to each file, and waits until the sinks have copied them."""
        for lane in range(COPIES):
            with self._file(lane, "in").open("a") as file:
                file.writelines(f"line {self.lines + line:06}\n" for line in range(number))
        self.lines += number
        for lane in range(COPIES):
            wait_until(partial(self._has_all, lane), 180, f"{self.lines} lines of lane {lane}", every=0.2)

    def check(self) -> None:
        """Each line has arrived once: all workers were stopped in an orderly way."""
        for lane, topic in enumerate(self.topics):
            assert count(self._broker.bootstrap, topic) == self.lines
            assert len(self._copied(lane)) == self.lines

    def check_offsets(self, export: Mapping[str, Any]) -> None:
        """The exported offsets are those of all lines."""
        for lane, (source, sink) in enumerate(zip(self.sources, self.sinks, strict=True)):
            assert [entry["offset"] for entry in export[source]] == [
                {"position": self._file(lane, "in").stat().st_size}
            ]
            assert sum(entry["offset"]["kafka_offset"] for entry in export[sink]) == self.lines

    def _has_all(self, lane: int) -> bool:
        return len(self._copied(lane)) >= self.lines

    def _copied(self, lane: int) -> list[str]:
        file = self._file(lane, "out")
        return file.read_text().splitlines() if file.exists() else []

    def _file(self, lane: int, way: str) -> Path:
        return self._folder / f"lane-{lane}.{way}"


class MigrateRun:
    """One process of `headrace migrate run`."""

    def __init__(self, folder: Path, file: Path, *options: str) -> None:
        self._log = folder / f"{unique('migrate')}.log"
        command = [sys.executable, "-u", "-m", "runtime", "migrate", "run", str(file), *options]
        with self._log.open("wb") as out:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out)

    def wait_question(self, step: str) -> None:
        """Waits for the question of the step whose description has this text."""

        def asks() -> bool:
            text = self._log.read_text()
            assert self._process.poll() is None, text
            return text.endswith("[y/N] ") and step in text.splitlines()[-2]

        wait_until(asks, 120, f"the question of: {step}", every=0.1)

    def answer(self, step: str, act: Act) -> None:
        self.wait_question(step)
        act()
        assert self._process.stdin is not None
        self._process.stdin.write(b"y\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def finish(self) -> str:
        """Waits for the end; returns the output."""
        code = self._process.wait(300)
        assert code == 0, self._log.read_text()
        return self._log.read_text()


@contextmanager
def ending(*workers: WorkerProcess) -> Iterator[None]:
    """Ends the workers that still run."""
    try:
        yield
    finally:
        for worker in workers:
            if worker.running():
                worker.stop()


def shared(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a cluster, without those of one worker."""
    return {key: value for key, value in properties.items() if key != "listeners"}


def export(file: Path, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(f"{file}.move") / name).read_text())
    return document


def stop(worker: WorkerProcess) -> None:
    assert worker.stop(60) in (0, 143)  # a JVM's exit code after SIGTERM


def test_a_move_that_its_operator_gives_up(
    connect: Connect, broker: KafkaBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The workers were not stopped within the time limit, so that the way back has nothing to stop or start."""
    lines = unique("lines")
    (tmp_path / "in").write_text("one\n")
    connect.source(lines, str(tmp_path / "in"), broker.create_topic())
    wait_until(lambda: connect.offsets(lines), 60, "the first offset")
    url, folder = connect.worker.url, str(tmp_path / "move")
    options = [str(connect.worker.properties_file), "--connect", url, "--folder", folder, "--yes", "--timeout"]
    assert main(["migrate", "run", *options, "1", "--back"]) == 1
    shown = capsys.readouterr()
    assert "1 connectors, 1 of them RUNNING" in shown.out
    assert "not so after 1 s:" in shown.err and "workers are running: " in shown.err
    assert main(["migrate", "run", *options, "60"]) == 0
    shown = capsys.readouterr()
    # with those that other tests have left on this worker
    assert re.search(r"\b[1-9]\d* offsets of before-headrace\.json: none is behind", shown.out)
    assert "The connectors run on headrace workers" in shown.out


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", ["3.6.2", "3.9.1"])
def test_the_move_with_one_stop_and_back(version: str, broker: KafkaBroker, tmp_path: Path) -> None:
    """The process of the move is killed before a start, and after one that it has not noticed."""
    apache = connect_worker(tmp_path, broker.bootstrap, version)
    ours, file = our_worker(tmp_path, broker.bootstrap, shared(apache.properties)), apache.properties_file
    pipelines = Pipelines(tmp_path, broker)
    there, back = ("--connect", apache.url, "--to", ours.url), ("--back", "--connect", ours.url, "--to", apache.url)
    with ending(apache, ours):
        apache.start(180)
        pipelines.create(Connect(apache))
        pipelines.write(500)

        first = MigrateRun(tmp_path, file, *there)
        first.answer("stop all Apache workers", lambda: stop(apache))
        first.wait_question("headrace worker distributed")
        first.kill()
        second = MigrateRun(tmp_path, file, *there)
        second.wait_question("headrace worker distributed")
        ours.start(180)
        second.kill()
        output = MigrateRun(tmp_path, file, *there).finish()
        assert "offsets of before-headrace.json: none is behind" in output and "10 connectors are as before" in output
        pipelines.check_offsets(export(file, "before-headrace.json"))
        assert export(file, "after-headrace.json") == export(file, "before-headrace.json")
        pipelines.write(500)

        again = MigrateRun(tmp_path, file, *back)
        again.answer("stop all Headrace workers", lambda: stop(ours))
        again.answer("start Apache's workers", lambda: apache.start(180))
        assert "10 connectors are as before" in again.finish()
        pipelines.check_offsets(export(file, "before-apache.json"))
        assert export(file, "after-apache.json") == export(file, "before-apache.json")
        pipelines.write(500)
        pipelines.check()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_rolling_move_and_back(broker: KafkaBroker, tmp_path: Path) -> None:
    """From Connect 4.3; lines are written between all steps."""
    apache = java_worker(tmp_path, broker.bootstrap, QUICK)
    properties, file = shared(apache.properties), apache.properties_file
    mixed = our_worker(tmp_path, broker.bootstrap, {**properties, **MIXED})
    ours = our_worker(tmp_path, broker.bootstrap, properties)
    pipelines = Pipelines(tmp_path, broker)

    def replace(before: WorkerProcess, after: WorkerProcess) -> None:
        stop(before)
        after.start(180)

    with ending(apache, mixed, ours):
        apache.start(180)
        pipelines.create(Connect(apache))
        pipelines.write(500)

        there = MigrateRun(tmp_path, file, "--connect", apache.url, "--to", mixed.url)
        there.answer("headrace.mixed.group=true to", lambda: mixed.start(180))
        there.wait_question("stop Apache's workers")
        there.kill()
        pipelines.write(500)
        there = MigrateRun(tmp_path, file, "--connect", apache.url, "--to", ours.url)
        there.answer("stop Apache's workers", lambda: stop(apache))
        there.answer("remove headrace.mixed.group", lambda: replace(mixed, ours))
        assert "10 connectors are as before" in there.finish()
        pipelines.write(500)

        back = MigrateRun(tmp_path, file, "--back", "--connect", ours.url, "--to", apache.url)
        back.answer("add headrace.mixed.group=true", lambda: replace(ours, mixed))
        back.answer("start Apache's workers", lambda: apache.start(180))
        pipelines.write(500)
        back.answer("stop the Headrace workers", lambda: stop(mixed))
        assert "10 connectors are as before" in back.finish()
        pipelines.write(500)
        pipelines.check()
        stop(apache)
        exported = subprocess.check_output(
            [sys.executable, "-m", "runtime", "offsets", "--config", str(file), "--export"]
        )
        pipelines.check_offsets(json.loads(exported))
