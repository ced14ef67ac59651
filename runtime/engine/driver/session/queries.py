"""What `spark.sql` may be: a query. All connectors share the session, so one of them must not change it.

Spark executes a statement such as SET, DROP or INSERT as soon as it is handed over. Hence the text is parsed first, by
the rule of Spark's grammar for queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_RUNS_PROGRAMS = "ScriptTransformation"
_RUNS_JAVA = ("reflect", "java_method", "try_reflect")


class NotAQueryError(Exception):
    """The text is a statement with effects, or would start programs."""


def check_query(session: Any, sql: str) -> str:
    """The query without a semicolon at its end. NotAQueryError, or Spark's ParseException. Executes nothing."""
    from pyspark.errors import ParseException

    parser, text = session._jsparkSession.sessionState().sqlParser(), sql.rstrip().rstrip(";")
    try:
        plan = parser.parseQuery(text)
    except ParseException:
        statement = _name(parser.parsePlan(text))  # raises unless it is a statement
        raise NotAQueryError(
            f"spark.sql must be a query, such as SELECT id FROM record, not a statement with effects ({statement})"
        ) from None
    if any(_name(node) == _RUNS_PROGRAMS for node in _nodes(plan)):
        raise NotAQueryError("spark.sql must not start programs (TRANSFORM, MAP or REDUCE … USING)")
    return text


def functions_that_run_java(session: Any) -> list[Any]:
    """The identifiers of the functions that call any Java method, the same in all new sessions."""
    names = _registry(session).listFunction()
    return [function for function in _items(names) if function.funcName() in _RUNS_JAVA]


def restrict(session: Any, functions: Sequence[Any]) -> None:
    """Remove the means by which a query could do more than read tables: these functions, and files as tables."""
    registry = _registry(session)
    for function in functions:
        registry.dropFunction(function)
    session.conf.set("spark.sql.runSQLOnFiles", "false")


def _registry(session: Any) -> Any:
    return session._jsparkSession.sessionState().functionRegistry()


def _nodes(plan: Any) -> Iterator[Any]:
    """The nodes of a logical plan, with those of its subqueries and common table expressions."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*_items(node.children()), *_items(node.innerChildren())]


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))


def _name(node: Any) -> str:
    name: str = node.getClass().getSimpleName()
    return name
