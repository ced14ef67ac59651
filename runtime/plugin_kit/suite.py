"""The checks that apply to a case, and their execution."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.plugin_kit.conformance import (
    checks_converter,
    checks_definition,
    checks_sink,
    checks_source,
    checks_transformation,
)
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
from runtime.plugin_kit.killed import checks_kill

_DEFINITION: dict[str, Callable[[Any], str]] = {
    "documentation": checks_definition.documented,
    "version": checks_definition.version,
    "example": checks_definition.example_is_valid,
    "missing-keys": checks_definition.missing_keys,
    "invalid-values": checks_definition.invalid_values,
}

CHECKS: dict[type[Case], dict[str, Callable[[Any], str]]] = {
    SourceCase: {
        **_DEFINITION,
        "lifecycle": checks_source.lifecycle,
        "stop-without-start": checks_source.stop_without_start,
        "stop-while-idle": checks_source.stop_while_idle,
        "leaks": checks_source.leaks,
        "resume": checks_source.resume,
        "alter-offsets": checks_source.alter_offsets,
        "exactly-once": checks_source.exactly_once,
        "kill": checks_kill.source_at_least_once,
    },
    SinkCase: {
        **_DEFINITION,
        "lifecycle": checks_sink.lifecycle,
        "stop-without-start": checks_sink.stop_without_start,
        "stop-without-records": checks_sink.stop_without_records,
        "leaks": checks_sink.leaks,
        "delivered-again": checks_sink.delivered_again,
        "poison": checks_sink.poison,
        "alter-offsets": checks_sink.alter_offsets,
        "kill": checks_kill.sink_at_least_once,
    },
    TransformationCase: {
        **_DEFINITION,
        "applies": checks_transformation.applies,
        "odd-records": checks_transformation.odd_records,
        "batches": checks_transformation.batches,
    },
    PredicateCase: {
        **_DEFINITION,
        "decides": checks_transformation.decides,
        "batches": checks_transformation.decides_batches,
    },
    ConverterCase: {
        **_DEFINITION,
        "there-and-back": checks_converter.there_and_back,
        "nulls": checks_converter.nulls,
        "odd-values": checks_converter.odd_values,
        "malformed-bytes": checks_converter.malformed_bytes,
        "batches": checks_converter.batches,
    },
    HeaderConverterCase: {
        **_DEFINITION,
        "there-and-back": checks_converter.there_and_back,
        "nulls": checks_converter.nulls,
        "odd-values": checks_converter.odd_values,
        "malformed-bytes": checks_converter.malformed_bytes,
    },
}
"""The functions of each kind of plugin, by the name of the check. The first sentence of a docstring says what must
hold."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of one case: call it in a test, or run() it for a report."""

    case: Case
    name: str
    function: Callable[[Any], str]

    @property
    def title(self) -> str:
        """What must hold."""
        return " ".join((self.function.__doc__ or "").split()).rstrip(".")

    def __str__(self) -> str:
        return f"{self.case.title}-{self.name}"

    def require(self) -> str:
        """What was found, or why the check does not apply. Raises CheckFailed, or the plugin's own error."""
        try:
            return self._found()
        except CheckSkipped as reason:
            return str(reason)

    def _found(self) -> str:
        if self.name in self.case.skip:
            raise CheckSkipped(self.case.skip[self.name])
        return self.function(self.case)

    def run(self) -> Outcome:
        """The result of the check; raises nothing."""
        began = time.monotonic()
        result, detail, advice = Result.OK, "", ""
        try:
            detail = self._found()
        except CheckSkipped as reason:
            result, detail = Result.SKIPPED, str(reason)
        except CheckFailed as error:
            result, detail, advice = Result.FAILED, error.problem, error.advice
        except Exception as error:  # third-party code
            result, detail = Result.FAILED, f"{type(error).__name__}: {error} ({_place(error)})"
            advice = "The plugin raised this error for the example; correct the example or the plugin"
        return Outcome(self.case.title, self.name, self.title, result, detail, advice, time.monotonic() - began)


def checks(cases: Iterable[Case]) -> Sequence[Check]:
    """All checks of these cases, for `pytest.mark.parametrize("check", checks(CASES), ids=str)`."""
    return [Check(case, name, function) for case in cases for name, function in CHECKS[type(case)].items()]


def _place(error: BaseException) -> str:
    """File and line where the error was raised."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"
