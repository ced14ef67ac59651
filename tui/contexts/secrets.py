"""Secrets by reference: a setting names the secret's source, which is read when a connection needs it.

env:NAME                 an environment variable
command:vault read …     the first line that a command prints (run by sh, at most 30 s)
keyring:SERVICE/USER     the system's keyring (needs the package `keyring`)
plain:TEXT               TEXT itself, for a secret that starts like a reference
any other text           the secret itself
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from tui.errors import HeadraceError

COMMAND_TIMEOUT = 30.0  # seconds


def resolve(reference: str) -> str:
    """The secret. Raises HeadraceError, which names the reference and never the secret."""
    kind, colon, rest = reference.partition(":")
    resolver = _RESOLVERS.get(kind) if colon else None
    return reference if resolver is None else resolver(rest)


def resolved(references: Mapping[str, str]) -> dict[str, str]:
    return {key: resolve(reference) for key, reference in references.items()}


def is_reference(text: str) -> bool:
    kind, colon, _ = text.partition(":")
    return bool(colon) and kind in _RESOLVERS and kind != "plain"


def shown(reference: str) -> str:
    """A form of the setting that is safe to show: the reference, or `[hidden]` for a literal secret."""
    return reference if is_reference(reference) else "[hidden]" if reference else ""


def _environment(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise HeadraceError(f"cannot resolve the secret env:{name}: {name} is not set")
    return value


@lru_cache(maxsize=64)
def _command(line: str) -> str:
    import subprocess

    try:
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=COMMAND_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise HeadraceError(
            f"cannot resolve the secret command:{line}: no output within {COMMAND_TIMEOUT:g} s"
        ) from None
    except OSError as error:
        raise HeadraceError(f"cannot resolve the secret command:{line}: {error.strerror}") from None
    if done.returncode:
        first = done.stderr.strip().partition("\n")[0]
        cause = f"it failed with code {done.returncode}" + (f": {first}" if first else "")
        raise HeadraceError(f"cannot resolve the secret command:{line}: {cause}")
    return done.stdout.partition("\n")[0].rstrip("\r")


@lru_cache(maxsize=64)
def _keyring(name: str) -> str:
    service, _, user = name.partition("/")
    try:
        keyring: Any = import_module("keyring")
    except ImportError:
        raise HeadraceError(
            f"the secret keyring:{name} needs the package keyring", "install it with: pip install keyring"
        ) from None
    try:
        password: str | None = keyring.get_password(service, user)
    except Exception as error:  # backends raise errors of any type
        raise HeadraceError(f"cannot resolve the secret keyring:{name}: {type(error).__name__}: {error}") from error
    if password is None:
        raise HeadraceError(f"cannot resolve the secret keyring:{name}: not in the keyring")
    return password


_RESOLVERS: dict[str, Callable[[str], str]] = {
    "env": _environment,
    "command": _command,
    "keyring": _keyring,
    "plain": lambda text: text,
}
