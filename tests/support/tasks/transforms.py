"""Configured transformations by their Java names, and chains of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.transformation import Predicate, Transformation
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.tolerance import Policy, Reporter, Tolerance
from runtime.plugins.registry import load

_K = "org.apache.kafka.connect.transforms."


def transformation(name: str, config: Mapping[str, str]) -> Transformation:
    """A configured transformation, by the end of its class name."""
    found: Transformation = load("transformation", _K + name)()
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
