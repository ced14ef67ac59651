"""Properties of producers and consumers that name Java classes in the path of records: partitioners and interceptors.

They change where records go and what they contain, so that none of them is left out with a warning."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from runtime.api.config.types import java_trim
from runtime.kafka.errors import ClientConfigError

IGNORE_INTERCEPTORS = "headrace.ignore.interceptors"

_PARTITIONER, _IGNORE_KEYS, _INTERCEPTORS = "partitioner.class", "partitioner.ignore.keys", "interceptor.classes"
_PRODUCER = "org.apache.kafka.clients.producer."
_BY_KEY = ("", f"{_PRODUCER}internals.DefaultPartitioner")
_WITHOUT_KEY = (f"{_PRODUCER}RoundRobinPartitioner", f"{_PRODUCER}UniformStickyPartitioner")
"""Both spread records evenly; librdkafka does so at random."""

NAMES = frozenset({_PARTITIONER, _IGNORE_KEYS, _INTERCEPTORS})


def ignored_interceptors(worker: Mapping[str, str]) -> frozenset[str]:
    """The classes that `headrace.ignore.interceptors` of a worker's properties names."""
    return frozenset(_classes(worker.get(IGNORE_INTERCEPTORS, "")))


def refusal(kind: str, key: str, value: str, ignored: Collection[str]) -> str | None:
    """Why a property of a producer or consumer cannot be used; None if it can."""
    if key == _INTERCEPTORS and (unknown := [name for name in _classes(value) if name not in ignored]):
        return (
            f"{key}={value} names Java classes, which this worker's {kind} does not run: remove it, or list "
            f"{', '.join(unknown)} in {IGNORE_INTERCEPTORS} of the worker if records may pass without it"
        )
    if kind != "producer":
        return None
    if key == _PARTITIONER and java_trim(value) not in (*_BY_KEY, *_WITHOUT_KEY):
        known = ", ".join(name for name in (*_BY_KEY, *_WITHOUT_KEY) if name)
        return f"{key}={value} is a Java class, which this worker does not run: remove it, or use one of {known}"
    if key == _IGNORE_KEYS and java_trim(value).lower() not in ("true", "false"):
        return f"Invalid value {value} for configuration {key}: Expected value to be either true or false"
    return None


def record_settings(kind: str, java: Mapping[str, str], ignored: Collection[str]) -> dict[str, str]:
    """librdkafka's settings for these properties. Raises ClientConfigError."""
    problems = (refusal(kind, key, java[key], ignored) for key in sorted(NAMES & java.keys()))
    if problem := next(filter(None, problems), None):
        raise ClientConfigError(problem)
    partitioner = java_trim(java.get(_PARTITIONER, ""))
    without_key = java_trim(java.get(_IGNORE_KEYS, "")).lower() == "true" and not partitioner  # as in Java
    if kind == "producer" and (without_key or partitioner in _WITHOUT_KEY):
        return {"partitioner": "random"}
    return {}


def _classes(text: str) -> list[str]:
    return [name for name in map(java_trim, text.split(",")) if name]
