"""Consecutive steps of a chain that are executed together in another process, with the errors of single records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.java.step_run import FailedStep, place_of

if TYPE_CHECKING:
    from runtime.pipeline.chain.step import ChainStep


def run_ends(steps: Sequence[ChainStep]) -> list[int]:
    """For each step the index behind the last step that can be executed together with it; its own index if the step is
    executed in this process."""
    ends = list(range(len(steps)))
    for number in reversed(range(len(steps))):
        if (place := _place(steps[number])) is not None:
            joins = number + 1 < len(steps) and _place(steps[number + 1]) is place
            ends[number] = ends[number + 1] if joins else number + 1
    return ends


def _place(step: ChainStep) -> object:
    """Where the whole step can be executed; None if a part of it has to run in this process."""
    place = place_of(step.transformation)
    return place if step.predicate is None or place_of(step.predicate) is place else None


class RemoteRun:
    """One call with some records. Each record goes through all steps before the next one, as in Connect."""

    def __init__(
        self, steps: Sequence[ChainStep], handlers: Sequence[Callable[[Any, Exception], Any]], stops: bool
    ) -> None:
        """`handlers`: the error handler of each step. `stops`: no record is processed behind one that fails."""
        self._steps, self._handlers, self._stops = steps, handlers, stops
        self._described = [(step.transformation, step.predicate, step.negate) for step in steps]

    def run(self, records: Sequence[Any], results: list[Any]) -> None:
        """Appends the result of each record, None if it was dropped or skipped. Raises what an error handler raises,
        with the results of the records before."""
        first: Any = self._steps[0].transformation
        while len(results) < len(records):
            for result in first.apply_run(self._described, records[len(results) :], self._stops):
                results.append(  # noqa: PERF401 - the results before an error are used
                    self._handled(result) if type(result) is FailedStep else result
                )

    def _handled(self, failed: FailedStep) -> Any:
        """The record after the error was handled and the remaining steps were applied."""
        record = self._handlers[failed.step](failed.record, failed.error)
        for number in range(failed.step + 1, len(self._steps)):
            if record is None:
                return None
            try:
                record = self._steps[number].apply(record)
            except Exception as error:
                record = self._handlers[number](record, error)
        return record
