"""Steps of a chain that process a batch of uniform records as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from runtime.api.data.batch import SinkBatch, SourceBatch
from runtime.api.data.columns import BatchMetadata, Derived, MixedBatchError, ValueBatch, batch_method
from runtime.api.transformation import BatchTransformation, KeyOrValueTransformation, RecordPart, Transformation

if TYPE_CHECKING:
    from runtime.pipeline.chain.step import ChainStep

BatchStep = Callable[[ValueBatch, BatchMetadata], ValueBatch | Derived | None]
"""Returns the new values of a batch and changes the rest in the metadata, or the records derived from those of the
batch. None, or any exception: the batch is processed record by record."""
B = TypeVar("B", SourceBatch, SinkBatch)


def batch_step(step: ChainStep) -> BatchStep | None:
    """The step as a function of batches; None if it only processes records."""
    update = _of(step.transformation)
    if step.predicate is None:
        return update
    test = batch_method(step.predicate, "test", "test_batch")
    return None if test is None else _where(test, step.negate, update)


def apply_to_batches(step: BatchStep, batches: Sequence[B], raised: Callable[[Exception], object]) -> list[B] | None:
    """The batches after the step, without dropped ones; None if a batch must be processed record by record.

    `raised` is called with the exception when that is the reason."""
    changed = []
    for batch in batches:
        after = batch.copy()
        try:
            values = step(batch.values, after)
        except MixedBatchError:
            return None
        except Exception as error:  # processed again record by record, so that only the record at fault fails
            raised(error)
            return None
        if values is None:
            return None
        if isinstance(values, Derived):
            if values.values.count:
                changed.append(after.derive(values))
        elif values.count:
            after.values = values
            changed.append(after)
    return changed


def _where(
    test: Callable[[ValueBatch, BatchMetadata], bool | None], negate: bool, update: BatchStep | None
) -> BatchStep:
    """A step with a predicate that applies to all records of a batch, or to none."""

    def run(values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | Derived | None:
        holds = test(values, metadata)
        if holds is negate:
            return values
        return None if holds is None or update is None else update(values, metadata)

    return run


def _of(transformation: Transformation) -> BatchStep | None:
    if isinstance(transformation, BatchTransformation):
        return transformation.derive
    if not isinstance(transformation, KeyOrValueTransformation):
        changed: BatchStep | None = batch_method(transformation, "apply", "apply_batch")
        return changed
    if type(transformation).apply is not KeyOrValueTransformation.apply:
        return None
    update: BatchStep | None = batch_method(transformation, "update", "update_batch")
    return update if update is None or transformation.part is RecordPart.VALUE else _of_keys(update)


def _of_keys(update: BatchStep) -> BatchStep:
    def run(values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        keys = update(metadata.keys, metadata)
        if not isinstance(keys, ValueBatch):
            return None
        metadata.keys = keys
        return values

    return run
