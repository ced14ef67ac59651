"""The transformations of a task, compiled once: for each a loop over a whole batch with all lookups done before.

Records are changed in place, so that a record keeps its identity to the end of the chain unless a transformation makes
a new one of it. What is dropped or fails is told by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart, Transformation
from runtime.pipeline.chain.column_steps import B, apply_to_batches, batch_step
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.task.failure import Failure, Stage
from runtime.pipeline.task.fallbacks import Fallbacks
from runtime.pipeline.tolerance import Tolerance, plugin_name

Results = list[Record | None]
"""What became of each record of a batch, None where it was dropped; shorter than the batch when it ends early."""

OnError = Callable[[Record, Exception], "Record | None"]
"""What becomes of a record whose transformation raised; raises _Stopped when that is the end of the task."""


@dataclass(slots=True)
class ChainResult:
    """The records that came through, in order. `failed` is the record of the batch that fails the task with `error`:
    it and all behind it are left out."""

    records: list[Record]
    failed: Record | None = None
    error: Exception | None = None
    origins: dict[int, Record] = field(default_factory=dict)  # by id() of records that were made anew

    def origin(self, record: Record) -> Record:
        """The record of the batch that this one was made of."""
        return self.origins.get(id(record), record)


class _Stopped(Exception):
    def __init__(self, record: Record, error: Exception) -> None:
        super().__init__()
        self.record, self.error = record, error


class Chain:
    """The steps of one task."""

    def __init__(
        self, steps: Sequence[ChainStep], tolerance: Tolerance, where: Callable[[Record], tuple[Any, str]]
    ) -> None:
        """`where` gives what a failure of the record is reported with: the record as it was read, and in words."""
        self._stages = [(_loop(step, tolerance.fallbacks), self._fixer(step)) for step in steps]
        self._together = [batch_step(step) for step in steps]
        self._steps, self._tolerance, self._where = list(steps), tolerance, where

    @property
    def bundled(self) -> bool:
        """Whether all steps are Connect's own: these leave timestamps alone."""
        return all(type(step.transformation).__module__.startswith("runtime.transforms.") for step in self._steps)

    @property
    def takes_batches(self) -> bool:
        """Whether there are steps, and the first may take many records at once."""
        return bool(self._together) and self._together[0] is not None

    def __len__(self) -> int:
        return len(self._steps)

    def run_batches(self, batches: Sequence[B]) -> tuple[Sequence[B], int]:
        """Batches through as many steps as can take all of them at once, and how many these are: the records go through
        the others one by one, with run(). Batches that are dropped are left out."""
        raised = partial(self._tolerance.fallbacks.count, "transformation")
        for number, step in enumerate(self._together):
            changed = None if step is None else apply_to_batches(step, batches, raised)
            if changed is None:
                return batches, number
            batches = changed
            if not batches:
                break
        return batches, len(self._together)

    def run(self, records: list[Any], first: int = 0) -> ChainResult:
        """Records through all steps, or those from `first` on."""
        outcome = ChainResult(records)
        for loop, fix in self._stages[first:]:
            loop(outcome, fix)
            if not outcome.records:
                break
        return outcome

    def close(self) -> None:
        for step in self._steps:
            step.transformation.close()
            if step.predicate is not None:
                step.predicate.close()

    def _fixer(self, step: ChainStep) -> OnError:
        def fix(record: Record, error: Exception) -> Record | None:
            try:
                return self._tolerance.retry(error, lambda: step.apply(record), Stage.TRANSFORMATION)
            except Exception as last:
                try:
                    read, where = self._where(record)
                    name = plugin_name(step.transformation)
                    self._tolerance.failed(Failure(Stage.TRANSFORMATION, name, last, read, where))
                except Exception as end:
                    raise _Stopped(record, end) from last
                return None

        return fix


