"""Consecutive steps of a chain that are executed in one call of a task host JVM. Imports nothing else of Java."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from runtime.api.errors import ConnectError

RunStep = tuple[Any, Any, bool]
"""A transformation, its predicate or None, and whether the predicate is negated."""


class FailedStep(NamedTuple):
    """In place of the result of a record: the record before the step that failed, the step's index, and the error."""

    record: Any
    step: int
    error: ConnectError


class RemoteStep(Protocol):
    """A transformation or predicate whose object is somewhere else."""

    place: object
    """Steps with the same place can be executed together."""


class RemoteTransformation(RemoteStep, Protocol):
    """A transformation that executes steps of its place together."""

    def apply_run(self, steps: Sequence[RunStep], records: Sequence[Any], stops: bool) -> list[Any]:
        """The result of each record after all steps: a record, None if it was dropped, or FailedStep. Fewer results
        than records if the run was interrupted behind an error that may be retried, or behind any error if `stops`:
        call again with the rest."""


class RemotePredicate(RemoteStep, Protocol):
    """A predicate that is evaluated for many records in one call."""

    def test_all(self, records: Sequence[Any]) -> Sequence[bool]:
        """The result for each record. Raises if it cannot be determined for one of them."""


def place_of(step: Any) -> object:
    """The place of a transformation or predicate; None if its code runs in this process."""
    return getattr(step, "place", None)
