"""Groups of workers on brokers of other versions: sources, sinks, offset changes and a takeover."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker
from tests.support.clusters.group_work import group_does_its_work
from tests.support.kafka.broker_versions import VERSIONS, broker_of

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=VERSIONS)
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with broker_of(request.param, tmp_path_factory.mktemp("broker")).started() as broker:
        yield broker


@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_a_group_does_its_work(other: KafkaBroker, tmp_path: Path, exactly_once: str) -> None:
    group_does_its_work(other, tmp_path, {"exactly.once.source.support": exactly_once, "headrace.slots": "1"})
