"""What a query over records may be: each record gives its own results, whatever other records are in its batch.

The ends of batches are arbitrary, so that everything that combines or compares records is refused. The text alone is
checked when a connector is configured, since columns are known only when records arrive.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from runtime.engine.driver.session.plans import expressions, items, name_of, nodes
from runtime.engine.driver.session.queries import NotAQueryError, parse

VIEW = "records"
"""The name of the only relation."""

_ROWS = ("Project", "Filter", "Generate", "SubqueryAlias")
_PARSED = (*_ROWS, "UnresolvedRelation", "UnresolvedSubqueryColumnAliases")
_ANALYSED = (*_ROWS, "LogicalRDD")

_BATCH = "would combine the records of a batch, and batches have arbitrary ends"
_ELSEWHERE = "Use SparkSource with spark.sql, or a query over the target, for that"
_REASONS = {
    "Aggregate": f"GROUP BY and aggregate functions {_BATCH}. {_ELSEWHERE}",
    "UnresolvedHaving": f"HAVING {_BATCH}. {_ELSEWHERE}",
    "Distinct": f"DISTINCT {_BATCH}. {_ELSEWHERE}",
    "Deduplicate": f"DISTINCT {_BATCH}. {_ELSEWHERE}",
    "Pivot": f"PIVOT {_BATCH}. {_ELSEWHERE}",
    "Window": f"window functions {_BATCH}. {_ELSEWHERE}",
    "WithWindowDefinition": f"window functions {_BATCH}. {_ELSEWHERE}",
    "Sort": "ORDER BY is not needed, since records keep their order",
    "GlobalLimit": f"LIMIT {_BATCH}",
    "LocalLimit": f"LIMIT {_BATCH}",
    "Offset": f"OFFSET {_BATCH}",
    "Sample": f"TABLESAMPLE {_BATCH}. Use WHERE rand() < 0.1",
    "Join": f"joins are not supported: only {VIEW} can be read. LATERAL VIEW explode(…) gives several records for one",
    "LateralJoin": "LATERAL joins are not supported: use LATERAL VIEW explode(…)",
    "Union": "UNION is not supported: use explode(array(…)) to give several records for one",
    "UnresolvedWith": "WITH is not supported: put the query behind FROM in parentheses",
    "OneRowRelation": f"the query has no FROM {VIEW}",
    "UnresolvedTableValuedFunction": "functions behind FROM are not supported: use LATERAL VIEW explode(…)",
}
_EXPRESSIONS = {
    "AggregateExpression": _REASONS["Aggregate"],
    "WindowExpression": _REASONS["Window"],
    "UnresolvedWindowExpression": _REASONS["Window"],
    "PythonUDF": "functions in Python are not available",
    "MonotonicallyIncreasingID": "monotonically_increasing_id() starts again with each batch. Use offset",
    "SparkPartitionID": "spark_partition_id() has no meaning here. Use partition",
    "InputFileName": "input_file_name() has no meaning here",
}
_GROUPS = {"agg_funcs": _REASONS["Aggregate"], "window_funcs": _REASONS["Window"]}
"""Groups of functions in Spark's documentation."""


class RefusedQueryError(NotAQueryError):
    """The query would combine records, or read something else."""


def parse_record_query(session: Any, sql: str) -> Any:
    """The unresolved plan of a query. RefusedQueryError with the reason, NotAQueryError, or Spark's ParseException."""
    plan = parse(session, sql, "sql", VIEW)
    _check_nodes(plan, _PARSED)
    for node in nodes(plan):
        if name_of(node) == "UnresolvedRelation" and not is_records(node):
            raise _refused(f"{node.name()} cannot be read. FROM {VIEW} is the only relation")
    for expression in expressions(plan):
        if name_of(expression) == "UnresolvedFunction":
            _check_function(session, expression)
        _check_expression(expression)
    return plan


def check_analysed(plan: Any) -> None:
    """RefusedQueryError for an analysed plan that does more than parse_record_query() can see."""
    _check_nodes(plan, _ANALYSED)
    for expression in expressions(plan):
        _check_expression(expression)


def is_records(relation: Any) -> bool:
    """Whether an unresolved relation is that of the records."""
    parts = list(items(relation.multipartIdentifier()))
    return len(parts) == 1 and str(parts[0]).lower() == VIEW


def _check_nodes(plan: Any, allowed: tuple[str, ...]) -> None:
    for node in nodes(plan):
        if (name := name_of(node)) not in allowed:
            raise _refused(_REASONS.get(name, f"{name} is not supported"))


def _check_expression(expression: Any) -> None:
    name = name_of(expression)
    if name in _EXPRESSIONS:
        raise _refused(_EXPRESSIONS[name])
    if name.endswith(("Subquery", "SubqueryExpression")) or name in ("Exists", "ListQuery"):
        raise _refused("subqueries in expressions are not supported")


def _check_function(session: Any, function: Any) -> None:
    *_, name = items(function.nameParts())
    if (reason := _GROUPS.get(_groups(session).get(str(name).lower(), ""))) is not None:
        raise _refused(f"{name}(): {reason}")


@lru_cache(maxsize=2)
def _groups(session: Any) -> Mapping[str, str]:
    """The group in Spark's documentation of each function."""
    registry = session._jsparkSession.sessionState().functionRegistry()
    return {
        str(function.funcName()).lower(): str(registry.lookupFunction(function).get().getGroup())
        for function in items(registry.listFunction())
    }


def _refused(reason: str) -> RefusedQueryError:
    return RefusedQueryError(f"sql must give each record its own results: {reason}")
