"""Three brokers restart one after another under a screen, `watch` and `check`: none of them ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest

from tests.support.broker import unique
from tests.support.clusters.worker_group import worker_group
from tests.support.connect import SINK, SOURCE, STRINGS
from tests.support.console.script_console import Console
from tests.support.console.terminal import Terminal
from tests.support.kafka.broker_cluster import BrokerCluster

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

SECONDS = float(os.environ.get("HEADRACE_RESTARTS_SECONDS", "300"))
OK, UNKNOWN = 0, 3
PAGES = ("T", "d", "escape", "escape", "5", "2", "escape")  # topics, one of them, offsets, tasks


class Checks:
    """`check` again and again, on a thread, with its exit codes."""

    def __init__(self, console: Console, *names: str) -> None:
        self.codes: Counter[int] = Counter()
        self._console, self._command = console, f"check {' '.join(names)} -c 'lag > 1000000' -c failed"
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checks")
        self._thread.start()

    def _run(self) -> None:
        while not self._end.is_set():
            self.codes[self._console.in_context("c", self._command, code=None).code] += 1
            self._end.wait(1.0)

    def stop(self) -> None:
        self._end.set()
        self._thread.join()


def test_nothing_of_the_console_ends_while_brokers_restart(tmp_path: Path) -> None:
    factors = {f"{kind}.storage.replication.factor": "3" for kind in ("config", "offset", "status")}
    with (
        BrokerCluster(tmp_path / "brokers").started() as cluster,
        worker_group(tmp_path / "workers", cluster, factors) as group,
    ):
        worker = group.ours()
        group.start(worker)
        topic, source, sink = cluster.create_topic(), unique("source"), unique("sink")
        (tmp_path / "in").write_text("line\n" * 1000)
        base = {"tasks.max": "1", **STRINGS}
        group.connect.create(source, {"connector.class": SOURCE, "file": str(tmp_path / "in"), "topic": topic, **base})
        group.connect.create(sink, {"connector.class": SINK, "file": str(tmp_path / "out"), "topics": topic, **base})
        group.wait_running([source, sink], 120)
        console = Console(worker.url, tmp_path)
        console(f"set-context c --cluster={worker.url} --bootstrap-servers={cluster.bootstrap}")
        rules = tmp_path / "headrace" / "config.toml"
        rules.write_text('[[rules]]\nwhen = "failed"\nname = "failed"\nconnectors = "*"\n')
        _restart(cluster, console, source, sink)
        assert console.in_context("c", f"check {source} {sink} -c failed").code == OK


def _restart(cluster: BrokerCluster, console: Console, source: str, sink: str) -> None:
    """Restarts brokers in turn, and presses keys meanwhile; afterwards everything still runs and ends as asked."""
    checks = Checks(console, source, sink)
    watching = console.start("watch --every 500ms -o jsonl")
    home = console.environ["XDG_CONFIG_HOME"]
    try:
        with Terminal("--context", "c", XDG_CONFIG_HOME=home) as terminal:
            terminal.sees(source, sink)
            deadline = time.monotonic() + SECONDS
            with ThreadPoolExecutor(1) as pool:
                over = threading.Event()
                pressing = pool.submit(_press_until, terminal, over)
                try:
                    for broker in cycle(cluster.brokers):
                        if time.monotonic() > deadline or pressing.done():
                            break
                        broker.restart()  # on this thread, with which brokers end
                        cluster.wait_in_sync(120)
                finally:
                    over.set()
                pressing.result()
            for _ in range(4):  # back to the list, from whichever page
                terminal.escape()
            terminal.sees(source, sink)
            terminal.press("q")
            assert terminal.exit_code() == 0
        assert watching.poll() is None, "watch has ended"
    finally:
        checks.stop()
        watching.send_signal(signal.SIGINT)
        code = watching.wait(30)
    print(f"exit codes of {checks.codes.total()} checks: {dict(checks.codes)}; watch: {code}")
    assert set(checks.codes) <= {OK, UNKNOWN} and checks.codes[OK]


def _press_until(terminal: Terminal, over: threading.Event) -> None:
    for key in cycle(PAGES):
        if over.is_set():
            break
        _press(terminal, key)


def _press(terminal: Terminal, key: str) -> None:
    terminal.escape() if key == "escape" else terminal.press(key)
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        terminal.pump()
    assert terminal.process.isalive(), "the screen has ended\n" + "\n".join(terminal.lines)
