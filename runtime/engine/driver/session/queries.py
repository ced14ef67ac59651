"""What `spark.sql` may be: a query. All connectors share the session, so one of them must not change it.

Spark executes a statement such as SET, DROP or INSERT as soon as it is handed over. Hence the text is parsed first, by
the rule of Spark's grammar for queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.engine.driver.session.plans import items, name_of, nodes

_RUNS_PROGRAMS = "ScriptTransformation"
_RUNS_JAVA = ("reflect", "java_method", "try_reflect")


class NotAQueryError(Exception):
    """The text is a statement with effects, or would start programs."""


def check_query(session: Any, sql: str, view: str = "record") -> str:
    """The query without a semicolon at its end. NotAQueryError, which names `view`, or Spark's ParseException. Executes
    nothing."""
    parse(session, sql, "spark.sql", view)
    return without_semicolon(sql)


def parse(session: Any, sql: str, key: str, view: str) -> Any:
    """The unresolved logical plan of a query. Errors as for check_query()."""
    from pyspark.errors import ParseException

    parser, text = session._jsparkSession.sessionState().sqlParser(), without_semicolon(sql)
    try:
        plan = parser.parseQuery(text)
    except ParseException:
        statement = name_of(parser.parsePlan(text))  # raises unless it is a statement
        raise NotAQueryError(
            f"{key} must be a query, such as SELECT id FROM {view}, not a statement with effects ({statement})"
        ) from None
    if any(name_of(node) == _RUNS_PROGRAMS for node in nodes(plan)):
        raise NotAQueryError(f"{key} must not start programs (TRANSFORM, MAP or REDUCE … USING)")
    return plan


def without_semicolon(sql: str) -> str:
    """The text without a semicolon at its end."""
    return sql.rstrip().rstrip(";")


def check_columns(session: Any, names: Sequence[str]) -> None:
    """NotAQueryError for two columns of a result that Spark does not distinguish, and hence does not write."""
    fold = str if session.conf.get("spark.sql.caseSensitive") == "true" else str.lower
    earlier: dict[str, str] = {}
    for name in names:
        other = earlier.setdefault(fold(name), name)
        if other != name:
            both = f"the columns {other} and {name}, whose names differ only in case"
        elif names.count(name) > 1:
            both = f"two columns named {name}"
        else:
            continue
        raise NotAQueryError(f"spark.sql has {both}: give one of them another name with AS")


def functions_that_run_java(session: Any) -> list[Any]:
    """The identifiers of the functions that call any Java method, the same in all new sessions."""
    names = _registry(session).listFunction()
    return [function for function in items(names) if function.funcName() in _RUNS_JAVA]


def restrict(session: Any, functions: Sequence[Any]) -> None:
    """Remove the means by which a query could do more than read tables: these functions, and files as tables."""
    registry = _registry(session)
    for function in functions:
        registry.dropFunction(function)
    session.conf.set("spark.sql.runSQLOnFiles", "false")


def _registry(session: Any) -> Any:
    return session._jsparkSession.sessionState().functionRegistry()
