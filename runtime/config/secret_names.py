"""Keys of configurations that hold passwords, recognized by their names."""

from __future__ import annotations

import re

HIDDEN = "[hidden]"
"""The text in the place of a secret."""

_NAMES = ("sasl.jaas.config", "ssl.keystore.key", "private.key.passphrase", "user.info", "password", "secret")
"""Suffixes of keys whose values are passwords in every plugin."""

_OF_CATALOG = re.compile(r"spark\.sql\.catalog\..+[.-](token|credential|secret-access-key)", re.IGNORECASE)
"""Secrets of Spark's catalogs in a worker's file."""

_SECRET_NAME = re.compile(
    r"passw|passphrase|passcode|secret|token|credential|private|authorization|cookie|signature"
    r"|(?:api|access|account|shared|auth)[._-]?key|connection[._-]?string|(?:^|[._-])(?:pwd|sas)(?:$|[._-])",
    re.IGNORECASE,
)
"""Names of keys that may be passwords, if no definition of a plugin has them."""


def is_password(key: str) -> bool:
    """Whether a key names a password."""
    return key.lower().endswith(_NAMES) or _OF_CATALOG.fullmatch(key) is not None


def may_be_password(key: str) -> bool:
    """Whether a key may be a password, if no definition has it."""
    return is_password(key) or _SECRET_NAME.search(key) is not None
