"""HeaderFrom copies maps, so that their entries have another order in Java."""

from __future__ import annotations

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.java_text import java_text
from runtime.api.data.record import SinkRecord
from runtime.pipeline.chain.column_steps import apply_to_batches, batch_step
from runtime.pipeline.chain.step import ChainStep
from tests.support.tasks.transforms import transformation

VALUE = {"a.b": 1, "A": 2}


def test_a_map_whose_fields_are_copied_has_the_order_of_a_copy() -> None:
    step = transformation("HeaderFrom$Value", {"fields": "x", "headers": "h", "operation": "copy"})
    record = step.apply(SinkRecord("t", 0, None, None, None, dict(VALUE), 0))
    assert record is not None
    assert java_text(record.value) == "{a.b=1, A=2}"
    columns = batch_step(ChainStep(step))
    assert columns is not None
    batch = SourceBatch({}, lambda n: {}, "t", ValueBatch(None, [dict(VALUE), dict(VALUE)]))
    changed = apply_to_batches(columns, [batch], lambda error: None)
    assert changed is not None
    assert [java_text(each.value) for each in changed[0]] == ["{a.b=1, A=2}"] * 2
