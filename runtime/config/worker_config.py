"""The worker's configuration: Apache Connect's property names, and Headrace's own with the prefix `headrace.`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.config.validators import between, one_of, one_of_ignoring_case
from runtime.api.errors import ConfigError
from runtime.config import listeners, properties, restart_policy, session_keys
from runtime.config.exactly_once import ExactlyOnce
from runtime.config.foreign_plugins import NONE, ClientPolicy, ForeignPlugins
from runtime.config.listeners import Advertised, Listener
from runtime.config.properties import with_prefix
from runtime.config.providers import Providers, providers
from runtime.config.removed_properties import check_removed, is_removed
from runtime.config.restart_policy import BUDGET
from runtime.config.secret_values import passwords
from runtime.config.session_keys import SessionKeySettings, session_key_settings
from runtime.config.spark_cluster import check_cluster
from runtime.system.cgroup import usable_cores

_H, _M, _L = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_MAX_DEFAULT_SLOTS = 8

DISTRIBUTED = ConfigDef(
    ConfigKey("bootstrap.servers", ConfigType.LIST, "localhost:9092", _H, "Brokers for the first connection to the "
         "cluster."),
    ConfigKey("group.id", ConfigType.STRING, importance=_H, doc="Group of the Connect cluster that this worker joins."),
    ConfigKey("key.converter", ConfigType.STRING, importance=_H, doc="Converter of record keys."),
    ConfigKey("value.converter", ConfigType.STRING, importance=_H, doc="Converter of record values."),
    ConfigKey("header.converter", ConfigType.STRING, _HEADERS, _L, "Converter of record headers."),
    ConfigKey("config.storage.topic", ConfigType.STRING, importance=_H, doc="Topic of connector configurations."),
    ConfigKey("config.storage.replication.factor", ConfigType.SHORT, 3, _L, "Replication factor of the config topic "
         "when it is created."),
    ConfigKey("offset.storage.topic", ConfigType.STRING, importance=_H, doc="Topic of source offsets."),
    ConfigKey("offset.storage.partitions", ConfigType.INT, 25, _L, "Partitions of the offset topic when it is "
         "created."),
    ConfigKey("offset.storage.replication.factor", ConfigType.SHORT, 3, _L, "Replication factor of the offset topic "
         "when it is created."),
    ConfigKey("status.storage.topic", ConfigType.STRING, importance=_H, doc="Topic of connector and task states."),
    ConfigKey("status.storage.partitions", ConfigType.INT, 5, _L, "Partitions of the status topic when it is created."),
    ConfigKey("status.storage.replication.factor", ConfigType.SHORT, 3, _L, "Replication factor of the status topic "
         "when it is created."),
    ConfigKey("offset.flush.interval.ms", ConfigType.LONG, 60_000, _L, "How often offsets are committed."),
    ConfigKey("offset.flush.timeout.ms", ConfigType.LONG, 5_000, _L, "How long a commit of offsets may take."),
    ConfigKey("task.shutdown.graceful.timeout.ms", ConfigType.LONG, 5_000, _L, "How long tasks may take to stop."),
    ConfigKey("listeners", ConfigType.LIST, "http://127.0.0.1:8083", _L, "Addresses of the REST API."),
    ConfigKey("admin.listeners", ConfigType.LIST, None, _L, "Addresses of /admin; empty: disabled; unset: as "
         "`listeners`."),
    ConfigKey("rest.advertised.listener", ConfigType.STRING, None, _L, "Protocol that other workers use for this REST "
         "API."),
    ConfigKey("rest.advertised.host.name", ConfigType.STRING, None, _L, "Host that other workers use for this REST "
         "API."),
    ConfigKey("rest.advertised.port", ConfigType.INT, None, _L, "Port that other workers use for this REST API."),
    ConfigKey("access.control.allow.origin", ConfigType.STRING, "", _L, "Origins whose pages may read "
         "responses (CORS)."),
    ConfigKey("access.control.allow.methods", ConfigType.STRING, "", _L, "Methods that pages of allowed origins may "
         "use."),
    ConfigKey("response.http.headers.config", ConfigType.STRING, "", _L, "Headers added to every response."),
    ConfigKey("rest.extension.classes", ConfigType.LIST, "", _L, "Only Apache's BasicAuthSecurityRestExtension, built "
         "in."),
    ConfigKey("config.providers", ConfigType.LIST, "", _L, "Names of config providers (config.providers.NAME.*)."),
    ConfigKey("plugin.path", ConfigType.LIST, "", _L, "Folders with Python plugins, environments and Java plugins."),
    ConfigKey("plugin.discovery", ConfigType.STRING, "hybrid_warn", _L, "How Java plugins are found: by super types, "
         "by service entries, or both (KIP-898).",
         one_of_ignoring_case("only_scan", "service_load", "hybrid_warn", "hybrid_fail")),
    ConfigKey("session.timeout.ms", ConfigType.INT, 10_000, _H, "Time without heartbeats after which a worker is "
         "removed."),
    ConfigKey("heartbeat.interval.ms", ConfigType.INT, 3_000, _H, "How often a worker sends a heartbeat to its group; "
         "at most 500 ms."),
    ConfigKey("rebalance.timeout.ms", ConfigType.INT, 60_000, _H, "How long workers have to rejoin in a rebalance."),
    ConfigKey("scheduled.rebalance.max.delay.ms", ConfigType.INT, 300_000, _L, "How long the tasks of a worker that "
         "has left wait for its return."),
    ConfigKey("connect.protocol", ConfigType.STRING, "sessioned", _L, "The group protocol; this worker offers "
         "`sessioned` and `compatible`, and warns about `eager`.", one_of("eager", "compatible", "sessioned")),
    ConfigKey("headrace.mixed.group", ConfigType.BOOLEAN, False, _M, "Whether Apache's workers may be in the same "
         "group."),
    ConfigKey("topic.tracking.enable", ConfigType.BOOLEAN, True, _L, "Whether topics used by connectors are recorded."),
    ConfigKey("topic.tracking.allow.reset", ConfigType.BOOLEAN, True, _L, "Whether the recorded topics may be reset."),
    ConfigKey("topic.creation.enable", ConfigType.BOOLEAN, True, _L, "Whether `topic.creation.*` of sources has an "
         "effect."),
    ConfigKey("internal.topics.automatic.creation.enable", ConfigType.BOOLEAN, True, _M, "Whether the worker creates "
         "missing storage topics, and the offset topics that connectors name in `offsets.storage.topic` (since Kafka "
         "4.4)."),
    ConfigKey("exactly.once.source.support", ConfigType.STRING, "disabled", _H, "Exactly-once delivery of source "
         "connectors: disabled, preparing or enabled (KIP-618). An existing cluster needs two rolling restarts, first "
         "with preparing, then with enabled.", one_of_ignoring_case("disabled", "preparing", "enabled")),
    ConfigKey("headrace.journal.topic", ConfigType.STRING, "", _L, "Topic of the journal and the histories; default: "
         "the offset topic's name with the suffix -headrace."),
    ConfigKey("connector.client.config.override.policy", ConfigType.STRING, "All", _M,
         "Client settings that connectors may set."),
    ConfigKey("connector.client.config.override.allowlist", ConfigType.LIST, "", _M, "Client settings for the policy "
         "Allowlist."),
    ConfigKey("headrace.allowed.hosts", ConfigType.LIST, "", _M, "Further Host headers that the REST API accepts."),
    ConfigKey("headrace.jaas.file", ConfigType.STRING, "", _M, "JAAS file of the users of the REST API and of Kafka "
         "clients; default: that of `KAFKA_OPTS`."),
    ConfigKey("headrace.roles.read", ConfigType.LIST, "", _M, "Users who may read; `*`: all."),
    ConfigKey("headrace.roles.operate", ConfigType.LIST, "", _M, "Users who may also pause and restart; `*`: all."),
    ConfigKey("headrace.roles.admin", ConfigType.LIST, "", _M, "Users who may do everything; `*`: all. Without any of "
         "these three, every user may."),
    ConfigKey("headrace.file.paths", ConfigType.LIST, "", _M, "Folders on local file systems that the bundled file "
         "connectors may use; empty: any."),
    ConfigKey("headrace.slots", ConfigType.INT, 0, _M, "Spark slots that run tasks; 0: one for each core "
         "that the worker may use, at most 8."),
    ConfigKey("headrace.slot.memory.mb", ConfigType.INT, 0, _M, "Memory use in MB above which a slot is replaced; 0: "
         "only when the memory limit of the worker's control group is nearly reached."),
    ConfigKey("headrace.slot.port", ConfigType.INT, 0, _M, "TCP port to which slots on the executors of a cluster "
         "connect; 0: any free one.", between(0, 65535)),
    ConfigKey("headrace.java.heap.mb", ConfigType.INT, 256, _M, "Largest heap in MB of each JVM that runs Java "
         "plugins.", between(16, None)),
    ConfigKey("headrace.java.options", ConfigType.STRING, "", _L, "Further options of these JVMs, separated by "
         "spaces."),
    ConfigKey("headrace.java.prefer", ConfigType.LIST, "", _L, "Java classes in plugin.path (`package.Class` or "
         "`package.*`) that are used instead of Headrace's own implementation."),
    ConfigKey("headrace.ignore.interceptors", ConfigType.LIST, "", _L, "Java classes in interceptor.classes of "
         "producers and consumers without which records may pass; others are refused."),
    ConfigKey("headrace.log.format", ConfigType.STRING, "text", _L, "Log lines as `text` or `json`.",
         one_of("text", "json")),
    ConfigKey("headrace.request.timeout.ms", ConfigType.LONG, 30_000, _L, "How long a request waits for a method of a "
         "plugin.", between(1, None)),
    ConfigKey("headrace.stalled.ms", ConfigType.LONG, 60_000, _L, "Time without progress until a task is STALLED."),
    ConfigKey("headrace.progress.interval.ms", ConfigType.LONG, 5_000, _L, "How often progress events are sent."),
    ConfigKey("headrace.stuck.ms", ConfigType.LONG, 60_000, _L, "How long a poll or put may take until the task is "
         "STUCK."),
    ConfigKey("headrace.lease.ms", ConfigType.INT, 6_000, _M, "How long slots of a cluster run tasks after their lease "
         "was renewed, and slots may be silent."),
    *restart_policy.KEYS,
    BUDGET,
    *session_keys.KEYS,
)  # fmt: skip
"""Every key of a distributed worker that has an effect."""

_PASSED_ON = (
    "producer.", "consumer.", "admin.", "spark.", "key.converter.", "value.converter.", "header.converter.", "ssl.",
    "sasl.", "security.", "client.", "config.providers.", "listeners.https.", "config.storage.",
    "offset.storage.", "status.storage.", "retry.", "reconnect.", "request.", "socket.", "metadata.", "connections.",
    "receive.", "send.", "bootstrap.resolve.",
)  # fmt: skip
_SYNC = "a worker that has not read the config topic up to the leader's offset retries until it has"
_JAVA_METRICS = "it configures Java's metrics"
_IGNORED = {
    "metric.reporters": "this worker does not run Java reporters",
    "metrics.num.samples": _JAVA_METRICS,
    "metrics.recording.level": _JAVA_METRICS,
    "metrics.sample.window.ms": _JAVA_METRICS,
    "worker.sync.timeout.ms": _SYNC,
    "worker.unsync.backoff.ms": _SYNC,
}
"""Properties of Apache's worker that have no effect here, with the reason."""


