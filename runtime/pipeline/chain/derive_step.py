"""A step that transforms the records of a batch together, each to none, one or several.

If a batch fails, its halves are tried, and so on, until the records at fault are alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.api.data.columns import Derived
from runtime.api.data.record_columns import ColumnsOfRecords, kind_of, made_from
from runtime.api.errors import RetriableError
from runtime.api.transformation import BatchTransformation, Record
from runtime.model.task_errors import TaskLostError
from runtime.pipeline.chain.step import ChainResult, OnError, StoppedChain
from runtime.pipeline.task.failure import Stage

if TYPE_CHECKING:
    from runtime.pipeline.chain.step import ChainStep
    from runtime.pipeline.tolerance import Tolerance

Outcome = list[Any] | Exception
"""The records that take the place of one, or the error that it causes."""


def derive_step(
    step: ChainStep, transformation: BatchTransformation, tolerance: Tolerance
) -> Callable[[ChainResult, OnError], None]:
    """The step, as a function that processes the records of a result."""
    transformation.stopping = tolerance.stopping

    def run(result: ChainResult, on_error: OnError) -> None:
        records, made, done = result.records, list[Any](), 0
        outcomes = _Outcomes(step, transformation, tolerance)
        try:
            while done < len(records):
                for record, outcome in zip(records[done:], outcomes.of(records[done:]), strict=True):
                    done += 1
                    failed = isinstance(outcome, Exception)
                    if isinstance(outcome, Exception):
                        kept = on_error(record, outcome)
                        outcome = [] if kept is None else [kept]
                    for new in outcome:
                        if new is not record:
                            result.origins[id(new)] = result.origin(record)
                    made += outcome
                    if failed and outcomes.stops:
                        break  # a retry has succeeded: the records behind may not have been processed
        except StoppedChain as stop:
            result.failed, result.error = result.origin(stop.record), stop.error
        result.records = made

    return run


class _Outcomes:
    def __init__(self, step: ChainStep, transformation: BatchTransformation, tolerance: Tolerance) -> None:
        self._step, self._transformation, self._tolerance = step, transformation, tolerance
        self.stops = not tolerance.policy.tolerate_all
        """Whether records behind one that fails are not processed."""
        self._records: Sequence[Any] = ()
        self._outcomes: list[Outcome] = []

    def of(self, records: Sequence[Any]) -> list[Outcome]:
        """The outcome of each record. StoppedChain for an error that does not concern a record."""
        self._records, self._outcomes = records, [[record] for record in records]
        kinds: dict[Hashable, list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            try:
                if self._step.applies(record):
                    kinds[kind_of(record)].append(place)
            except Exception as error:  # of the predicate, which is third-party code
                self._outcomes[place] = error
        for places in kinds.values():
            self._derive(places)
        return self._outcomes

    def _derive(self, places: Sequence[int]) -> bool:
        """Sets the outcomes of records of one kind. False to stop at a failed record."""
        part = [self._records[place] for place in places]
        try:
            derived = self._attempted(part)
        except Exception as error:
            if isinstance(error, RetriableError) and self._tolerance.stopping():
                self._tolerance.abandon()
            if not getattr(error, "tolerable", True) or isinstance(error, TaskLostError):
                raise StoppedChain(self._records[0], error) from error
            if len(places) == 1:
                self._outcomes[places[0]] = error
                return not self.stops
            middle = len(places) // 2
            return self._derive(places[:middle]) and self._derive(places[middle:])
        for place in places:
            self._outcomes[place] = []
        for index, record in made_from(part, derived):
            outcome = self._outcomes[places[index]]
            assert isinstance(outcome, list)
            outcome.append(record)
        return True

    def _attempted(self, records: Sequence[Record]) -> Derived:
        def derive() -> Derived:
            columns = ColumnsOfRecords(records)  # type: ignore[arg-type]  # records of a task are of one class
            return self._transformation.derive(columns.values, columns)

        try:
            return derive()
        except RetriableError as error:
            return self._tolerance.retry(error, derive, Stage.TRANSFORMATION)
