"""Transformations that misbehave; found through `plugin.path`."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

from runtime.api import ConfigDef, ConfigKey, ConfigType, DataError, RecordT, RetriableError, Transformation


class Misbehaving(Transformation):
    """Misbehaves for records whose value contains `when`. `how`: raise, later, exit, kill, block, garbage, nest, or
    tell (an error that quotes `secret.password`)."""

    config_def = ConfigDef(
        ConfigKey("how", ConfigType.STRING, doc="What."),
        ConfigKey("when", ConfigType.STRING, "", doc="In which values."),
        ConfigKey("secret.password", ConfigType.PASSWORD, "", doc="A secret."),
        ConfigKey("pin", ConfigType.PASSWORD, "", doc="A secret whose key does not suggest one."),
    )

    def configure(self, config: Mapping[str, str]) -> None:
        self._how, self._when = config["how"], config.get("when", "")
        self._secret = config.get("secret.password", "")
        if self._how == "configure":
            raise RuntimeError("every configuration is refused")

    def apply(self, record: RecordT) -> RecordT | None:
        if self._when in str(record.value):
            getattr(self, f"_{self._how}")(record)
            if self._how == "garbage":
                return "no record"  # type: ignore[return-value]
        return record

    def close(self) -> None:
        if self._how == "close":
            raise RuntimeError("close() fails as configured")

    def _raise(self, record: Any) -> None:
        raise DataError("not this one")

    def _later(self, record: Any) -> None:
        raise RetriableError("not now")

    def _tell(self, record: Any) -> None:
        raise DataError(f"logging in with {self._secret}")

    def _exit(self, record: Any) -> None:
        raise SystemExit(3)

    def _kill(self, record: Any) -> None:
        os._exit(7)

    def _block(self, record: Any) -> None:
        threading.Event().wait()

    def _garbage(self, record: Any) -> None:
        """Returned by apply()."""

    def _close(self, record: Any) -> None:
        """Behaves well until close()."""

    def _nest(self, record: Any) -> None:
        record.value = [record.value]
        record.value.append(record.value)