class WorkerConfigError(ConfigError):
    """The worker's file is invalid; the message names the file, the key and the remedy."""


@dataclass(frozen=True, slots=True)
class Storage:
    """One of the three storage topics of a Connect cluster."""

    topic: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings of the topic when it is created (KIP-605)."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A distributed worker's configuration, checked. Times are in seconds."""

    originals: Mapping[str, str]
    bootstrap_servers: str
    group_id: str
    configs: Storage
    offsets: Storage
    statuses: Storage
    flush_interval: float
    flush_timeout: float
    graceful: float
    listeners: tuple[Listener, ...]
    admin_listeners: tuple[Listener, ...] | None
    """Listeners for /admin; None if `listeners` serve /admin, empty if /admin is disabled."""
    advertised: Advertised
    session_timeout: float
    heartbeat: float
    rebalance_timeout: float
    rebalance_delay: float
    """Time for which the tasks of a worker that has left wait for its return."""
    exactly_once: ExactlyOnce
    mixed_group: bool
    """Whether workers of another implementation may be in the same group."""
    plugin_path: tuple[str, ...]
    plugin_discovery: str
    java_prefer: tuple[str, ...]
    topic_tracking: bool
    topic_tracking_reset: bool
    topic_creation: bool
    internal_topic_creation: bool
    slots: int
    lease: float
    stuck: float
    slot_memory: int
    slot_port: int  # for slots on the executors of a cluster; 0: any free one
    """Bytes of memory after which a slot is replaced; 0 means no limit."""
    java_heap: int
    """Largest heap in MB of each JVM that runs Java plugins."""
    java_options: tuple[str, ...]
    request_timeout: float
    """Seconds for which a request waits for a method of a plugin."""
    stalled: float
    progress: float
    log_format: str
    restart_budget: int = 60
    """Automatic restarts of failed connectors and tasks per minute."""
    file_paths: tuple[str, ...] = ()
    """The folders below which file connectors may name files; empty: all."""
    session_keys: SessionKeySettings = field(default_factory=SessionKeySettings)
    warnings: tuple[str, ...] = field(default=())
    providers: Providers = field(default_factory=Providers)
    client_policy: ClientPolicy | None = None
    """The policy for client settings, if it is not one of Apache's."""
    secrets: frozenset[str] = frozenset()  # values in `originals` that must not be shown
    unresolved: Mapping[str, str] = field(default_factory=dict)
    """`originals` with their variables."""

    def converter(self, which: str) -> tuple[str, dict[str, str]]:
        """Class and keys (prefix removed) of the worker's `key`, `value` or `header` converter."""
        prefix = f"{which}.converter."
        cls = self.originals.get(f"{which}.converter") or (_HEADERS if which == "header" else _JSON)
        return cls, with_prefix(self.originals, prefix)

    @property
    def journal_topic(self) -> str:
        """Headrace's own topic, which holds unfinished offset changes, their history, and starts of connectors."""
        return self.originals.get("headrace.journal.topic") or f"{self.offsets.topic}-headrace"

    def spark(self) -> dict[str, str]:
        """Properties that are passed to Spark."""
        return {k: v for k, v in self.originals.items() if k.startswith("spark.")}


