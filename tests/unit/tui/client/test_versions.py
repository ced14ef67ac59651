"""The table of versions, compared with recorded workers, and the client's requests to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console.recorded_worker import VERSIONS, RecordedWorker
from tui.client import versions
from tui.client.calls import ApiCall, drive
from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.client.versions import FEATURES, Feature, missing, release
from tui.errors import NotFound, Refused, Unsupported

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
PROBES: dict[Feature, tuple[str, str]] = {
    versions.EXPANDED_LIST: ("GET", "/connectors?expand=status&expand=info"),
    versions.LOGGERS: ("GET", "/admin/loggers"),
    versions.TOPICS: ("GET", "/connectors/copy/topics"),
    versions.RESTART_TASKS: ("POST", "/connectors/copy/restart?includeTasks=true&onlyFailed=false"),
    versions.PLUGIN_CONFIG: ("GET", f"/connector-plugins/{SOURCE}/config"),
    versions.STOP: ("PUT", "/connectors/copy/stop"),
    versions.GET_OFFSETS: ("GET", "/connectors/copy/offsets"),
    versions.ALTER_OFFSETS: ("PATCH", "/connectors/copy/offsets"),
    versions.INITIAL_STATE: ("POST", "/connectors"),
    versions.CLUSTER_LOGGERS: ("PUT", "/admin/loggers/org.apache.kafka.connect?scope=cluster"),
    versions.PATCH_CONFIG: ("PATCH", "/connectors/copy/config"),
    versions.HEALTH: ("GET", "/health"),
}


def did(worker: RecordedWorker, feature: Feature) -> bool | None:
    """Whether the worker did it when it was recorded; None if it was not asked."""
    entry = worker.responses.get(PROBES[feature])
    if entry is None:
        return None
    if feature is versions.RESTART_TASKS:
        return entry["answer"] is not None  # an earlier worker ignores the parameters
    if feature is versions.CLUSTER_LOGGERS:
        return entry["answer"] is None
    return "error" not in entry


@pytest.mark.parametrize("version", VERSIONS)
def test_the_table_says_what_recorded_workers_did(version: str) -> None:
    worker = RecordedWorker(version)
    assert PROBES.keys() == set(FEATURES)
    assert drive(Connect(worker).root())["version"] == version
    told = {feature.name: not missing(feature, version) for feature in FEATURES if did(worker, feature) is not None}
    assert told == {feature.name: done for feature in FEATURES if (done := did(worker, feature)) is not None}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.8.2", (2, 8)),
        ("3.4.0.redhat-00006", (3, 4)),
        ("4.3.0-SNAPSHOT", (4, 3)),
        ("5.5.12-ccs", (2, 5)),
        ("6.2.1-ce", (2, 8)),
        ("7.4.0-ccs", (3, 4)),
        ("8.0.0-ccs", (4, 0)),
        ("10.1", (10, 1)),
        ("unknown", None),
        ("", None),
    ],
)  # fmt: skip
def test_releases_of_kafka_also_in_the_versions_of_distributions(
    version: str, expected: tuple[int, int] | None
) -> None:
    assert release(version) == expected


def test_an_unknown_version_lacks_nothing() -> None:
    assert missing(versions.STOP, "of-our-own") == ""
    assert missing(versions.STOP, "3.4.1") == "stopping a connector needs Connect 3.5; this is 3.4.1"


async def test_a_refusal_that_the_version_explains_is_unsupported() -> None:
    connect = Connect(RecordedWorker("3.4.1"))
    with pytest.raises(Unsupported, match=r"needs Connect 3.5; this is 3.4.1 \(pause it\)"):
        await connect.stop("copy")
    with pytest.raises(Unsupported, match=r"creating a connector in a state needs Connect 3\.7"):
        await connect.create({"name": "n", "config": {}, "initial_state": "STOPPED"})


async def test_any_other_refusal_stays_as_it_is() -> None:
    with pytest.raises(NotFound, match="HTTP 404"):
        await Connect(RecordedWorker("3.4.1")).workers()  # no version of Connect has it

    class Renamed(RecordedWorker):
        async def send(self, call: ApiCall) -> object:
            return {"version": "9.9"} if call.path == "/" else await super().send(call)

    with pytest.raises(NotFound, match="HTTP 404"):
        await Connect(Renamed("3.4.1")).stop("copy")


@pytest.mark.parametrize("only_failed", [True, False])
async def test_before_3_0_each_task_is_restarted(only_failed: bool) -> None:
    worker = RecordedWorker("2.8.2")
    await Connect(worker).restart("broken", tasks=True, only_failed=only_failed)
    flags = f"includeTasks=true&onlyFailed={str(only_failed).lower()}"
    assert worker.sent == [
        f"POST /connectors/broken/restart?{flags}",
        "POST /connectors/broken/tasks/0/restart",
    ]


async def test_before_3_0_tasks_that_run_are_not_restarted_with_the_failed_ones() -> None:
    worker = RecordedWorker("2.8.2")
    worker.responses["GET", "/connectors/broken/status"] = worker.responses["GET", "/connectors/copy/status"]
    await Connect(worker).restart("broken", tasks=True, only_failed=True)
    assert worker.sent == ["POST /connectors/broken/restart?includeTasks=true&onlyFailed=true"]


@pytest.mark.parametrize("version", ["3.4.1", "4.0.0"])
async def test_from_3_0_on_the_worker_restarts_the_tasks(version: str) -> None:
    worker = RecordedWorker(version)
    await Connect(worker).restart("broken", tasks=True, only_failed=True)
    assert len(worker.sent) == 1


async def test_before_3_2_the_keys_of_a_connector_come_from_its_validation() -> None:
    connect = Connect(RecordedWorker("2.8.2"))
    keys = {key["name"]: key for key in await connect.plugin_config("FileStreamSink")}
    assert keys["file"]["documentation"] and keys["topics"]["type"] == "LIST"
    with pytest.raises(Unsupported, match=r"the configuration of a plugin needs Connect 3\.2; this is 2\.8\.2"):
        await connect.plugin_config("org.apache.kafka.connect.json.JsonConverter")


async def test_before_3_2_all_keys_of_a_converter_count_as_secret() -> None:
    """Their definitions cannot be read: a key that the converter defines as PASSWORD must not be shown."""
    keys = PasswordKeys(Connect(RecordedWorker("2.8.2")).plugin_config)
    config = {"connector.class": "FileStreamSink", "file": "f", "value.converter": "a.B", "value.converter.pin": "1234"}
    assert {"value.converter.pin"} <= await keys.of(config)
    assert "file" not in await keys.of(config)


async def test_without_a_version_the_refusal_stays() -> None:
    worker = RecordedWorker("3.4.1")
    del worker.responses["GET", "/"]
    with pytest.raises(Refused, match="HTTP 404"):
        await Connect(worker).stop("copy")


def test_the_page_has_the_table() -> None:
    page = (Path(__file__).parents[4] / "docs" / "versions.md").read_text("utf-8")
    rows = page.partition("\n## Workers on other versions of Kafka\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("| ")]
    described = [(name, since, source) for name, since, source, *_ in cells[1:] if since != "---"]
    assert described == [(f.name, f"{f.since[0]}.{f.since[1]}", f.source) for f in FEATURES]
