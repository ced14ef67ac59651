"""The transformations of a task, compiled once: each is a loop over a whole batch, with all lookups done before.

Records are changed in place, so a record keeps its identity through the chain unless a transformation replaces it.
Dropped and failed records are found by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from runtime.api.transformation import (
    BatchTransformation,
    KeyOrValueTransformation,
    Record,
    RecordPart,
    Transformation,
)
from runtime.java.step_run import place_of
from runtime.pipeline.chain.column_steps import B, apply_to_batches, batch_step
from runtime.pipeline.chain.derive_step import derive_step
from runtime.pipeline.chain.remote_run import RemoteRun, run_ends
from runtime.pipeline.chain.step import ChainResult, ChainStep, OnError, Results, StoppedChain
from runtime.pipeline.task.failure import Failure, Stage
from runtime.pipeline.tolerance import Tolerance, plugin_name

if TYPE_CHECKING:
    from runtime.java.step_run import RemotePredicate


class Chain:
    """The steps of one task."""

    def __init__(
        self, steps: Sequence[ChainStep], tolerance: Tolerance, where: Callable[[Record], tuple[Any, str]]
    ) -> None:
        """`where` returns, for the report of a failure, the record as it was read, and a description of its source."""
        self._handlers = [self._error_handler(step) for step in steps]
        self._stages = [_loop(step, tolerance) for step in steps]
        self._run_ends = run_ends(steps)
        self._batch_steps = [batch_step(step) for step in steps]
        self._steps, self._tolerance, self._where = list(steps), tolerance, where

    @property
    def steps(self) -> Sequence[ChainStep]:
        """The steps, in order."""
        return self._steps

    @property
    def bundled(self) -> bool:
        """Whether all steps are Connect's own transformations, which do not change timestamps."""
        return all(
            type(step.transformation).__module__.startswith("runtime.transforms.")
            and not isinstance(step.transformation, BatchTransformation)
            for step in self._steps
        )

    @property
    def takes_batches(self) -> bool:
        """Whether the first step can process batches."""
        return bool(self._batch_steps) and self._batch_steps[0] is not None

    def __len__(self) -> int:
        return len(self._steps)

    def run_batches(self, batches: Sequence[B]) -> tuple[Sequence[B], int]:
        """Run batches through as many steps as can process all of them as batches. Returns the batches, without dropped
        ones, and the number of steps; run() does the remaining steps record by record."""
        raised = partial(self._tolerance.fallbacks.count, "transformation")
        for number, step in enumerate(self._batch_steps):
            changed = None if step is None else apply_to_batches(step, batches, raised)
            if changed is None:
                return batches, number
            batches = changed
            if not batches:
                break
        return batches, len(self._batch_steps)

    def run(self, records: list[Any], first: int = 0) -> ChainResult:
        """Run records through all steps, or those from `first` on."""
        outcome = ChainResult(records)
        while first < len(self._steps) and outcome.records:
            end = self._run_ends[first]
            if end > first:
                self._run_remote(outcome, first, end)
                first = end
            else:
                self._stages[first](outcome, self._handlers[first])
                first += 1
        return outcome

    def _run_remote(self, outcome: ChainResult, first: int, end: int) -> None:
        """The steps from `first` to before `end`, which are executed together elsewhere."""
        records = outcome.records
        results: Results = []
        part = RemoteRun(self._steps[first:end], self._handlers[first:end], not self._tolerance.policy.tolerate_all)
        try:
            part.run(records, results)
        except StoppedChain as stop:
            outcome.failed, outcome.error = outcome.origin(records[len(results)]), stop.error
        for old, new in zip(records, results, strict=False):
            if new is not None and new is not old:
                outcome.origins[id(new)] = outcome.origin(old)
        outcome.records = [new for new in results if new is not None]

    def close(self) -> None:
        """Close all transformations and predicates."""
        predicates = {id(step.predicate): step.predicate for step in self._steps if step.predicate is not None}
        for step in self._steps:
            step.transformation.close()
        for predicate in predicates.values():
            predicate.close()

    def _error_handler(self, step: ChainStep) -> OnError:
        def on_error(record: Record, error: Exception) -> Record | None:
            try:
                return self._tolerance.retry(error, lambda: step.apply(record), Stage.TRANSFORMATION)
            except Exception as last:
                try:
                    read, where = self._where(record)
                    name = plugin_name(step.transformation)
                    self._tolerance.failed(Failure(Stage.TRANSFORMATION, name, last, read, where))
                except Exception as end:
                    raise StoppedChain(record, end) from last
                return None

        return on_error


