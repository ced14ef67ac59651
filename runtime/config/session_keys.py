"""Settings of the keys with which workers sign the requests that they send to each other (KIP-507)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config.definition import ConfigKey, ConfigType, Importance
from runtime.api.config.validators import between, optional
from runtime.api.errors import ConfigError

ALGORITHMS = {
    "hmacmd5": 512,
    "hmacsha1": 512,
    "hmacsha224": 224,
    "hmacsha256": 256,
    "hmacsha384": 384,
    "hmacsha512": 512,
}
"""The supported algorithms in lower case, with the size in bits of the keys that Java generates by default."""

_MIN_SIZE = 40  # bits, as in Java
_GENERATION, _SIGNATURE = "inter.worker.key.generation.algorithm", "inter.worker.signature.algorithm"
_VERIFICATION = "inter.worker.verification.algorithms"
_HMAC, _L = "HmacSHA256", Importance.LOW

KEYS = (
    ConfigKey(_GENERATION, ConfigType.STRING, _HMAC, _L, "Algorithm for which session keys are generated."),
    ConfigKey("inter.worker.key.size", ConfigType.INT, None, _L, "Size of session keys in bits; unset: the default of "
         "the algorithm.", optional(between(_MIN_SIZE, 65_536))),
    ConfigKey("inter.worker.key.ttl.ms", ConfigType.INT, 3_600_000, _L, "How long a session key is used until the "
         "leader replaces it; 0: never replaced.", between(0, 2**31 - 1)),
    ConfigKey(_SIGNATURE, ConfigType.STRING, _HMAC, _L, "Algorithm with which requests to other workers are signed."),
    ConfigKey(_VERIFICATION, ConfigType.LIST, _HMAC, _L, "Algorithms of signatures that are accepted."),
)  # fmt: skip
"""The definitions of these properties, with Connect's defaults."""


@dataclass(frozen=True, slots=True)
class SessionKeySettings:
    """How session keys are generated and used. `size` is in bytes, `ttl` in seconds; a ttl of 0 is unlimited."""

    algorithm: str = _HMAC
    size: int = ALGORITHMS[_HMAC.lower()] // 8
    ttl: float = 3_600.0
    signature: str = _HMAC
    verification: tuple[str, ...] = (_HMAC,)


def session_key_settings(values: Mapping[str, Any]) -> SessionKeySettings:
    """The settings in these parsed properties; ConfigError for an algorithm that is unknown or not accepted here."""
    verification = tuple(name.strip() for name in values[_VERIFICATION] if name.strip())
    named = {_GENERATION: [values[_GENERATION]], _SIGNATURE: [values[_SIGNATURE]], _VERIFICATION: verification}
    for key, names in named.items():
        for name in names:
            if name.lower() not in ALGORITHMS:
                raise ConfigError(f"{key}={name}: unknown algorithm; choose from {', '.join(sorted(ALGORITHMS))}")
    if values[_SIGNATURE] not in verification:
        raise ConfigError(
            f"{_SIGNATURE}={values[_SIGNATURE]} is missing in {_VERIFICATION}: this worker would refuse requests "
            "signed by workers with the same configuration; add it there"
        )
    bits = values["inter.worker.key.size"] or ALGORITHMS[values[_GENERATION].lower()]
    ttl = values["inter.worker.key.ttl.ms"] / 1000
    return SessionKeySettings(values[_GENERATION], (bits + 7) // 8, ttl, values[_SIGNATURE], verification)
