"""The command `headrace migrate check`: a plan for the move, printed before anything is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from runtime.config import properties
from runtime.config.worker_config import WorkerConfig
from runtime.doctor.check_result import CheckResult, CheckSeverity
from runtime.doctor.java_plugins import check_java_plugins
from runtime.migrate import connect_cluster, connectors, memory, rights, way, worker_properties
from runtime.migrate.connect_cluster import ClusterError, ConnectCluster
from runtime.plugins.registry import PluginRegistry

READY, BLOCKED, USAGE_ERROR = 0, 1, 2


def check(file: str, url: str = "") -> int:
    """Prints the plan; the exit code is 1 if something is refused, 2 if the file or the cluster cannot be read."""
    try:
        props = properties.load(Path(file))
        cluster = connect_cluster.read(url) if url else None
    except (properties.PropertiesError, ClusterError) as error:
        print(f"headrace migrate: {error}", file=sys.stderr)
        return USAGE_ERROR
    results = [*worker_properties.check(props), *check_java_plugins(Path(file))]
    config = worker_properties.parsed(props)
    if config is not None and cluster is not None:
        registry = PluginRegistry(config.plugin_path)
        results += connectors.check(cluster.connectors, config.originals, registry)
    for result in results:
        print(result)
    if config is not None:
        for line in _plan(file, config, cluster):
            print(line)
    return BLOCKED if _is_blocked(results) else READY


def _is_blocked(results: list[CheckResult]) -> bool:
    return any(result.severity is CheckSeverity.BAD for result in results)


def _plan(file: str, config: WorkerConfig, cluster: ConnectCluster | None) -> Iterator[str]:
    running = cluster.connectors if cluster is not None else ()
    registry = PluginRegistry(config.plugin_path)
    java = any(connectors.needs_jvm(connector, registry) for connector in running)
    yield ""
    megabytes = memory.expected(config.slots, java, config.java_heap)
    yield f"Memory of a worker: up to {megabytes} MB, with {config.slots} slots{' and their JVMs' if java else ''}"
    yield ""
    yield f"Rights on brokers with ACLs; {rights.PRINCIPAL} stands for the principal of the workers:"
    yield from (f"  {command}" for command in rights.commands(config, running))
    yield ""
    if cluster is None:
        yield "Name a worker with --connect URL for its connectors and for the steps that its version needs."
        return
    yield f"The move from Connect {cluster.version}:"
    names = way.Names(file, config.group_id, config.journal_topic)
    yield from (f"  {line}" for line in way.plan(way.way_from(cluster.release), names))
