"""Snapshots of pages of a Headrace worker and of dead letters at 80×24, 120×40 and 200×50."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from tests.support.console.console import Console
from tests.support.console.snapshot import NOON, RECORDING, SIZES, recorded, same, scripted_topic, still, with_answers
from tui.dead_letters.brokers import DeadLetterWindow, SendResult
from tui.dead_letters.letters import PREFIX, TOPIC, DeadLetter
from tui.screens.clusters.worker_units import WorkerUnitsScreen
from tui.screens.clusters.workers import WorkersScreen
from tui.screens.dead_letters.dead_letters import DeadLettersScreen

__all__ = ["still"]
pytestmark = pytest.mark.usefixtures("still")
sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
ARCHIVE = "/connectors/orders-archive"
MINUTE = 60_000  # milliseconds


def errors() -> dict[str, object]:
    failed = {"failed": 37, "skipped": 37, "retries": 0, "failed_tries": 37, "logged": 0, "dead_letters": 37}
    record = {
        "task": 1,
        "stage": "VALUE_CONVERTER",
        "exception": "org.apache.kafka.connect.errors.DataException",
        "message": "Converting byte[] to Kafka Connect data failed due to serialization error",
        "cause": "Unrecognized token 'order'",
        "topic": "orders",
        "partition": 2,
    }
    return {
        "name": "orders-archive",
        "since": int(NOON * 1000) - 90 * MINUTE,
        "total": failed,
        "stages": {"VALUE_CONVERTER": {"failed": 37, "skipped": 37, "retries": 0, "dead_letters": 37}},
        "tasks": [],
        "last": [{**record, "time": int(NOON * 1000) - n * 900, "offset": 400 - n} for n in range(12)],
    }


def detail() -> dict[str, object]:
    def entry(number: int) -> dict[str, object]:
        partition = {"kafka_topic": "orders", "kafka_partition": number}
        lag = {"records": 20 * number, "ms": 4000 * number}
        return {"partition": partition, "offset": {"kafka_offset": 400}, "end": 400 + 20 * number, "lag": lag}

    return {"offsets": [entry(number) for number in range(3)], "stalled": [1], "expires_at": None}


def restarts() -> dict[str, object]:
    error = "org.apache.kafka.connect.errors.ConnectException: cannot connect to search-2:9200"
    failures = [{"time": int(NOON * 1000) - n * MINUTE, "attempt": 3 - n, "restarted": None} for n in range(3)]
    return {
        "name": "orders-archive",
        "policy": {"attempts": 5, "delay_ms": 10_000, "delay_max_ms": 600_000, "errors": [], "reset_ms": 600_000},
        "units": [{
            "task": 0, "attempts": 3, "due": int(NOON * 1000) + 34_000, "ended": False,
            "history": [{**one, "error": error} for one in failures],
        }],
    }  # fmt: skip


def metrics() -> str:
    slots = "".join(f'headrace_slot_tasks{{slot="{slot}"}} {12 - slot}\n' for slot in range(3))
    one = 'kafka_connect_sink_task_metrics_sink_record_send_total{connector="a",task="0"} 1234567\n'
    lag = 'headrace_sink_record_lag{connector="a",task="0"} 60\n'
    stalled = 'headrace_task_stalled{connector="a",task="0"} 1\n'
    families = {
        "headrace_slot_tasks": slots,
        "kafka_connect_sink_task_metrics_sink_record_send_total": one,
        "headrace_sink_record_lag": lag,
        "headrace_task_stalled": stalled,
    }
    return "".join(f"# HELP {name} x\n# TYPE {name} gauge\n{text}" for name, text in families.items())


def worker(number: int, state: str, load: float, *units: tuple[str, int]) -> dict[str, object]:
    return {
        "worker_id": f"10.1.0.{number}:8083",
        "url": f"http://10.1.0.{number}:8083/",
        "leader": number == 1,
        "here": number == 1,
        "implementation": "headrace" if number < 4 else "connect",
        "version": "0.1.0" if number < 4 else "",
        "slots": 4,
        "load": load,
        "memory": 734_000_000 if number == 1 else None,
        "state": state,
        "connectors": [name for name, task in units if task < 0],
        "tasks": [{"connector": name, "task": task} for name, task in units if task >= 0],
    }


def workers() -> dict[str, object]:
    """A group of four. The recorded connectors run on the first; one of them is about to start on the second."""
    listed = next(json.loads(line) for line in RECORDING.read_text("utf-8").splitlines() if "expand=" in line)["answer"]
    tasks = {name: len(one["status"]["tasks"]) for name, one in listed.items() if name != "orders-archive"}
    first = [(name, task) for name, count in tasks.items() for task in range(-1, count)]
    members = [
        worker(1, "ACTIVE", 1.25, *first),
        worker(2, "DRAINING", 0.04, ("orders-archive", -1), ("orders-archive", 0)),
        worker(3, "DRAINING", 0.0),
        worker(4, "CORDONED", 0.0),
    ]
    waiting = [{"connector": "orders-archive", "task": 1, "until": int(NOON * 1000) + 4 * MINUTE}]
    return {
        "group_id": "connect-cluster",
        "generation": 12,
        "leader": "10.1.0.1:8083",
        "rebalancing": True,
        "workers": members,
        "waiting": waiting,
    }


def java_plugins() -> list[dict[str, str]]:
    postgres = {"class": "io.debezium.connector.postgresql.PostgresConnector", "type": "source"}
    lines = {"class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "type": "source", "version": "4.3.0"}
    return [{**postgres, "version": version} for version in ("3.1.0.Final", "3.2.0.Final")] + [lines]


def details() -> list[dict[str, str]]:
    """Two versions of a Java plugin, and a bundled one."""
    origins = [
        f"/opt/plugins/debezium-connector-postgres-{version}/debezium-connector-postgres-{version}.jar"
        for version in ("3.1.0.Final", "3.2.0.Final")
    ]
    languages = ["java", "java", "python"]
    return [
        {**one, "language": language, "from": origin}
        for one, language, origin in zip(java_plugins(), languages, [*origins, "bundled"], strict=True)
    ]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """The recording, with additional answers of a Headrace worker."""
    answers = {
        f"{ARCHIVE}/errors": errors(),
        f"{ARCHIVE}/restarts": restarts(),
        f"{ARCHIVE}/offsets?detail=true": detail(),
        "/connector-plugins?connectorsOnly=false": java_plugins(),
        "/connector-plugins/details": details(),
        "/metrics": metrics(),
        "/workers": workers(),
        "/": {"version": "4.3.0", "commit": "headrace-0.1.0", "kafka_cluster_id": "stOMBzpMSeufFdpCsaUWFw"},
        "/health": {"status": "healthy", "message": "Worker has completed startup and is ready to handle requests."},
    }
    return with_answers(RECORDING, tmp_path, answers)


def moved(seen: Console) -> None:
    """Ten minutes of events: a fast sink, a slow one and a stalled one."""
    progress = seen.home.progress
    assert progress is not None
    for step in range(120, -1, -1):
        progress._clock = partial(float, NOON - 5 * step)
        written = 40_000 - 5 * min(step, 60) ** 2 if step > 20 else 38_000
        lag = {"records": max(0, 60 - 3 * max(0, step - 4)), "ms": 0}
        values = {"read": written, "written": written, "lag": lag, "age_ms": 0, "stalled": [1] if step < 5 else []}
        progress.update({"orders-archive": {**values, "limit": {"records": 500, "bytes": 2_000_000}}})


@sizes
async def test_pages_of_a_headrace_worker(size: tuple[int, int], ours: Path) -> None:
    async with recorded(*size, ours) as seen:
        await seen.sees("orders-log")
        moved(seen)
        await seen.go("orders-archive")
        await same(seen, "list-ours")
        await seen.press("enter", "1")
        await seen.sees("STALLED: task 1")
        await same(seen, "overview-ours")
        await seen.press("9")
        await same(seen, "metrics-ours")
        await seen.press("5")
        await same(seen, "offsets-ours")
        await seen.press("W")
        await seen.until(lambda: isinstance(seen.app.screen, WorkersScreen))
        await seen.sees("3 up, 33 tasks")
        await seen.sees("group connect-cluster")
        await same(seen, "workers-ours")
        await seen.press("d")
        await seen.sees("a recording is read-only")
        await seen.press("enter")
        await seen.until(lambda: isinstance(seen.app.screen, WorkerUnitsScreen))
        await same(seen, "worker-units")
        await seen.press("escape", "escape", "P")
        await seen.sees("PostgresConnector", "bundled")
        await same(seen, "plugins-ours")


def letters(connector: str = "orders-search") -> tuple[DeadLetter, ...]:
    trace = (
        "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed\n"
        "\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:325)\n"
        "Caused by: com.fasterxml.jackson.core.JsonParseException: Unrecognized token 'order'\n"
    )
    common_headers = {
        "stage": "VALUE_CONVERTER",
        "class.name": "org.apache.kafka.connect.json.JsonConverter",
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
        "exception.message": "Converting byte[] to Kafka Connect data failed",
        "exception.stacktrace": trace,
        "connector.name": connector,
        "task.id": "0",
        "topic": "orders",
        "partition": "2",
    }

    def letter(number: int) -> DeadLetter:
        headers = {**common_headers, "offset": str(400 + number)}.items()
        found = tuple((PREFIX + name, text.encode()) for name, text in headers)
        at = int(NOON * 1000) - (9 - number) * MINUTE
        return DeadLetter(
            "dead", 0, number, at, b"k%d" % number, b'{"order": %d}' % number, (*found, ("source", b"shop"))
        )

    return tuple(letter(number) for number in range(8, -1, -1))


async def dead_letters(seen: Console, window: DeadLetterWindow, monkeypatch: pytest.MonkeyPatch) -> DeadLettersScreen:
    """The page of a sink whose topic has these letters."""
    await seen.sees("orders-log")
    sink = seen.home.snapshot.connectors["orders-search"]
    monkeypatch.setitem(cast("dict[str, str]", sink.config), TOPIC, "orders-dead")
    screen = DeadLettersScreen(seen.home.view.services, sink, scripted_topic(window))
    seen.app.push_screen(screen)
    return screen


@sizes
async def test_dead_letters(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    window = DeadLetterWindow(letters(), {0: 100}, {0: 0}, {0: 109})
    async with recorded(*size, bootstrap="broker:9092") as seen:
        screen = await dead_letters(seen, window, monkeypatch)
        await seen.until(lambda: screen.letters)
        await seen.press("space", "space")
        screen.sent = {"0/8": SendResult(window.letters[0], where="orders-2@1033")}
        screen.draw()
        await same(seen, "dead-letters")


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)], ids=str)
async def test_dead_letters_of_a_shared_topic(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those of other connectors are hidden, and neither exported nor marked, until `a` shows them."""
    monkeypatch.chdir(tmp_path)
    own, other = letters()[:3], letters("orders-search-of-the-other-shop")[3:6]
    window = DeadLetterWindow((*own, *other), {0: 0}, {0: 0}, {0: 6})
    async with recorded(*size, bootstrap="broker:9092") as seen:
        screen = await dead_letters(seen, window, monkeypatch)
        await seen.sees("newest 6 of 6, 3 hidden", "3 of other connectors are not shown: a shows them")
        assert screen.grid.keys == [letter.id for letter in own]
        await seen.press("x")
        await seen.sees("3 records written to")
        await seen.press("b")
        assert [len(group) for group in screen.groups.values()] == [3]
        await seen.press("b", "a", "asterisk")
        await seen.sees("CONNECTOR", "6 marked")
        await same(seen, "dead-letters-of-all")
        await seen.press("a")
        monkeypatch.setattr(screen, "_open_topic", scripted_topic(window._replace(letters=(*own, *other)[1:])))
        assert screen.marked == {letter.id for letter in own} and screen.chosen == list(own)
        await seen.press("f5")
        await seen.sees("1 mark removed: older dead letters are not loaded any more", "2 marked")
        assert screen.marked == {letter.id for letter in own[1:]}
