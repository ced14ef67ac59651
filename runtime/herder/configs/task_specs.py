"""Builds the task specification that a slot receives from the configurations of worker, connector and task."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runtime.api.errors import ConfigError
from runtime.config.exactly_once import task_transactional_id
from runtime.config.properties import comma_separated
from runtime.config.providers import has_variables
from runtime.config.spark_cluster import PREFIX, executor_size_of
from runtime.config.worker_config import WorkerConfig
from runtime.herder.configs.topic_creation import topic_groups
from runtime.herder.configs.used_clients import OFFSETS_TOPIC, used_clients
from runtime.host.port import ConnectorInfo
from runtime.java.target import JavaTarget, is_java_target
from runtime.kafka.clients.java_classes import IGNORE_INTERCEPTORS
from runtime.kafka.clients.logins import LOGIN
from runtime.kafka.clients.settings import PRODUCER_FIXED, client_config
from runtime.kafka.errors import ClientConfigError
from runtime.model.executor_size import ExecutorSize
from runtime.model.rate_limit import UNLIMITED, RateLimit
from runtime.model.states import ConnectorType
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec

ISOLATION, SHARED, DEDICATED = "headrace.isolation", "shared", "dedicated"
"""Headrace's connector property for tasks that run in slots of their own."""

GROUP = "consumer.override.group.id"
ISOLATION_LEVEL = "consumer.override.isolation.level"

_epochs = itertools.count(1)
_ID_KINDS = {"admin": "adminclient"}


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A task to start, with its connector's class and configuration."""

    connector: str
    task: int
    info: ConnectorInfo
    connector_config: Mapping[str, str]
    task_config: Mapping[str, str]
    generation: int = -1  # of the task configs


def group_id(name: str, config: Mapping[str, str]) -> str:
    """The consumer group of a sink connector; `config` has its variables resolved."""
    return config.get(GROUP) or f"connect-{name}"


def offsets_topic(worker: WorkerConfig, config: Mapping[str, str]) -> str | None:
    """The source's own offset topic with variables resolved; None for the worker's topic. ConfigError from a config
    provider."""
    named = config.get(OFFSETS_TOPIC)
    if named is not None and has_variables(named):
        named = worker.providers.resolve({OFFSETS_TOPIC: named}).config[OFFSETS_TOPIC]
    return named if named != worker.offsets.topic else None


def client_id(kind: str, name: str, task: int) -> str:
    """Apache's client ids: `connector-producer-NAME-TASK`."""
    return f"connector-{kind}-{name}-{task}"


def spec(
    worker: WorkerConfig, order: TaskRequest, offsets: Sequence[SourceOffset], paused: bool,
    limit: RateLimit = UNLIMITED,
) -> TaskSpec:  # fmt: skip
    """The specification that the slot needs to run this task, with a new epoch. ClientConfigError for an invalid client
    setting, ConfigError for invalid topic creation settings."""
    config = order.connector_config
    source = order.info.type == ConnectorType.SOURCE
    own_topic = offsets_topic(worker, config) if source else None
    transactional = source and worker.exactly_once.transactional_tasks
    clients = used_clients(order.info.type, config, transactional)

    def client(kind: str) -> dict[str, object]:
        return _client(worker, order, kind) if kind in clients else {}

    producer = _transactional_producer(worker, order, own_topic) if transactional else client("producer")
    return TaskSpec(
        connector=order.connector,
        task=order.task,
        epoch=next(_epochs),
        type=order.info.type,
        task_class=_task_class(order),
        config=dict(order.task_config),
        key_converter=_converter(worker, config, "key"),
        value_converter=_converter(worker, config, "value"),
        header_converter=_converter(worker, config, "header"),
        paused=paused,
        producer=producer,
        producer_shared=not transactional and not any(k.startswith("producer.override.") for k in config),
        consumer=_consumer(worker, order) if order.info.type == "sink" else {},
        max_poll_records=None if source else _max_poll_records(worker, config),
        topics=comma_separated(config.get("topics", "")),
        topics_regex=config.get("topics.regex", ""),
        offsets_producer=_offsets_producer(worker, producer) if source else {},
        offsets_topic=own_topic or worker.offsets.topic,
        offsets_copy_topic=worker.offsets.topic if own_topic else "",
        offsets=list(offsets),
        topic_groups=topic_groups(config) if worker.topic_creation and source else [],
        admin=client("admin"),
        flush_interval=worker.flush_interval,
        flush_timeout=worker.flush_timeout,
        track_topics=worker.topic_tracking,
        plugin_path=list(worker.plugin_path),
        file_paths=list(worker.file_paths),
        connector_config=dict(config),
        dedicated=config.get(ISOLATION) == DEDICATED,
        executor=_executor_size(worker, order),
        transactional_id=str(producer["transactional.id"]) if transactional else "",
        transaction_boundary=config.get("transaction.boundary", "poll").strip().lower(),
        transaction_interval=_transaction_interval(worker, config),
        environment=order.info.environment,
        limit=limit,
        targets=dict(order.info.targets),
    )


def _executor_size(worker: WorkerConfig, order: TaskRequest) -> ExecutorSize:
    """A task with Java plugins needs memory for their JVM, too."""
    is_java = any(map(is_java_target, (order.info.task_target, *order.info.targets.values())))
    own = {key: text for key, text in order.connector_config.items() if key.startswith(PREFIX)}
    return executor_size_of(own, worker.java_heap if is_java else 0)


