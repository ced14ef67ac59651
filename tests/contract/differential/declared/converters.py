"""Deliberate differences of converters, schemas and literals."""

from __future__ import annotations

from tests.contract.differential.declared.table import Declared

DECLARED: tuple[Declared, ...] = ()
