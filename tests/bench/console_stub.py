"""A stand-in for a Connect worker with many connectors, for `make bench-console` only; tests use real workers.

python -m tests.bench.console_stub --connectors 1000 --changes 50 [--events]      prints its port
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

STATES = ("RUNNING", "PAUSED", "FAILED", "UNASSIGNED")
TRACE = (
    "org.apache.kafka.connect.errors.ConnectException: no\n"
    + "\tat org.apache.kafka.connect.Some.method(Some.java:1)\n" * 12
)
CONFIG = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "tasks.max": "2",
    "topics": "some-topic",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@dataclass(slots=True)
class Worker:
    """The connectors as encoded JSON, so that the answer is built by one join."""

    count: int
    changes: int
    events: bool
    parts: list[bytes] = field(default_factory=list)
    listeners: list[asyncio.Queue[bytes]] = field(default_factory=list)
    number: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def __post_init__(self) -> None:
        self.parts = [self.encoded(at, "FAILED" if at % 97 == 0 else "RUNNING") for at in range(self.count)]

    def described(self, at: int, state: str) -> dict[str, Any]:
        name = self.name(at)
        tasks = [{"id": n, "state": state, "worker_id": "10.0.0.1:8083", "version": "4.3.0"} for n in range(2)]
        for task in tasks:
            if state == "FAILED":
                task["trace"] = TRACE
        connector = {
            "state": "PAUSED" if state == "PAUSED" else "RUNNING",
            "worker_id": "10.0.0.1:8083",
            "version": "4.3.0",
        }
        status = {"name": name, "connector": connector, "tasks": tasks, "type": "sink"}
        own = [{"connector": name, "task": n} for n in range(2)]
        return {
            "status": status,
            "info": {"name": name, "config": {**CONFIG, "name": name}, "tasks": own, "type": "sink"},
        }

    def name(self, at: int) -> str:
        return f"team-{at % 40:02}-pipeline-{at:05}"

    def encoded(self, at: int, state: str) -> bytes:
        return (json.dumps(self.name(at)) + ":" + json.dumps(self.described(at, state))).encode()

    def listing(self) -> bytes:
        return b"{" + b",".join(self.parts) + b"}"

    async def live(self) -> None:
        """Changes the given number of connectors each second."""
        while self.changes:
            at, state = self.chance.randrange(self.count), self.chance.choice(STATES)
            self.parts[at] = self.encoded(at, state)
            self.number += 1
            data = json.dumps({"name": self.name(at), **self.described(at, state)})
            self.tell(f"id: {self.number}\nevent: connector\ndata: {data}\n\n".encode())
            await asyncio.sleep(1 / self.changes)

    def tell(self, event: bytes) -> None:
        for listener in self.listeners:
            listener.put_nowait(event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                path = line.split()[1].decode()
                while (await reader.readline()).strip():
                    pass
                if path == "/events" and self.events:
                    await self.stream(writer)
                    return
                self.answer(writer, path)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def answer(self, writer: asyncio.StreamWriter, path: str) -> None:
        code, body = 200, b"{}"
        if path.startswith("/connectors?expand"):
            body = self.listing()
        elif path == "/connectors":
            body = json.dumps([self.name(at) for at in range(self.count)]).encode()
        elif path == "/":
            body = b'{"version":"4.3.0","commit":"stub","kafka_cluster_id":"stub"}'
        else:
            code, body = 404, b'{"error_code":404,"message":"not here"}'
        head = f"HTTP/1.1 {code} OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)

    async def stream(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        snapshot = b'{"connectors":' + self.listing() + b"}"
        writer.write(b"id: 0\nevent: snapshot\ndata: " + snapshot + b"\n\n")
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.listeners.append(queue)
        try:
            while True:
                try:
                    writer.write(await asyncio.wait_for(queue.get(), 5))
                except TimeoutError:
                    writer.write(b":\n\n")
                await writer.drain()
        finally:
            self.listeners.remove(queue)


async def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--connectors", type=int, default=1000)
    words.add_argument("--changes", type=int, default=50)
    words.add_argument("--events", action="store_true")
    given = words.parse_args()
    worker = Worker(given.connectors, given.changes, given.events)
    server = await asyncio.start_server(worker.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.gather(server.serve_forever(), worker.live())


if __name__ == "__main__":
    asyncio.run(main())
