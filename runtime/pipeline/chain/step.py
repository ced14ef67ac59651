"""One step of a chain: a transformation and its predicate."""

from __future__ import annotations

from dataclasses import dataclass
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
