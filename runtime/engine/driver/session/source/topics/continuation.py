"""Whether a changed query may continue from the state of the one before.

Spark compares the schemas of the state, not what it means: another window, filter or time limit with the same columns
would continue with sums of both. Therefore the stateful operators of both queries are compared, with everything below
them. What is above them may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtime.engine.driver.session.plans import items, name_of, nodes
from runtime.engine.driver.session.source.checkpoint import CheckpointError

_STATEFUL = {
    "Aggregate": "an aggregate", "Distinct": "DISTINCT", "Deduplicate": "a deduplication",
    "DeduplicateWithinWatermark": "a deduplication", "GlobalLimit": "LIMIT",
}  # fmt: skip
_START_OVER = (
    "Restore the previous query, or start over with a new state: stop the connector and reset its offset, or create "
    "another connector"
)

QueryState = dict[str, Any]
"""What the state of a query depends on, as JSON."""


def query_state(frame: Any, source: Mapping[str, Any]) -> QueryState:
    """The state of the query with this result."""
    query = source["query"]
    operators = [(_kind(node), _text(node)) for node in _outermost(frame._jdf.queryExecution().analyzed())]
    return {
        "sql": source["sql"],
        "topics": list(query["topics"]),
        "schemas": dict(query["schemas"]),
        "unique": dict(query["unique"]),
        "tables": list(query["tables"]),
        "output_mode": query["output_mode"],
        "operators": [list(operator) for operator in operators],
    }


def check_continuation(before: QueryState, now: QueryState, place: str) -> None:
    """CheckpointError if the query cannot continue from the checkpoint at `place`."""
    if before["topics"] != now["topics"]:
        raise CheckpointError(
            f"query.topics has changed from {','.join(before['topics'])} to {','.join(now['topics'])}: the progress in "
            f"{place} is that of the previous topics. {_START_OVER}"
        )
    if not before["operators"] and not now["operators"]:
        return
    unchanged = ("sql", "schemas", "unique", "tables", "output_mode")
    if all(before[name] == now[name] for name in unchanged):  # the plan may have been made by another Spark
        return
    if before["operators"] == now["operators"] and before["output_mode"] == now["output_mode"]:
        return
    kinds = dict.fromkeys(kind for kind, _ in (*before["operators"], *now["operators"]))
    raise CheckpointError(
        f"The query has changed in {' and '.join(kinds)}, or in what it reads, so that it cannot continue from the "
        f"state in {place}. {_START_OVER}"
    )


def has_state(frame: Any) -> bool:
    """Whether a streaming query has state."""
    return next(_outermost(frame._jdf.queryExecution().analyzed()), None) is not None


def _outermost(node: Any) -> Iterator[Any]:
    """The stateful operators that are not below another one."""
    if not node.isStreaming():
        return
    if _kind(node):
        yield node
        return
    for child in items(node.children()):
        yield from _outermost(child)


def _kind(node: Any) -> str:
    """What a stateful operator is called; empty for others."""
    name = name_of(node)
    if name == "Join" and all(child.isStreaming() for child in items(node.children())):
        return "a join of streams"
    return _STATEFUL.get(name, "") if node.isStreaming() else ""


def _text(plan: Any) -> str:
    """A plan without ids, which differ each time."""
    lines = []
    for node in nodes(plan):
        name = name_of(node)
        details = [str(expression.sql()) for expression in items(node.expressions()) if expression.resolved()]
        if name == "Join":
            details.append(str(node.joinType()))
        elif name in ("Deduplicate", "DeduplicateWithinWatermark"):
            details += [str(column.name()) for column in items(node.keys())]
        elif name == "EventTimeWatermark":
            details.append(str(node.delay()))
        elif name == "SubqueryAlias":
            details.append(str(node.alias()))
        lines.append(" ".join([name, *details]))
    return "\n".join(lines)
