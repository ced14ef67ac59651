"""The properties of a standalone worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.config.standalone_config import FILE, standalone
from runtime.config.worker_config import WorkerConfigError

REQUIRED = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    FILE: "/var/lib/offsets",
}


def test_group_properties_are_not_required() -> None:
    config = standalone(REQUIRED)
    assert config.offsets_file == Path("/var/lib/offsets")
    assert config.worker.warnings == ()


def test_properties_of_distributed_workers_cause_warnings() -> None:
    config = standalone(
        {**REQUIRED, "group.id": "g", "config.storage.topic": "t", "exactly.once.source.support": "disabled"}
    )
    assert len(config.worker.warnings) == 3
    assert all("distributed workers" in w for w in config.worker.warnings)


@pytest.mark.parametrize("support", ["enabled", "Preparing"])
def test_exactly_once_source_support_is_refused(support: str) -> None:
    with pytest.raises(WorkerConfigError, match=f"Invalid value {support} .* is available in distributed mode only"):
        standalone({**REQUIRED, "exactly.once.source.support": support})


def test_the_offsets_file_is_required() -> None:
    with pytest.raises(WorkerConfigError, match=FILE.replace(".", r"\.")):
        standalone({k: v for k, v in REQUIRED.items() if k != FILE})
