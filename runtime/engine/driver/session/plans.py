"""Trees of Spark's logical plans and expressions, as Python sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def nodes(plan: Any) -> Iterator[Any]:
    """The nodes of a logical plan, with those of its subqueries and common table expressions."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*items(node.children()), *items(node.innerChildren())]


def expressions(plan: Any) -> Iterator[Any]:
    """All expressions of a logical plan, with those inside them."""
    for node in nodes(plan):
        waiting = list(items(node.expressions()))
        while waiting:
            expression = waiting.pop()
            yield expression
            waiting += items(expression.children())


def items(sequence: Any) -> Iterator[Any]:
    """The elements of a Scala sequence."""
    return (sequence.apply(index) for index in range(sequence.size()))


def sequence(jvm: Any, elements: Iterable[Any]) -> Any:
    """A Scala sequence."""
    made = jvm.java.util.ArrayList()
    for element in elements:
        made.add(element)
    return jvm.org.apache.spark.api.python.PythonUtils.toSeq(made)


def name_of(node: Any) -> str:
    """The name of a node's class, without its package."""
    name: str = node.getClass().getSimpleName()
    return name


def companion(package: Any, name: str) -> Any:
    """A Scala object, or the companion of a class."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")
