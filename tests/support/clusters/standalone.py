"""Standalone workers as processes: ours, and Apache's on Java, with the same properties file."""

from __future__ import annotations

import sys
from pathlib import Path

from runtime.embedded.processes import ports
from tests.support.connect import STRING
from tests.support.free_ports import free_port
from tests.support.workers import WorkerProcess, java_connect, write_properties


def ours(folder: Path, bootstrap: str, *connectors: Path, **more: str) -> WorkerProcess:
    """Our standalone worker, not started yet; its offsets are in `folder`/offsets."""
    properties, port = _properties(folder, bootstrap, more)
    file = write_properties(folder / "ours.properties", properties)
    command = [sys.executable, "-m", "runtime", "worker", "standalone", str(file), *map(str, connectors)]
    return WorkerProcess(command, port, folder / "ours.log", properties)


def java(folder: Path, bootstrap: str, *connectors: Path, **more: str) -> WorkerProcess:
    """Apache's standalone worker 4.3 on the same offsets."""
    java = java_connect(folder)
    properties, port = _properties(folder, bootstrap, java.worker_properties(more))
    file = write_properties(folder / "java.properties", properties)
    command = [*java.command, "org.apache.kafka.connect.cli.ConnectStandalone", str(file), *map(str, connectors)]
    return WorkerProcess(command, port, folder / "java.log", properties, java.archive)


def _properties(folder: Path, bootstrap: str, more: dict[str, str]) -> tuple[dict[str, str], int]:
    port = free_port()
    return {
        "bootstrap.servers": bootstrap,
        "listeners": f"http://{ports.HOST}:{port}",
        "key.converter": STRING,
        "value.converter": STRING,
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "300",
        **more,
    }, port
