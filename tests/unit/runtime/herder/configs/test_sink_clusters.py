"""Requests about the offsets of a sink go to the cluster in which it commits, with the credentials of its overrides."""

from __future__ import annotations

import pytest

from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.kafka.errors import ClientConfigError
from runtime.model.states import State, TargetState
from tests.support.herder.herder_rig import HerderRig

AT = {"kafka_partition": 0, "kafka_topic": "t"}
CONSUMER = {"consumer.override.bootstrap.servers": "${env:HEADRACE_TEST_SERVERS}"}
ADMIN = {"admin.override.bootstrap.servers": "away:9092", "admin.override.client.rack": "r"}


async def _sink(rig: HerderRig, overrides: dict[str, str]) -> OffsetRequests:
    rig.groups.offsets, rig.groups_elsewhere.offsets = {"connect-a": {("t", 0): 1}}, {"connect-a": {("t", 0): 7}}
    config = {"connector.class": "Sink", "name": "a", "topics": "t", **overrides}
    await rig.configs.put_connector("a", config, TargetState.STOPPED)
    await rig.until(lambda: rig.state("a") is State.STOPPED)
    return OffsetRequests(rig.herder, rig.configs, rig.settling, rig.host, rig.stored_offsets, rig.changes)


@pytest.mark.parametrize(
    ("overrides", "rack"), [(CONSUMER, None), (ADMIN, "r"), (CONSUMER | ADMIN, "r")], ids=["consumer", "admin", "both"]
)
async def test_offsets_are_in_the_cluster_of_the_sink(
    monkeypatch: pytest.MonkeyPatch, overrides: dict[str, str], rack: str | None
) -> None:
    monkeypatch.setenv("HEADRACE_TEST_SERVERS", "away:9092")
    rig = HerderRig()
    requests = await _sink(rig, overrides)
    assert await requests.read("a") == {"offsets": [{"partition": AT, "offset": {"kafka_offset": 7}}]}
    await requests.alter("a", [(AT, {"kafka_offset": 9})])
    assert rig.groups_elsewhere.offsets == {"connect-a": {("t", 0): 9}}
    await requests.reset("a")
    assert rig.groups_elsewhere.offsets == {}
    assert rig.groups.offsets == {"connect-a": {("t", 0): 1}}, "the group of this name in the worker's cluster"
    assert [(reached["bootstrap.servers"], reached.get("client.rack")) for reached in rig.reached] == [
        ("away:9092", rack)
    ]
    await rig.close()


async def test_an_override_that_the_policy_refuses_is_not_used() -> None:
    rig = HerderRig(connector_client_config_override_policy="None")
    requests = await _sink(rig, ADMIN)
    with pytest.raises(ClientConfigError, match=r"admin\.override.bootstrap\.servers of connector a cannot be used"):
        await requests.read("a")
    assert rig.reached == []
    await rig.close()


async def test_the_credentials_of_a_sink_that_is_deleted_with_its_offsets_are_forgotten() -> None:
    """They are needed once more after the deletion, to remove the offsets."""
    rig, secret = HerderRig(), "consumer-secret"
    requests = await _sink(rig, {"consumer.override.sasl.jaas.config": f'A required username="u" password="{secret}";'})
    assert (await requests.read("a"))["offsets"]
    assert secret not in rig.secrets.scrub(secret)
    await requests.delete("a")
    await rig.until(lambda: rig.state("a") is None)
    assert rig.secrets.scrub(secret) == secret
    await rig.close()


class ImpatientRig(HerderRig):
    other_cluster_timeout = 0.01


async def test_a_cluster_that_does_not_respond_delays_no_start() -> None:
    """Dead members are searched in a cluster that is not the worker's, for a few seconds at most."""
    rig = ImpatientRig()
    rig.groups_elsewhere.responds = False
    await rig.run("a", connector_class="Sink", topics="t", admin_override_bootstrap_servers="away:9092")
    assert rig.groups_elsewhere.described == ["connect-a"]
    await rig.close()
