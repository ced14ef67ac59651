"""Rows about a company's worker: thirty Java connectors of five makers with a hundred idle tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from runtime.engine.driver.archive import archive_path
from runtime.java.install.errors import InstallError
from tests.bench.sides import JAVA, OURS, Bench, Refused, create, records_archive, wait_running
from tests.support.broker import unique
from tests.support.clusters import rest
from tests.support.connect import STRINGS, Connect
from tests.support.java.connectors import (
    DEBEZIUM_JDBC,
    DEBEZIUM_POSTGRES,
    FILE,
    MIRROR,
    MONGO,
    PREFER_FILE,
    plugin_path,
)
from tests.support.java.iceberg import iceberg_plugin
from tests.support.java.recipes import recipe
from tests.support.packages.debian import PackageMissing
from tests.support.process_usage import usage
from tests.support.servers.mongo import mongo_server
from tests.support.servers.postgres import PASSWORD, USER, Postgres
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

CONNECTORS, TASKS = 30, 100
SETTLE, WATCH = 15.0, 20.0  # seconds
_FILE = "org.apache.kafka.connect.file.FileStream{}Connector"
_PARTITIONS = 5

Config = dict[str, str]


@dataclass(frozen=True, slots=True)
class Servers:
    """What the connectors connect to."""

    bench: Bench
    postgres: Postgres
    database: str
    mongo: str


def fleet(bench: Bench, side: str, runs: int) -> dict[str, float]:
    """Of a worker with these connectors in its topics: seconds from its start until all tasks are RUNNING; then its
    memory (PSS) in MB and processor in % of a core; seconds until thirty validations, sent at once when a further start
    is healthy, have their responses, and how many of these are errors."""
    with ExitStack() as stack:
        try:
            plugins = ",".join(
                [
                    plugin_path(DEBEZIUM_POSTGRES, DEBEZIUM_JDBC, MIRROR, MONGO, FILE),
                    str(iceberg_plugin()),
                ]
            )
            postgres = Postgres({"wal_level": "logical", "max_connections": "500"})
        except (PackageMissing, InstallError) as missing:
            raise Refused(str(missing)) from None
        stack.callback(postgres.remove)
        postgres.start()
        servers = Servers(bench, postgres, postgres.create_database("fleet"), stack.enter_context(mongo_server()))
        # MongoDB's jar has no service files
        own = PREFER_FILE if side == OURS else {"plugin.discovery": "hybrid_warn"}
        worker = bench.worker(side, {"plugin.path": plugins, **own})
        worker.start(180)
        stack.callback(lambda: worker.running() and worker.stop(60))
        return _measured(servers, worker, side)


def _measured(servers: Servers, worker: WorkerProcess, side: str) -> dict[str, float]:
    connect, configs = Connect(worker), dict(_configs(servers))
    tasks = {name: int(config["tasks.max"]) for name, config in configs.items()}
    assert (len(configs), sum(tasks.values())) == (CONNECTORS, TASKS)
    for name, config in configs.items():
        create(connect, name, config)
    for name in configs:
        wait_running(connect, name, tasks[name], 120)
    _wait_for_archives(worker, side)
    worker.stop(60)

    started = time.monotonic()
    worker.start(180, wait=False)
    wait_until(lambda: _running(connect) == TASKS, 180, f"{TASKS} tasks RUNNING", every=0.05)
    seconds = time.monotonic() - started
    time.sleep(SETTLE)  # a fixed pause, so that the start is not measured
    before = usage(worker.pid)
    time.sleep(WATCH)
    after = usage(worker.pid)
    worker.stop(60)

    worker.start(180)
    asked = time.monotonic()
    with ThreadPoolExecutor(CONNECTORS) as pool:
        refused = sum(pool.map(lambda config: _refused(worker, config), configs.values()))
    return {
        "fleet-start": seconds,
        "fleet-memory": after.pss / 1e6,
        "fleet-cpu": (after.cpu - before.cpu) / WATCH * 100,
        "fleet-validated": time.monotonic() - asked,
        "fleet-refused": float(refused),
    }


def _wait_for_archives(worker: WorkerProcess, side: str) -> None:
    """A first start records archives of classes, which every later one uses."""
    if side == JAVA:
        return
    archive = archive_path()
    assert archive is not None
    wait_until(lambda: archive.exists() and not records_archive(worker.pid), 240, every=0.5)


def _running(connect: Connect) -> int:
    """The number of RUNNING tasks; 0 before the worker responds."""
    try:
        status, found = rest.request(f"{connect.worker.url}/connectors?expand=status")
    except OSError:
        return 0
    if status != 200:
        return 0
    return sum(task["state"] == "RUNNING" for part in found.values() for task in part["status"]["tasks"])


def _refused(worker: WorkerProcess, config: Config) -> bool:
    path = f"/connector-plugins/{config['connector.class']}/config/validate"
    status, _ = rest.request(worker.url + path, "PUT", {"name": unique("new"), **config}, timeout=120)
    return status != 200


def _configs(servers: Servers) -> Iterator[tuple[str, Config]]:
    bench = servers.bench
    topic = bench.topic("fleet", _PARTITIONS)
    file = bench.folder / "fleet.txt"
    file.write_text("one\n")
    for number in range(6):
        source = {"connector.class": _FILE.format("Source"), "file": str(file), "topic": bench.topic("lines")}
        yield f"file-source-{number}", {**source, **STRINGS, "tasks.max": "1"}
        out = str(bench.folder / f"fleet-{number}.out")
        sink = {"connector.class": _FILE.format("Sink"), "file": out, "topics": topic}
        yield f"file-sink-{number}", {**sink, **STRINGS, "tasks.max": "5"}
    yield from _mirrors(bench)
    for number in range(5):
        database = f"jdbc:postgresql://127.0.0.1:{servers.postgres.port}/{servers.database}"
        writer = {"connection.url": database, "connection.username": USER, "connection.password": PASSWORD}
        yield f"jdbc-sink-{number}", recipe("JdbcSinkConnector", **writer, **{"topics": topic, "tasks.max": "5"})
    for number in range(3):
        yield f"debezium-{number}", _debezium(servers, number)
        mongo = {"topics": topic, "connection.uri": servers.mongo, "tasks.max": "5"}
        yield f"mongo-sink-{number}", recipe("MongoSinkConnector", **mongo)
    for number, tasks in enumerate(("3", "4")):
        yield f"iceberg-{number}", recipe("IcebergSinkConnector", **{
            "topics": topic, "tasks.max": tasks, "iceberg.catalog.warehouse": (bench.folder / "lake").as_uri(),
            "iceberg.kafka.bootstrap.servers": bench.broker.bootstrap, "iceberg.control.topic": bench.topic("control"),
        })  # fmt: skip


def _mirrors(bench: Bench) -> Iterator[tuple[str, Config]]:
    """From the broker to itself, by the name of each alias."""
    for number in range(3):
        alias, origin = unique("from"), bench.topic("origin", 4)
        clusters = {
            "source.cluster.alias": alias, "target.cluster.alias": "here",
            "source.cluster.bootstrap.servers": bench.broker.bootstrap,
            "target.cluster.bootstrap.servers": bench.broker.bootstrap,
        }  # fmt: skip
        factors = {"replication.factor": "1", "offset-syncs.topic.replication.factor": "1"}
        source = recipe("MirrorSourceConnector", **clusters, **factors, **{"topics": origin, "tasks.max": "4"})
        yield f"mirror-{number}", source
        if number:
            beats = recipe("MirrorHeartbeatConnector", **clusters, **{"heartbeats.topic.replication.factor": "1"})
            yield f"mirror-heartbeat-{number}", beats


def _debezium(servers: Servers, number: int) -> Config:
    slot = unique("fleet").replace("-", "_")
    servers.postgres.execute(f"CREATE TABLE {slot} (id bigint PRIMARY KEY)", database=servers.database)
    return recipe("PostgresConnector", **{
        **servers.postgres.cdc_config(servers.database), "topic.prefix": f"{slot}-{number}",
        "table.include.list": f"public.{slot}", "slot.name": slot, "publication.name": slot,
    })  # fmt: skip
