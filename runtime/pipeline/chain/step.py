"""One step of a chain: a transformation and the predicate that it depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtime.api.transformation import Predicate, Record, Transformation


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One transformation, with the predicate that it depends on."""

    transformation: Transformation
    predicate: Predicate | None = None
    negate: bool = False

    def applies(self, record: Record) -> bool:
        return self.predicate is None or self.predicate.test(record) is not self.negate

    def apply(self, record: Any) -> Record | None:
        """As the step is meant, for one record."""
        return self.transformation.apply(record) if self.applies(record) else record
