"""Steps of a chain, each a transformation and its predicate, and the results of steps, chains and error handling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runtime.api.transformation import Predicate, Record, Transformation


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A transformation, and the predicate that selects its records."""

    transformation: Transformation
    predicate: Predicate | None = None
    negate: bool = False
    name: str = ""
    """The alias of the transformation."""
    predicate_name: str = ""

    def applies(self, record: Record) -> bool:
        """Whether the transformation applies to a record."""
        return self.predicate is None or self.predicate.test(record) is not self.negate

    def apply(self, record: Any) -> Record | None:
        """The transformed record, or the record itself if the step does not apply to it; None to drop it."""
        return self.transformation.apply(record) if self.applies(record) else record


Results = list[Record | None]
"""The result for each record of a batch, None if it was dropped; shorter than the batch if the task fails."""

OnError = Callable[[Record, Exception], "Record | None"]
"""Handles an exception of a transformation: returns the record after a retry, or None to skip the record. Raises
StoppedChain if the task fails."""


@dataclass(slots=True)
class ChainResult:
    """The transformed records, in order. `failed` is the record of the batch that fails the task with `error`; the
    result contains neither this record nor later ones."""

    records: list[Record]
    failed: Record | None = None
    error: Exception | None = None
    origins: dict[int, Record] = field(default_factory=dict)  # by id() of records that replace another one

    def origin(self, record: Record) -> Record:
        """The record of the batch from which this record was derived."""
        return self.origins.get(id(record), record)


class StoppedChain(Exception):
    """The task fails at a record of the chain, with an error."""

    def __init__(self, record: Record, error: Exception) -> None:
        super().__init__()
        self.record, self.error = record, error
