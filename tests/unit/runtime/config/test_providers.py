"""Variables in configurations: resolved, unknown and refused ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from runtime.api.errors import ConfigError
from runtime.config.providers import Providers, providers
from runtime.system.allowed_folders import AllowedFolders

PACKAGE = "org.apache.kafka.common.config.provider."


def made(**params: str) -> Providers:
    props = {
        "config.providers": "file, dir,env",
        "config.providers.file.class": f"{PACKAGE}FileConfigProvider",
        "config.providers.dir.class": f"{PACKAGE}DirectoryConfigProvider",
        "config.providers.env.class": f"{PACKAGE}EnvVarConfigProvider",
        **{f"config.providers.{k.replace('__', '.param.').replace('_', '.')}": v for k, v in params.items()},
    }
    return providers(props)


@pytest.fixture
def secrets_file(tmp_path: Path) -> Path:
    file = tmp_path / "secrets.properties"
    file.write_text("user=me\npassword=hunter2\nnested=${env:HOME}\n")
    return file


def test_variables_are_resolved(secrets_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_TOKEN", "abcdef")
    (secrets_file.parent / "whole").write_text("line\n")
    found = made().resolve(
        {
            "a": f"${{file:{secrets_file}:user}}/${{file:{secrets_file}:password}}",
            "b": f"${{dir:{secrets_file.parent}:whole}}",
            "c": "${env:HEADRACE_TEST_TOKEN}",
            "d": "plain",
        }
    )
    assert found.config == {"a": "me/hunter2", "b": "line\n", "c": "abcdef", "d": "plain"}
    assert found.secrets == {"me", "hunter2", "line\n", "abcdef"}


class _Vault:
    """Values are the path and key; writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def values(self, path: str, keys: Collection[str]) -> Mapping[str, str | None]:
        self.asked.append((path, list(keys)))
        return {key: f"{path}/{key}" for key in keys if key != "none"}


def test_a_provider_is_asked_once_for_each_path() -> None:
    vault = _Vault()
    config = {"a": "${vault:p: x}${vault:p:y}", "b": "${vault:p:x} ${vault:p:none}", "c": "${vault:z}", "d": "${e:p:q}"}
    resolved = Providers({"vault": vault}).resolve(config)
    assert resolved.config == {"a": "p/xp/y", "b": "p/x ${vault:p:none}", "c": "/z", "d": "${e:p:q}"}
    assert resolved.secrets == {"p/x", "p/y", "/z"}
    assert vault.asked == [("p", ["x", "y", "none"]), ("", ["z"])]


def test_values_of_one_file_are_of_the_same_version(secrets_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is replaced whenever it has been opened."""
    opened = AllowedFolders.open

    def replaced(allowed: AllowedFolders, path: str, flags: int) -> int:
        descriptor = opened(allowed, path, flags)
        secrets_file.unlink()
        secrets_file.write_text("user=other\npassword=changed\n")
        return descriptor

    monkeypatch.setattr(AllowedFolders, "open", replaced)
    resolved = made().resolve({"a": f"${{file:{secrets_file}:user}}", "b": f"${{file:{secrets_file}:password}}"})
    assert resolved.config == {"a": "me", "b": "hunter2"}


def test_unknown_variables_remain_and_values_are_not_resolved_again(secrets_file: Path) -> None:
    left = {
        "a": "${vault:x:y}",
        "b": f"${{file:{secrets_file}:nothing}}",
        "c": "${topic}-${timestamp}",
        "d": "${env:HEADRACE_NOT_SET}",
    }
    assert made().resolve(left).config == left
    assert made().resolve({"a": f"${{file:{secrets_file}:nested}}"}).config == {"a": "${env:HOME}"}
    assert Providers().resolve({"a": "${env:HOME}"}).config == {"a": "${env:HOME}"}


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("${file:{outside}:k}", "allowed.paths"),
        ("${file:{inside}/../{name}:k}", "allowed.paths"),
        ("${file:{inside}/link:k}", "allowed.paths"),
        ("${file:{inside}/missing:k}", "Could not read properties from file"),
        ("${dir:{outside_folder}:k}", "allowed.paths"),
        ("${dir:{inside}:../x}", "not the name of a file"),
        ("${env:HEADRACE_TEST_TOKEN}", "allowlist.pattern"),
        ("${env:path:HOME}", "Path is not supported"),
    ],
)
def test_paths_that_are_not_allowed_are_refused(
    variable: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST_TOKEN", "abcdef")
    inside, outside = tmp_path / "in", tmp_path / "outside.properties"
    inside.mkdir()
    outside.write_text("k=v\n")
    (inside / "link").symlink_to(outside)
    for name, value in {
        "outside_folder": tmp_path, "outside": outside, "inside": inside, "name": outside.name
    }.items():  # fmt: skip
        variable = variable.replace(f"{{{name}}}", str(value))
    found = made(file__allowed_paths=str(inside), dir__allowed_paths=str(inside), env__allowlist_pattern="OTHER_.*")
    with pytest.raises(ConfigError, match=message):
        found.resolve({"a": variable})


def test_java_providers_are_refused() -> None:
    with pytest.raises(ConfigError, match="does not have this class"):
        providers({"config.providers": "vault", "config.providers.vault.class": "com.example.Vault"})
    with pytest.raises(ConfigError, match="does not exist"):
        made(file__allowed_paths="/no/such/folder")


def test_resolved_values_are_not_stored() -> None:
    raw = {"password": "${env:X}", "user": "me"}
    derived = {"password": "secret", "user": "me", "task.class": "T", "other": "secret"}
    assert made().keep_variables(raw, derived) == {**derived, "password": "${env:X}"}
