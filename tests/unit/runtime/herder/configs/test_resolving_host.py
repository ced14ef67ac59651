"""Secrets in configurations: which of them the worker learns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from runtime.config.secret_values import CallSecrets, Secrets
from runtime.config.worker_config import distributed
from runtime.herder.configs.checks import WorkerChecks
from runtime.herder.configs.password_keys import PasswordKeys
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.host.port import HOST_ABSENT, HOST_DIED, ConnectorInfo, HostError, HostRequestError, UnknownPluginError

WORKER = {
    "group.id": "g",
    "key.converter": "WorkerConverter",
    "value.converter": "WorkerConverter",
    "value.converter.api.pin": "worker-pin",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}


class _Plugins:
    """A plugin host whose connector quotes its configuration."""

    KEYS = {  # noqa: RUF012 - constant
        "Source": "connector.pin", "Transform": "pin", "Predicate": "pin", "Converter": "pin",
        "WorkerConverter": "api.pin",
    }  # fmt: skip
    has_failed = False

    def __init__(self) -> None:
        self.seen: CallSecrets | None = None
        self.printed = ""

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        if plugin not in self.KEYS:
            raise UnknownPluginError(plugin)
        return [{"name": self.KEYS[plugin], "type": "PASSWORD"}, {"name": "topic", "type": "STRING"}]

    async def resolve(self, connector_class: str, config: Mapping[str, str | None] | None = None) -> ConnectorInfo:
        return cast("ConnectorInfo", type("Info", (), {"type": "source"}))

    async def validate(self, config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        assert self.seen is not None
        self.printed = self.seen.scrub(f"validating {config}")
        entries = []
        for key, value in config.items():
            kind = "PASSWORD" if key == "connector.pin" else "STRING"
            shown = {
                "name": key,
                "value": value,
                "recommended_values": [],
                "errors": [f"bad: {value}"],
                "visible": True,
            }
            entries.append({"definition": {"type": kind}, "value": shown})
        return {"configs": entries, "error_count": len(entries)}

    async def start_connector(self, name: str, config: Mapping[str, str]) -> None:
        if self.has_failed:
            raise HostError("connect", str(dict(config)), str(dict(config)))


class Rig:
    """A resolving host over the plugins above."""

    def __init__(self, more: Mapping[str, str] | None = None) -> None:
        worker = distributed({**WORKER, **(more or {})})
        self.secrets, self.plugins = Secrets(), _Plugins()
        self.plugins.seen = CallSecrets(self.secrets)
        host = cast("Any", self.plugins)
        self.host = ResolvingHost(host, worker, self.secrets, self.plugins.seen, WorkerChecks(worker))


_FILE_PROVIDER = {
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}
CONFIG = {
    "connector.class": "Source",
    "connector.pin": "own-pin-1",
    "transforms": "a, b",
    "transforms.a.type": "Transform",
    "transforms.a.pin": "transform-pin",
    "transforms.b.type": "Unknown",
    "predicates": "p",
    "predicates.p.type": "Predicate",
    "predicates.p.pin": "predicate-pin",
    "key.converter": "Converter",
    "key.converter.pin": "converter-pin",
    "errors.password": "named-pin",
    "topic": "not-secret",
}
SECRETS = ("own-pin-1", "transform-pin", "predicate-pin", "converter-pin", "named-pin")


async def test_validation_adds_no_secrets_to_the_worker() -> None:
    rig = Rig()
    answer = await rig.host.validate({**CONFIG, "x.password": "principal=root"})
    errors = [e for entry in answer["configs"] for e in entry["value"]["errors"]]
    assert "bad: [hidden]" in errors
    assert not any("named-pin" in e or "own-pin-1" in e for e in errors), (
        "the validation answer still hides the secrets"
    )
    assert "named-pin" not in rig.plugins.printed
    assert rig.secrets.scrub("principal=root named-pin own-pin-1") == "principal=root named-pin own-pin-1"


async def test_no_part_of_a_response_contains_a_resolved_value(tmp_path: Path) -> None:
    """The plugin host puts aliases of transformations, for example, into names of keys and groups."""
    (tmp_path / "secrets").write_text("dbpw=S3cretFileValue77\n")
    rig = Rig(_FILE_PROVIDER)
    variable = f"${{file:{tmp_path}/secrets:dbpw}}"

    async def quoting(config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        secret = config["transforms"]
        shown = {"name": f"transforms.{secret}.type", "value": None, "recommended_values": [secret], "errors": []}
        entry = {
            "definition": {"type": "CLASS", "group": f"Transforms: {secret}", "dependents": [secret]},
            "value": shown,
        }
        return {"configs": [entry], "error_count": 0, "groups": [f"Transforms: {secret}"]}

    rig.plugins.validate = quoting  # type: ignore[method-assign]
    answer = await rig.host.validate({"connector.class": "Source", "transforms": variable})
    assert "S3cretFileValue77" not in str(answer) and "Transforms: [hidden]" in answer["groups"]


async def test_a_validation_as_text_resolves_nothing(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("dbpw=S3cretFileValue77\n")
    rig = Rig(_FILE_PROVIDER)
    variable = f"${{file:{tmp_path}/secrets:dbpw}}"
    answer = await rig.host.validate({"connector.class": "Source", "topic": variable}, text_only=True)
    assert "S3cretFileValue77" not in str(answer) + rig.plugins.printed and variable in str(answer)


async def test_stored_secrets_cannot_be_guessed_by_a_validation() -> None:
    """Text of the caller that equals the secret of another connector comes back as it was sent."""
    rig = Rig()
    rig.secrets.keep("other", {"731904"})
    answer = await rig.host.validate({"connector.class": "Source", "topic": "000731904000"})
    assert "bad: 000731904000" in [e for entry in answer["configs"] for e in entry["value"]["errors"]]


async def test_stored_secrets_cannot_be_guessed_by_a_change_of_offsets() -> None:
    """Nor can the secrets of others by a connector that quotes the offsets of the request."""
    rig = Rig()
    rig.secrets.keep("other", {"731904"})

    async def quoting(config: Mapping[str, str], offsets: object) -> bool:
        raise HostRequestError(f"{config['connector.pin']} refuses {offsets}")

    rig.plugins.alter_source_offsets = quoting  # type: ignore[attr-defined]
    with pytest.raises(HostRequestError) as refused:
        await rig.host.alter_source_offsets(CONFIG, [({"p": "000731904000"}, None)])
    assert "000731904000" in str(refused.value) and "own-pin-1" not in str(refused.value)


async def test_large_validations_do_not_slow_down_log_lines() -> None:
    rig = Rig()
    for i in range(5):
        body = {"connector.class": "Source", "name": "x", **{f"k{n}.password": f"v{i}-{n}" for n in range(20_000)}}
        with pytest.raises(HostRequestError, match="secret values"):
            await rig.host.validate(body)
    started = time.thread_time()
    for _ in range(100):
        rig.secrets.scrub("request=x principal=y status=200 " * 5)
    assert time.thread_time() - started < 0.1


async def test_starting_adds_the_passwords_of_every_plugin() -> None:
    rig = Rig()
    rig.plugins.has_failed = True
    with pytest.raises(HostError) as failed:
        await rig.host.start_connector("c", CONFIG)
    assert not any(secret in failed.value.trace for secret in (*SECRETS, "worker-pin"))
    assert "not-secret" in failed.value.trace
    assert rig.secrets.scrub(" ".join((*SECRETS, "worker-pin"))) == " ".join(["[hidden]"] * 6)
    rig.secrets.forget("c")
    assert rig.secrets.scrub(" ".join(SECRETS)) == " ".join(SECRETS)


async def test_passwords_of_tasks_are_hidden_before_the_connector_starts() -> None:
    """As after a restart of the worker with a PAUSED connector."""
    rig = Rig()
    await rig.host.resolve_stored("c", CONFIG)
    await rig.host.resolve_stored("c", {"task.password": "task-pin-0"}, part="0")
    assert rig.secrets.scrub("task-pin-0 predicate-pin") == "[hidden] [hidden]"


async def test_readers_see_masks_for_passwords_and_variables_as_they_are(tmp_path: Path) -> None:
    rig = Rig()
    masked = await rig.host.password_keys.masked({**CONFIG, "connector.pin": "${file:/x:pin}"})
    assert masked == {
        **CONFIG,
        "connector.pin": "${file:/x:pin}",
        "transforms.a.pin": "[hidden]",
        "predicates.p.pin": "[hidden]",
        "key.converter.pin": "[hidden]",
        "errors.password": "[hidden]",
    }


async def test_keys_of_removed_plugins_are_masked_if_their_names_suggest_a_secret() -> None:
    config = {
        "connector.class": "Removed", "api.token": "1234", "topics": "tokens", "transforms": "token",
        "transforms.token.type": "Transform", "transforms.token.pin": "5678", "transforms.token.field": "f",
    }  # fmt: skip
    masked = await Rig().host.password_keys.masked(config)
    assert masked == {**config, "api.token": "[hidden]", "transforms.token.pin": "[hidden]"}


@pytest.mark.parametrize("kind", [HOST_DIED, HOST_ABSENT])
async def test_password_keys_are_looked_up_again_after_an_unavailable_host(kind: str) -> None:
    away = True

    async def describe(plugin: str) -> list[dict[str, Any]]:
        if away:
            raise HostError(kind, "the plugin host is unavailable", "")
        return [{"name": "pin", "type": "PASSWORD"}]

    keys, config = PasswordKeys(describe), {"connector.class": "Source", "pin": "1234"}
    with pytest.raises(HostError):
        await keys.values(config)
    away = False
    assert await keys.values(config) == {"1234"}


async def test_a_configuration_with_files_outside_of_the_allowed_folders_reaches_no_code_of_plugins(
    tmp_path: Path,
) -> None:
    rig = Rig({"headrace.file.paths": str(tmp_path)})
    asked: list[bool] = []
    validate = rig.plugins.validate

    async def recording(config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        asked.append(text_only)
        return {**await validate(config, text_only), "unchecked": ["code"]}

    rig.plugins.validate = recording  # type: ignore[method-assign]
    for file in (tmp_path / "in", Path("/etc/passwd")):
        answer = await rig.host.validate({"connector.class": "FileStreamSource", "file": str(file)})
        assert "unchecked" not in answer
    assert asked == [False, True]
