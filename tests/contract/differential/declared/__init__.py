"""Deliberate differences from Apache's classes. Each one names its row in docs/differences.md."""

from __future__ import annotations

from tests.contract.differential.declared import converters, transforms
from tests.contract.differential.declared.table import Declared

DECLARED: tuple[Declared, ...] = (*converters.DECLARED, *transforms.DECLARED)
