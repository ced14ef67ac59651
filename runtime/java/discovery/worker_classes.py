"""Classes of Apache's worker that plugins use although they are not part of Connect's API, and what a plugin gets.

A plugin uses a class if its own class reaches a class that names it: in code, or as text for reflection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum

from runtime.java.discovery.class_file import ClassFile

_CONNECT = "org.apache.kafka.connect."
_PREFIXES = tuple(b"org%sapache%skafka%sconnect%s" % ((dot,) * 4) for dot in (b"/", b"."))
_NAMED = re.compile(rb"org[./]apache[./]kafka[./]connect[./]((?:runtime|storage|util|cli)[./](?:[a-z]+[./])*[A-Z]\w*)")
_API = frozenset({
    *(f"storage.{name}" for name in (
        "Converter", "ConverterConfig", "ConverterType", "HeaderConverter", "OffsetStorageReader",
        "SimpleHeaderConverter", "StringConverter", "StringConverterConfig")),
    "util.ConnectorUtils",
})  # fmt: skip


class WorkerClassSupport(StrEnum):
    """What a plugin gets that uses a class of Apache's worker."""

    CONSUMER = "its field `consumer` is a facade of the task's consumer"
    LOADED = "loaded from Kafka's own jar, without a worker behind it"
    REFUSED = "Headrace has no instance of it, so that the connector is refused"


_CONSUMER = "runtime.WorkerSinkTaskContext"
_REFUSED = frozenset({
    *(f"runtime.{name}" for name in (
        "AbstractHerder", "AbstractWorkerSourceTask", "Connect", "ExactlyOnceWorkerSourceTask", "Herder",
        "HerderConnectorContext", "Worker", "WorkerConnector", "WorkerSinkTask", "WorkerSourceTask",
        "WorkerSourceTaskContext", "WorkerTask", "WorkerTransactionContext")),
    "runtime.distributed.DistributedHerder", "runtime.distributed.WorkerGroupMember",
    "runtime.standalone.StandaloneHerder",
    "runtime.rest.ConnectRestServer", "runtime.rest.HerderRequestHandler", "runtime.rest.RestServer",
})  # fmt: skip
"""Classes whose instances are parts of a running worker of Apache."""


def support_of(name: str) -> WorkerClassSupport:
    """What plugins get that use this class of Apache's worker."""
    short = name.removeprefix(_CONNECT)
    if short == _CONSUMER:
        return WorkerClassSupport.CONSUMER
    return WorkerClassSupport.REFUSED if short in _REFUSED else WorkerClassSupport.LOADED


def refused(names: Iterable[str]) -> list[str]:
    """Those of these classes that Headrace cannot offer."""
    return [name for name in names if support_of(name) is WorkerClassSupport.REFUSED]


def refusal(plugin: str, names: Sequence[str]) -> str:
    """The error for a connector whose plugin uses these classes."""
    return (
        f"{plugin} uses {', '.join(names)} of Apache's worker, which Headrace does not have. "
        f"Run this connector on a worker of Apache Kafka Connect"
    )


def supports(names: Iterable[str]) -> dict[str, str]:
    """What a plugin gets for each of these classes."""
    return {name: str(support_of(name)) for name in names}


def named_in(data: bytes) -> frozenset[str]:
    """The classes of Apache's worker that a class file names."""
    if not any(prefix in data for prefix in _PREFIXES):
        return frozenset()
    reached = {match.decode().replace("/", ".") for match in _NAMED.findall(data)}
    return frozenset(f"{_CONNECT}{name}" for name in reached - _API)


def is_worker_class(name: str) -> bool:
    """Whether the class is itself one of Apache's worker."""
    short = name.removeprefix(_CONNECT)
    return name != short and short not in _API and short.startswith(("runtime.", "storage.", "util.", "cli."))


def reached_from(
    name: str, naming: Mapping[str, frozenset[str]], load: Callable[[str], ClassFile | None]
) -> tuple[str, ...]:
    """The classes of Apache's worker that this class reaches. `naming`: those that each class names; `load`: a
    class of the plugin's location, None for others."""
    reached: set[str] = set()
    seen, waiting = {name}, [name]
    while waiting:
        current = waiting.pop()
        reached |= naming.get(current, frozenset())
        class_file = load(current)
        for used in class_file.class_references() if class_file else ():
            if used not in seen and not is_worker_class(used):
                seen.add(used)
                waiting.append(used)
    return tuple(sorted(reached))
