"""The policies for client overrides; they are asked again when tasks start: the worker's file may have changed."""

from __future__ import annotations

import pytest

from runtime.herder.configs.override_policy import OverridePolicy
from runtime.model.states import State
from tests.support.herder.herder_rig import HerderRig


@pytest.mark.parametrize(("policy", "state"), [("None", State.FAILED), ("All", State.RUNNING)])
async def test_a_task_starts_only_with_overrides_that_the_policy_allows(policy: str, state: State) -> None:
    rig = HerderRig(connector_client_config_override_policy=policy)
    await rig.create("a", producer_override_linger_ms="5", consumer_override_linger_ms="of another client")
    await rig.until(lambda: rig.tasks("a") == {0: state})
    trace = rig.statuses.task_statuses("a")[0].trace or ""
    assert ("Client Config Overrides not allowed: producer.override.linger.ms: The 'None' policy" in trace) == (
        state is State.FAILED
    )
    await rig.close()


def test_the_policy_allowlist_allows_the_settings_of_its_list() -> None:
    listed = {"connector.client.config.override.allowlist": "linger.ms, acks"}
    policy = OverridePolicy.of({"connector.client.config.override.policy": "Allowlist", **listed})
    assert (policy.refusal("linger.ms"), policy.refusal("acks")) == (None, None)
    assert policy.refusal("retries") is not None
