"""What workers can do by their version of Connect, as named by `GET /`. docs/versions.md shows this table."""

from __future__ import annotations

import re
from typing import NamedTuple

from tui.errors import Unsupported

Release = tuple[int, int]


class Feature(NamedTuple):
    """A part of the REST API that earlier versions lack. `instead`: what a user can do there."""

    name: str
    since: Release
    source: str
    instead: str = ""


EXPANDED_LIST = Feature("reading all connectors at once", (2, 3), "KIP-465")
LOGGERS = Feature("reading and setting levels of loggers", (2, 4), "KIP-495")
TOPICS = Feature("reading the topics of a connector", (2, 5), "KIP-558")
RESTART_TASKS = Feature("restarting a connector with its tasks", (3, 0), "KIP-745")
PLUGIN_CONFIG = Feature("reading the configuration of a plugin", (3, 2), "KIP-769")
STOP = Feature("stopping a connector", (3, 5), "KIP-875", "pause it")
GET_OFFSETS = Feature("reading offsets", (3, 5), "KIP-875")
ALTER_OFFSETS = Feature("changing offsets", (3, 6), "KIP-875")
INITIAL_STATE = Feature("creating a connector in a state", (3, 7), "KIP-980")
CLUSTER_LOGGERS = Feature("setting a level on all workers", (3, 7), "KIP-976", "set it on each worker")
PATCH_CONFIG = Feature("changing single keys of a config", (3, 8), "KIP-477")
HEALTH = Feature("reading the health of a worker", (3, 9), "KIP-1017")

FEATURES = (
    EXPANDED_LIST, LOGGERS, TOPICS, RESTART_TASKS, PLUGIN_CONFIG, STOP, GET_OFFSETS, ALTER_OFFSETS, INITIAL_STATE,
    CLUSTER_LOGGERS, PATCH_CONFIG, HEALTH,
)  # fmt: skip

_CONFLUENT = {5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
"""By major version of Confluent Platform, the Kafka release of its first minor version; each later one adds one."""


def release(version: str) -> Release | None:
    """The release of Kafka, such as (3, 4) for `3.4.1`, `3.4.0.redhat-00006`, or Confluent's `7.4.0-ccs`; None if the
    version has another form."""
    numbers = re.match(r"(\d+)\.(\d+)(?:\D|$)", version)
    if numbers is None:
        return None
    major, minor = int(numbers[1]), int(numbers[2])
    if re.search(r"-c(cs|e)\b", version) and major in _CONFLUENT:
        first = _CONFLUENT[major]
        return first[0], first[1] + minor
    return major, minor


def missing(feature: Feature, version: str) -> str:
    """The reason why a worker of this version cannot do it: `stopping a connector needs Connect 3.5; this is 3.4.1`.
    Empty if it can, or if its version is unknown."""
    known = release(version)
    if known is None or known >= feature.since:
        return ""
    return f"{feature.name} needs Connect {feature.since[0]}.{feature.since[1]}; this is {version}"


def require(feature: Feature, version: str) -> None:
    """Raises Unsupported if a worker of this version cannot do it."""
    if reason := missing(feature, version):
        raise Unsupported(reason, feature.instead)
