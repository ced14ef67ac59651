"""The tables of a topic's page: consumer groups, partitions, configurations, connectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui.model import Connector
from tui.topics.topic_details import TopicDetails
from tui.topics.usage import TopicUse
from tui.widgets import states
from tui.widgets.columns import Column
from tui.widgets.grid import Cell

Rows = dict[str, dict[str, Cell]]  # cells by column, by the key of the row

COLUMNS: Mapping[str, Sequence[Column]] = {
    "groups": (
        Column("group", "GROUP", 20, grows=True, middle=True),
        Column("lag", "LAG", 9, right=True),
        Column("state", "STATE", 8, rank=1),
        Column("partitions", "PARTS", 7, rank=3, right=True),
        Column("sinks", "CONNECTORS", 14, rank=2, grows=True),
    ),
    "partitions": (
        Column("partition", "PART", 4, right=True),
        Column("earliest", "EARLIEST", 10, rank=2, right=True, grows=True),
        Column("latest", "LATEST", 10, right=True, grows=True),
        Column("records", "RECORDS", 10, right=True, grows=True),
        Column("rate", "REC/S", 8, right=True),
        Column("leader", "LEADER", 6, rank=1, right=True),
        Column("replicas", "REPLICAS", 8, rank=3, grows=True),
        Column("in_sync", "IN SYNC", 8, rank=3, grows=True),
    ),
    "configs": (
        Column("name", "CONFIG", 22, grows=True),
        Column("value", "VALUE", 16, grows=True),
        Column("default", "DEFAULT", 12, rank=1, grows=True),
        Column("source", "SET FOR", 11, rank=2),
    ),
    "connectors": (
        Column("connector", "CONNECTOR", 24, grows=True, middle=True),
        Column("role", "ROLE", 12),
        Column("state", "STATE", 12),
        Column("tasks", "TASKS", 5, rank=1, grows=True),
        Column("class", "CLASS", 16, rank=2, grows=True),
    ),
}


class TopicState(NamedTuple):
    """What is known of a topic: `details` is None until they have been read; `rates` by partition."""

    details: TopicDetails | None = None
    rates: Mapping[int, float] = {}
    used: Sequence[TopicUse] = ()
    connectors: Mapping[str, Connector] = {}


def rows(table: str, state: TopicState) -> Rows:
    """The rows of one of the tables in COLUMNS; those of groups by their names, the largest lag first."""
    return _TABLES[table](state)


def _groups(state: TopicState) -> Rows:
    if (details := state.details) is None:
        return {}
    lags = {group.name: group.lag(details.summary.latest) for group in details.groups}
    order = sorted(details.groups, key=lambda group: (-(lags[group.name] or 0), group.name))
    return {
        group.name: {
            "group": Cell(group.name, "grid--strong"),
            "lag": _lag(lags[group.name]),
            "state": Cell(group.state, "" if group.state == "Stable" else "grid--muted"),
            "partitions": Cell(f"{len(group.committed)}/{len(details.replicas)}", "grid--muted"),
            "sinks": Cell(", ".join(group.sinks), "grid--accent"),
        }
        for group in order
    }


def _lag(lag: int | None) -> Cell:
    return Cell("-", "grid--muted") if lag is None else Cell(f"{lag:,}", "grid--warning" if lag else "grid--success")


def _partitions(state: TopicState) -> Rows:
    if (details := state.details) is None:
        return {}
    earliest, latest = details.summary.earliest, details.summary.latest
    return {
        str(each.partition): {
            "partition": Cell(str(each.partition), "grid--strong"),
            "earliest": Cell(f"{earliest[each.partition]:,}", "grid--muted"),
            "latest": Cell(f"{latest[each.partition]:,}"),
            "records": Cell(f"{latest[each.partition] - earliest[each.partition]:,}"),
            "rate": Cell(shown_rate(state.rates.get(each.partition))),
            "leader": Cell(str(each.leader)) if each.leader >= 0 else Cell("none", "grid--error"),
            "replicas": Cell(_ids(each.replicas), "grid--muted"),
            "in_sync": Cell(_ids(each.in_sync), "grid--error" if each.is_degraded else "grid--muted"),
        }
        for each in details.replicas
    }


def shown_rate(rate: float | None) -> str:
    """Records per second, `…` until they are known."""
    return "…" if rate is None else f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


def _configs(state: TopicState) -> Rows:
    return {
        config.name: {
            "name": Cell(config.name, "grid--strong"),
            "value": Cell("(hidden)" if config.value is None else config.value),
            "default": Cell(config.default or "", "grid--muted"),
            "source": Cell(config.source, "grid--muted"),
        }
        for config in (state.details.configs if state.details is not None else ())
    }


def _connectors(state: TopicState) -> Rows:
    rows = {}
    for use in state.used:
        connector = state.connectors.get(use.connector)
        known = (
            {
                "state": Cell(states.word(connector.overall), states.style_class(connector.overall)),
                "tasks": Cell(connector.tasks_text if connector.tasks else "-"),
                "class": Cell(connector.short_class, "grid--muted"),
            }
            if connector is not None
            else {}
        )
        rows[use.connector] = {
            "connector": Cell(use.connector, "grid--strong"),
            "role": Cell(use.role, "grid--muted"),
            **known,
        }
    return rows


_TABLES = {"groups": _groups, "partitions": _partitions, "configs": _configs, "connectors": _connectors}
TABLES = tuple(_TABLES)
