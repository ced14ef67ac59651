"""Groups of workers on brokers of earlier versions: sources, sinks, offset changes and a takeover."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters.group_work import group_does_its_work
from tests.support.kafka.broker_versions import VERSIONS, EarlierBroker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=VERSIONS)
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EarlierBroker]:
    with EarlierBroker(tmp_path_factory.mktemp("broker"), request.param).started() as broker:
        yield broker


@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_a_group_does_its_work(earlier: EarlierBroker, tmp_path: Path, exactly_once: str) -> None:
    group_does_its_work(earlier, tmp_path, {"exactly.once.source.support": exactly_once, "headrace.slots": "1"})