def _loop(step: ChainStep, tolerance: Tolerance) -> Callable[[ChainResult, OnError], None]:
    """One step, as a function that processes the records of a result."""
    if isinstance(step.transformation, BatchTransformation):
        return derive_step(step, step.transformation, tolerance)
    remote, fallbacks = place_of(step.transformation) is not None, tolerance.fallbacks
    transform = _remote(step, not tolerance.policy.tolerate_all) if remote else _transform(step.transformation)
    chosen = _choose(step)

    def run(outcome: ChainResult, on_error: OnError) -> None:
        records = outcome.records
        try:
            subset = records if chosen is None else chosen(records)
        except Exception as error:  # a predicate raised: only the record at fault must fail
            fallbacks.count("predicate", error)
            subset, each = records, _each(step.apply)
        else:
            each = transform
        if not subset:
            return
        results: Results = []
        try:
            changed = each(subset, results, on_error)
        except StoppedChain as stop:
            outcome.failed, outcome.error = outcome.origin(stop.record), stop.error
            records = records[: index_of(records, stop.record)]
            subset = subset[: index_of(subset, stop.record)]
            changed = True
        if changed:
            outcome.records = _merged(outcome, records, subset, results)

    return run


def _choose(step: ChainStep) -> Callable[[list[Record]], list[Record]] | None:
    predicate, negate = step.predicate, step.negate
    if predicate is None:
        return None
    test = predicate.test
    if place_of(predicate) is not None:
        test_all = cast("RemotePredicate", predicate).test_all
        return lambda records: [r for r, holds in zip(records, test_all(records), strict=True) if holds is not negate]
    if negate:
        return lambda records: [record for record in records if not test(record)]
    return lambda records: [record for record in records if test(record)]


def index_of(records: Sequence[Any], record: Any) -> int:
    """The index of a record; the number of records if it is not among them."""
    return next((i for i, r in enumerate(records) if r is record), len(records))


def _merged(outcome: ChainResult, records: list[Record], subset: list[Record], results: Results) -> list[Record]:
    result_of: dict[int, Record | None] = {}
    for old, new in zip(subset, results, strict=False):
        result_of[id(old)] = new
        if new is not None and new is not old:
            outcome.origins[id(new)] = outcome.origin(old)
    if len(result_of) == len(records):
        return [new for new in results if new is not None]
    return [new for r in records if (new := result_of.get(id(r), r)) is not None]


_Each = Callable[[list[Any], Results, OnError], bool]
"""Transforms records and appends their results. Returns False, without filling the results, if all records were
changed in place."""


def _transform(transformation: Transformation) -> _Each:
    if (
        isinstance(transformation, KeyOrValueTransformation)
        and type(transformation).apply is KeyOrValueTransformation.apply
    ):
        return (
            _values(transformation.update) if transformation.part is RecordPart.VALUE else _keys(transformation.update)
        )
    return _each(transformation.apply)


def _remote(step: ChainStep, stops: bool) -> _Each:
    """A transformation that is executed elsewhere, for records that a predicate in this process has selected."""
    alone = ChainStep(step.transformation)

    def run(records: list[Any], results: Results, on_error: OnError) -> bool:
        try:
            RemoteRun([alone], [on_error], stops).run(records, results)
        except StoppedChain as stop:
            raise StoppedChain(records[len(results)], stop.error) from stop
        return True

    return run


def _each(apply: Callable[[Any], Record | None]) -> _Each:
    def run(records: list[Any], results: Results, on_error: OnError) -> bool:
        append = results.append
        for record in records:
            try:
                append(apply(record))
            except Exception as error:
                append(on_error(record, error))
        return results != records

    return run


def _values(update: Callable[..., Any]) -> _Each:
    def run(records: list[Any], results: Results, on_error: OnError) -> bool:
        dropped: list[Any] = []
        for record in records:
            try:
                record.value_schema, record.value = update(record.value_schema, record.value, record)
            except Exception as error:
                _handle(records, record, error, results, dropped, on_error)
        return _without(dropped, records, results)

    return run


def _keys(update: Callable[..., Any]) -> _Each:
    def run(records: list[Any], results: Results, on_error: OnError) -> bool:
        dropped: list[Any] = []
        for record in records:
            try:
                record.key_schema, record.key = update(record.key_schema, record.key, record)
            except Exception as error:
                _handle(records, record, error, results, dropped, on_error)
        return _without(dropped, records, results)

    return run


def _handle(
    records: list[Any], record: Any, error: Exception, results: Results, dropped: list[Any], on_error: OnError
) -> None:  # fmt: skip
    try:
        if on_error(record, error) is None:
            dropped.append(record)
    except StoppedChain:
        _without([*dropped, None], records[: index_of(records, record)], results)
        raise


def _without(dropped: list[Any], records: list[Any], results: Results) -> bool:
    if not dropped:
        return False
    removed = set(map(id, dropped))
    results.extend(None if id(record) in removed else record for record in records)
    return True
