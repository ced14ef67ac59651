"""Configured transformations by their Java names, and chains of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.data.columns import BatchMetadata, Derived, ValueBatch
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import DataError
from runtime.api.transformation import BatchTransformation, Predicate, Transformation
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.tolerance import Policy, Reporter, Tolerance
from runtime.plugins.registry import load

_K = "org.apache.kafka.connect.transforms."


def transformation(name: str, config: Mapping[str, str]) -> Transformation:
    """A configured transformation, by its class name, in which Connect's package may be left out."""
    found: Transformation = load("transformation", name if "." in name else _K + name)()
    found.configure(config)
    return found


def predicate(name: str, config: Mapping[str, str]) -> Predicate:
    found: Predicate = load("predicate", f"{_K}predicates.{name}")()
    found.configure(config)
    return found


def tolerance(reporter: Reporter | None = None, **policy: Any) -> Tolerance:
    return Tolerance(Policy(**policy), "c-0", TaskControl(False, lambda: None), reporter)


def chain(*steps: ChainStep, errors: Tolerance | None = None) -> Chain:
    return Chain(steps, errors or tolerance(), lambda record: (record, ""))


class Repeat(BatchTransformation):
    """The text "n:x" gives n records with x, and the topic of its first letter; n < 0 is an error."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.error: Exception | None = None

    def derive(self, values: ValueBatch, metadata: BatchMetadata) -> Derived:
        self.calls.append(values.count)
        if self.error is not None:
            raise self.error
        pairs = [text.split(":") for text in values.rows]
        if any(int(count) < 0 for count, _ in pairs):
            raise DataError("a negative number")
        places = [place for place, (count, _) in enumerate(pairs) for _ in range(int(count))]
        texts = [pairs[place][1] for place in places]
        return Derived(ValueBatch(STRING_SCHEMA, texts), places, topics=[text[0] for text in texts])