def load_distributed(path: Path, foreign: ForeignPlugins = NONE) -> WorkerConfig:
    """The configuration in a distributed worker's properties file; WorkerConfigError names the invalid property."""
    try:
        return distributed(properties.load(path), foreign)
    except properties.PropertiesError as e:
        raise WorkerConfigError(str(e)) from None
    except WorkerConfigError:
        raise
    except ConfigError as e:
        raise WorkerConfigError(f"{path}: {e}") from None


def distributed(props: Mapping[str, str], foreign: ForeignPlugins = NONE) -> WorkerConfig:
    """As load_distributed(), for properties that have already been read; ConfigError without the file's name."""
    config_providers = providers(props, foreign)
    unresolved, resolved = dict(props), config_providers.resolve(props)
    props = resolved.config
    v = DISTRIBUTED.parse(props)
    check_cluster(props)
    check_removed(props)
    served = listeners.parse("listeners", v["listeners"])
    return WorkerConfig(
        originals=dict(props),
        bootstrap_servers=",".join(v["bootstrap.servers"]),
        group_id=v["group.id"],
        configs=_storage("config", v, props),
        offsets=_storage("offset", v, props),
        statuses=_storage("status", v, props),
        flush_interval=v["offset.flush.interval.ms"] / 1000,
        flush_timeout=v["offset.flush.timeout.ms"] / 1000,
        graceful=v["task.shutdown.graceful.timeout.ms"] / 1000,
        listeners=served,
        admin_listeners=listeners.admin(v["admin.listeners"]),
        advertised=listeners.advertised(v, served),
        session_timeout=v["session.timeout.ms"] / 1000,
        heartbeat=v["heartbeat.interval.ms"] / 1000,
        rebalance_timeout=v["rebalance.timeout.ms"] / 1000,
        rebalance_delay=v["scheduled.rebalance.max.delay.ms"] / 1000,
        exactly_once=ExactlyOnce(v["exactly.once.source.support"].lower()),
        mixed_group=v["headrace.mixed.group"],
        plugin_path=tuple(p.strip() for p in v["plugin.path"] if p.strip()),
        plugin_discovery=v["plugin.discovery"].lower(),
        java_prefer=tuple(name.strip() for name in v["headrace.java.prefer"] if name.strip()),
        topic_tracking=v["topic.tracking.enable"],
        topic_tracking_reset=v["topic.tracking.allow.reset"],
        topic_creation=v["topic.creation.enable"],
        internal_topic_creation=v["internal.topics.automatic.creation.enable"],
        slots=v["headrace.slots"] or min(usable_cores(), _MAX_DEFAULT_SLOTS),
        lease=v["headrace.lease.ms"] / 1000,
        stuck=v["headrace.stuck.ms"] / 1000,
        slot_memory=v["headrace.slot.memory.mb"] << 20,
        slot_port=v["headrace.slot.port"],
        java_heap=v["headrace.java.heap.mb"],
        java_options=tuple(v["headrace.java.options"].split()),
        request_timeout=v["headrace.request.timeout.ms"] / 1000,
        stalled=v["headrace.stalled.ms"] / 1000,
        progress=max(v["headrace.progress.interval.ms"] / 1000, 0.1),
        log_format=v["headrace.log.format"],
        restart_budget=v[BUDGET.name],
        file_paths=tuple(p.strip() for p in v["headrace.file.paths"] if p.strip()),
        session_keys=session_key_settings(v),
        warnings=tuple(_warnings(props)),
        providers=config_providers,
        client_policy=foreign.policy(props, v["connector.client.config.override.policy"]),
        secrets=resolved.secrets | passwords(props),
        unresolved=unresolved,
    )  # fmt: skip


def _storage(which: str, values: Mapping[str, Any], props: Mapping[str, str]) -> Storage:
    prefix = f"{which}.storage."
    own = {f"{prefix}{k}" for k in ("topic", "partitions", "replication.factor")}
    settings = {k[len(prefix) :]: v for k, v in props.items() if k.startswith(prefix) and k not in own}
    return Storage(
        values[f"{prefix}topic"],
        values.get(f"{prefix}partitions", 1),
        values[f"{prefix}replication.factor"],
        settings,
    )


def _warnings(props: Mapping[str, str]) -> list[str]:
    """Warnings about properties that have no effect."""
    warnings = []
    if props.get("connect.protocol") == "eager":
        warnings.append("connect.protocol=eager has no effect: this worker does not stop all tasks in each rebalance")
    for key in props:
        if key in _IGNORED:
            warnings.append(f"{key} has no effect: {_IGNORED[key]}")
        elif is_removed(key):
            warnings.append(f"{key} has no effect: it was removed in Kafka 3.0")
        elif key not in DISTRIBUTED.keys and not key.startswith(_PASSED_ON):
            warnings.append(f"{key} is not a known property; it has no effect")
    return warnings
