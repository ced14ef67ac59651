"""Java plugins: the list, all definitions and validation, compared with Apache's worker field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from tests.contract.java_configs import Config, further, large, small
from tests.support.broker import KafkaBroker
from tests.support.clusters import rest
from tests.support.java.answers import comparable, different, listed_plugins, with_their_texts
from tests.support.java.connectors import (
    DEBEZIUM_MONGO,
    DEBEZIUM_MYSQL,
    DEBEZIUM_SQL_SERVER,
    FILE,
    MAIN,
    MIRROR,
    PREFER_FILE,
    PUBSUB,
    plugin_path,
)
from tests.support.workers import StartWorker, WorkerProcess, java_worker

pytestmark = pytest.mark.slow

_START = 300.0  # seconds; Apache's worker loads every class of every jar


def test_mirror_maker_and_file_connectors_answer_as_in_apaches_worker(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    plugins = plugin_path(MIRROR, FILE)
    ours = worker({"plugin.path": plugins, **PREFER_FILE})
    with java_worker(tmp_path / "java", broker.bootstrap, {"plugin.path": plugins}).started(_START) as apaches:
        _compare(ours, apaches, small(broker.bootstrap), _of_kafka)
        status, found = ours.request("GET", "/connector-plugins/details")
        assert status == 200
        (mirror,) = (one for one in found if one["class"].endswith("MirrorSourceConnector"))
        assert (mirror["language"], Path(mirror["from"]).name) == ("java", "connect-mirror-4.3.0.jar")


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_all_connectors_answer_as_in_apaches_worker(worker: StartWorker, broker: KafkaBroker, tmp_path: Path) -> None:
    _compare_all(worker, broker, tmp_path, MAIN, [*small(broker.bootstrap), *large()])


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_connectors_of_unavailable_systems_answer_as_in_apaches_worker(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    coordinates = (DEBEZIUM_MYSQL, DEBEZIUM_SQL_SERVER, DEBEZIUM_MONGO, PUBSUB)
    _compare_all(worker, broker, tmp_path, coordinates, further())


def _compare_all(
    worker: StartWorker,
    broker: KafkaBroker,
    folder: Path,
    coordinates: Sequence[str],
    configs: Iterable[Config],
) -> None:
    plugins = plugin_path(*coordinates)
    ours = worker({"plugin.path": plugins, **PREFER_FILE})
    found = {"plugin.path": plugins, "plugin.discovery": "hybrid_warn"}  # with plugins that have no service file
    with java_worker(folder / "java", broker.bootstrap, found).started(_START) as apaches:
        for one in (ours, apaches):  # the first answer needs an instance of each plugin
            rest.request(f"{one.url}/connector-plugins?connectorsOnly=false", timeout=_START)
        _compare(ours, apaches, configs, lambda cls: True)


def _of_kafka(cls: str) -> bool:
    return ".connect.mirror." in cls or ".connect.file." in cls


def _compare(
    ours: WorkerProcess, apaches: WorkerProcess, configs: Iterable[Config], compared: Callable[[str], bool]
) -> None:
    listed = [entry for entry in listed_plugins(apaches) if compared(entry["class"])]
    assert listed == [entry for entry in listed_plugins(ours) if entry["class"] in {e["class"] for e in listed}]
    keys = 0
    for cls in dict.fromkeys(entry["class"] for entry in listed):
        theirs, found = (w.request("GET", f"/connector-plugins/{cls}/config") for w in (apaches, ours))
        if not cls.startswith("org.apache.kafka.connect.") or _of_kafka(cls):
            keys += len(theirs[1])
            difference = different(with_their_texts(found[1], theirs[1]), theirs[1])
            assert not difference, f"{cls}: (ours, Apache's)\n{difference}"
    values = 0
    for config in configs:
        theirs, found = (
            w.request("PUT", f"/connector-plugins/{config['connector.class']}/config/validate", config)
            for w in (apaches, ours)
        )
        assert theirs[0] == found[0] == 200, (config, theirs, found)
        values += len(theirs[1]["configs"])
        assert comparable(found[1], theirs[1]) == comparable(theirs[1], theirs[1]), config
    print(f"equal: {len(listed)} plugins, {keys} definitions, {values} validated keys")