def _loop(step: ChainStep, fallbacks: Fallbacks) -> Callable[[ChainResult, OnError], None]:
    """One step over what has come through so far."""
    transform = _transform(step.transformation)
    chosen = _choose(step)

    def run(outcome: ChainResult, fix: OnError) -> None:
        records = outcome.records
        try:
            subset = records if chosen is None else chosen(records)
        except Exception as error:  # a predicate raised: record by record, the record that causes it fails
            fallbacks.count("predicate", error)
            subset, each = records, _each(step.apply)
        else:
            each = transform
        if not subset:
            return
        results: Results = []
        try:
            changed = each(subset, results, fix)
        except _Stopped as stop:
            outcome.failed, outcome.error = outcome.origin(stop.record), stop.error
            records = records[: _index(records, stop.record)]
            subset = subset[: _index(subset, stop.record)]
            changed = True
        if changed:
            outcome.records = _merged(outcome, records, subset, results)

    return run


def _choose(step: ChainStep) -> Callable[[list[Record]], list[Record]] | None:
    predicate, negate = step.predicate, step.negate
    if predicate is None:
        return None
    test = predicate.test
    if negate:
        return lambda records: [record for record in records if not test(record)]
    return lambda records: [record for record in records if test(record)]


def _index(records: list[Record], record: Record) -> int:
    return next((i for i, r in enumerate(records) if r is record), len(records))


def _merged(outcome: ChainResult, records: list[Record], subset: list[Record], results: Results) -> list[Record]:
    """All records, those of the subset replaced by what became of them."""
    became: dict[int, Record | None] = {}
    for old, new in zip(subset, results, strict=False):
        became[id(old)] = new
        if new is not None and new is not old:
            outcome.origins[id(new)] = outcome.origin(old)
    if len(became) == len(records):
        return [new for new in results if new is not None]
    return [new for r in records if (new := became.get(id(r), r)) is not None]


_Each = Callable[[list[Any], Results, OnError], bool]
"""Transforms records, putting what became of each into the results. False: they are all there still, and the results
are not filled in."""


def _transform(transformation: Transformation) -> _Each:
    if (
        isinstance(transformation, KeyOrValueTransformation)
        and type(transformation).apply is KeyOrValueTransformation.apply
    ):
        return (
            _values(transformation.update) if transformation.part is RecordPart.VALUE else _keys(transformation.update)
        )
    return _each(transformation.apply)


def _each(apply: Callable[[Any], Record | None]) -> _Each:
    def run(records: list[Any], results: Results, fix: OnError) -> bool:
        append = results.append
        for record in records:
            try:
                append(apply(record))
            except Exception as error:
                append(fix(record, error))
        return results != records

    return run


def _values(update: Callable[..., Any]) -> _Each:
    def run(records: list[Any], results: Results, fix: OnError) -> bool:
        dropped: list[Any] = []
        for record in records:
            try:
                record.value_schema, record.value = update(record.value_schema, record.value, record)
            except Exception as error:
                _fix(records, record, error, results, dropped, fix)
        return _without(dropped, records, results)

    return run


def _keys(update: Callable[..., Any]) -> _Each:
    def run(records: list[Any], results: Results, fix: OnError) -> bool:
        dropped: list[Any] = []
        for record in records:
            try:
                record.key_schema, record.key = update(record.key_schema, record.key, record)
            except Exception as error:
                _fix(records, record, error, results, dropped, fix)
        return _without(dropped, records, results)

    return run


def _fix(
    records: list[Any], record: Any, error: Exception, results: Results, dropped: list[Any], fix: OnError
) -> None:  # fmt: skip
    try:
        if fix(record, error) is None:
            dropped.append(record)
    except _Stopped:
        _without([*dropped, None], records[: _index(records, record)], results)
        raise


def _without(dropped: list[Any], records: list[Any], results: Results) -> bool:
    if not dropped:
        return False
    gone = set(map(id, dropped))
    results.extend(None if id(record) in gone else record for record in records)
    return True
