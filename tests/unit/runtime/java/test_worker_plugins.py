"""Config providers and policies in Java, as the worker keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from runtime.api.errors import ConfigError, ConnectError
from runtime.java.host.host import JavaClass
from runtime.java.plugins.worker_plugins import JavaConfigProvider

_PROVIDER = JavaClass("example.Provider")


class Instance:
    """An object in the JVM."""

    def __init__(self, host: Host) -> None:
        self.host, self.configured, self.closed = host, False, False

    def call(self, name: str, *arguments: Any) -> Any:
        if name == "configure":
            if self.host.refuses:
                raise ConnectError("no connection")
            self.configured = True
            return None
        assert self.configured
        keys: Sequence[str] = arguments[1]
        return dict.fromkeys(keys, "value"), None

    def close(self) -> None:
        self.closed = True


class Host:
    """A task host whose JVM the test ends."""

    def __init__(self) -> None:
        self.made: list[Instance] = []
        self.refuses = False

    def start(self) -> None:
        return

    def create(self, kind: str, plugin: JavaClass, thread: str) -> Instance:
        self.made.append(Instance(self))
        return self.made[-1]

    def holds(self, instance: Instance) -> bool:
        return not instance.closed


def test_an_instance_that_could_not_be_configured_again_is_not_used() -> None:
    host = Host()
    provider = JavaConfigProvider(cast("Any", host), _PROVIDER, {})
    assert provider.values("path", ["key"])["key"] == "value"
    host.made[0].close()
    host.refuses = True
    for _ in range(2):
        with pytest.raises(ConfigError, match="no connection"):
            provider.values("path", ["key"])
    assert all(instance.closed for instance in host.made)
    host.refuses = False
    assert provider.values("path", ["key"])["key"] == "value"
