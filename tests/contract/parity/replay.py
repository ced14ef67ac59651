"""Replays of scenarios at a worker, and their differences from a recording."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tests.contract.parity.comparison import differences
from tests.contract.parity.recorder import Recorder, Step, Target
from tests.contract.parity.registry import SCENARIOS
from tests.contract.parity.scenarios import (  # noqa: F401  # they fill the registry
    configs,
    converters,
    corners,
    lifecycle,
    offsets,
    plugins,
    rest,
    storage,
    transforms,
)

SIDE_BY_SIDE = 6
"""Scenarios at a time: they mostly wait, and their connectors, topics and files have names of their own."""


def load(reference: Path) -> dict[str, Any]:
    """A recording: `scenarios` by name, and the `steps` of all."""
    recording: dict[str, Any] = json.loads(reference.read_text("utf-8"))
    return recording


def record(target: Target, scenario: str) -> list[Step]:
    """The steps of a scenario; one of the kind "exception" if it cannot be completed."""
    recorder = Recorder(target, scenario)
    try:
        SCENARIOS[scenario](recorder)
    except Exception as error:  # whatever the reason, it is a difference from the recording
        recorder.record("exception", kind="exception", data=f"{type(error).__name__}: {error}")
    finally:
        recorder.close()
    return recorder.steps


def record_all(target: Target, names: Iterable[str]) -> dict[str, list[Step]]:
    names = list(names)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return dict(zip(names, pool.map(partial(record, target), names), strict=True))


def replay(target: Target, names: Iterable[str], reference: Path) -> dict[str, list[str]]:
    """The differences of each of these scenarios from the recorded ones."""
    steps = load(reference)["steps"]
    return {name: differences(name, steps, found) for name, found in record_all(target, names).items()}