def _task_class(order: TaskRequest) -> str:
    """A Java connector may choose the class when it creates the task's config."""
    target, named = order.info.task_target, order.task_config.get("task.class")
    if named and is_java_target(target):
        return str(replace(JavaTarget.parse(target), cls=named))
    return target


def _transactional_producer(worker: WorkerConfig, order: TaskRequest, own_topic: str | None) -> dict[str, object]:
    """Settings of the producer of an exactly-once source task; its transactional id cannot be overridden (KIP-618).

    A transaction that outlasts `transaction.timeout.ms` is aborted, so that with the boundary `interval` the default is
    two intervals, at least Kafka's default of a minute."""
    config = order.connector_config
    name = client_id("producer", order.connector, order.task)
    settings = client_config(worker.originals, "producer", config, client_id=name).settings
    if settings["bootstrap.servers"] != worker.bootstrap_servers and not own_topic:
        raise ConfigError(
            "An exactly-once source stores its offsets in the cluster of its records, but its producer's "
            f"bootstrap.servers={settings['bootstrap.servers']} are not those of the worker "
            f"({worker.bootstrap_servers}): set {OFFSETS_TOPIC} to a topic of the producer's cluster whose name "
            "differs from the worker's"
        )
    if settings["partitioner"] != PRODUCER_FIXED["partitioner"]:
        raise ConfigError(
            f"partitioner.class or partitioner.ignore.keys of {order.connector} would spread its offsets, which an "
            "exactly-once source writes with the same producer: remove it, or set exactly.once.source.support=disabled"
        )
    if config.get("transaction.boundary", "").strip().lower() == "interval":
        settings.setdefault("transaction.timeout.ms", max(60_000, int(2000 * _transaction_interval(worker, config))))
    return {
        **settings,
        "enable.idempotence": True,
        "acks": "all",
        "transactional.id": task_transactional_id(worker.group_id, order.connector, order.task),
    }


def _transaction_interval(worker: WorkerConfig, config: Mapping[str, str]) -> float:
    text = config.get("transaction.boundary.interval.ms", "").strip()
    return int(text) / 1000 if text.isdigit() else worker.flush_interval


def _offsets_producer(worker: WorkerConfig, records: Mapping[str, object]) -> dict[str, object]:
    """Settings for writing offsets to the worker's own cluster; empty if the records' producer has the same ones."""
    own = client_config(worker.originals, "producer").settings
    ignored = {"client.id": "", LOGIN: ""}  # two logins with the same credentials serve alike
    if "transactional.id" not in records and {**records, **ignored} == {**own, **ignored}:
        return {}
    return {**own, "client.id": "connector-offsets-producer"}


def client_warnings(worker: WorkerConfig, order: TaskRequest) -> list[str]:
    """Warnings about client overrides of the connector that have no effect in this worker."""
    kinds = ("producer",) if order.info.type == ConnectorType.SOURCE else ("consumer",)
    mine = {kind: [k for k in order.connector_config if k.startswith(f"{kind}.override.")] for kind in kinds}
    return [
        f"{kind}.override.: {warning}"
        for kind, given in mine.items()
        for warning in _warnings(worker, kind, {k: order.connector_config[k] for k in given})
    ]


def _warnings(worker: WorkerConfig, kind: str, overrides: Mapping[str, str]) -> Sequence[str]:
    ignored = {k: v for k, v in worker.originals.items() if k == IGNORE_INTERCEPTORS}
    try:
        return client_config(ignored, kind, overrides).warnings if overrides else ()
    except ClientConfigError:
        return ()  # the same error fails the task


def _client(worker: WorkerConfig, order: TaskRequest, kind: str) -> dict[str, object]:
    """librdkafka's settings. All tasks of a slot share a producer without overrides, so its id names no task."""
    overridden = any(k.startswith(f"{kind}.override.") for k in order.connector_config)
    shared = kind == "producer" and not overridden
    name = "connector-producer" if shared else client_id(_ID_KINDS.get(kind, kind), order.connector, order.task)
    settings = client_config(worker.originals, kind, order.connector_config, client_id=name).settings
    if "transactional.id" in settings:
        raise ClientConfigError(
            f"transactional.id={settings['transactional.id']} cannot be set for the producer of {order.connector}, "
            "which writes without transactions: remove it, or set exactly.once.source.support=enabled for the worker"
        )
    return settings


def _consumer(worker: WorkerConfig, order: TaskRequest) -> dict[str, object]:
    return {**_client(worker, order, "consumer"), "group.id": group_id(order.connector, order.connector_config)}


def _max_poll_records(worker: WorkerConfig, config: Mapping[str, str]) -> int | None:
    text = config.get("consumer.override.max.poll.records", worker.originals.get("consumer.max.poll.records", ""))
    return int(text) if text.strip().isdigit() and int(text) else None  # validation has refused other values


def _converter(worker: WorkerConfig, config: Mapping[str, str], which: str) -> ConverterSpec:
    """The connector's own converter with its own keys, or the worker's with the worker's keys: never a mixture."""
    key = f"{which}.converter"
    if key not in config:
        return ConverterSpec(*worker.converter(which))
    keys = {k[len(key) + 1 :]: v for k, v in config.items() if k.startswith(f"{key}.")}
    return ConverterSpec(config[key], keys)
