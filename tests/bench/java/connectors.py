"""Rows about Java connectors in slots, beside the same connectors in Apache's worker with the same configs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from runtime.java.install.errors import InstallError
from tests.bench import throughput
from tests.bench.sides import JAVA, OURS, Bench, Refused, create, median, records_archive, wait_running
from tests.support.broker import unique
from tests.support.connect import JSON, JSON_VALUES, STRINGS, Connect
from tests.support.java.connectors import DEBEZIUM_POSTGRES, FILE, PREFER_FILE, plugin_path
from tests.support.packages.debian import PackageMissing
from tests.support.process_usage import usage
from tests.support.processes import children, command_line
from tests.support.servers.postgres import Postgres
from tests.support.waiting import wait_until

_CHANGES, _WARM = 200_000, 2_000
_TRANSACTION = 1_000  # changes in one transaction
_DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
_COLUMNS = "id bigint PRIMARY KEY, name text NOT NULL, quantity int NOT NULL, created timestamp(3) NOT NULL"

Found = dict[str, float]


def properties(side: str) -> dict[str, str]:
    """The worker properties with which Kafka's file connectors are Java's on both sides."""
    try:
        return {"plugin.path": plugin_path(FILE), **PREFER_FILE} if side == OURS else {}
    except InstallError as missing:
        raise Refused(str(missing)) from None


def java_source(bench: Bench, side: str, runs: int) -> Found:
    """As throughput.source(), with Kafka's file source."""
    with bench.running(side, properties(side)) as connect:
        found = [throughput.source(bench, connect) for _ in range(runs)]
        _check_language(connect, side)
    return {f"java-{key}": median([one[key] for one in found]) for key in found[0]}


def java_sink(bench: Bench, side: str, runs: int) -> Found:
    """As throughput.sink(), with Kafka's file sink."""
    with bench.running(side, properties(side)) as connect:
        found = [throughput.sink(bench, connect) for _ in range(runs)]
        _check_language(connect, side)
    return {f"java-{key}": median([one[key] for one in found]) for key in found[0]}


def _check_language(connect: Connect, side: str) -> None:
    """Java plugins have run, instead of the bundled ones of the same names."""
    assert side == JAVA or _hosts(connect.worker.pid), "no JVM of Java plugins runs"


def debezium(bench: Bench, side: str, runs: int) -> Found:
    """Changes a second, from the first insert to the last event in the topic, in transactions of 1,000 rows."""
    return _all_changes(bench, side, runs, "debezium", _DEBEZIUM)


def postgres_cdc(bench: Bench, side: str, runs: int) -> Found:
    """As debezium(), with PostgresCdcSource on our side."""
    return _all_changes(bench, side, runs, "cdc", "PostgresCdcSource" if side == OURS else _DEBEZIUM)


def _all_changes(bench: Bench, side: str, runs: int, row: str, cls: str) -> Found:
    try:
        server = Postgres({"wal_level": "logical", "shared_buffers": "256MB", "max_wal_size": "8GB"})
        # Apache's worker has its file connectors, which warm it, on its plugin path only
        plugins = {"plugin.path": plugin_path(DEBEZIUM_POSTGRES, *([FILE] if side == JAVA else []))}
    except (PackageMissing, InstallError) as missing:
        raise Refused(str(missing)) from None
    try:
        server.start()
        with bench.running(side, plugins, 180) as connect:
            database = server.create_database("bench")
            found = [_changes(bench, connect, server, database, cls) for _ in range(runs)]
    finally:
        server.remove()
    return {
        row: median([rate for rate, _ in found]),
        f"{row}-cpu": median([cpu for _, cpu in found]),
    }


def _changes(bench: Bench, connect: Connect, server: Postgres, database: str, cls: str) -> tuple[float, float]:
    """Changes a second, and seconds of the worker's processor for a million changes."""
    name = unique("changes")
    slot, table = name.replace("-", "_"), name.replace("-", "_")
    topic = bench.broker.create_topic(f"{name}.public.{table}", 1)
    server.execute(f"CREATE TABLE {table} ({_COLUMNS})", database=database)
    create(connect, name, _config(cls, server, database, name, table, slot))
    wait_running(connect, name)
    active = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active"
    wait_until(lambda: server.execute(active, slot, database=database), 60, every=0.1)
    _insert(server, database, table, 0, _WARM)
    _wait_for(bench, connect, name, topic, _WARM)
    wait_until(lambda: not records_archive(connect.worker.pid), 180, every=0.5)
    before, started = usage(connect.worker.pid).cpu, time.monotonic()
    _insert(server, database, table, _WARM, _CHANGES)
    _wait_for(bench, connect, name, topic, _WARM + _CHANGES)
    seconds, cpu = time.monotonic() - started, usage(connect.worker.pid).cpu - before
    connect.ask("DELETE", f"/connectors/{name}")
    server.drop_slot(slot, database)
    bench.broker.delete_topics(topic)
    return _CHANGES / seconds, cpu / _CHANGES * 1e6


