"""Records connect.jsonl and hostile.jsonl: answers of Apache's worker for the snapshots.

    python -m tests.tui.recordings.make BOOTSTRAP

starts a worker on that broker, brings connectors into all states, and records every request that a screen may send.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker
from tui.client.calls import ApiCall
from tui.errors import HeadraceError
from tui.wire.endpoint import Endpoint
from tui.wire.evented import AsyncTransport
from tui.wire.recording import RecordingTransport

HERE = Path(__file__).parent
STRING = "org.apache.kafka.connect.storage.StringConverter"
SHOWN_AS = "http://connect-1.example:8083"
PARTS = ("", "/status", "/config", "/tasks", "/topics", "/offsets")


def source(file: str, topic: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "FileStreamSource",
        "file": file,
        "topic": topic,
        "tasks.max": "1",
        "value.converter": STRING,
        **more,
    }


def sink(topics: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "FileStreamSink",
        "file": "/dev/null",
        "topics": topics,
        "tasks.max": "2",
        "value.converter": STRING,
        **more,
    }


def plain(topic: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Connectors by name: state and config."""
    return {
        "orders-log": ("RUNNING", source("/var/log/orders.log", topic)),
        "orders-archive": ("RUNNING", sink(topic)),
        "orders-search": ("FAILED", sink(topic, **{"value.converter": JSON, "tasks.max": "1"})),
        "payments-log": ("STOPPED", source("/var/log/payments.log", f"{topic}-payments")),
        "payments-ledger": (
            "RUNNING",
            sink(topic, **{"consumer.override.sasl.password": "hunter2", "password": "${file:/etc/kafka:ledger}"}),
        ),
        "payments-fraud": ("STOPPED", sink(topic)),
        "audit-log": ("PAUSED", source("/var/log/audit.log", f"{topic}-audit")),
        "audit-archive-of-the-whole-company-in-all-regions": ("RUNNING", sink(topic, **{"tasks.max": "3"})),
        "stock": ("FAILED", sink(topic, file="/no/such/folder/stock.txt")),
    }


def hostile(topic: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Unusual names that the worker accepts (without control characters; a name with a slash can only be listed), and
    values with every kind of special character."""
    escapes = "\x1b[31mred\x1b[0m \x1b]0;title\x07 [/oops] [bold]b[/bold] \u202eright to left"
    return {
        "[/oops]": ("RUNNING", source("/[bold]none[/]", topic, note=escapes)),
        "[red]not red[/red]": ("RUNNING", sink(topic, note=escapes)),
        "عربي-שלום": ("RUNNING", sink(topic, note="مرحبا")),
        "\u202eleft-to-right": ("RUNNING", sink(topic)),
        "日本語の名前コネクタ": ("STOPPED", source("/日本語/ファイル", topic, note="全角")),
        "zero\u200bwidth\u200d\ufeff": ("PAUSED", source("/a\u200bb", topic)),
        "e\u0301\u0302\u0303 combining 👩‍👩‍👧 family": ("RUNNING", sink(topic)),
        "a/b c?d#e%2F": ("RUNNING", sink(topic)),
        "fails": ("FAILED", sink(topic, file=f"/no/{escapes}\x00\x9b31m")),
    }


def create_all(worker: WorkerProcess, wanted: Mapping[str, tuple[str, dict[str, str]]]) -> None:
    for name, (_, config) in wanted.items():
        code, answer = worker.request("POST", "/connectors", {"name": name, "config": config})
        assert code == 201, answer
    for name, (state, _) in wanted.items():
        path = f"/connectors/{quote(name, safe='')}"
        wait_until(is_in_state(worker, name, ""), 60, name)
        if state in ("STOPPED", "PAUSED"):
            worker.request("PUT", f"{path}/{'stop' if state == 'STOPPED' else 'pause'}")
    for name, (state, _) in wanted.items():
        wait_until(is_in_state(worker, name, state), 60, f"{name} {state}")


def is_in_state(worker: WorkerProcess, name: str, state: str) -> Callable[[], bool]:
    def check() -> bool:
        answer = worker.request("GET", "/connectors?expand=status")[1].get(name, {}).get("status")
        if not answer or not state:
            return bool(answer)
        tasks = [task["state"] for task in answer["tasks"]]
        if state == "FAILED":
            return "FAILED" in tasks
        return answer["connector"]["state"] == state and (not tasks if state == "STOPPED" else {*tasks} == {state})

    return check


async def record(worker: WorkerProcess, file: Path, names: list[str]) -> None:
    recorder = RecordingTransport(AsyncTransport(Endpoint(worker.url)), str(file), clock=lambda: 0.0)
    paths = ["/", "/connectors", "/connectors?expand=status&expand=info", "/admin/loggers"]
    paths += [f"/connectors/{quote(name, safe='')}{part}" for name in names for part in PARTS]
    paths += [f"/connector-plugins?connectorsOnly={flag}" for flag in ("true", "false")]
    paths += [f"/connector-plugins/{name}/config" for name in ("FileStreamSource", "FileStreamSink")]
    for path in paths:
        try:
            await recorder.send(ApiCall("GET", path))
        except HeadraceError as error:
            print(f"{path}: {error}", file=sys.stderr)
    await recorder.close()


def cleaned(text: str, worker: WorkerProcess, topic: str) -> str:
    """Replaces ports, times and generated topic names by fixed ones."""
    port = worker.url.rpartition(":")[2]
    lines = text.replace(worker.url, SHOWN_AS).replace(f"127.0.0.1:{port}", "10.1.0.1:8083").replace(topic, "orders")
    head, _, rest = lines.partition("\n")
    return json.dumps({**json.loads(head), "time": "2026-01-01T00:00:00+00:00"}) + "\n" + rest


def main(bootstrap: str) -> None:
    for file, story in (("connect.jsonl", plain), ("hostile.jsonl", hostile)):
        with tempfile.TemporaryDirectory() as folder:
            _one(KafkaBroker(bootstrap), Path(folder), HERE / file, story)


def _one(broker: KafkaBroker, folder: Path, file: Path, story: Callable[[str], Mapping[str, Any]]) -> None:
    topic = unique("java-orders")
    broker.create_topic(topic, 3)
    with broker.writing() as write:
        for number in range(1200):
            write(topic, f"order {number}", partition=number % 3)
    worker = java_worker(folder, broker.bootstrap, {})
    worker.start()
    wanted = story(topic)
    try:
        create_all(worker, wanted)
        for name, (_, config) in wanted.items():
            if "FileStreamSource" in config["connector.class"]:
                body = {"offsets": [{"partition": {"filename": config["file"]}, "offset": {"position": 48_000}}]}
                worker.request("PATCH", f"/connectors/{quote(name, safe='')}/offsets", body)
        time.sleep(3)  # a commit interval
        asyncio.run(record(worker, file, list(wanted)))
        file.write_text(cleaned(file.read_text("utf-8"), worker, topic), "utf-8")
    finally:
        for name in wanted:
            worker.request("DELETE", f"/connectors/{quote(name, safe='')}")
        worker.stop()


if __name__ == "__main__":
    main(sys.argv[1])
