"""How the steps of a chain take many records at once, where they can: a batch of records that are alike at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from runtime.api.data.batch import SinkBatch, SourceBatch
from runtime.api.data.columns import Origins, Values, together
from runtime.api.transformation import Part, PartTransformation, Transformation

if TYPE_CHECKING:
    from runtime.pipeline.chain.step import Step

Together = Callable[[Values, Origins], Values | None]
"""The values of a batch as they go on; the rest is changed in the Origins. None, or any exception: one by one."""
B = TypeVar("B", SourceBatch, SinkBatch)


def step_together(step: Step) -> Together | None:
    """How the step takes many records at once, if it can."""
    update = _of(step.transformation)
    if step.predicate is None:
        return update
    test = together(step.predicate, "test", "test_together")
    return None if test is None else _where(test, step.negate, update)


def all_through(step: Together, batches: Sequence[B]) -> list[B] | None:
    """What becomes of batches, without those that are dropped; None where one of them has to go record by record."""
    changed = []
    for batch in batches:
        after = batch.copy()
        try:
            values = step(batch.values, after)
        except Exception:  # one by one it will be seen whose fault it is
            return None
        if values is None:
            return None
        if values.count:
            after.values = values
            changed.append(after)
    return changed


def _where(test: Callable[[Values, Origins], bool | None], negate: bool, update: Together | None) -> Together:
    """Of a step that applies to all records of a batch, or to none."""

    def run(values: Values, origins: Origins) -> Values | None:
        holds = test(values, origins)
        if holds is negate:
            return values
        return None if holds is None or update is None else update(values, origins)

    return run


def _of(found: Transformation) -> Together | None:
    if not isinstance(found, PartTransformation):
        changed: Together | None = together(found, "apply", "apply_together")
        return changed
    if type(found).apply is not PartTransformation.apply:
        return None
    update: Together | None = together(found, "update", "update_together")
    return update if update is None or found.part is Part.VALUE else _of_keys(update)


def _of_keys(update: Together) -> Together:
    def run(values: Values, origins: Origins) -> Values | None:
        keys = update(origins.keys, origins)
        if keys is None:
            return None
        origins.keys = keys
        return values

    return run