def _config(cls: str, server: Postgres, database: str, name: str, table: str, slot: str) -> dict[str, str]:
    return {
        "connector.class": cls,
        "tasks.max": "1",
        **server.cdc_config(database),
        "topic.prefix": name,
        "table.include.list": f"public.{table}",
        "plugin.name": "pgoutput",
        "slot.name": slot,
        "publication.name": slot,
        "snapshot.mode": "no_data",
        "key.converter": JSON,
        "key.converter.schemas.enable": "false",
        **JSON_VALUES,
    }


def _insert(server: Postgres, database: str, table: str, first: int, rows: int) -> None:
    import psycopg

    statement = (
        f"INSERT INTO {table} SELECT n, 'item ' || lpad(n::text, 8, '0') || ' abcdefghij', n %% 1000, "
        f"timestamp '2024-01-01' + n * interval '1 second' FROM generate_series(%s::bigint, %s::bigint) AS n"
    )
    with psycopg.connect(server.conninfo(database), autocommit=True) as connection:
        for start in range(first, first + rows, _TRANSACTION):
            connection.execute(statement.encode(), (start, start + _TRANSACTION - 1))


def _wait_for(bench: Bench, connect: Connect, name: str, topic: str, records: int) -> None:
    with throughput.watching(bench) as watcher:
        throughput.until(connect, name, lambda: throughput.end(watcher, topic) >= records)


def java_first(bench: Bench, side: str, runs: int) -> Found:
    """Seconds from the request that creates the first Java connector of a worker to its first record in the topic."""
    found = []
    with bench.running(side, properties(side)):
        pass  # records the archives of classes, which every later start uses
    for _ in range(runs):
        with bench.running(side, properties(side), warm=False) as connect:
            found.append(_first(bench, connect))
    return {"java-first": median(found)}


def _first(bench: Bench, connect: Connect) -> float:
    name, topic, file = unique("first"), bench.topic(), bench.folder / "first.txt"
    file.write_text("one\n")
    with throughput.watching(bench) as watcher:
        wait_until(lambda: throughput.end(watcher, topic) == 0)
        time.sleep(3)  # other work of the worker's start
        started = time.monotonic()
        create(connect, name, _source(file, topic))
        wait_until(lambda: throughput.end(watcher, topic) >= 1, 60, every=0.01)
        return time.monotonic() - started


def java_memory(bench: Bench, side: str, runs: int) -> Found:
    """Memory (PSS) in MB with one idle task and with 100: of the largest JVM of Java plugins, and of all with 100; of
    Apache's worker."""
    one_slot = {"headrace.slots": "1"} if side == OURS else {}
    with bench.running(side, {**properties(side), **one_slot}) as connect:
        names = [unique("idle") for _ in range(100)]
        topic, file = bench.topic(), bench.folder / "idle.txt"
        file.write_text("one\n")
        found = {}
        for count in (1, 100):
            for name in names[:count] if count == 1 else names[1:count]:
                create(connect, name, _source(file, topic))
            for name in names[:count]:
                wait_running(connect, name)
            time.sleep(10)
            hosts = [connect.worker.pid] if side == JAVA else _hosts(connect.worker.pid)
            sizes = [usage(pid).pss / 1e6 for pid in hosts]
            found[f"java-memory-{count}"] = max(sizes)
        found["java-memory-all"] = sum(sizes)
        return found


def _hosts(pid: int) -> list[int]:
    """The JVMs of Java plugins below a worker: of the plugin host, and of slots."""
    return [child for child in children(pid) if "headrace.Main" in command_line(child)]


def _source(file: Path, topic: str) -> dict[str, str]:
    settings: dict[str, Any] = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", **STRINGS}
    return {**settings, "tasks.max": "1", "file": str(file), "topic": topic}
