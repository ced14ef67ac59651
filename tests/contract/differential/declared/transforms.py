"""Deliberate differences of transformations, dates and regular expressions."""

from __future__ import annotations

from tests.contract.differential.declared.table import Declared

DECLARED: tuple[Declared, ...] = ()
