"""The commands `headrace plugin new|list|test|run|install|update|remove|lock`, and the conformance suite for the tests
of plugin authors.

A case is an example of a plugin; docs/plugins.md has one of each kind. In pytest:

    import pytest
    from runtime.plugin_kit import Check, SourceCase, checks

    CASES = [SourceCase(connector=NumbersConnector, config={"topic": "numbers"})]

    @pytest.mark.parametrize("check", checks(CASES), ids=str)
    def test_conformance(check: Check) -> None:
        check.require()
"""

from __future__ import annotations

from runtime.plugin_kit.conformance.case import (
    Case,
    ConverterCase,
    HeaderConverterCase,
    PredicateCase,
    SinkCase,
    SourceCase,
    TransformationCase,
)
from runtime.plugin_kit.conformance.outcome import CheckFailed, CheckSkipped, Outcome, Result
from runtime.plugin_kit.suite import Check, checks
from runtime.plugin_kit.trying import read_records, write_values

__all__ = [
    "Case",
    "Check",
    "CheckFailed",
    "CheckSkipped",
    "ConverterCase",
    "HeaderConverterCase",
    "Outcome",
    "PredicateCase",
    "Result",
    "SinkCase",
    "SourceCase",
    "TransformationCase",
    "checks",
    "read_records",
    "write_values",
]
